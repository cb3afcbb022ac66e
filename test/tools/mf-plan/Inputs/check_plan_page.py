# SPDX-License-Identifier: Apache-2.0
"""Opens a page of mf-plan --html in headless Chromium and uses it as people do.

usage: check_plan_page.py CHROMIUM PAGE PLAN.json GIVEN.yaml PLANNED.yaml

PLAN.json is what --json wrote of the same plan, PLANNED.yaml what -o wrote. The
page is shown in frames of 1000 and 400 pixels: nothing may stick out. Layers are
pointed at and reached by keys, and the copied changes must be a patch that makes
the planned YAML of the given one.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../run/Inputs"))
from check_page import expect  # noqa: E402
from page_frame import use_in_frame  # noqa: E402

# This script reads a page where the given settings stay.
GIVEN = """
    found.settings = all("#settings tbody tr").map(row => [...row.cells].map(cell => cell.textContent));
    found.note = page.getElementById("layers-note").textContent;
    found.diff = page.getElementById("diff").textContent.trim();
    found.gridIsHidden = page.getElementById("grid").hidden;
    found.copies = !page.getElementById("copy").disabled;
"""

# The actions of a user, and what the page then shows.
ACTIONS = """
    const read = () => page.getElementById("layer").textContent;
    found.stops = all("[role=gridcell][tabindex='0']").length;
    found.cells = all("[role=gridcell]").length;
    found.stages = all("#table tbody tr").map(row => [...row.cells].map(cell => cell.textContent));
    found.settings = all("#settings tr.changed").map(row => row.cells[0].textContent);
    all("[role=gridcell]")[1].dispatchEvent(new view.PointerEvent("pointerenter"));
    found.hovered = read();
    all("[role=gridcell][tabindex='0']")[0].focus();
    found.focused = read();
    key("ArrowRight");
    found.right = read();
    key("ArrowDown");
    found.down = read();
    found.focusStops = all("[role=gridcell][tabindex='0']").length;
    const dots = all("#curve circle");
    found.dots = dots.length;
    if (dots.length > 0) dots[0].focus();
    found.tip = page.getElementById("tooltip").hidden ? "" : page.getElementById("tooltip").textContent;
    found.bound = page.getElementById("bound").textContent;
    found.title = page.title;
    found.why = all("#why li").map(item => item.textContent);
    Object.defineProperty(view.navigator, "clipboard",
      {value: {writeText: async text => { found.copied = text; }}});
    page.getElementById("copy").click();
    await new Promise(done => setTimeout(done, 50));
    found.patch = found.copied;
    page.getElementById("copy-all").click();
    await new Promise(done => setTimeout(done, 50));
    found.status = page.getElementById("copied").textContent;
"""


def check_shown(found, plan):
    expect("error of the page's scripts", found["error"], None)
    expect("pixels that stick out", found["overflow"], 0)
    expect("files that the page loads", found["network"], 0)
    expect("elements without a name", found["nameless"], 0)
    for role in ("grid", "row", "rowheader", "gridcell", "status", "region"):
        expect("role " + role, role in found["roles"], True)
    expect("stages", len(found["stages"]), len(plan["planned"]["stages"]))
    unit = 2**20 if plan["limit_bytes"] < 2**30 / 10 else 2**30
    for row, stage in zip(found["stages"], plan["planned"]["stages"]):
        shown = float(row[3])
        if abs(shown - stage["peak_bytes"] / unit) > 0.01 * shown:
            expect("peak", shown, stage["peak_bytes"] / unit)
    layers = sum(sum(row) for row in plan["solved"]["num_layer_list"]) if isinstance(
        plan["solved"]["num_layer_list"][0], list) else sum(plan["solved"]["num_layer_list"])  # fmt: skip
    expect("layers", found["cells"], layers)


def check_use(found):
    expect("places to stop with the Tab key", (found["stops"], found["focusStops"]), (1, 1))
    for name, text in (("hovered", "layer 1 on stage 0"), ("focused", "layer 0 on stage 0"),
                       ("right", "layer 1 on stage 0")):  # fmt: skip
        expect("the layer " + name, found[name].startswith(text) and "keeps" in found[name], True)
    expect("the stage below", "on stage 1" in found["down"], True)
    expect("points of the curve", found["dots"] >= 2 and bool(found["tip"]), True)
    expect("reasons", found["why"][0].startswith("stage 0: "), True)
    step = re.search(r"this one takes ([\d.]+ .?s)", found["bound"])[1]
    for reason in found["why"]:
        expect("arrows and numbers of kinds in " + reason, re.search("->|kind \\d|select \\d", reason), None)
        told = re.search("still take (.*)$|instead of ([^,]*)$", reason)
        expect("the step of " + reason, told is None or step.startswith((told[1] or told[2])[:4]), True)
    expect("the title", found["title"].endswith(" · train.yaml: a plan"), True)
    expect("status", found["status"], "YAML copied")


def check_copies(found, given, planned):
    expect("the copied YAML", found["copied"], open(planned).read())
    with tempfile.TemporaryDirectory() as folder:
        patched = os.path.join(folder, "patched.yaml")
        result = subprocess.run(["patch", "-s", "-o", patched, given], input=found["patch"], text=True, check=True)
        expect("patch", result.returncode, 0)
        expect("the patched YAML", open(patched).read(), open(planned).read())


def check_given(found):
    """The settings of the YAML stay: they are on both sides, and nothing can be copied."""
    expect("error of the page's scripts", found["error"], None)
    expect("pixels that stick out", found["overflow"], 0)
    expect("settings", [given for _, given, _ in found["settings"]], [planned for _, _, planned in found["settings"]])
    expect("the grid is hidden", found["gridIsHidden"], True)
    expect("the note", found["note"].startswith("The given settings stay"), True)
    expect("changes", (found["diff"], found["copies"]), ("nothing changes", False))


def main():
    chromium, page, plan, given, planned = sys.argv[1:]
    plan = json.load(open(plan))
    for width in (1000, 400):
        if plan["planned"]["is_given"]:
            found = use_in_frame(chromium, page, width, GIVEN)
            check_given(found)
            print("%d pixels: %d given settings" % (width, len(found["settings"])))
            continue
        found = use_in_frame(chromium, page, width, ACTIONS)
        check_shown(found, plan)
        check_use(found)
        check_copies(found, given, planned)
        print("%d pixels: %d layers, %d changed settings" % (width, found["cells"], len(found["settings"])))


if __name__ == "__main__":
    main()
