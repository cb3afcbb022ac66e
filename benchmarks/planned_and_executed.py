# SPDX-License-Identifier: Apache-2.0
"""Plans of mf-plan on this machine: predicted and executed, beside what one would set by hand.

usage: planned_and_executed.py [BIN_FOLDER] [--steps N] [--repeats N] [--share F] [--gbps F] [--keep FOLDER]

A small model on two stages, each on one thread, with a paced link to the host. The target `this-machine` is calibrated
to profiles of other models that ran in the same way (docs/calibration.md). The limit on memory is so far between what
full recompute and no recompute need. Settings by hand are the same for all stages: so many of their layers recomputed,
fully or in part, or swapped; the one that is predicted to be the fastest of those that fit counts. Predicted and
executed seconds, and executed by predicted. Other work on the machine only adds to times: the table has the median of
all steps and the fastest.
"""

import argparse
import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import planning  # noqa: E402
import training  # noqa: E402

TEXT = "/usr/share/common-licenses/GPL-3"
STAGES, LAYERS = 2, 8
PIPELINE = {"stages": STAGES, "micro_batches": 4, "batch_size": 2}


def make_model(hidden, layers, heads, inner, sequence, vocabulary):
    return dict(
        training.MODEL, hidden_size=hidden, num_layers=layers, num_heads=heads, n_kv_heads=heads,
        intermediate_size=inner, seq_length=sequence, vocab_size=vocabulary,
    )  # fmt: skip


MODEL = make_model(192, LAYERS, 3, 512, 128, 2048)
# The models to which the target is calibrated: other models with sizes around those of the planned model.
OTHERS = {
    "small": (make_model(128, 6, 2, 352, 96, 1536), {}),
    "large": (make_model(256, 6, 4, 688, 160, 2560), {}),
    "recomputed": (make_model(160, 8, 2, 448, 144, 2304), {"recompute": {"recompute": "True"}}),
}


class Benchmark:
    def __init__(self, tools, arguments):
        self.tools, self.arguments = tools, arguments
        self.pace = ["--d2h-gbps=%g" % arguments.gbps]
        self.link = ["host.%s_bytes_per_second=%g" % (way, arguments.gbps * 1e9) for way in ("to_host", "to_device")]

    def execute(self, step, *options):
        """Seconds of all steps but the first of a run."""
        steps = self.arguments.steps + 1
        report = self.tools.train(step, TEXT, steps, threads=STAGES, extra=[*self.pace, *options])
        return [entry["seconds"] for entry in report["steps"][1:]]

    def profile(self, step, folder, name):
        """Profiles in `folder`, one for each rank and run."""
        for repeat in range(self.arguments.repeats):
            written = os.path.join(folder, "%s-%d" % (name, repeat))
            self.execute(step, "--profile", written)
            # Calibration wants the folders of all ranks in one.
            for rank in sorted(os.listdir(written)):
                os.rename(os.path.join(written, rank), "%s-%s" % (written, rank))
            os.rmdir(written)

    def calibrate(self):
        profiles, target = self.tools.path("profiles"), self.tools.path("mine.mlir")
        os.makedirs(profiles)
        for name, (model, options) in OTHERS.items():
            step = self.tools.lower(name, model, **options, **PIPELINE)[1]
            self.profile(step, profiles, name)
        self.tools.run("mf-run", "--calibrate=" + profiles, "--target=this-machine", "-o", target)
        return planning.Planner(self.tools, target, self.link)

    def write(self, name, **options):
        path = self.tools.path(name.replace(" ", "-") + ".given.yaml")
        training.write_yaml(path, MODEL, **options, **PIPELINE)
        return path

    def list_uniform(self):
        """Settings that say the same of each stage, by name."""
        for count in range(1, LAYERS // STAGES + 1):
            table = "[%s]" % ", ".join([str(count)] * STAGES)
            yield "recompute %d" % count, {"recompute": {"recompute": table}}
            yield "select_recompute %d" % count, {"recompute": {"select_recompute": table}}
            layers = [stage * LAYERS // STAGES + layer for stage in range(STAGES) for layer in range(count)]
            yield "swap %d" % count, {"swap": {"layer_swap": "[{backward_prefetch: 20, layers: %s}]" % layers}}

    def predict(self, planner, name, **options):
        yaml = self.write(name, **options)
        step = planner.compile(name.replace(" ", "-"), yaml)
        report = planner.simulate(step)
        return step, report["step_seconds"], max(stage["peak_bytes"] for stage in report["stages"])

    def print_rows(self, rows, limit):
        """Rows are executed in turns, so that other work on the machine holds up all of them."""
        executed = [[] for _ in rows]
        for _ in range(self.arguments.repeats):
            for seconds, (_, step, _, _) in zip(executed, rows):
                seconds += self.execute(step)
        for seconds, (name, _, predicted, peak) in zip(executed, rows):
            median, fastest = sorted(seconds)[len(seconds) // 2], min(seconds)
            print("%-24s%10.1f%6s%14.1f%12.1f%12.1f%10.2f%10.2f" % (
                name, peak / 2**20, "yes" if peak <= limit else "no", 1e3 * predicted, 1e3 * median, 1e3 * fastest,
                median / predicted, fastest / predicted), flush=True)  # fmt: skip

    def run(self):
        planner = self.calibrate()
        none = self.predict(planner, "none")
        full = self.predict(planner, "full", recompute={"recompute": "True"})
        limit = int(full[2] + self.arguments.share * (none[2] - full[2]))
        uniform = {name: self.predict(planner, name, **options) for name, options in self.list_uniform()}
        fitting = [name for name in uniform if uniform[name][2] <= limit]
        plan = planner.plan("plan", self.write("none"), limit)
        planned = planner.compile("planned", plan.path, limit), plan.seconds, max(plan.peaks)
        print("limit %.1f MiB, link %g GB/s; times in ms" % (limit / 2**20, self.arguments.gbps))
        print("%-24s%10s%6s%14s%12s%12s%10s%10s" % ("settings", "peak MiB", "fits", "predicted", "median", "fastest",
                                                    "median/p", "fastest/p"))  # fmt: skip
        rows = [("none", *none), ("full recompute", *full)]
        if fitting:
            best = min(fitting, key=lambda name: uniform[name][1])
            rows.append((best, *uniform[best]))
        self.print_rows([*rows, ("plan", *planned)], limit)
        print("planned settings: %s" % plan.planned["settings"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--gbps", type=float, default=1)
    parser.add_argument("--keep", help="keep programs and reports here")
    arguments = parser.parse_args()
    print("load average before: %.1f %.1f %.1f" % os.getloadavg())
    folder = arguments.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    try:
        Benchmark(training.Tools(arguments.bin_folder, folder), arguments).run()
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
