# SPDX-License-Identifier: Apache-2.0
"""What each choice about communication keeps, and which collectives it repeats.

usage: kept_communication.py [BIN_FOLDER [OPTIONS...]]

Lowers Llama2 70B (test/data/mindformers/yamls/finetune_llama2_70b_bf16_32p.yaml,
three layers on one stage, fine_grain_interleave 1) with other recompute_config
sections, first as the file lays it out, then without use_seq_parallel and with
micro-batches of four rows. For a layer in the middle of a stage the script prints
what one micro-batch keeps from forward to backward, and the collectives of forward
and backward. All figures are read from the programs. OPTIONS are the rows to print;
without OPTIONS all rows are printed.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YAML = "test/data/mindformers/yamls/finetune_llama2_70b_bf16_32p.yaml"
LAYER = "layers.1"
SHORT = {"all_gather": "AG", "reduce_scatter": "RS", "all_reduce": "AR"}
LAYOUTS = [
    ("use_seq_parallel, 1 row", "num_layers: 3; pipeline_stage: 1; fine_grain_interleave: 1"),
    ("without it, 4 rows", "num_layers: 3; pipeline_stage: 1; fine_grain_interleave: 1; use_seq_parallel: False; batch_size: 4"),
]
OPTIONS = [
    "recompute: False",
    "select_comm_recompute: True",
    "select_recompute: True",
    "select_recompute: True; select_comm_recompute: True",
    "recompute: True; mp_comm_recompute: False",
    "recompute: True",
    "recompute: True; recompute_slice_activation: True",
]


def change(text, settings):
    for setting in settings.split("; "):
        key, value = setting.split(": ")
        text = re.sub(r"(\b%s:).*" % key, r"\1 %s" % value, text)
    return text


def count(program, task):
    """The collectives of the layer in a routine."""
    routine = re.search(r"ascend\.routine @chunk\d+\.%s\(.*?\n    }\n" % task, program, re.DOTALL)[0]
    kinds = re.findall(r'ascend\.collective (\w+) .* cell "%s\.' % re.escape(LAYER), routine)
    counts = collections.Counter(kinds)
    return " ".join("%d %s" % (counts[kind], short) for kind, short in SHORT.items() if counts[kind])


class Llama70B:
    def __init__(self, bin_folder, folder):
        self.bin, self.folder = bin_folder, folder
        with open(os.path.join(ROOT, YAML)) as file:
            self.text = re.sub(r"recompute_config:\n(?:  .*\n)*", "", file.read())

    def run(self, tool, *arguments):
        command = [os.path.join(self.bin, tool), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    def lower(self, layout, option):
        """The kept bytes of the layer, and the program."""
        yaml, model, step = (os.path.join(self.folder, name) for name in ("70b.yaml", "70b.mlir", "step.mlir"))
        with open(yaml, "w") as file:
            file.write(change(self.text, layout + "; max_device_memory: 400GB"))
            file.write("\nrecompute_config: {%s}\n" % option.replace("; ", ", "))
        self.run("mf-translate", "--import-mindformers", yaml, "-o", model)
        self.run("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step)
        memory = self.run("mf-opt", "--ascend-print-memory", step, "-o", os.devnull).stderr
        kept = int(re.search(re.escape(LAYER) + r" +(\d+)", memory)[1])
        with open(step) as file:
            return kept, file.read()


def main():
    bin_folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin")
    row = "%-52s%12s  %-12s%s"
    with tempfile.TemporaryDirectory() as folder:
        llama = Llama70B(bin_folder, folder)
        for name, layout in LAYOUTS:
            print(row % (name, "kept MiB", "forward", "backward"))
            for option in sys.argv[2:] or OPTIONS:
                kept, program = llama.lower(layout, option)
                print(row % (option, "%.2f" % (kept / 2**20), count(program, "forward"), count(program, "backward")))


if __name__ == "__main__":
    main()
