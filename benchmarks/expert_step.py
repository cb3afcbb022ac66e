# SPDX-License-Identifier: Apache-2.0
"""Times a training step of a model with experts: mf beside PyTorch eager, and beside its ceiling.

usage: expert_step.py [BIN_FOLDER] [--isa] [--no-torch] [--steps N] [--types f32,bf16] [--experts N] [--layers N]

Both train on the same sizes (4 layers, hidden 512, 8 heads, 64 experts of width 512 of which a token chooses 4, vocabulary
8192, batch 4, sequence 256, AdamW, clipping by global norm) on two threads, one after the other. PyTorch runs the experts in
a loop, each on the rows that chose it, as Hugging Face's models do. The columns are those of training_step.py. The ceiling
is the rate of oneDNN on the product of each expert, with as many rows for all experts.
"""

import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import step_table  # noqa: E402

BATCH, CHOSEN = 4, 4
SIZES = dict(hidden=512, heads=8, width=512, sequence=256, vocabulary=8192)
NAMES = {"f32": "float32", "bf16": "bfloat16"}
YAML = """trainer: {model_name: 'expert_step'}
runner_config: {batch_size: %(batch)d}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-8, weight_decay: 0.1}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.e-4, warmup_steps: 0}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1.0, use_clip_grad: True}
moe_config: {expert_num: %(experts)d, num_experts_chosen: %(chosen)d, use_gmm: True, norm_topk_prob: True}
model:
  model_config: {type: LlamaConfig, seq_length: %(sequence)d, hidden_size: %(hidden)d, num_layers: %(layers)d,
    num_heads: %(heads)d, vocab_size: %(vocabulary)d, intermediate_size: %(width)d, pad_token_id: -1,
    compute_dtype: "%(type)s", layernorm_compute_type: "%(type)s", softmax_compute_type: "%(type)s",
    rotary_dtype: "%(type)s", param_init_type: "%(type)s", use_flash_attention: True}
  arch: {type: LlamaForCausalLM}
"""


