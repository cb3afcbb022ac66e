# SPDX-License-Identifier: Apache-2.0
"""Opens a page of mf-run --memory-html in headless Chromium and uses it as people do.

usage: check_memory_page.py CHROMIUM PAGE

The page is shown in frames of 1000 and 400 pixels: nothing may stick out. The map is
zoomed by keys, pointed at and searched, and the numbers are those of the page's data:
of a simulated step also when the buffer that is pointed at comes and goes.
"""

import json
import re
import sys

from check_page import expect
from page_frame import use_in_frame

ACTIONS = """
    const plot = page.getElementById("plot"), root = page.documentElement;
    const listed = () => all("#buffers tbody tr").map(row => row.cells[0].textContent);
    found.numbers = page.getElementById("numbers").textContent;
    found.stages = all("#stage option").length;
    found.alive = all("#alive tbody tr").map(row => [...row.cells].map(cell => cell.textContent));
    found.peak = page.getElementById("peak").textContent;
    found.title = page.title;
    found.layers = all("#layers tbody tr").map(row => row.cells[0].textContent);
    found.whole = Number(root.dataset.buffersDrawn);
    plot.focus();
    for (let i = 0; i < 6; ++i) key("+");
    found.zoomed = Number(root.dataset.buffersDrawn);
    found.part = page.getElementById("view").textContent;
    key("0");
    found.reset = Number(root.dataset.buffersDrawn);
    found.all = page.getElementById("view").textContent;
    found.axis = page.getElementById("axis").textContent;
    const box = plot.getBoundingClientRect();
    const tooltip = page.getElementById("tooltip");
    for (let y = 2; tooltip.hidden && y < box.height; y += 3)
      plot.querySelector("canvas").dispatchEvent(new view.PointerEvent("pointermove",
        {bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + y}));
    found.tooltip = tooltip.textContent;
    const search = page.getElementById("search");
    search.value = "residual layers.0.";
    search.dispatchEvent(new view.Event("input"));
    found.searched = listed();
    found.status = page.getElementById("found").textContent;
    const first = all("#buffers button")[0];
    first.click();
    found.chosen = page.getElementById("found").textContent;
    found.pressed = first.getAttribute("aria-pressed");
    found.opened = Number(page.getElementById("stage").value);
    page.getElementById("stage").value = String((found.opened + 1) % found.stages);
    page.getElementById("stage").dispatchEvent(new view.Event("change"));
    found.last = page.getElementById("numbers").textContent;
"""


def read_data(page):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', open(page).read(), re.S)[1]
    return json.loads(text)


def check_times(found, stage):
    """The axis of a simulated step is in seconds, and times rise from 0 to the end of the stage's step."""
    moments, seconds = stage["times"][::2], stage["times"][1::2]
    expect("the axis", "in seconds" in found["axis"], True)
    for times in (moments, seconds):
        expect("times in order", times == sorted(times) and times[0] == 0 and times[-1] > 0, True)
    expect("the last moment", moments[-1], stage["length"])
    unit, size = ("s", 1) if seconds[-1] >= 0.5 else ("ms", 1e-3)
    end = re.search(r"Shown: 0 to ([\d.]+) (\w+), 0 to ", found["all"])
    expect("the unit of the end", end[2], unit)
    expect("the end of the axis", abs(float(end[1]) - seconds[-1] / size) < 0.01, True)
    expect("the tooltip has times", bool(re.search(r"from [\d.]+(?: .?s)? to [\d.]+ .?s", found["tooltip"])), True)


def check_alive(found, stage):
    """What is alive at the peak makes up the most bytes that are alive."""
    expect("bytes alive at the peak", sum(stage["alive"][2::3]), stage["live_bytes"])
    expect("buffers alive at the peak", sum(int(row[2].replace(",", "")) for row in found["alive"]), sum(stage["alive"][1::3]))
    shares = sum(float(row[4].split()[0]) for row in found["alive"])
    expect("shares of the peak", abs(shares - 100) < 0.06 * len(found["alive"]), True)
    expect("the task of the peak", bool(re.search(r"are alive at the peak, in chunk\d+\.\w+ of micro-batch \d+\.", found["peak"])), True)


def check(found, data):
    expect("error of the page's scripts", found["error"], None)
    expect("pixels that stick out", found["overflow"], 0)
    expect("files that the page loads", found["network"], 0)
    expect("elements without a name", found["nameless"], 0)
    for role in ("application", "region", "status"):
        expect("role " + role, role in found["roles"], True)
    expect("stages", found["stages"], len(data["stages"]))
    arenas = [stage["arena_bytes"] for stage in data["stages"]]
    expect("the stage on which the page opens", found["opened"], arenas.index(max(arenas)))
    first = data["stages"][found["opened"]]
    check_alive(found, first)
    expect("the title", found["title"], data["program"] + ": memory of a step")
    expect("buffers of the map", found["whole"], len(first["buffers"]) // 6)
    expect("buffers after a reset", found["reset"], found["whole"])
    expect("fewer buffers zoomed in", found["zoomed"] < found["whole"], True)
    expect("the part that is shown", found["part"] != found["all"] and found["part"].startswith("Shown: "), True)
    if "target" in data:
        check_times(found, first)
    else:
        expect("the axis", "in instructions" in found["axis"], True)
    expect("the tooltip has bytes", " at " in found["tooltip"], True)
    expect("found names", found["searched"] and all("layers.0." in name for name in found["searched"]), True)
    expect("the status of the search", found["status"], "%d names" % len(found["searched"]))
    expect("the chosen buffer", (found["pressed"], found["chosen"]), ("true", found["searched"][0]))
    expect("another stage", found["last"] != found["numbers"] or found["stages"] == 1, True)


def main():
    chromium, page = sys.argv[1:]
    data = read_data(page)
    for width in (1000, 400):
        found = use_in_frame(chromium, page, width, ACTIONS)
        check(found, data)
        print("%d pixels: %d buffers, layers %s" % (width, found["whole"], ", ".join(found["layers"])))


if __name__ == "__main__":
    main()
