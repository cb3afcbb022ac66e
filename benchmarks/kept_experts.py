# SPDX-License-Identifier: Apache-2.0
"""What layers with experts keep at each memory level, and which exchanges they repeat.

usage: kept_experts.py [BIN_FOLDER]

Lowers DeepSeek-V3 (test/data/mindformers/yamls/pretrain_deepseek3_671b.yaml, six layers on two stages) with nothing
recomputed, at the levels of experts, with all operators of the experts, and with whole layers. For the last layer the
script prints what a micro-batch keeps, and the exchanges of rows in forward and backward. Then it simulates the step.
"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YAML = "test/data/mindformers/yamls/pretrain_deepseek3_671b.yaml"
LAYER = "layers.5"
CELL = r"feed_forward\.routed_experts\.ffn\."
OPTIONS = [
    ("nothing", {}),
    ("level 0", {CELL + "level0": True}),
    ("level 1", {CELL + "level1": True}),
    ("hook_ffn_forward", {CELL + "hook_ffn_forward": True}),
    ("recompute: True", None),
]


class Step:
    def __init__(self, bin_folder, folder, patterns):
        self.bin, self.folder = bin_folder, folder
        with open(os.path.join(ROOT, YAML)) as file:
            text = re.sub(r"recompute_config:\n(?:  .*\n)*", "", file.read())
        for key, value in (("num_layers", "&num_layers 6"), ("pipeline_stage", "2"), ("offset", "0"), ("mtp_depth", "&mtp_depth 0"),
                           ("max_device_memory", "4000GB")):  # fmt: skip
            text = re.sub(r"(\n *%s:).*" % key, r"\1 " + value, text)
        select = ", ".join("'%s': %s" % item for item in (patterns or {}).items())
        text += "\nrecompute_config: {recompute: %s, select_recompute: {%s}}\n" % (patterns is None, select)
        yaml, model, self.step = (os.path.join(folder, name) for name in ("v3.yaml", "v3.mlir", "step.mlir"))
        with open(yaml, "w") as file:
            file.write(text)
        self.run("mf-translate", "--import-mindformers", yaml, "-o", model)
        self.run("mf-opt", "--quiet", "--verify=false", "--recompute-config=" + yaml, model, "-o", self.step)
        with open(self.step) as file:
            self.program = file.read()

    def run(self, tool, *arguments):
        command = [os.path.join(self.bin, tool), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    def count(self, task):
        routines = re.findall(r"ascend\.routine @chunk\d+\.%s\(.*?\n    }\n" % task, self.program, re.DOTALL)
        return len(re.findall(r'ascend\.collective all_to_all_v .* cell "%s\.' % re.escape(LAYER), "".join(routines)))

    def get_kept(self):
        memory = self.run("mf-opt", "--ascend-print-memory", self.step, "-o", os.devnull).stderr
        return int(re.search(re.escape(LAYER) + r" +(\d+)", memory)[1])

    def get_seconds(self):
        text = self.run("mf-run", "--simulate", "--verify=false", "--target=atlas-800t-a2", self.step).stdout
        return float(re.search(r"step time: ([\d.]+)", text)[1])


def main():
    bin_folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin")
    row = "%-18s%12s%10s%10s%10s"
    print(row % ("runs again", "kept bytes", "forward", "backward", "step, s"))
    with tempfile.TemporaryDirectory() as folder:
        for name, patterns in OPTIONS:
            step = Step(bin_folder, folder, patterns)
            print(row % (name, step.get_kept(), step.count("forward"), step.count("backward"), "%.3f" % step.get_seconds()))


if __name__ == "__main__":
    main()