class ExpertStep:
    script = os.path.abspath(__file__)

    def __init__(self, element_type, experts=64, layers=4):
        self.fields = dict(element_type=element_type, experts=experts, layers=layers)
        self.element_type, self.experts, self.layers = element_type, experts, layers
        self.name = "%d experts" % experts + (", layers %d" % layers if layers != 4 else "")

    def lower(self, tools):
        yaml, model, step = (os.path.join(tools.work, name) for name in ("e.yaml", "e.mlir", "e.step.mlir"))
        sizes = dict(SIZES, batch=BATCH, chosen=CHOSEN, experts=self.experts, layers=self.layers)
        with open(yaml, "w") as file:
            file.write(YAML % dict(sizes, type=NAMES[self.element_type]))
        for command in (
            ["mf-translate", "--import-mindformers", yaml, "-o", model],
            ["mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step],
        ):
            subprocess.run([os.path.join(tools.bin, command[0]), *command[1:]], check=True, capture_output=True)
        return step

    def list_products(self):
        hidden, width, rows = SIZES["hidden"], SIZES["width"], BATCH * SIZES["sequence"]
        rows_of_expert = max(1, rows * CHOSEN // self.experts)
        shapes = [
            (rows, hidden, hidden, 4 * self.layers),
            (rows, hidden, self.experts, self.layers),
            (rows_of_expert, hidden, 2 * width, self.experts * self.layers),
            (rows_of_expert, width, hidden, self.experts * self.layers),
            (rows, hidden, SIZES["vocabulary"], 1),
        ]
        return [product for shape in shapes for product in step_table.list_linear(*shape)]

    def count_flops(self):
        """FLOPs of the matrix products of forward and backward; causal attention counts as half."""
        linear = sum(2 * m * n * k * calls for m, n, k, _, calls in self.list_products())
        return linear + self.layers * 6 * BATCH * SIZES["sequence"] ** 2 * SIZES["hidden"]

    def make_torch(self):
        """The same step in PyTorch, as a function."""
        import numpy
        import torch
        import torch_llama
        from torch.nn.functional import cross_entropy, linear, silu, softmax

        experts = self.experts
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[self.element_type]
        hidden, width, heads = SIZES["hidden"], SIZES["width"], SIZES["heads"]
        size, length = hidden // heads, SIZES["sequence"]

        def make(*shape):
            return torch.nn.Parameter((torch.randn(*shape) * 0.02).to(dtype))

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norms = torch.nn.ParameterList(
                    torch.nn.Parameter(torch.ones(hidden, dtype=dtype)) for _ in range(2)
                )
                self.projections = torch.nn.ParameterList(make(hidden, hidden) for _ in range(4))
                self.router = make(experts, hidden)
                # As one parameter each, backward would write zeros for all experts behind each of them.
                self.gate_up = torch.nn.ParameterList(make(hidden, 2 * width) for _ in range(experts))
                self.down = torch.nn.ParameterList(make(width, hidden) for _ in range(experts))

        def rms_norm(x, weight):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight

        angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, size, 2) / size))
        cos, sin = (f(torch.cat([angles, angles], -1)).to(dtype) for f in (torch.cos, torch.sin))
        mask = torch.full((length, length), -10000.0).triu(1).to(dtype)

        def rotate(x):
            return x * cos + torch.cat([-x[..., size // 2 :], x[..., : size // 2]], -1) * sin

        def attend(layer, x):
            query, key, value = (
                linear(x, w).view(BATCH, length, heads, size).transpose(1, 2) for w in list(layer.projections)[:3]
            )
            scores = rotate(query) @ rotate(key).transpose(-1, -2) / size**0.5 + mask
            y = softmax(scores, -1) @ value
            return linear(y.transpose(1, 2).reshape(BATCH, length, hidden), layer.projections[3])

        def run_experts(layer, x):
            tokens = x.reshape(-1, hidden)
            gates, chosen = softmax(linear(tokens, layer.router).float(), -1).topk(CHOSEN, -1)
            gates = (gates / gates.sum(-1, keepdim=True)).to(dtype)
            result = torch.zeros_like(tokens)
            for expert in range(experts):
                rows, places = (chosen == expert).nonzero(as_tuple=True)
                gate, up = (tokens[rows] @ layer.gate_up[expert]).chunk(2, -1)
                made = (silu(gate) * up) @ layer.down[expert]
                result.index_add_(0, rows, made * gates[rows, places, None])
            return result.view_as(x)

        layers = torch.nn.ModuleList(Layer() for _ in range(self.layers))
        embedding, head = make(SIZES["vocabulary"], hidden), make(SIZES["vocabulary"], hidden)
        norm = torch.nn.Parameter(torch.ones(hidden, dtype=dtype))
        parameters = [embedding, head, norm, *layers.parameters()]
        optimizer = torch.optim.AdamW(parameters, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
        random = numpy.random.RandomState(0)

        def step():
            block = torch.tensor(random.randint(0, SIZES["vocabulary"], (BATCH, length + 1)))
            optimizer.zero_grad()
            x = embedding[block[:, :-1]]
            for layer in layers:
                x = x + attend(layer, rms_norm(x, layer.norms[0]))
                x = x + run_experts(layer, rms_norm(x, layer.norms[1]))
            logits = linear(rms_norm(x, norm), head).float()
            cross_entropy(logits.view(-1, SIZES["vocabulary"]), block[:, 1:].reshape(-1)).backward()
            torch_llama.clip(parameters, 1.0)
            optimizer.step()

        return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    step_table.add_options(parser)
    parser.add_argument("--experts", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    arguments = parser.parse_args()
    if arguments.torch:
        return step_table.time_torch(ExpertStep(**json.loads(arguments.torch)), arguments.steps)
    models = [ExpertStep(name, arguments.experts, arguments.layers) for name in arguments.types.split(",")]
    step_table.print_rows(arguments, models, every_way=arguments.isa)


if __name__ == "__main__":
    main()
