# SPDX-License-Identifier: Apache-2.0
"""Checks from outside what mf-plan says of the YAMLs that it writes.

usage: planned_yamls.py [--part=K/N] BIN_FOLDER WORK_FOLDER YAML_FOLDER

A planned YAML compiles with mf-opt within the limit; the arena of each stage is what mf-plan says, to the byte, and the
simulated step to the last bit. It is not slower than what was given and fits. The same is planned every time. A lower
limit gives no step that is shorter by more than what costs have wrong, and no limit a peak above it. What nothing fits
into is an error that says where and how much is missing, and writes nothing. Settings that are kept stay as they are. Trained with,
whatever the limit on memory, planned settings give the losses and parameters of the given ones to the bit, and every rank uses the
bytes that mf-plan printed.
"""

import json
import os
import re
import sys

import parts
import planning
import safetensors
import training

TARGET = "atlas-800t-a2"
# Sizes at which a device computes and does not only launch. Its link to the host is slow, so that recompute is worth
# something.
SIZES = {
    "num_layers": 8, "hidden_size": 1024, "num_heads": 8, "n_kv_heads": 4, "intermediate_size": 2816,
    "seq_length": 2048, "vocab_size": 8192,
}  # fmt: skip
SLOW_LINK = ["host.to_host_bytes_per_second=1e9", "host.to_device_bytes_per_second=1e9"]
MIB = 1 << 20


