# SPDX-License-Identifier: Apache-2.0
"""The step time of models and layouts: predicted for this machine, and executed on it.

usage: predicted_and_executed.py [BIN_FOLDER] [--steps N] [--repeats N] [--rows NAME,...] [--keep FOLDER]

A device is what a rank has of this machine: with one rank both threads, with two ranks one thread each. For each of
the two, the target `this-machine` is fitted to other programs than those of the table: by least squares, of each kind
of kernel how much longer than the target says a launch takes and what it takes besides, of matrix products one rate
for each type, of communication rates and latencies, and what a step takes besides. Then each row is executed, and
simulated on the target of its number of ranks; a row with a paced link to the host with that rate. Other work on the
machine only adds to times, so of the steps of all repeats the fastest counts, of kinds of work the fastest recorded
step. The table has both and, as far as they take 3 % of the step, the milliseconds of kinds of work on the first
stage, executed and predicted.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import numpy  # noqa: E402
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

# The models to which targets are fitted: kinds of work, types and sizes around those of the rows,
# in other models.
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


class Fit:
    """Numbers of the target `this-machine` that suit executed programs."""

    def __init__(self, machine, samples):
        self.machine, self.samples = machine, samples
        self.numbers = {}
        for line in machine.tools.run("mf-run", "--list-parameters", "--target=this-machine").splitlines():
            path, value = line.split()
            self.numbers[path] = float(value)
        self.start = dict(self.numbers)

    def get_settings(self):
        return {path: value for path, value in self.numbers.items() if value != self.start[path]}

    def simulate(self, latency=0.0):
        """Seconds by kind of each sample where each launch, message and collective takes so long besides."""
        for path in self.numbers:
            if path.endswith("latency"):
                self.numbers[path] = latency
        return [sum_kinds(self.machine.simulate(sample.step, self.get_settings())) for sample in self.samples]

    def solve(self, kinds, works, counts):
        """Factor and latency that make the seconds of `kinds` those that were executed, relative to them."""
        rows = []
        for sample, work, count in zip(self.samples, works, counts):
            for kind in kinds:
                seconds = sample.seconds.get(kind, 0)
                if seconds > 0 and kind in work:
                    rows.append((work[kind] / seconds, count[kind] / seconds))
        if not rows:
            return None
        matrix = numpy.array(rows)
        best = numpy.linalg.lstsq(matrix, numpy.ones(len(rows)), rcond=None)[0]
        if len(rows) < 3 or best[0] <= 0 or best[1] < 0:
            # The samples do not determine both numbers.
            best = (numpy.linalg.lstsq(matrix[:, :1], numpy.ones(len(rows)), rcond=None)[0][0], 0.0)
        return best

    def run(self):
        self.fit_types()
        works = self.simulate()
        unit = 1e-3
        counts = [{kind: (late[kind] - work[kind]) / unit for kind in late} for late, work in zip(self.simulate(unit), works)]
        self.simulate()
        kinds = sorted({kind for work in works for kind in work})
        for kind in kinds:
            prefix = "kernels.%s." % kind
            found = self.solve([kind], works, counts) if prefix + "passes" in self.numbers else None
            if prefix + "element_bytes.power" in self.numbers:
                self.fit_by_type(kind, prefix, works)
                continue
            if found is not None:
                self.numbers[prefix + "passes"] *= found[0]
                self.numbers[prefix + "peak_share"] = min(1.0, self.numbers[prefix + "peak_share"] / found[0])
                self.numbers[prefix + "latency"] = found[1]
        collective = self.solve([kind for kind in kinds if " over " in kind], works, counts)
        message = self.solve([kind for kind in kinds if kind == "send"], works, counts)
        self.set_network(collective, message)
        rest = []
        for sample in self.samples:
            rest.append(sample.step_seconds - self.machine.simulate(sample.step, self.get_settings())["step_seconds"])
        self.numbers["step_latency"] = max(0.0, sorted(rest)[0])
        return self.get_settings()

    def fit_by_type(self, kind, prefix, works):
        """A share of the peak for fp32, and what is left of it for 16 bits."""
        shares = {}
        for element in ("float32", "bfloat16"):
            pairs = [(work[kind], sample.seconds[kind]) for sample, work in zip(self.samples, works)
                     if sample.row.element == element and sample.row.name != "small" and kind in work]  # fmt: skip
            if pairs:
                shares[element] = sum(work for work, _ in pairs) / sum(took for _, took in pairs)
        if not shares:
            return
        # The model works with one number more where both types are there.
        whole = shares.get("float32", shares.get("bfloat16"))
        self.numbers[prefix + "peak_share"] *= whole
        if len(shares) == 2:
            self.numbers[prefix + "element_bytes.power"] += max(
                -self.numbers[prefix + "element_bytes.power"], numpy.log2(whole / shares["bfloat16"]))  # fmt: skip
        self.numbers[prefix + "latency"] = 0.0

    def fit_types(self):
        """One rate of matrix products for each type, which the other kinds on the same engine start from."""
        for kind in ("matmul", "grouped_matmul"):
            # For small products the latency of a launch already stands for the loss of rate.
            self.numbers["kernels.%s.flops.half" % kind] = 0.0
        works = self.simulate()
        for element, name in (("float32", "f32"), ("bfloat16", "bf16")):
            pairs = [(work["matmul"], sample.seconds["matmul"]) for sample, work in zip(self.samples, works)
                     if sample.row.element == element and sample.row.name != "small"]  # fmt: skip
            if pairs:
                self.numbers["engines.cube." + name] *= sum(work for work, _ in pairs) / sum(took for _, took in pairs)

    def set_network(self, collective, message):
        """The faster of both has the whole rate, the other a share of it."""
        factors = {"collective": collective, "message": message}
        factors = {name: found for name, found in factors.items() if found is not None}
        if not factors:
            return
        fastest = min(found[0] for found in factors.values())
        self.numbers["networks.threads.bytes_per_second"] /= fastest
        for name, found in factors.items():
            self.numbers["networks.threads.%s_share" % name] = fastest / found[0]
            self.numbers["networks.threads.%s_latency" % name] = found[1]


def sum_kinds(report):
    """Seconds by kind of all stages."""
    seconds = {}
    for stage in report["stages"]:
        for kind, value in stage["seconds_by_kind"].items():
            seconds[kind] = seconds.get(kind, 0) + value
    return seconds


class Sample:
    """An executed program: the fastest step, and by kind the fastest seconds."""

    def __init__(self, row, step, reports):
        self.row, self.step, self.reports = row, step, reports
        times = [entry["seconds"] for report in reports for entry in report["steps"][1:]]
        self.step_seconds, self.median = min(times), sorted(times)[len(times) // 2]
        self.seconds = self.get_least([sum_kinds(report) for report in reports])
        self.first_stage = self.get_least([report["stages"][0]["seconds_by_kind"] for report in reports])

    @staticmethod
    def get_least(tables):
        return {kind: min(table[kind] for table in tables) for kind in tables[0]}


class Machine:
    """This machine, and targets fitted to it."""

    def __init__(self, tools, steps, repeats=1):
        self.tools, self.steps, self.repeats, self.targets = tools, steps, repeats, {}

    def lower(self, row, name):
        options = dict(row.options)
        ranks = options.pop("layout", None)
        return self.tools.lower(name, row.get_config(), ranks=ranks, **options)[1]

    def execute(self, row, step):
        pace = ["--d2h-gbps=%g" % row.gbps] if row.gbps else []
        reports = [self.tools.train(step, TEXT, self.steps + 1, threads=THREADS, extra=pace) for _ in range(self.repeats)]
        return Sample(row, step, reports)

    def simulate(self, step, settings):
        report = self.tools.path("predicted.json")
        changes = ["--set=%s=%.9g" % item for item in settings.items()]
        self.tools.run("mf-run", "--simulate", step, "--target=this-machine", *changes, "--quiet", "--report", report)
        return json.load(open(report))

    def fit(self, ranks):
        """The target `this-machine` for one of this number of ranks."""
        if ranks not in self.targets:
            samples = []
            for number, row in enumerate(FITTED[ranks]):
                samples.append(self.execute(row, self.lower(row, "fitted-%d-%d" % (ranks, number))))
            self.targets[ranks] = Fit(self, samples).run()
        return self.targets[ranks]

    def predict(self, row, step):
        settings = dict(self.fit(row.ranks))
        if row.gbps:
            settings["host.to_host_bytes_per_second"] = row.gbps * 1e9
            settings["host.to_device_bytes_per_second"] = row.gbps * 1e9
        return self.simulate(step, settings)


def compare_kinds(executed, predicted):
    """Milliseconds by kind on the first stage, of those that matter."""
    ours, theirs = executed.first_stage, predicted["stages"][0]["seconds_by_kind"]
    limit = 0.03 * executed.step_seconds
    kinds = [kind for kind in sorted(set(ours) | set(theirs)) if max(ours.get(kind, 0), theirs.get(kind, 0)) > limit]
    kinds.sort(key=lambda kind: -ours.get(kind, 0))
    return ", ".join("%s %.1f/%.1f" % (kind, 1e3 * ours.get(kind, 0), 1e3 * theirs.get(kind, 0)) for kind in kinds)


def run(machine, names):
    print("%-24s%7s%14s%14s%14s%9s  %s" % ("model and layout", "ranks", "executed ms", "median ms", "predicted ms",
                                           "error", "ms by kind: executed/predicted"))  # fmt: skip
    errors = []
    for number, row in enumerate(ROWS):
        if names and row.name not in names:
            continue
        step = machine.lower(row, "row-%d" % number)
        executed = machine.execute(row, step)
        predicted = machine.predict(row, step)
        error = predicted["step_seconds"] / executed.step_seconds - 1
        errors.append(abs(error))
        print("%-24s%7d%14.2f%14.2f%14.2f%8.1f%%  %s" % (
            row.name, row.ranks, 1e3 * executed.step_seconds, 1e3 * executed.median, 1e3 * predicted["step_seconds"],
            100 * error, compare_kinds(executed, predicted)), flush=True)  # fmt: skip
    print("mean error %.1f %%, largest %.1f %%" % (100 * sum(errors) / len(errors), 100 * max(errors)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", default="")
    parser.add_argument("--keep", help="keep programs and reports here")
    arguments = parser.parse_args()
    print("load average before: %.1f %.1f %.1f" % os.getloadavg())
    folder = arguments.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    try:
        machine = Machine(training.Tools(arguments.bin_folder, folder), arguments.steps, arguments.repeats)
        for ranks in FITTED:
            machine.fit(ranks)
        run(machine, [name for name in arguments.rows.split(",") if name])
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)
    print("load average behind: %.1f %.1f %.1f" % os.getloadavg())


if __name__ == "__main__":
    main()
