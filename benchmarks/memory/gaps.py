# SPDX-License-Identifier: Apache-2.0
"""How far the planned arenas are above the max-live bound.

usage: gaps.py [--all] [--stages N,...] [--swap "NAME;..."] [BIN_FOLDER [YAML...]]

Lowers each model with 1 to 8 stages and without swap, with the default policy
and with layer_swap at growing prefetch distances, alone and mixed with
recompute, and verifies each program. A row is the worst stage of a program;
--all prints all programs, not only the ten worst. The YAMLs are those of
test/data/mindformers and examples/llama_tiny.yaml, if none is given. Some settings
cannot be lowered, for example more stages than layers. The script counts them below the table.
"""

import argparse
import glob
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

STEP = """
parallel_config:
  pipeline_stage: {stages}
  micro_batch_num: {pipelined}
runner_config:
  batch_size: 1
  gradient_accumulation_steps: {accumulated}
runner_wrapper:
  type: MFTrainOneStepCell
  scale_sense: 1.0
  use_clip_grad: True
recompute_config:
  {recompute}
swap_config:
  {swap}
"""

LAYERS = "{swap: True, layer_swap: [{backward_prefetch: %d, layers: True}]}"

# Name, recompute_config, swap_config.
SETTINGS = [
    ("off", "{recompute: False}", "{swap: False}"),
    ("off, select", "{select_recompute: True}", "{swap: False}"),
    ("off, full", "{recompute: True}", "{swap: False}"),
    ("default", "{recompute: False}", "{swap: True}"),
    *(("p = %d" % p, "{recompute: False}", LAYERS % p) for p in (1, 3, 10, 50, 1000)),
    ("p = 10, recompute [0, 1]", "{recompute: [0, 1]}", LAYERS % 10),
    (
        "p = 50, select",
        r"{select_recompute: {'feed_forward\.mul': [0, 2]}}",
        LAYERS % 50,
    ),
]


def find_yamls():
    return [ROOT + "/examples/llama_tiny.yaml"] + sorted(
        glob.glob(ROOT + "/test/data/mindformers/*yamls/*.yaml")
    )


class Bench:
    def __init__(self, folder, work):
        self.folder, self.work = folder, work

    def run(self, tool, *arguments):
        command = [os.path.join(self.folder, tool), *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def import_model(self, yaml):
        """The model's file, or nothing if the YAML cannot be imported."""
        name = os.path.splitext(os.path.basename(yaml))[0]
        model = os.path.join(self.work, name + ".mlir")
        result = self.run("mf-translate", "--import-mindformers", yaml, "-o", model)
        return model if result.returncode == 0 else None

    def measure(self, program):
        """The worst stage as (gap, arena, bound, stage) if the program can be
        lowered, and what the verifier says against it."""
        yaml, model, stages, (setting, recompute, swap) = program
        base = os.path.join(self.work, "%s.%d.%s" % (os.path.basename(model), stages, setting))
        config, step = base + ".yaml", base + ".step.mlir"
        with open(config, "w") as file:
            file.write(
                STEP.format(
                    stages=stages,
                    pipelined=2 * stages if stages > 1 else 1,
                    accumulated=1 if stages > 1 else 2,
                    recompute=recompute,
                    swap=swap,
                )
            )
        result = self.run("mf-opt", "--quiet", "--recompute-config=" + config, model, "-o", step)
        if result.returncode != 0:
            return None, None
        worst = None
        with open(step) as file:
            for line in file:
                if "arena_bytes" in line:
                    arena = int(re.search(r"arena_bytes = (\d+)", line)[1])
                    bound = int(re.search(r"max_live_bytes = (\d+)", line)[1])
                    stage = int(re.search(r"stage (\d+) ", line)[1])
                    row = (100 * (arena - bound) / bound, arena, bound, stage)
                    worst = max(worst or row, row)
        verified = self.run("mf-opt", "--quiet", "--ascend-verify-program", step, "-o", os.devnull)
        os.remove(step)
        return worst, verified.stderr.splitlines()[0] if verified.returncode else None


def report(rows, wrong, num_skipped, show_all):
    row = "%-44s%7s  %-26s%6s%16s%16s%8s"
    print(row % ("model", "stages", "swap", "stage", "arena", "max-live", "gap %"))
    rows.sort(key=lambda entry: -entry[1][0])
    for (yaml, _, stages, (setting, _, _)), (gap, arena, bound, stage) in (
        rows if show_all else rows[:10]
    ):
        name = os.path.splitext(os.path.basename(yaml))[0]
        print(row % (name, stages, setting, stage, arena, bound, "%.3f" % gap))
    print()
    print("%-28s%10s%10s%10s" % ("swap", "programs", "mean %", "worst %"))
    for setting in [entry[0] for entry in SETTINGS]:
        gaps = [entry[1][0] for entry in rows if entry[0][3][0] == setting]
        if gaps:
            print(
                "%-28s%10d%10.3f%10.3f" % (setting, len(gaps), sum(gaps) / len(gaps), max(gaps))
            )
    print("%d programs could not be lowered" % num_skipped)
    for (yaml, _, stages, (setting, _, _)), message in wrong:
        print("%s, %d stages, swap %s: %s" % (os.path.basename(yaml), stages, setting, message))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--stages", default="1,2,4,8")
    parser.add_argument("--swap", default="")
    parser.add_argument("folder", nargs="?", default=ROOT + "/build/bin")
    parser.add_argument("yamls", nargs="*")
    arguments = parser.parse_args()
    wanted = [name.strip() for name in arguments.swap.split(";") if name]
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(arguments.folder, work)
        programs = []
        for yaml in arguments.yamls or find_yamls():
            model = bench.import_model(yaml)
            for stages in map(int, arguments.stages.split(",")):
                for setting in SETTINGS:
                    if model and (not wanted or setting[0] in wanted):
                        programs.append((yaml, model, stages, setting))
        with ThreadPoolExecutor(2) as pool:
            results = list(zip(programs, pool.map(bench.measure, programs)))
    rows = [(program, worst) for program, (worst, _) in results if worst]
    wrong = [(program, message) for program, (_, message) in results if message]
    report(rows, wrong, len(results) - len(rows), arguments.all)


if __name__ == "__main__":
    main()
