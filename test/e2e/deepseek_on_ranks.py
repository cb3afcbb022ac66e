# SPDX-License-Identifier: Apache-2.0
"""Trains DeepSeek-V3 at a part of its width on many ranks, and on one.

usage: deepseek_on_ranks.py BIN_FOLDER DEEPSEEK_YAML WORK_FOLDER [LAYOUT...]

The YAML is the public one of the 671B model. Widths, experts, layers, vocabulary and sequence
shrink; layouts, recomputation, fused operators, latent attention, the prediction of a later token
and the balance of experts stay. A layout is PPxDPxMPxEP. The loss of each step on its ranks, in one
process and, with mpirun, in one for each stage, must be that of one rank whose router has the same
rows, to a relative 1e-5 in fp32, and so must gradients. It must fall.
"""

import os
import re
import shutil
import sys

import numpy
import safetensors
import training

STEPS = 4
BOUND = 1e-5
# Widths of 7168, 18432, 2048, 1536 and 512 divided by 64; heads are fewer and narrower.
SIZES = {
    "seq_length": 64, "max_position_embeddings": 64, "hidden_size": 112, "intermediate_size": 288,
    "moe_intermediate_size": 32, "q_lora_rank": 24, "kv_lora_rank": 8, "num_heads": 4, "n_kv_heads": 4,
    "qk_rope_head_dim": 8, "v_head_dim": 16, "qk_nope_head_dim": 16, "vocab_size": 512,
    "first_k_dense_replace": 1, "pad_token_id": 511, "parallel_optimizer_threshold": 0,
    "total_steps": 100, "warmup_ratio": 0,
}  # fmt: skip


class Layout:
    def __init__(self, text):
        self.pp, self.dp, self.mp, self.ep = (int(size) for size in text.split("x"))

    def __str__(self):
        return "pp %d, dp %d, mp %d, ep %d" % (self.pp, self.dp, self.mp, self.ep)

    @property
    def rows(self):
        return self.dp * self.mp


def shrink(text, stages):
    """The YAML with small sizes, in fp32, 3 layers and a later token's for each two stages."""
    layers = max(3, 2 * stages - 1)
    for key, value in dict(SIZES, num_layers="&num_layers %d" % layers, expert_num="&expert_num 16",
                           num_experts_chosen=4, micro_batch_num="&micro_batch_num 4").items():  # fmt: skip
        text, count = re.subn(r"(?m)^(\s*%s:).*$" % key, r"\1 %s" % value, text)
        assert count > 0, key
    text = re.sub("bfloat16", "float32", text)
    # It rounds tokens to bf16, and only behind an exchange.
    text = text.replace("use_fused_ops_permute: True", "use_fused_ops_permute: False")
    # Ranks with data of their own put other rows together in a micro-batch.
    text = text.replace("full_batch: False", "full_batch: True")
    text = re.sub(r"(?m)^ *dataset_strategy:.*$", "", text)
    per_stage, rest = divmod(layers + 1, stages)
    counts = [per_stage + (stage < rest) for stage in range(stages)]
    text = re.sub(r"(?m)^(\s*recompute:) \[.*$", r"\1 [%s]" % ", ".join(str(n - 1) for n in counts), text)
    return re.sub(r"(?m)^(\s*offset:).*$", r"\1 0", text)


def place(text, layout, batch, accumulated):
    for key, size in (("data_parallel", "&dp %d" % layout.dp), ("model_parallel", layout.mp),
                      ("pipeline_stage", layout.pp), ("expert_parallel", layout.ep),
                      ("batch_size", batch)):  # fmt: skip
        text = re.sub(r"(?m)^(\s*%s:).*$" % key, r"\1 %s" % size, text)
    if layout.pp == 1:
        text = re.sub(r"(?m)^(\s*recompute:) \[.*$", r"\1 False", text)
    if accumulated:
        text = text.replace("runner_config:", "runner_config:\n  gradient_accumulation_steps: %d" % accumulated)
    return text


def lower(tools, name, text, *importing):
    yaml = tools.path(name + ".yaml")
    with open(yaml, "w") as file:
        file.write(text)
    return tools.lower_yaml(yaml, importing)[1]


def train(tools, step, data, launcher=()):
    """The losses of all steps, and the gradients of the first."""
    folder = tools.path("gradients")
    extra = ["--seed", "1", "--dump-gradients-every-step", folder]
    report = tools.train(step, data, STEPS, extra=extra, launcher=launcher)
    return report["losses"], safetensors.load(os.path.join(folder, "step_000001.safetensors"))


def compare(name, expected, actual):
    """Losses, and gradients by their largest element."""
    problems = []
    for step, (a, b) in enumerate(zip(expected[0], actual[0], strict=True)):
        if not abs(a - b) <= BOUND * abs(a):
            problems.append("loss %s of step %d, not %s" % (b, step + 1, a))
    if expected[1].keys() != actual[1].keys():
        problems.append("other gradients")
    for key in sorted(expected[1].keys() & actual[1].keys()):
        a, b = expected[1][key].astype(float), actual[1][key].astype(float)
        scale = numpy.abs(a).max()
        error = numpy.abs(a - b).max() / scale if scale > 0 else numpy.abs(b).max()
        if not error <= BOUND:
            problems.append("gradient of %s: %.1e" % (key, error))
    print("%s: %s" % (name, "; ".join(problems[:8]) or "as on one rank"), flush=True)
    return not problems


def write_data(path):
    """Tokens below 512, of which the next follows from the last."""
    token, tokens = 1, []
    for _ in range(40000):
        token = (token * 5 + 3) % 512
        tokens.append(token)
    numpy.save(path, numpy.array(tokens, numpy.int32)[:39975].reshape(-1, 65))


def main():
    folder, yaml, work, *layouts = sys.argv[1:]
    tools = training.Tools(folder, work)
    data = tools.path("data.npy")
    write_data(data)
    with open(yaml) as file:
        original = file.read()
    isGood = True
    for text in layouts or ["2x4x2x4", "4x4x2x8"]:
        layout = Layout(text)
        small = shrink(original, layout.pp)
        whole = place(small, Layout("1x1x1x1"), layout.dp, 4)
        one = train(tools, lower(tools, "one", whole, "--router-rows=%d" % layout.rows), data)
        if not one[0][-1] < one[0][0]:
            isGood = False
            print("%s: the loss does not fall: %s" % (layout, one[0]))
        ranks = lower(tools, "ranks", place(small, layout, 1, 4 if layout.pp == 1 else 0))
        isGood &= compare(str(layout), one, train(tools, ranks, data))
        if shutil.which("mpirun"):
            launcher = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(layout.pp))
            isGood &= compare("%s, in %d processes" % (layout, layout.pp), one, train(tools, ranks, data, launcher))
    sys.exit(not isGood)


if __name__ == "__main__":
    main()
