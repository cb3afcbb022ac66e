# SPDX-License-Identifier: Apache-2.0
"""Which heuristics and searches of the memory planner found the plans.

usage: packers.py [BIN_FOLDER [YAML...]]

Lowers each YAML as it is; three models of two layers per stage with 1 and 4 stages and each recompute and swap of
gaps.py; and a small one with each schedule of schedule_gaps.py. A row is a packer: how many layouts of routines, of
frames and of whole stages (frames, scratch and task buffers together) it found in the plans that were taken. Packers that
found no layout are not in the list. The YAMLs are those of test/data/mindformers/yamls and examples, if none is given.
"""

import argparse
import collections
import glob
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor

import gaps
import schedule_gaps

ROOT = gaps.ROOT
KINDS = ("routines", "frames", "blocks", "others")
FOLDERS = ("examples", "examples/documented", "examples/planning", "test/data/mindformers/yamls")
SMALL = ("examples/llama_tiny", "test/data/mindformers/yamls/pretrain_deepseek3_4layer_4p",
         "test/data/mindformers/yamls/pretrain_llama2_7b_bf16")  # fmt: skip
STAGES, LAYERS = (1, 4), 2


class Bench(gaps.Bench):
    def lower(self, model, config, *options):
        """What the remarks of each stage say, nothing if the model cannot be lowered so."""
        result = self.run("mf-opt", "--quiet", "--verify=false", "--hbm=4000GB", "--remarks-filter-analyse=memory",
                          "--recompute-config=" + config, *options, model, "-o", os.devnull)  # fmt: skip
        return re.findall(r'Packers .*Remark="\w+: ([^"]*)"', result.stderr) if result.returncode == 0 else []

    def translate(self, yaml, *options):
        """The path of a model, or nothing if it cannot be made."""
        model = os.path.join(self.work, "%s%s.mlir" % (os.path.basename(yaml), "".join(options)))
        result = self.run("mf-translate", "--import-mindformers", yaml, *options, "-o", model)
        return model if result.returncode == 0 else None

    def write(self, name, text):
        path = os.path.join(self.work, name + ".yaml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def list_settings(self):
        """Arguments of lower() for models with each recompute and swap."""
        for yaml in SMALL:
            for stages in STAGES:
                model = self.translate("%s/%s.yaml" % (ROOT, yaml), "--num-layers=%d" % (LAYERS * stages))
                for number, (_, recompute, swap) in enumerate(gaps.SETTINGS):
                    yield model, self.write("%d.%d" % (stages, number), gaps.STEP.format(
                        stages=stages, pipelined=2 * stages if stages > 1 else 1, accumulated=1 if stages > 1 else 2,
                        recompute=recompute, swap=swap,
                    ))  # fmt: skip

    def list_schedules(self):
        for stages in (4, 8):
            model = self.translate("%s/%s.yaml" % (ROOT, SMALL[0]), "--num-layers=%d" % (2 * LAYERS * stages))
            for schedule, (scheduler, interleave) in schedule_gaps.SCHEDULES.items():
                for name, (recompute, swap) in schedule_gaps.SETTINGS.items():
                    config = self.write("%s.%s.%d" % (schedule, name, stages), schedule_gaps.STEP.format(
                        stages=stages, micro_batches=4 * stages, interleaved=interleave > 1, scheduler=scheduler,
                        interleave=interleave, recompute=recompute, swap=swap,
                    ))  # fmt: skip
                    yield model, config, "--schedule=" + schedule


def count(remarks):
    """For each kind of layout, and each packer that found some, how many: all, and those of an improved order."""
    found = {kind: collections.defaultdict(lambda: [0, 0]) for kind in KINDS}

    def add(kind, name, number):
        name, _, improved = name.partition(", ")
        entry = found[kind][re.sub(r"\d+ groups", "groups", name)]
        entry[0] += number
        entry[1] += number if improved else 0

    for remark in remarks:
        for kind, text in (entry.split(": ", 1) for entry in remark.split("; ") if not entry.endswith(": ")):
            if kind != "blocks":
                for name, number in re.findall(r"(?:^|, )(.*?) x (\d+)", text):
                    add(kind, re.sub("^together, ", "together by ", name), int(number))
                continue
            first, _, others = text.partition(", others ")
            add("blocks", "frames " + first.removeprefix("frames ") if others else first, 1)
            if others:
                add("others", others, 1)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=ROOT + "/build/bin")
    parser.add_argument("yamls", nargs="*")
    arguments = parser.parse_args()
    yamls = arguments.yamls or [
        yaml for folder in FOLDERS for yaml in sorted(glob.glob(os.path.join(ROOT, folder, "*.yaml")))
    ]
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(arguments.folder, work)
        models = [(bench.translate(yaml), yaml) for yaml in yamls]
        programs = [program for program in models if program[0]]
        programs += [*bench.list_settings(), *bench.list_schedules()]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda program: bench.lower(*program), programs))
    remarks = [remark for result in results for remark in result]
    found = count(remarks)
    print("%d programs, %d plans of device and host memory of stages" % (sum(map(bool, results)), len(remarks)))
    for kind in KINDS:
        print("\n%-24s%10s%10s" % (kind, "found", "improved"))
        for name, (number, improved) in sorted(found[kind].items(), key=lambda entry: (-entry[1][0], entry[0])):
            print("%-24s%10d%10d" % (name, number, improved))


if __name__ == "__main__":
    main()
