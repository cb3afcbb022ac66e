#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the long campaigns, of which the tests have a small part, and prints a table of them.

usage: nightly.py [--build FOLDER] [--seed N] [--scale X] [--jobs N] [--only NAME,...] [--list]

A campaign is a script of test/ or a GoogleTest with a seed and a number of cases. --seed N begins N times the number of cases later, so
that another night draws other cases, also where each case is a seed. --scale multiplies the numbers of cases. Below 1, campaigns with
fixed cases run only some of the cases. Prints a line for each campaign, with the command that runs it alone if it failed, and its output into
nightly.log; behind them the detection table: what campaigns broke on purpose, how much of it was refused, how much gave
the same bits all the same, and how much was missed. What made a tool crash, or has other bits than it should, is minimised and written as a
test (test/fuzz/minimise.py, test/e2e/minimise_pair.py) into the campaign's folder. Sanitizers are skipped where the compiler has no run-time library for them, AArch64 where it is not built, releases where there is no debootstrap. Returns 1 if a campaign failed. The fuzzer of YAML (scripts/fuzz-yaml.sh) needs a build of its own.
"""

import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
E2E = "test/e2e/%s.py"
# A line of a campaign's output, for each class of faults that it injects.
DETECTION = re.compile(r"^detection: (.+): (\d+) injected, (\d+) detected, (\d+) harmless, (\d+) missed$", re.MULTILINE)


class Campaign:
    """A command with {bin}, {build} and {work}, and with {seed} and {count} if it draws cases. One with {part} runs a part of its
    cases, fixed and drawn, where the scale is below 1."""

    def __init__(self, name, command, cases, seed=0, **environment):
        self.name, self.command, self.cases, self.seed, self.environment = name, command, cases, seed, environment

    def has_count(self):
        return "{count}" in self.command or any("{count}" in value for value in self.environment.values())


def script(name, arguments):
    return "{python} %s %s" % (E2E % name, arguments)


def unit(program, tests):
    return "{bin}/%s --gtest_filter=%s" % (program, tests)


# YAMLs of both graphs whose steps compile in a few seconds.
PUBLISHED = " ".join(
    "--yaml=test/data/%s.yaml" % name
    for name in (
        "mindformers/yamls/pretrain_llama2_7b_bf16", "dynamic/pynative_ds3", "mindformers/yamls/finetune_qwen2_5_14b_8k",
        "dynamic/train_config", "mindformers/yamls/finetune_mixtral-8x7b", "dynamic/anchor_dsv3mini_measured",
        "mindformers/yamls/finetune_qwen2_72b_32k", "mindformers/yamls/pretrain_qwen2_57b",
        "mindformers/yamls/pretrain_qwen3_32b_4k", "mindformers/yamls/finetune_telechat_115b",
    )
)  # fmt: skip

CAMPAIGNS = [
    # Values of layouts, options and schedules: more draws than the tests have.
    Campaign("random-layouts", script("random_layouts", "{part} --tests={work}/tests --seed {seed} --count {count} --named --fixed {bin} {work}"), 300, 2),
    Campaign("random-adapters", script("random_layouts", "{part} --tests={work}/tests --seed {seed} --count {count} --adapters {bin} {work}"), 200, 2),
    Campaign("dynamic-configurations", script("dynamic_configurations", "{part} --tests={work}/tests --seed {seed} --count {count} {bin} {work}"), 1000, 2),
    Campaign("options-never-change-bits", script("options_never_change_bits", "{part} --tests={work}/tests {bin} {work} {seed} {count}"), 300, 1),
    Campaign("schedules-never-change-bits", script("schedules_on_layouts", "{part} --tests={work}/tests --one-rank --seed {seed} --count {count} {bin} {work}"), 200, 1),
    Campaign("schedules-on-layouts", script("schedules_on_layouts", "{part} --tests={work}/tests --seed {seed} --count {count} {bin} {work}"), 500, 2),
    Campaign("random-orders", script("random_orders", "{part} {bin} {work} {seed} {count}"), 300, 1),
    Campaign("trainer-memory", script("trainer_memory", "--seed {seed} --count {count} {bin} {work}"), 200, 7),
    Campaign("advice", script("advice", "{part} --seed={seed} --count={count} --combinations=40 {bin} {work}"), 200, 2),
    Campaign("advice-of-published", script("advice", "{part} --seed={seed} --count={count} --combinations=60 %s {bin} {work}" % PUBLISHED), 20, 2),
    Campaign("planned-memory", script("planned_memory", "--seed {seed} --count {count} {bin} {work} test examples"), 200, 1),
    Campaign("real-sizes", script("real_sizes", "{part} --seed {seed} --count {count} {bin} {work}"), 500, 1),
    Campaign("plans-match-mip", script("plans_match_mip", "{part} {bin} {work} {seed} {count}"), 500, 1),
    # All of what the tests have parts of.
    Campaign("chains-never-change-bits", script("fusions_never_change_bits", "{part} --chains {bin} {work}"), 20),
    Campaign("tables-of-the-docs", "{python} test/docs/check_examples.py --nightly {bin} docs/dev/measured-peaks.md docs/dev/published-files.md docs/experts.md docs/fine-tuning.md docs/memory.md docs/out-of-memory.md docs/planning.md docs/recipes.md docs/schedules.md docs/simulator.md", 15),
    # Programs that are broken on purpose, and their verifiers.
    Campaign("collective-mutations", script("collective_mutations", "{part} {bin} examples/llama_tiny.yaml {work}"), 300),
    Campaign("damaged-inputs", "{python} test/fuzz/mutate_inputs.py --tools {bin} --tests {work}/tests --seed {seed} --count {count}", 100000, 1),
    Campaign("cann-faults", script("cann_faults", "--seed {seed} --count {count} {build} {work}"), 1000, 1),
    Campaign("drawn-settings", "{python} test/tools/mf-opt/Inputs/draw_settings.py {work} {seed} {count}", 3000, 20251120),
    Campaign("killed-runs", "{python} test/run/Inputs/killed.py {work}/killed {bin}/mf-run {bin}/mf-opt examples {seed} {count}", 20, 3),
    Campaign("resumed-elsewhere", "{python} test/run/Inputs/resumed_elsewhere.py {bin} {work}/runs examples/llama_tiny.yaml {count} 10 {seed} 'mpirun -q'", 5000, 1),
    Campaign("yaml-mutations", unit("mfConfigTest", "MutationTest.MutatedFiles*"), 100000, 20251120, MF_SEED="{seed}", MF_COUNT="{count}"),
    Campaign("killed-writers", unit("mfDataTest", "CheckpointKillTest.AtRandomMoments"), 4000, 11, MF_SEED="{seed}", MF_COUNT="{count}"),
    Campaign("proofs-of-calls", unit("mfProgramTest", "CallProofTest.*"), 200000, 20261123, MF_SEED="{seed}", MF_COUNT="{count}"),
    Campaign("wrong-rewrites", unit("mfInterpreterTest", "*CertificateTest.*"), 1000, 1, MF_SEED="{seed}", MF_COUNT="{count}"),
    Campaign("fault-schedules", unit("mfRunnerTest", "FaultScheduleTest.*"), 1000000, 1, MF_SEED="{seed}", MF_COUNT="{count}"),
    Campaign("faulty-training", unit("mfRunnerTest", "FaultyTrainingTest.*"), 50000, 1, MF_SEED="{seed}", MF_COUNT="{count}"),
    Campaign("wrong-programs", unit("mfInterpreterTest", "WrongProgramTest.*"), 10000, 1, MF_SEED="{seed}", MF_COUNT="{count}"),
    # What is released, in roots of Debian that have nothing else.
    Campaign("release-archive", "{python} test/install/clean_roots.py archive {build} {work}", 1),
    Campaign("release-archive-aarch64", "{python} test/install/clean_roots.py archive {build}-aarch64 {work}", 1),
    Campaign("container", "{python} test/install/clean_roots.py container {build} {work}", 1),
    # Tests without MLIR, built with sanitizers in folders of their own. They count their cases themselves.
    Campaign("address-sanitizer", "{python} scripts/sanitize.py address {build}-address", 0),
    Campaign("thread-sanitizer", "{python} scripts/sanitize.py thread {build}-thread", 0),
    # All of lit with programs for AArch64, in an emulator.
    Campaign("aarch64", "{python} scripts/emulated_suite.py {build}-aarch64", 0),
    Campaign("memory-plans", unit("mfMemoryTest", "StepPlanTest.PlansRandomTemporariesLegally"), 20000, 0, MF_SEED="{seed}", MF_COUNT="{count}"),
    # The planner beside trying all plans.
    Campaign("planner-oracle", unit("mfSolverTest", "OracleTest.*"), 20000, 0, MF_SEED="{seed}", MF_COUNT="{count}"),
    Campaign("recompute-oracle", unit("mfPlannerTest", "RecomputeCutTest.IsTheBest*"), 20000, 7, MF_SEED="{seed}", MF_COUNT="{count}"),
]  # fmt: skip


class Result:
    def __init__(self, campaign, seed, cases, code, seconds, text, command):
        self.campaign, self.seed, self.cases, self.code = campaign, seed, cases, code
        self.seconds, self.text, self.command = seconds, text, command

    def get_failures(self):
        """The number of failures that the campaign prints, and at least one if the campaign failed or missed a fault."""
        found = re.findall(r"(\d+) (?:problems|different|differ|wrong)\b", self.text)
        return max(int(found[-1]) if found else 0, self.code != 0, sum(counts[-1] for _, counts in self.get_detections()))

    def get_detections(self):
        """Class and counts (injected, detected, harmless, missed) of each class of faults that it injected."""
        return [(name, [int(count) for count in counts]) for name, *counts in DETECTION.findall(self.text)]

    def get_cases(self):
        """The number that was asked for, or that the campaign says where that is 0."""
        ran = re.search(r"^(\d+) tests\b", self.text, re.MULTILINE)
        return int(ran[1]) if ran and not self.cases else self.cases

    def get_reason(self):
        """Why the campaign did nothing, if it says so."""
        found = re.search(r"^skipped: (.*)", self.text, re.MULTILINE)
        return found[1] if found else None

    def __str__(self):
        if self.get_reason():
            return "%-30s%12s%10s  %s" % (self.campaign.name, self.seed, "skipped", self.get_reason())
        return "%-30s%12s%10s%10d%10.0f" % (self.campaign.name, self.seed, self.get_cases(), self.get_failures(), self.seconds)


def find_python(build):
    """The interpreter that CMake found for tests, else the interpreter of this script; ends if the interpreter does not have the modules that campaigns import."""
    python, cache = sys.executable, os.path.join(build, "CMakeCache.txt")
    if os.path.exists(cache):
        with open(cache) as file:
            found = re.search(r"^MF_PYTHON:\w+=(.+)$", file.read(), re.MULTILINE)
        python = found[1] if found else python
    missing = [name for name in ("numpy", "scipy") if subprocess.run([python, "-c", "import " + name], stderr=subprocess.DEVNULL).returncode]
    if missing:
        sys.exit("error: %s has no %s, which campaigns import; expected an interpreter with it: configure with -DMF_PYTHON=FILE"
                 % (python, " and no ".join(missing)))  # fmt: skip
    return python


class Nightly:
    def __init__(self, options):
        self.options, self.python = options, find_python(options.build)
        self.bin = os.path.join(os.path.abspath(options.build), "bin")
        self.work = os.path.join(os.path.abspath(options.build), "nightly")

    def run(self, campaign):
        work = os.path.join(self.work, campaign.name)
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        scale, part = self.options.scale, ""
        is_drawn, has_parts = campaign.has_count(), "{part}" in campaign.command
        cases = max(1, round(campaign.cases * scale)) if is_drawn or has_parts and scale < 1 else campaign.cases
        count = cases
        if has_parts and scale < 1:
            part, count = "--part=0/%d" % round(1 / scale), campaign.cases
        # Cases of one seed after the other would be those of the night before, but for one.
        seed = campaign.seed + self.options.seed * campaign.cases if is_drawn else "-"
        values = dict(
            python=self.python, bin=self.bin, build=os.path.dirname(self.bin), work=work, seed=seed, count=count, part=part,
        )  # fmt: skip
        command = campaign.command.format(**values)
        changes = {name: value.format(**values) for name, value in campaign.environment.items()}
        path = self.bin + os.pathsep + os.environ["PATH"]
        begin = time.monotonic()
        done = subprocess.run(
            shlex.split(command), cwd=ROOT, env=dict(os.environ, PATH=path, **changes), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        shown = " ".join(["%s=%s" % item for item in changes.items()] + [command])
        return Result(campaign, seed, cases, done.returncode, time.monotonic() - begin, done.stdout, shown)

    @staticmethod
    def print_detections(results):
        table = {}
        for result in results:
            for name, counts in result.get_detections():
                table[name] = [a + b for a, b in zip(table.get(name, [0] * 4), counts)]
        if not table:
            return
        total = [sum(column) for column in zip(*table.values())]
        print("\n%-30s%12s%10s%10s%10s" % ("fault class", "injected", "detected", "harmless", "missed"))
        for name, counts in [*sorted(table.items()), ("all", total)]:
            print("%-30s%12d%10d%10d%10d" % (name, *counts))

    def run_all(self, campaigns):
        os.makedirs(self.work, exist_ok=True)
        print("%-30s%12s%10s%10s%10s" % ("campaign", "seed", "cases", "failures", "seconds"))
        failures, begin, results = 0, time.monotonic(), []
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool, open(os.path.join(self.work, "nightly.log"), "w") as log:
            for result in pool.map(self.run, campaigns):
                results.append(result)
                print(result, flush=True)
                log.write("== %s\n%s\n" % (result.command, result.text))
                if result.get_failures():
                    failures += 1
                    print("    failed: %s\n    %s" % (result.command, "\n    ".join(result.text.splitlines()[-10:])), flush=True)
        self.print_detections(results)
        skipped = sum(result.get_reason() is not None for result in results)
        print("\n%d campaigns, %d failed, %d skipped, %.0f s (seed %d, scale %g)"
              % (len(campaigns), failures, skipped, time.monotonic() - begin, self.options.seed, self.options.scale))  # fmt: skip
        return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--seed", type=int, default=0, help="the night: others draw other cases")
    parser.add_argument("--scale", type=float, default=1.0, help="times the numbers of cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="campaigns at once")
    parser.add_argument("--only", type=lambda names: names.split(","), help="names of campaigns")
    parser.add_argument("--list", action="store_true", help="print the campaigns and their cases")
    options = parser.parse_args()
    campaigns = [campaign for campaign in CAMPAIGNS if not options.only or campaign.name in options.only]
    unknown = set(options.only or []) - {campaign.name for campaign in CAMPAIGNS}
    if unknown:
        sys.exit("error: no campaign is called %s; --list prints all" % ", ".join(sorted(unknown)))
    if options.list:
        for campaign in campaigns:
            print("%-30s%10d" % (campaign.name, campaign.cases))
        return 0
    return 1 if Nightly(options).run_all(campaigns) else 0


if __name__ == "__main__":
    sys.exit(main())
