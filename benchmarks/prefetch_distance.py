"""Prefetch distance against peak memory and stalls, on a link of a given rate.

usage: prefetch_distance.py [BIN_FOLDER] [--gbps RATE] [--steps N] [--svg FILE]

Trains a Llama of 6 layers (hidden 512, sequence 256, batch 4, fp32) without
swap and with all layers swapped at several distances. "arena" is the device
memory of the plan, "step" the median time of a step, "stall" what of it the
compute stream was blocked by copies. One thread computes, so that copies have a
core of their own, as an NPU's copy engines have. --svg writes the table as a
plot.
"""

import argparse
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import training  # noqa: E402

SIZES = {
    "hidden_size": 512,
    "num_layers": 6,
    "num_heads": 8,
    "n_kv_heads": 8,
    "intermediate_size": 1408,
    "seq_length": 256,
    "vocab_size": 1024,
}
DISTANCES = [1, 2, 4, 8, 16, 32, 64, 128]
TEXT = "/usr/share/common-licenses/GPL-3"
MIB = float(1 << 20)


def median(values):
    return sorted(values)[len(values) // 2]


def measure(tools, distance, steps, gbps):
    """MiB of the arena, seconds of a step, seconds of it stalled by copies."""
    swap = None
    if distance:
        swap = {"layer_swap": "[{backward_prefetch: %d, layers: True}]" % distance}
    _, step = tools.lower("step", dict(training.MODEL, **SIZES), batch_size=4, swap=swap)
    report = tools.train(
        step, TEXT, steps + 1, threads=1, extra=["--d2h-gbps", str(gbps)]
    )
    rank = report["ranks"][0]
    stall = sum(
        seconds
        for cause, seconds in rank["operator_stall_seconds"].items()
        if "start of" not in cause
    )
    times = [s["seconds"] for s in report["steps"]][1:]
    return rank["planned_bytes"] / MIB, median(times), stall / (steps + 1)


def scale(value, low, high, begin, end):
    return begin + (value - low) / (high - low) * (end - begin)


def plot(rows, base, gbps):
    """Two curves over the distances, one axis each, as SVG."""
    left, right, top, bottom = 70, 570, 50, 300
    memory = [r[1] for r in rows] + [base[0]]
    stalls = [r[3] * 1e3 for r in rows] + [0]
    low, high = min(memory) * 0.98, max(memory) * 1.02
    most = max(stalls) * 1.1 or 1
    xs = [scale(i, 0, len(rows) - 1, left, right) for i in range(len(rows))]

    def curve(values, y, color):
        points = " ".join("%.1f,%.1f" % (x, y(v)) for x, v in zip(xs, values))
        dots = "".join(
            '<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x, y(v), color)
            for x, v in zip(xs, values)
        )
        return '<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>%s' % (
            points, color, dots,
        )  # fmt: skip

    def y_memory(value):
        return scale(value, low, high, bottom, top)

    def y_stall(value):
        return scale(value, 0, most, bottom, top)

    def text(x, y, content, anchor="middle", color="#333"):
        return '<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>' % (
            x, y, anchor, color, content,
        )  # fmt: skip

    blue, red = "#1f5fa8", "#b5332c"
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 350" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="640" height="350" fill="white"/>',
        '<path d="M%d %dV%dH%dV%d" fill="none" stroke="#888"/>'
        % (left, top, bottom, right, top),
        '<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="4 4"/>'
        % (left, right, y_memory(base[0]), y_memory(base[0]), blue),
        text(right - 4, y_memory(base[0]) - 5, "arena without swap", "end", blue),
        curve([r[1] for r in rows], y_memory, blue),
        curve([r[3] * 1e3 for r in rows], y_stall, red),
        text(left, top - 12, "arena, MiB", "middle", blue),
        text(right, top - 12, "stall, ms per step", "middle", red),
        text((left + right) / 2, bottom + 38, "backward_prefetch (kernels); link at %g GB/s" % gbps),
    ]  # fmt: skip
    for i, row in enumerate(rows):
        parts.append(text(xs[i], bottom + 18, str(row[0])))
    for i in range(5):
        y = scale(i, 0, 4, bottom, top)
        parts.append(text(left - 6, y + 4, "%.0f" % scale(i, 0, 4, low, high), "end", blue))
        parts.append(text(right + 6, y + 4, "%.0f" % scale(i, 0, 4, 0, most), "start", red))
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--gbps", type=float, default=1.5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--svg")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        tools = training.Tools(arguments.bin_folder, work)
        base = measure(tools, 0, arguments.steps, arguments.gbps)
        print("%10s%14s%12s%12s%12s" % ("distance", "arena MiB", "step ms", "of none", "stall ms"))
        print("%10s%14.1f%12.1f%12s%12.1f" % ("none", base[0], base[1] * 1e3, "", base[2] * 1e3))
        rows = []
        for distance in DISTANCES:
            arena, seconds, stall = measure(tools, distance, arguments.steps, arguments.gbps)
            rows.append((distance, arena, seconds, stall))
            print(
                "%10d%14.1f%12.1f%11.1f%%%12.1f"
                % (distance, arena, seconds * 1e3, 100 * seconds / base[1], stall * 1e3)
            )
        if arguments.svg:
            with open(arguments.svg, "w") as file:
                file.write(plot(rows, base, arguments.gbps))


if __name__ == "__main__":
    main()
