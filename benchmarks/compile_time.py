# SPDX-License-Identifier: Apache-2.0
"""Times mf-opt: Llama2-7B, four times the layers, 64 times the micro-batches.

usage: compile_time.py [BIN_FOLDER [REPEATS]]

A row is the fastest of several runs of the whole program, with start-up, parsing
and printing.
"""

import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = ROOT + "/test/data/mindformers/yamls/pretrain_llama2_7b_bf16.yaml"

STEP = """
parallel_config:
  pipeline_stage: {stages}
  micro_batch_num: {pipelined}
runner_config:
  gradient_accumulation_steps: {accumulated}
recompute_config:
  select_recompute: True
runner_wrapper:
  type: MFTrainOneStepCell
  scale_sense: 1.0
  use_clip_grad: True
"""


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin"
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as work:

        def path(name):
            return os.path.join(work, name)

        def run(tool, *arguments):
            command = [os.path.join(folder, tool), *arguments]
            subprocess.run(command, check=True, capture_output=True)

        def measure(layers, stages, micro_batches):
            with open(path("step.yaml"), "w") as file:
                file.write(
                    STEP.format(
                        stages=stages,
                        pipelined=micro_batches if stages > 1 else 1,
                        accumulated=1 if stages > 1 else micro_batches,
                    )
                )
            run("mf-translate", "--import-mindformers", MODEL, "--num-layers=%d" % layers,
                "-o", path("model.mlir"))  # fmt: skip
            times = []
            for _ in range(repeats):
                start = time.time()
                run("mf-opt", "--quiet", "--recompute-config=" + path("step.yaml"),
                    path("model.mlir"), "-o", path("step.mlir"))  # fmt: skip
                times.append(time.time() - start)
            return min(times)

        row = "%8s%8s%14s%10s%10s"
        print(row % ("layers", "stages", "micro-batches", "seconds", "ratio"))
        for stages in (1, 4):
            base = None
            for layers, micro_batches in ((32, 8), (128, 8), (32, 512)):
                seconds = measure(layers, stages, micro_batches)
                base = base or seconds
                print(
                    row
                    % (layers, stages, micro_batches, "%.3f" % seconds, "%.2f" % (seconds / base)),
                    flush=True,
                )


if __name__ == "__main__":
    main()
