# SPDX-License-Identifier: Apache-2.0
"""Uses a page in a frame of a given width in headless Chromium."""

import json
import os
import re
import sys
import tempfile

from check_page import run_chromium

# A page with the other one in a frame, so that widths are those of a screen.
FRAME = """<!DOCTYPE html><body><iframe id="frame" style="width: %dpx; height: 900px"></iframe>
<pre id="found"></pre><script>
const frame = document.getElementById("frame");
frame.srcdoc = %s;
frame.addEventListener("load", async () => {
  const found = {};
  try {
    const page = frame.contentDocument, view = frame.contentWindow;
    const all = selector => [...page.querySelectorAll(selector)];
    const key = name => page.activeElement.dispatchEvent(
      new view.KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
    found.error = page.documentElement.dataset.error || null;
    found.overflow = page.documentElement.scrollWidth - page.documentElement.clientWidth;
    found.network = all("[src], link").length;
    found.roles = all("[role]").map(e => e.getAttribute("role"));
    found.nameless = all("[role=gridcell], [role=img], [role=grid], [role=region], [role=application], button")
      .filter(e => !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") &&
        !(e.tagName === "BUTTON" && e.textContent)).length;
    %s
  } catch (error) { found.error = error.message; }
  document.getElementById("found").textContent = encodeURIComponent(JSON.stringify(found));
});
</script></body>"""


def use_in_frame(chromium, page, width, actions):
    """What the page had and what `actions` (JavaScript) noted in `found`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.html")
        text = json.dumps(open(page).read()).replace("</", "<\\/")
        with open(path, "w") as file:
            file.write(FRAME % (width, text, actions))
        dom = run_chromium(chromium, path, "--dump-dom", "--window-size=1200,1000")
    found = re.search(r'<pre id="found">([^<]+)</pre>', dom)
    if not found:
        sys.exit("error: the page of %d pixels was not used" % width)
    decoded = re.sub(r"%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), found[1])
    return json.loads(decoded.encode("latin-1").decode())