class Checks:
    def __init__(self, tools, yaml_folder):
        self.tools, self.yaml_folder = tools, yaml_folder
        self.problems, self.plans = [], 0

    def expect(self, condition, message, *values):
        if not condition:
            self.problems.append(message % values)

    def check_plan(self, name, planner, plan):
        """Checks what holds for each plan of each YAML."""
        self.plans += 1
        step = planner.compile(name, plan.path, plan.limit)
        report = planner.simulate(step)
        peaks = [stage["peak_bytes"] for stage in report["stages"]]
        self.expect(peaks == plan.peaks, "%s: mf-plan says arenas of %s, mf-opt plans %s", name, plan.peaks, peaks)
        self.expect(max(peaks) <= plan.limit, "%s: %d of %d bytes", name, max(peaks), plan.limit)
        self.expect(
            report["step_seconds"] == plan.seconds, "%s: mf-plan says %r s, mf-run %r s", name, plan.seconds,
            report["step_seconds"],
        )  # fmt: skip
        if plan.given["fits"]:
            self.expect(plan.seconds <= plan.given["seconds"], "%s: planned %r s, given %r s", name, plan.seconds,
                        plan.given["seconds"])  # fmt: skip
        self.expect(plan.found["bound_seconds"] <= plan.seconds, "%s: shorter than its bound", name)

    def check_file(self, name, limit, *options):
        """A YAML of MindSpore Transformers, planned twice."""
        planner = planning.Planner(self.tools, TARGET)
        yaml = os.path.join(self.yaml_folder, name + ".yaml")
        plan = planner.plan(name, yaml, limit, *options)
        self.check_plan(name, planner, plan)
        self.expect(plan.seconds < plan.given["seconds"], "%s: nothing gained", name)
        print("%s: %.3f -> %.3f s within %s" % (name, plan.given["seconds"], plan.seconds, limit))

    def write(self, name, **options):
        path = self.tools.path(name + ".given.yaml")
        training.write_yaml(path, dict(training.MODEL, **SIZES), **options)
        return path

    def check_limits(self, name, slack, **options):
        """From what everything fits into to what nothing does; costs may have a part `slack` of a step wrong."""
        planner = planning.Planner(self.tools, TARGET, SLOW_LINK)
        yaml = self.write(name, **options)
        most = max(planner.plan(name, yaml, "64GB").peaks)
        last = None
        for share in (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2):
            label = "%s.%g" % (name, share)
            limit = int(share * most)
            result, path, report = planner.run(label, yaml, limit)
            if result.returncode != 0:
                self.check_refusal(label, result, path, report)
                last = None
                break
            plan = planner.plan(label, yaml, limit)
            self.check_plan(label, planner, plan)
            # Other keys, which change only where nothing else fits, may make the step faster than the plan before.
            self.expect(
                last is None or "other_changes" in plan.planned or plan.seconds >= (1 - slack) * last.seconds, "%s: %r s, with more memory %r s", label,
                plan.seconds, last and last.seconds,
            )  # fmt: skip
            last = plan
        self.expect(last is None, "%s: fits into a fifth of what it needs with nothing recomputed", name)

    def check_refusal(self, name, result, path, report):
        self.expect(result.returncode == 2, "%s: exit code %d: %s", name, result.returncode, result.stderr)
        self.expect(
            re.search(r"error: no offset, recompute and swap fit into \d+ bytes.*: stage \d+ .* misses [1-9]\d* bytes", result.stderr),
            "%s: the error says: %s", name, result.stderr,
        )  # fmt: skip
        self.expect(not os.path.exists(path), "%s: wrote %s", name, path)
        with open(report) as file:
            reason = json.load(file)
        self.expect(reason["planned"] is None and reason["reason"] in result.stderr, "%s: the report says: %s", name, reason)

    def check_same_bytes(self, name, **options):
        planner = planning.Planner(self.tools, TARGET, SLOW_LINK)
        yaml = self.write(name, **options)
        limit = int(0.8 * max(planner.plan(name, yaml, "64GB").peaks))
        plans = [planner.plan("%s.%d" % (name, run), yaml, limit) for run in (1, 2)]
        self.expect(plans[0].get_text() == plans[1].get_text(), "%s: two runs write different YAMLs", name)
        self.expect(plans[0].found == plans[1].found, "%s: two runs find different things", name)

    def check_kept(self):
        """Lines of what is kept are the same bytes, and those of the others may change."""
        lines = {
            "offset": "    offset: [1, -1]  # kept",
            "recompute": "  recompute: [2, 1]  # kept",
            "select_recompute": r"  select_recompute: {'feed_forward\.mul': [3, 2]}  # kept",
            "select_comm_recompute": r"  select_comm_recompute: {'ffn_norm\.norm': [3, 1]}  # kept",
        }
        given = self.write(
            "kept", stages=2, micro_batches=8, offset=lines["offset"].split(": ", 1)[1],
            recompute={key: lines[key].split(": ", 1)[1] for key in list(lines)[1:]},
        )  # fmt: skip
        planner = planning.Planner(self.tools, TARGET)
        for key, line in lines.items():
            plan = planner.plan("kept." + key, given, "64GB", "--keep=" + key)
            self.check_plan("kept." + key, planner, plan)
            self.expect(line + "\n" in plan.get_text(), "--keep=%s: no line '%s'", key, line)
            for other in set(lines) - {key}:
                if other != "offset":
                    self.expect(lines[other] + "\n" not in plan.get_text(), "--keep=%s: keeps %s", key, other)
        swap = "layer_swap: [{backward_prefetch: 4, layers: [0, 5]}]"
        given = self.write("kept-swap", stages=2, micro_batches=8, recompute={"recompute": "True"},
                           swap=dict([swap.split(": ", 1)]))  # fmt: skip
        plan = planner.plan("kept.swap", given, "64GB", "--keep=swap")
        self.check_plan("kept.swap", planner, plan)
        self.expect("swap_config:\n  swap: True\n  %s\n" % swap in plan.get_text(), "--keep=swap: swap_config changed")

    def train(self, name, step, peaks):
        """Losses and parameters; each rank must use the bytes of `peaks`."""
        saved = self.tools.path("saved.safetensors")
        report = self.tools.train(step, self.tools.path("data"), 3, extra=["--debug-memory", "--save-params", saved])
        for rank in report["ranks"]:
            is_planned = rank["peak_bytes"] == rank["used_bytes"] == rank["planned_bytes"]
            self.expect(is_planned, "%s: planned and used differ: %s", name, rank)
        used = [rank["used_bytes"] for rank in report["ranks"]]
        self.expect(used == peaks, "%s: mf-plan says %s bytes, mf-run used %s", name, peaks, used)
        return report["losses"], safetensors.load_bytes(saved)

    def check_bits(self):
        """Plans change memory and time, and no bit. The link is slow enough that some recompute, fast enough that some swap."""
        training.start_drawing(self.tools.path("data"), 1)
        planner, given = planning.Planner(self.tools, "this-machine", SLOW_LINK), self.tools.path("given.yaml")
        training.write_yaml(given, dict(training.MODEL, num_layers=8), stages=2, micro_batches=4)
        found = planner.plan("all", given, "64GB")
        expected = self.train("given", planner.compile("given", given), [stage["peak_bytes"] for stage in found.given["stages"]])
        texts = set()
        for share in (1.0, 0.85, 0.75, 0.65):
            name = "planned-%g" % share
            plan = planner.plan(name, given, int(share * max(found.peaks)))
            bits = self.train(name, planner.compile(name, plan.path, plan.limit), plan.peaks)
            self.expect(bits == expected, "%s: other losses or parameters", name)
            texts.add(plan.get_text())
        self.plans += len(texts)
        self.expect(len(texts) > 1, "all limits have the same plan")


def main():
    part = parts.pop_part()
    bin_folder, work_folder, yaml_folder = sys.argv[1:]
    checks = Checks(training.Tools(bin_folder, work_folder), yaml_folder)
    groups = [
        lambda: checks.check_limits("stages", 0.01, stages=2, micro_batches=8),
        # With several chunks on a stage it matters when messages travel, which costs of layers do not say.
        lambda: checks.check_limits("chunks", 0.1, stages=2, micro_batches=8, interleave=2,
                                    recompute={"recompute": "True"}),
        lambda: checks.check_same_bytes("twice", stages=4, micro_batches=8),
        lambda: checks.check_kept(),
        lambda: checks.check_bits(),
        lambda: checks.check_file("finetune_qwen2_5_14b_8k", "57.5GB"),
    ]  # fmt: skip
    for check in part.select(groups):
        check()
    for problem in checks.problems:
        print("error: " + problem)
    print("%d plans, %d problems" % (checks.plans, len(checks.problems)))
    return 1 if checks.problems else 0


if __name__ == "__main__":
    sys.exit(main())
