# SPDX-License-Identifier: Apache-2.0
"""Checks that running the IR before and after every pass gives the same.

usage: check_executable.py all-passes|K/N LLVM_TOOLS LLVM_INCLUDE_FOLDER SOURCE_FOLDER BIN_FOLDER WORK_FOLDER

Lowers small models and lets mf-check-rewrite compare what each pass found with
what it left. With all-passes, each pass of passes/Passes.td must have left other IR
in at least one of these runs, and the unit test of wrong rewrites must break what
it left. A pass that preserves all analyses needs neither: it must leave the text of
a lowered program as it is. K/N is a part of more runs, with other settings.
"""

import glob
import os
import re
import subprocess
import sys

from check_passes import read_passes

WRONG_REWRITES = "test/unit/Interpreter/Wrong*.cpp"

# Keys of examples/llama_tiny.yaml that make it small.
SMALL = {
    "seq_length": 16,
    "hidden_size": 32,
    "intermediate_size": 48,
    "vocab_size": 64,
    "batch_size": 1,
}

RECOMPUTE = """
parallel_config: {pipeline_stage: 2, micro_batch_num: 3}
recompute_config: {recompute: [1, 0], select_recompute: True}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-3, weight_decay: 0.1}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1024, use_clip_grad: True, max_grad_norm: 0.01}
"""

SWAP = r"""
parallel_config: {pipeline_stage: 4, micro_batch_num: 4}
recompute_config: {recompute: [1]}
swap_config:
  swap: True
  layer_swap:
    - {backward_prefetch: 2, layers: [0, 2]}
  op_swap:
    - {op_name: 'attention\.flash_attention', backward_prefetch: 30, layers: [3]}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1.0, use_clip_grad: True}
"""

ONE_STAGE = """
runner_config: {gradient_accumulation_steps: 1}
recompute_config: {select_recompute: ['feed_forward', 'attention_norm']}
"""


# Ranks that cut a tensor add in another order.
SHARDED = """
runner_config: {gradient_accumulation_steps: 2}
"""

# Ranks share the storage of parameters out.
STORED = """
parallel_config: {%s: 2}
parallel:
  enable_parallel_optimizer: True
  parallel_optimizer_config: {optimizer_level: level%d, parallel_optimizer_threshold: 0}
runner_config: {gradient_accumulation_steps: 2}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 8, use_clip_grad: True, max_grad_norm: 0.01}
"""

# One micro-batch: backward sums gradients over ranks.
ONE_BACKWARD = """
parallel_config: {data_parallel: 2}
parallel:
  enable_parallel_optimizer: True
  parallel_optimizer_config: {parallel_optimizer_threshold: 1}
runner_config: {gradient_accumulation_steps: 1}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 8, use_clip_grad: True, max_grad_norm: 0.01}
"""
# Losses of pieces of the sequence add up.
PIECES = """
parallel_config: {pipeline_stage: 2, micro_batch_num: 2, seq_split_num: 4}
parallel: {pipeline_config: {pipeline_interleave: True, pipeline_scheduler: seqpipe}}
recompute_config: {select_recompute: True}
"""

# Layers in blocks of rows, and two copies of them.
COPIES = """
parallel_config: {model_parallel: 2, use_seq_parallel: True}
model: {model_config: {fine_grain_interleave: 2}}
micro_batch_interleave_num: 2
runner_config: {gradient_accumulation_steps: 2}
"""
# Operators become one.
FUSED = RECOMPUTE + """
model: {model_config: {use_fused_rope: True, use_fused_swiglu: True}}
"""
FUSED_EXPERTS = """
runner_config: {gradient_accumulation_steps: 2}
recompute_config: {select_recompute: ['feed_forward']}
model: {model_config: {use_fused_rope: True, use_fused_swiglu: True}}
moe_config: {expert_num: 3, use_fused_ops_permute: True, use_fused_ops_topkrouter: True}
"""
FUSED_STREAMS = """
runner_config: {gradient_accumulation_steps: 2}
model: {model_config: {use_fused_mhc: True}}
"""
# Adapters, and all else as it is.
ADAPTED = """
runner_config: {gradient_accumulation_steps: 2}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 8, use_clip_grad: True, max_grad_norm: 0.01}
"""
TOLERANCE = {
    "sharded.yaml": "1e-5", "once.yaml": "1e-5", "by_micro_batch.yaml": "1e-5", "in_layers.yaml": "1e-5",
    "one_backward.yaml": "1e-5", "pieces.yaml": "1e-5", "losses.yaml": "1e-5", "copies.yaml": "1e-5",
    "fused_streams.yaml": "1e-5",
}  # fmt: skip


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


