# SPDX-License-Identifier: Apache-2.0
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


class Measurement:
    """Of one run: MiB of the arena and of pinned host memory, seconds of a step
    and seconds of it stalled by copies."""

    def __init__(self, report):
        rank = report["ranks"][0]
        self.arena = rank["planned_bytes"] / MIB
        self.host = rank["host_bytes"] / MIB
        self.seconds = median([s["seconds"] for s in report["steps"]][1:])
        stalls = rank["operator_stall_seconds"].items()
        self.stall = sum(s for cause, s in stalls if "start of" not in cause) / len(
            report["steps"]
        )


def measure(tools, distance, steps, gbps=0):
    """Trains with all layers swapped, or none if `distance` is 0."""
    swap = None
    if distance:
        swap = {"layer_swap": "[{backward_prefetch: %d, layers: True}]" % distance}
    _, step = tools.lower("step", dict(training.MODEL, **SIZES), batch_size=4, swap=swap)
    return Measurement(
        tools.train(step, TEXT, steps + 1, threads=1, extra=["--d2h-gbps", str(gbps)])
    )


def scale(value, low, high, begin, end):
    return begin + (value - low) / (high - low) * (end - begin)


def plot(rows, base, gbps):
    """Two curves over the distances, one axis each, as SVG."""
    left, right, top, bottom = 70, 570, 50, 300
    memory = [m.arena for _, m in rows] + [base.arena]
    stalls = [m.stall * 1e3 for _, m in rows] + [0]
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
        % (left, right, y_memory(base.arena), y_memory(base.arena), blue),
        text(right - 4, y_memory(base.arena) - 5, "arena without swap", "end", blue),
        curve(memory[:-1], y_memory, blue),
        curve(stalls[:-1], y_stall, red),
        text(left, top - 12, "arena, MiB", "middle", blue),
        text(right, top - 12, "stall, ms per step", "middle", red),
        text((left + right) / 2, bottom + 38, "backward_prefetch (kernels); link at %g GB/s" % gbps),
    ]  # fmt: skip
    for x, (distance, _) in zip(xs, rows):
        parts.append(text(x, bottom + 18, str(distance)))
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
        print(
            "%10s%14.1f%12.1f%12s%12.1f"
            % ("none", base.arena, base.seconds * 1e3, "", base.stall * 1e3)
        )
        rows = []
        for distance in DISTANCES:
            found = measure(tools, distance, arguments.steps, arguments.gbps)
            rows.append((distance, found))
            print(
                "%10d%14.1f%12.1f%11.1f%%%12.1f"
                % (
                    distance,
                    found.arena,
                    found.seconds * 1e3,
                    100 * found.seconds / base.seconds,
                    found.stall * 1e3,
                )
            )
        if arguments.svg:
            with open(arguments.svg, "w") as file:
                file.write(plot(rows, base, arguments.gbps))


if __name__ == "__main__":
    main()
