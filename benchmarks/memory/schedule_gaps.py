# SPDX-License-Identifier: Apache-2.0
"""How far the arenas of pipeline schedules are above the max-live bound.

usage: schedule_gaps.py [--stages N,...] [--layers N] [--schedules NAME,...]
                        [--settings NAME,...] [BIN_FOLDER [YAML]]

Lowers a model of some layers per stage and four micro-batches per stage with
every schedule, alone and with recompute and swap, and verifies each program. A
number is the worst stage of a program, in percent.
"""

import argparse
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

STEP = """
parallel_config:
  pipeline_stage: {stages}
  micro_batch_num: {micro_batches}
parallel:
  pipeline_config:
    pipeline_interleave: {interleaved}
    pipeline_scheduler: {scheduler}
model:
  model_config:
    pp_interleave_num: {interleave}
recompute_config:
  {recompute}
swap_config:
  {swap}
"""

# Name for --schedule, pipeline_scheduler, chunks on a stage.
SCHEDULES = {
    "gpipe": ("gpipe", 1),
    "1f1b": ("1f1b", 1),
    "interleaved": ("1f1b", 2),
    "interleaved-low-memory": ("1f1b", 2),
    "zero-bubble-h1": ("1f1b", 1),
    "zero-bubble-v": ("zero_bubble_v", 2),
}

# recompute_config, swap_config.
SETTINGS = {
    "nothing": ("{recompute: False}", "{swap: False}"),
    "select": ("{select_recompute: True}", "{swap: False}"),
    "recompute": ("{recompute: True}", "{swap: False}"),
    "swap": ("{recompute: False}", "{swap: True}"),
    "swap p=10": (
        "{recompute: False}",
        "{swap: True, layer_swap: [{backward_prefetch: 10, layers: True}]}",
    ),
}


class Bench:
    def __init__(self, folder, yaml, work):
        self.folder, self.yaml, self.work = folder, yaml, work

    def run(self, tool, *arguments):
        command = [os.path.join(self.folder, tool), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    def measure(self, schedule, setting, stages, layers):
        """The largest gap of a stage, in percent."""
        scheduler, interleave = SCHEDULES[schedule]
        recompute, swap = SETTINGS[setting]
        config, model, step = (
            os.path.join(self.work, name) for name in ("config.yaml", "model.mlir", "step.mlir")
        )
        with open(config, "w") as file:
            file.write(
                STEP.format(
                    stages=stages,
                    micro_batches=4 * stages,
                    interleaved=str(interleave > 1),
                    scheduler=scheduler,
                    interleave=interleave,
                    recompute=recompute,
                    swap=swap,
                )
            )
        self.run("mf-translate", "--import-mindformers", self.yaml,
                 "--num-layers=%d" % (layers * stages), "-o", model)  # fmt: skip
        self.run("mf-opt", "--quiet", "--schedule=" + schedule,
                 "--recompute-config=" + config, model, "-o", step)  # fmt: skip
        self.run("mf-opt", "--quiet", "--ascend-verify-program", step, "-o", os.devnull)
        with open(step) as file:
            plans = re.findall(r"arena_bytes = (\d+).*max_live_bytes = (\d+)", file.read())
        assert len(plans) == stages, plans
        return max(100 * (int(arena) / int(bound) - 1) for arena, bound in plans)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stages", default="4,8,16")
    parser.add_argument("--layers", type=int, default=4, help="per stage")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("folder", nargs="?", default=ROOT + "/build/bin")
    parser.add_argument("yaml", nargs="?", default=ROOT + "/examples/llama_tiny.yaml")
    arguments = parser.parse_args()
    settings = arguments.settings.split(",")
    print("%-24s%6s" % ("schedule", "stages") + "".join("%12s" % name for name in settings))
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(arguments.folder, arguments.yaml, work)
        for schedule in arguments.schedules.split(","):
            for stages in map(int, arguments.stages.split(",")):
                gaps = [
                    bench.measure(schedule, setting, stages, arguments.layers)
                    for setting in settings
                ]
                print("%-24s%6d" % (schedule, stages) + "".join("%12.2f" % gap for gap in gaps),
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
