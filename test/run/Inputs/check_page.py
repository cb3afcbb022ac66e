# SPDX-License-Identifier: Apache-2.0
"""Opens a page of mf-run --html in headless Chromium and checks what it shows.

usage: check_page.py CHROMIUM PAGE REPORT [PICTURE]

REPORT is what --report wrote of the same step. The page's scripts must have run
without a message on the console, have drawn all tasks, show the report's numbers
in its table, and answer to clicks, keys, the wheel and the pointer. The picture of the page (kept as PICTURE if that is given)
must have the colours of tasks, bubbles and curves.
"""

import html.parser
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

FLAGS = "--headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr --virtual-time-budget=10000"


def run_chromium(chromium, page, *flags):
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, *FLAGS.split(), "--user-data-dir=" + profile, *flags]
        result = subprocess.run(
            [*command, "file://" + os.path.abspath(page)], capture_output=True, text=True, timeout=240
        )  # fmt: skip
    messages = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    if result.returncode != 0 or messages:
        sys.exit("error: chromium: %d %s" % (result.returncode, messages or result.stderr))
    return result.stdout


class Document(html.parser.HTMLParser):
    """The data attributes of the root, and the texts of the table's cells."""

    def __init__(self, text):
        super().__init__()
        self.data, self.rows, self.in_cell = {}, [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "html":
            self.data = {k[5:]: v for k, v in attributes if k.startswith("data-")}
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.in_cell = False

    def handle_data(self, data):
        if self.in_cell:
            self.rows[-1][-1] += data


def expect(what, actual, expected):
    if actual != expected:
        sys.exit("error: %s: expected %s, but got %s" % (what, expected, actual))


def check_document(document, report):
    data = document.data
    expect("error of the page's scripts", data.get("error"), None)
    expect("stages", int(data["stages"]), len(report["stages"]))
    expect("step", float(data["step-seconds"]), report["step_seconds"])
    expect("tasks drawn", data["first"], data["tasks"])
    units = {"s": 1, "ms": 1e-3, "µs": 1e-6, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
    groups, _, *rows = document.rows
    time_unit = units[re.fullmatch(r"time, (\S+) and % of the step", groups[1])[1]]
    byte_unit = units[re.fullmatch(r"memory at the peak, (\S+)", groups[2])[1]]
    expect("rows", len(rows), len(report["stages"]))
    for row, stage in zip(rows, report["stages"]):
        expect("stage", row[0], "stage %d" % stage["stage"])
        names = ("busy", "exposed_communication", "stall", "bubble")
        for cell, name in zip(row[2:6], names):
            seconds = stage[name + "_seconds"]
            shown, percent = re.fullmatch(r"(\S+) (\S+) %", cell).groups()
            expect_shown(name, shown, seconds / time_unit)
            expect_shown(name, percent, 100 * seconds / report["step_seconds"])
        for cell, name in zip(row[6:10], ("parameter", "gradient", "optimizer_state", "activation")):
            expect_shown(name, cell, stage["bytes"].get(name, 0) / byte_unit)
        expect_shown("peak", row[11], stage["peak_bytes"] / byte_unit)
        expect_shown("host", row[13], stage["host_bytes"] / byte_unit)


def expect_shown(what, shown, value):
    """Half a unit of the last digit is allowed."""
    if abs(float(shown) - value) > 0.5001 * 10 ** -len(shown.partition(".")[2]):
        expect(what, shown, value)


# Frames do not wait for a screen.
FRAMES = "<script>window.requestAnimationFrame = draw => draw();</script>"

# The actions of a user, and the data attributes in which the page then shows their effect.
ACTIONS = """<script>
const root = document.documentElement, plot = document.getElementById("plot");
const click = id => document.getElementById(id).click();
const point = (type, x, y) => plot.querySelector("canvas").dispatchEvent(new PointerEvent(
  type, {bubbles: true, pointerId: 1, clientX: plot.getBoundingClientRect().left + x,
    clientY: plot.getBoundingClientRect().top + y}));
const readTasks = name => { root.dataset[name] = root.dataset.tasksDrawn; };
readTasks("first");
try {
  plot.setPointerCapture = () => {};
  const tooltip = document.getElementById("tooltip");
  for (let x = 2; !tooltip.textContent.includes("micro-batch ") && x < 700; x += 2)
    point("pointermove", x, 40);
  root.dataset.tooltip = tooltip.textContent;
  click("expand");
  root.dataset.expanded = root.dataset.blocksDrawn;
  document.querySelector("#gutter button").click();
  root.dataset.folded = root.dataset.blocksDrawn;
  for (let i = 0; i < 7; ++i) click("zoom-in");
  readTasks("zoomed");
  plot.dispatchEvent(new KeyboardEvent("keydown", {key: "0"}));
  readTasks("keyed");
  for (let i = 0; i < 20; ++i)
    plot.dispatchEvent(new WheelEvent("wheel", {deltaY: -60, ctrlKey: true, cancelable: true}));
  readTasks("wheeled");
  click("zoom-reset");
  readTasks("reset");
} catch (error) { root.dataset.error = error.message; }
</script>"""


def use_page(chromium, page):
    """What the page is after the actions."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        with open(path, "w") as file:
            text = open(page).read().replace("<head>", "<head>" + FRAMES)
            file.write(text.replace("</body>", ACTIONS + "</body>"))
        return Document(run_chromium(chromium, path, "--dump-dom"))


def check_actions(data, report):
    if not re.match(r"stage 0: (forward|backward|input gradient|weight gradient) of micro-batch \d+", data["tooltip"]):
        sys.exit("error: the tooltip says '%s'" % data["tooltip"])
    if not int(data["expanded"]) > int(data["folded"]) >= (len(report["stages"]) > 1):
        sys.exit("error: streams drew %s blocks, without those of a stage %s" % (data["expanded"], data["folded"]))
    for name in ("zoomed", "wheeled"):
        if int(data[name]) >= int(data["tasks"]):
            sys.exit("error: %s in, the page still draws all %s tasks" % (name, data[name]))
    for name in ("keyed", "reset"):
        expect("tasks drawn of the whole step", data[name], data["tasks"])


def read_colors(path):
    """Numbers of pixels by colour, of a PNG of 8-bit RGB or RGBA."""
    data = open(path, "rb").read()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    expect("PNG", (depth, kind in (2, 6)), (8, True))
    size = 3 if kind == 2 else 4
    packed, at = b"", 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += 12 + length
    raw, colors = zlib.decompress(packed), {}
    above = bytearray(width * size)
    for y in range(height):
        start = y * (1 + width * size)
        line = unfilter(raw[start], bytearray(raw[start + 1 : start + 1 + width * size]), above, size)
        for x in range(0, len(line), 4 * size):
            color = tuple(line[x : x + 3])
            colors[color] = colors.get(color, 0) + 1
        above = line
    return colors


def unfilter(kind, line, above, size):
    for i in range(len(line)):
        left = line[i - size] if i >= size else 0
        up, corner = above[i], above[i - size] if i >= size else 0
        if kind == 4:
            p = left + up - corner
            a, b, c = abs(p - left), abs(p - up), abs(p - corner)
            guess = left if a <= b and a <= c else up if b <= c else corner
        else:
            guess = (0, left, up, (left + up) // 2)[kind]
        line[i] = (line[i] + guess) & 255
    return line


def check_picture(path):
    colors = read_colors(path)
    blue = sum(n for (r, g, b), n in colors.items() if b > g > r and b - r > 60)
    green = sum(n for (r, g, b), n in colors.items() if g > b > r and g - r > 60)
    if blue < 500 or green < 500 or len(colors) < 20:
        sys.exit("error: the picture has %d blue and %d green pixels, %d colours" % (blue, green, len(colors)))


def main():
    chromium, page, report, *picture = sys.argv[1:]
    document = use_page(chromium, page)
    report = json.load(open(report))
    check_document(document, report)
    check_actions(document.data, report)
    with tempfile.TemporaryDirectory() as folder:
        path = picture[0] if picture else os.path.join(folder, "page.png")
        run_chromium(chromium, page, "--window-size=1000,900", "--screenshot=" + path)
        check_picture(path)
    data = document.data
    print("the page shows %s stages and %s tasks" % (data["stages"], data["first"]))


if __name__ == "__main__":
    main()
