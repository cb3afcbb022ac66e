"""Compares a small Llama on several ranks with the same on one.

usage: sharded_models.py BIN_FOLDER LLAMA_YAML WORK_FOLDER

Imports the model, gives its parameters the cuts of MindSpore Transformers'
strategies, and runs what each sharding pass and autodiff make of it against the
whole model: losses and gradients must be the same to a relative 1e-5.
"""

import collections
import os
import re
import subprocess
import sys

SMALL = {
    "seq_length": 16, "hidden_size": 32, "intermediate_size": 48, "vocab_size": 64,
    "batch_size": 2, "num_layers": 2,
}  # fmt: skip

CUTS = {
    "tok_embeddings.embedding_weight": '[["cp", "mp"], []]',
    "attention.w[qkv].weight": '[["mp"], []]',
    "attention.wo.weight": '[[], ["mp"]]',
    "feed_forward.w[13].weight": '[["mp"], []]',
    "feed_forward.w2.weight": '[[], ["mp"]]',
    "lm_head.weight": '[["mp"], []]',
}

TRAINING = """#mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1%s>,
  recompute = <recompute = false, select = false, select_comm = false, select_exclude = false,
  select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>,
  swap = <swap = false, default_prefetch = 1>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>"""

SEQUENCE = ", sequence_parallel = true"
ULYSSES = ', context_parallel = "ulysses_cp"'
HYBRID = ', context_parallel = "hybrid_cp"'

# Mesh, settings, and where it is known the collectives of one layer in forward
# and in backward; views and local parts are none.
LAYOUTS = [
    ("mp = 2", "", ({"all_reduce": 2}, {"all_reduce": 2})),
    ("mp = 2", SEQUENCE, ({"all_gather": 2, "reduce_scatter": 2},) * 2),
    ("dp = 2", "", ({}, {})),
    ("dp = 2, mp = 2", SEQUENCE, ({"all_gather": 2, "reduce_scatter": 2},) * 2),
    ("cp = 2", "", ({"all_gather": 2}, {"reduce_scatter": 2})),
    ("cp = 2", ULYSSES, ({"all_to_all": 4},) * 2),
    ("cp = 2, mp = 2", SEQUENCE, None),
    ("cp = 2", ULYSSES + SEQUENCE, ({"all_to_all": 4},) * 2),
    ("cp_co = 2, cp_ds = 2", HYBRID, ({"all_to_all": 4, "all_gather": 2}, {"all_to_all": 4, "reduce_scatter": 2})),
    ("dp = 2, cp = 2, mp = 2", "", None),
    ("dp = 2, cp = 2, mp = 2", SEQUENCE, None),
]  # fmt: skip

NORM_OUT = ({"all_gather": 1}, {"reduce_scatter": 1})


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


class Models:
    def __init__(self, bin_folder, yaml, work):
        self.bin, self.work = bin_folder, work
        text = open(yaml).read()
        for key, value in SMALL.items():
            text = re.sub(r"(\b%s:).*" % key, r"\1 %s" % value, text)
        self.write("llama.yaml", text)
        self.check("mf-translate", "--import-mindformers", self.path("llama.yaml"), "-o", self.path("llama.mlir"))
        self.imported = open(self.path("llama.mlir")).read()

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def check(self, tool, *arguments):
        status, output, errors = run(os.path.join(self.bin, tool), *arguments)
        if status != 0:
            sys.exit("%s: %s%s" % (tool, output, errors))

    def lower(self, source, passes, target):
        self.check(
            "mf-opt", "--pass-pipeline=builtin.module(mf.model(%s))" % passes, self.path(source),
            "-o", self.path(target),
        )  # fmt: skip

    def make(self, name, mesh, settings):
        def add_cuts(match):
            for pattern, cuts in CUTS.items():
                if re.search(pattern + "$", match.group(2)):
                    return match.group(0) + " {cuts = %s}" % cuts
            return match.group(0)

        text = re.sub(r"(mf\.param @(\S+) : .*)", add_cuts, self.imported)
        if mesh:
            text = text.replace("module {", "module attributes {mf.mesh = #mf.mesh<pp = 1, %s>} {" % mesh, 1)
        training = "attributes {training = %s, " % (TRAINING % settings)
        text = re.sub(r"(mf\.model @\S+ )attributes {", lambda match: match.group(1) + training, text, count=1)
        self.write(name, text)

    def count(self, name, layer):
        """Collectives of a layer in forward and in backward."""
        counts = [collections.Counter(), collections.Counter()]
        pattern = r'mf\.(all_reduce|all_gather|reduce_scatter|all_to_all) .*"%s\.[^"]*?(\.grad)?"' % re.escape(layer)
        for match in re.finditer(pattern, open(self.path(name)).read()):
            counts[match.group(2) is not None][match.group(1)] += 1
        return tuple(dict(count) for count in counts)

    def compare(self, before, after):
        _, output, errors = run(
            os.path.join(self.bin, "mf-check-rewrite"), self.path(before), self.path(after), "--tolerance=1e-5"
        )
        return (output + errors).strip()


def main():
    models = Models(*sys.argv[1:])
    models.make("whole.mlir", "", "")
    models.lower("whole.mlir", "mf-partition", "whole-forward.mlir")
    models.lower("whole-forward.mlir", "mf-build-backward", "whole-backward.mlir")
    problems = 0
    for mesh, settings, expected in LAYOUTS:
        models.make("input.mlir", mesh, settings)
        models.lower("input.mlir", "mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-localize", "forward.mlir")
        models.lower("forward.mlir", "mf-build-backward", "backward.mlir")
        said = [models.compare("whole-forward.mlir", "forward.mlir"), models.compare("whole-backward.mlir", "backward.mlir")]
        counts = models.count("backward.mlir", "layers.1")
        # Into the final norm go all rows; its gradient is summed and cut at once.
        if "mp" in mesh and SEQUENCE in settings and models.count("backward.mlir", "norm_out") != NORM_OUT:
            problems += 1
            print(mesh, settings, models.count("backward.mlir", "norm_out"))
        if said != ["same losses", "same losses, gradients"] or (expected and counts != tuple(expected)):
            problems += 1
            print(mesh, settings, said, counts)
    print("%d layouts, %d problems" % (len(LAYOUTS), problems))


if __name__ == "__main__":
    main()
