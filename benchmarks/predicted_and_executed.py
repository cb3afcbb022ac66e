"""The step time of models and layouts: predicted for this machine, and executed on it.

usage: predicted_and_executed.py [BIN_FOLDER] [--steps N] [--rows NAME,...] [--keep FOLDER]

A device is what a rank has of this machine: with one rank both threads, with two ranks one thread each. For each of
the two, other programs than those of the table are executed with --profile, and `mf-run --calibrate` fits the target
`this-machine` to them. Then each row is executed, the median step of N counts, and simulated on the target of its
number of ranks; a row with a paced link to the host is simulated with that rate. The table has both and, as far as
they take 3 % of the step, the seconds that kinds of work take on a rank of the first stage, executed and predicted.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import training  # noqa: E402

TEXT = "/usr/share/common-licenses/GPL-3"
THREADS = 2
ALL_LAYERS = {"layer_swap": "[{backward_prefetch: 2, layers: True}]"}
EXPERTS = {"expert_num": 16, "num_experts_chosen": 2, "use_gmm": True, "norm_topk_prob": True}


class Row:
    """A program: `sizes` of the model, element type, options of training.write_yaml; `gbps` paces its link."""

    def __init__(self, name, sizes, element="float32", ranks=1, gbps=None, **options):
        self.name, self.sizes, self.element, self.ranks, self.gbps = name, sizes, element, ranks, gbps
        self.options = options

    def get_config(self):
        config = dict(training.MODEL, **self.sizes)
        for key in config:
            if key.endswith("_type") or key.endswith("_dtype"):
                config[key] = '"%s"' % self.element
        return config


def make_sizes(hidden, layers, heads, inner, sequence, vocabulary, kv_heads=None):
    return {
        "hidden_size": hidden, "num_layers": layers, "num_heads": heads, "n_kv_heads": kv_heads or heads,
        "intermediate_size": inner, "seq_length": sequence, "vocab_size": vocabulary,
    }  # fmt: skip


LARGE = make_sizes(768, 12, 12, 2048, 512, 32000)
MIDDLE = make_sizes(512, 8, 8, 1376, 256, 8192)
ROWS = [
    Row("tiny", make_sizes(64, 4, 4, 96, 32, 256, 2), batch_size=2),
    Row("134M bf16", LARGE, "bfloat16", batch_size=4),
    Row("134M full recompute", LARGE, batch_size=4, recompute={"recompute": "True"}),
    Row("select recompute bf16", MIDDLE, "bfloat16", batch_size=4, recompute={"select_recompute": "True"}),
    Row("swap at 2 GB/s", MIDDLE, gbps=2, batch_size=4, swap=ALL_LAYERS),
    Row("experts", make_sizes(512, 4, 8, 512, 256, 8192), batch_size=4, experts=EXPERTS),
    Row("GQA 2048 tokens bf16", make_sizes(512, 4, 8, 1376, 2048, 8192, 2), "bfloat16", batch_size=1),
    Row("2 stages", MIDDLE, ranks=2, stages=2, micro_batches=4, batch_size=2),
    Row("2 stages interleaved", MIDDLE, ranks=2, stages=2, micro_batches=4, batch_size=2, interleave=2),
    Row("data parallel 2 bf16", MIDDLE, "bfloat16", ranks=2, batch_size=2,
        layout={"data_parallel": 2}),
]  # fmt: skip

# What targets are fitted to: kinds of work, types and sizes around those of the rows, in other models.
FITTED = {
    1: [
        Row("small", make_sizes(96, 3, 6, 160, 48, 320, 3), batch_size=2),
        Row("f32", make_sizes(640, 4, 10, 1792, 384, 12000), batch_size=3),
        Row("bf16", make_sizes(640, 4, 10, 1792, 384, 12000), "bfloat16", batch_size=3),
        Row("long", make_sizes(384, 2, 6, 1024, 1536, 4096, 3), "bfloat16", batch_size=1),
        Row("experts", make_sizes(384, 3, 6, 448, 192, 6000), batch_size=4, experts=EXPERTS),
    ],
    2: [
        Row("stages", make_sizes(384, 6, 6, 1024, 320, 6000), ranks=2, stages=2, micro_batches=4, batch_size=2),
        Row("replicas", make_sizes(640, 4, 10, 1792, 384, 6000), "bfloat16", ranks=2, batch_size=2,
            layout={"data_parallel": 2}),
        Row("replicas f32", make_sizes(384, 4, 6, 1024, 320, 6000), ranks=2, batch_size=2,
            layout={"data_parallel": 2}),
    ],
}  # fmt: skip


def median(values):
    return sorted(values)[len(values) // 2]


class Machine:
    """This machine, and targets fitted to it."""

    def __init__(self, tools, steps):
        self.tools, self.steps, self.targets = tools, steps, {}

    def lower(self, row, name):
        options = dict(row.options)
        ranks = options.pop("layout", None)
        return self.tools.lower(name, row.get_config(), ranks=ranks, **options)[1]

    def execute(self, row, step, extra=()):
        pace = ["--d2h-gbps=%g" % row.gbps] if row.gbps else []
        report = self.tools.train(step, TEXT, self.steps + 1, threads=THREADS, extra=[*pace, *extra])
        report["median"] = median([s["seconds"] for s in report["steps"]][1:])
        return report

    def fit(self, ranks):
        """The target of a rank of so many."""
        if ranks not in self.targets:
            folder = self.tools.path("profiles-%d" % ranks)
            for number, row in enumerate(FITTED[ranks]):
                step = self.lower(row, "fitted-%d-%d" % (ranks, number))
                self.execute(row, step, ["--profile=" + os.path.join(folder, str(number))])
            target = self.tools.path("this-machine-%d.mlir" % ranks)
            print(self.tools.run("mf-run", "--calibrate=" + folder, "--target=this-machine", "-o", target))
            self.targets[ranks] = target
        return self.targets[ranks]

    def predict(self, row, step):
        report = self.tools.path("predicted.json")
        rate = []
        if row.gbps:
            paths = ("host.to_host_bytes_per_second", "host.to_device_bytes_per_second")
            rate = ["--set=%s=%g" % (path, row.gbps * 1e9) for path in paths]
        self.tools.run("mf-run", "--simulate", step, "--target=" + self.fit(row.ranks), *rate, "--quiet",
                       "--report", report)  # fmt: skip
        return json.load(open(report))


def compare_kinds(executed, predicted):
    """Seconds by kind on the first stage, "kind executed/predicted ms", of those that matter."""
    ours, theirs = (report["stages"][0].get("seconds_by_kind", {}) for report in (executed, predicted))
    limit = 0.03 * executed["step_seconds"]
    kinds = [kind for kind in sorted(set(ours) | set(theirs)) if max(ours.get(kind, 0), theirs.get(kind, 0)) > limit]
    kinds.sort(key=lambda kind: -ours.get(kind, 0))
    return ", ".join("%s %.1f/%.1f" % (kind, 1e3 * ours.get(kind, 0), 1e3 * theirs.get(kind, 0)) for kind in kinds)


def run(machine, names):
    print("%-24s%7s%14s%14s%9s  %s" % ("model and layout", "ranks", "executed ms", "predicted ms", "error",
                                       "ms by kind: executed/predicted"))  # fmt: skip
    errors = []
    for number, row in enumerate(ROWS):
        if names and row.name not in names:
            continue
        step = machine.lower(row, "row-%d" % number)
        executed = machine.execute(row, step)
        predicted = machine.predict(row, step)
        error = predicted["step_seconds"] / executed["median"] - 1
        errors.append(abs(error))
        print("%-24s%7d%14.2f%14.2f%8.1f%%  %s" % (
            row.name, row.ranks, 1e3 * executed["median"], 1e3 * predicted["step_seconds"], 100 * error,
            compare_kinds(executed, predicted)), flush=True)  # fmt: skip
    print("mean error %.1f %%, largest %.1f %%" % (100 * sum(errors) / len(errors), 100 * max(errors)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rows", default="")
    parser.add_argument("--keep", help="keep programs, profiles and targets here")
    arguments = parser.parse_args()
    print("load average before: %.1f %.1f %.1f" % os.getloadavg())
    folder = arguments.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    try:
        machine = Machine(training.Tools(arguments.bin_folder, folder), arguments.steps)
        for ranks in FITTED:
            machine.fit(ranks)
        run(machine, [name for name in arguments.rows.split(",") if name])
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)
    print("load average behind: %.1f %.1f %.1f" % os.getloadavg())


if __name__ == "__main__":
    main()