class Cases:
    """Models and YAMLs to lower, as files."""

    def __init__(self, source, bin_folder, work):
        self.examples = os.path.join(source, "examples")
        self.experts = os.path.join(source, "test", "passes", "fuse", "Inputs", "experts.mlir")
        self.streams = os.path.join(source, "test", "passes", "fuse", "Inputs", "streams.mlir")
        self.adapted = os.path.join(source, "test", "passes", "adapters", "Inputs", "one_linear.mlir")
        self.bin, self.work = bin_folder, work

    def tool(self, name):
        return os.path.join(self.bin, name)

    def example(self, name):
        return os.path.join(self.examples, name)

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def llama(self, name, **changes):
        """A model made of llama_tiny.yaml with other values of some keys."""
        lines = []
        keys = dict(SMALL, **changes)
        for line in open(self.example("llama_tiny.yaml")):
            key = line.split(":")[0].strip()
            if key in keys:
                line = "%s: %s\n" % (line.split(":")[0], keys.pop(key))
            lines.append(line)
            if line.strip() == "model_config:":
                added = len(lines)
        lines[added:added] = ["    %s: %s\n" % item for item in keys.items()]
        model = os.path.join(self.work, name + ".mlir")
        status, _, errors = run(
            self.tool("mf-translate"), "--import-mindformers",
            self.write(name + ".yaml", "".join(lines)), "-o", model,
        )  # fmt: skip
        if status != 0:
            sys.exit(errors)
        return model

    def cut_matrices(self, model):
        """The model on two ranks, over which its matrices are cut by rows."""
        text = open(model).read()
        text = re.sub(r"(mf\.param @\S+ : tensor<\d+x\d+x.*)", r'\1 {cuts = [["mp"], []]}', text)
        return self.write("cut.mlir", "module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {\n%s}\n" % text)

    def of_all_passes(self):
        """The cheapest cases in which each pass has something to change."""
        two_layers = self.example("two_layers.mlir")
        yield two_layers, self.example("two_layers.yaml")
        yield two_layers, self.example("two_layers_swap.yaml")
        yield two_layers, self.example("two_layers.yaml"), "--for-cann"
        yield self.cut_matrices(two_layers), self.write("sharded.yaml", SHARDED)
        yield self.cut_matrices(two_layers), self.write("copies.yaml", COPIES)
        yield self.cut_matrices(two_layers), self.write("once.yaml", STORED % ("model_parallel", 1))
        yield self.experts, self.write("fused_experts.yaml", FUSED_EXPERTS)
        yield self.streams, self.write("fused_streams.yaml", FUSED_STREAMS)
        yield self.adapted, self.write("adapted.yaml", ADAPTED)
        yield self.llama("pairs", batch_size=2), self.write("one_backward.yaml", ONE_BACKWARD)
        yield self.llama("pieces", batch_size=2), self.write("pieces.yaml", PIECES)
        yield self.llama("losses"), self.write("losses.yaml", RECOMPUTE), "--loss-chunks=3"
        yield self.llama("bf16", compute_dtype='"bfloat16"'), self.write("recompute.yaml", RECOMPUTE), "--cast-once"

    def more(self):
        """Other settings of the same passes, on larger models."""
        copies = self.llama("copies", batch_size=2)
        yield copies, self.write("by_micro_batch.yaml", STORED % ("data_parallel", 2))
        yield copies, self.write("in_layers.yaml", STORED % ("data_parallel", 3))
        llama, recompute = self.llama("llama"), self.write("recompute.yaml", RECOMPUTE)
        yield llama, recompute
        yield llama, self.write("fused.yaml", FUSED)
        tied = self.llama("tied", tie_word_embeddings="True", use_flash_attention="False")
        yield tied, self.write("swap.yaml", SWAP)
        yield tied, self.write("one_stage.yaml", ONE_STAGE)
        yield self.llama("qkv", qkv_concat="True"), recompute


def check_case(cases, model, yaml, *options):
    """Names of passes that changed the IR and left the same steps; problems."""
    status, output, errors = run(
        cases.tool("mf-check-rewrite"), model, "--recompute-config=" + yaml,
        "--tolerance=" + TOLERANCE.get(os.path.basename(yaml), "0"), *options,
    )  # fmt: skip
    case = "%s with %s" % tuple(os.path.basename(path) for path in (model, yaml))
    checked, problems = set(), []
    for line in output.splitlines():
        name, said = line.split(": ", 1)
        if "different: " in said:
            problems.append("%s: %s: %s" % (name, case, said))
        elif said.startswith("same losses") and "not compared" not in said:
            checked.add(name)
    if status != 0 and not problems:
        problems.append("%s: %s" % (case, errors))
    return checked, problems


def check_unchanged(cases, name, program):
    path = os.path.join(cases.work, name + ".mlir")
    status, _, errors = run(cases.tool("mf-opt"), "--" + name, program, "-o", path)
    if status != 0:
        return ["%s: %s" % (name, errors)]
    if open(path).read() != open(program).read():
        return ["%s: says that it changes nothing, but does" % name]
    return []


def check_coverage(cases, checked, llvm_tools, include, source):
    """What is missing of a run of each pass, and how many passes there are."""
    program = os.path.join(cases.work, "program.mlir")
    status, _, errors = run(
        cases.tool("mf-opt"), "--quiet", cases.example("two_layers.mlir"),
        "--recompute-config=" + cases.example("two_layers.yaml"), "-o", program,
    )  # fmt: skip
    if status != 0:
        sys.exit(errors)
    passes, problems = read_passes(llvm_tools, include), []
    files = sorted(glob.glob(os.path.join(source, WRONG_REWRITES)))
    wrong_rewrites = "".join(open(file).read() for file in files)
    for entry in passes:
        name = entry.argument
        if entry.changes_nothing:
            problems += check_unchanged(cases, name, program)
        elif name not in checked:
            problems.append("%s: no case runs the IR that it changes" % name)
        elif '{"%s",' % name not in wrong_rewrites:
            problems.append("%s: expected a case in %s" % (name, WRONG_REWRITES))
    return problems, len(passes)


def main():
    which, llvm_tools, include, source, bin_folder, work = sys.argv[1:]
    cases = Cases(source, bin_folder, work)
    if which == "all-passes":
        chosen = list(cases.of_all_passes())
    else:
        part, parts = map(int, which.split("/"))
        chosen = list(cases.more())[part::parts]
    checked, problems = set(), []
    for case in chosen:
        names, found = check_case(cases, *case)
        checked |= names
        problems += found
    count = len(checked)
    if which == "all-passes":
        missing, count = check_coverage(cases, checked, llvm_tools, include, source)
        problems += missing
    for problem in problems:
        print(problem)
    print("%d passes in %d cases, %d problems" % (count, len(chosen), len(problems)))
    sys.exit(len(problems) > 0)


if __name__ == "__main__":
    main()
