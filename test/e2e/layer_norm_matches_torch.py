# SPDX-License-Identifier: Apache-2.0
"""Checks GPT-2, the first GLM and iFlytekSpark, with dropout: against PyTorch, on layouts of ranks, and with options of memory.

usage: layer_norm_matches_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER

Losses and gradients of two steps of one rank are compared with PyTorch's in fp64, which gets the masks of
dropout_masks.py. Layouts of ranks must agree with one rank to a relative 2e-5; recompute, swap, stages, schedules and
threads may change no bit.
"""

import sys

import dropout_masks
import numpy
import parts
import safetensors
import torch
import torch_cases
import torch_layer_norm
import training

# TORCH_GRADIENT bounds gradients of the first step. A second step begins with parameters that AdamW moved by about the rate even
# where a gradient was hardly more than rounding, in a direction that rounding decides.
TORCH_LOSS, TORCH_GRADIENT, TORCH_SECOND_GRADIENT = 1e-6, 2e-6, 1e-4

SIZES = {"seq_length": 16, "hidden_size": 32, "num_layers": 4, "num_heads": 4, "vocab_size": 256, "pad_token_id": -1}
GPT2 = {
    **SIZES, "expand_ratio": 3, "embedding_dropout_prob": 0.3, "hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.2,
    "compute_dtype": "float32", "use_flash_attention": False, "hidden_act": "gelu",
}  # fmt: skip
SPARK = {
    **SIZES, "ffn_hidden_size": 96, "dropout_rate": 0.1, "compute_type": "float32", "softmax_compute_type": "float32",
    "embedding_init_type": "float32",
}  # fmt: skip
GLM = {
    **SIZES, "inner_hidden_size": 96, "embedding_dropout_prob": 0.3, "hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.2,
    "compute_dtype": "float32", "param_init_type": "float32", "bos_token_id": ord("e"),
}  # fmt: skip
MODELS = {
    "gpt2": (GPT2, "GPT2Config", "GPT2LMHeadModel"),
    "gpt2-flash": (dict(GPT2, use_flash_attention=True, hidden_act="fast_gelu"), "GPT2Config", "GPT2LMHeadModel"),
    "glm": (GLM, "GLMConfig", "GLMForPreTraining"),
    "spark": (SPARK, "IFlytekSparkConfig", "IFlytekSparkModelForCasualLM"),
}
REFERENCES = {"glm": torch_layer_norm.Glm, "spark": torch_layer_norm.Spark}
LAYOUTS = dict(dropout_masks.LAYOUTS, table={"model_parallel": 2, "vocab_emb_dp": "False"})


def make_parameters(shapes, tied):
    """Random values of all parameters, except tied ones."""
    normal = numpy.random.RandomState(7).standard_normal
    values = {}
    for name in sorted(shapes):
        if name in tied:
            continue
        noise = normal(shapes[name]).astype(numpy.float32)
        values[name] = 1 + 0.2 * noise if name.endswith(".gamma") else 0.15 * noise
        values[name] = values[name].astype(numpy.float32)
    return values


class Checker(dropout_masks.Checker):
    def __init__(self, kind, tools, data):
        self.kind, self.tools, self.data, self.problems = kind, tools, data, []
        self.model, self.model_type, self.arch = MODELS[kind]
        self.reference = REFERENCES.get(kind, torch_layer_norm.Gpt2)
        self.tied = [] if kind == "glm" else ["head.weight", "lm_head.weight"]
        options = dict(micro_batches=dropout_masks.MICRO_BATCHES, batch_size=dropout_masks.ROWS)
        mlir, step = self.lower("one", **options)
        self.parameters = make_parameters(tools.parameters(mlir), self.tied)
        self.weights = tools.path(kind + ".weights.safetensors")
        safetensors.save(self.weights, self.parameters)
        self.one = self.run(step)

    def run(self, step, threads=2):
        losses, gradients, data = super().run(step, threads)
        for step_gradients in gradients:
            for name in self.tied:
                if name in step_gradients:
                    step_gradients[self.reference.table] = step_gradients[self.reference.table] + step_gradients.pop(name)
        return losses, gradients, data

    def get_worst(self, actual, expected):
        """The largest differences of losses and of gradients, relative to their norms. Without rotary positions the bias of keys has no gradient:
        what rounding leaves of it counts relative to that of the weight."""
        losses = max(abs(a - e) / abs(e) for a, e in zip(actual[0], expected[0]))
        worst = 0.0
        for ours, theirs in zip(actual[1], expected[1]):
            assert set(ours) == set(theirs), set(ours) ^ set(theirs)
            for name, value in theirs.items():
                norm = numpy.linalg.norm(theirs[name.replace("dense2.bias", "dense2.weight")].astype(numpy.float64))
                worst = max(worst, numpy.linalg.norm(ours[name].astype(numpy.float64) - value) / norm)
        return losses, worst

    def run_torch(self, precision=torch.float64):
        """Loss and gradients of each step."""
        batches = torch_cases.read_batches(
            self.data, self.model["seq_length"], dropout_masks.STEPS, dropout_masks.ROWS, dropout_masks.MICRO_BATCHES
        )
        model = self.reference(self.model, self.parameters, precision)
        return torch_cases.train(model, batches, lambda *numbers: (dropout_masks.Masks(*numbers).drop,))

    def compare_torch(self):
        losses, gradients = zip(*self.run_torch())
        for step, bound in enumerate((TORCH_GRADIENT, TORCH_SECOND_GRADIENT)):
            own = tuple(results[step : step + 1] for results in self.one[:2])
            loss, gradient = self.get_worst(own, (losses[step : step + 1], gradients[step : step + 1]))
            detail = "loss %.1e gradient %.1e" % (loss, gradient)
            self.expect("PyTorch, step %d" % (step + 1), loss <= TORCH_LOSS and gradient <= bound, detail)

    def check(self):
        self.compare_torch()
        self.compare_layouts(LAYOUTS)
        self.compare_options()
        return ["%s: %s" % (self.kind, problem) for problem in self.problems]


def main():
    part = parts.pop_part()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    data = tools.path("text.txt")
    training.start_drawing(data, 3)
    problems = []
    for kind in part.select(sys.argv[3:] or MODELS):
        problems += Checker(kind, tools, data).check()
    if problems:
        sys.exit("error: " + ", ".join(problems))


if __name__ == "__main__":
    main()
