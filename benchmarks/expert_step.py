"""Times a training step of a model with experts: mf beside PyTorch eager.

usage: expert_step.py [BIN_FOLDER] [--steps N] [--types f32,bf16] [--experts N]

Both train on the same sizes (4 layers, hidden 512, 8 heads, 64 experts of width
512 of which a token chooses 4, vocabulary 8192, batch 4, sequence 256, AdamW,
clipping by global norm) on two threads, one after the other. PyTorch runs the
experts in a loop, each on the rows that chose it, as Hugging Face's models do.
The table shows the median step and the ratio.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import training  # noqa: E402

BATCH, THREADS, CHOSEN = 4, 2, 4
SIZES = dict(hidden=512, layers=4, heads=8, width=512, sequence=256, vocabulary=8192)
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


def time_torch(element_type, steps, experts):
    """Step times in seconds, measured in a process of its own."""
    import numpy
    import torch
    import torch_llama
    from torch.nn.functional import cross_entropy, linear, silu, softmax

    torch.set_num_threads(THREADS)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[element_type]
    hidden, width, heads = SIZES["hidden"], SIZES["width"], SIZES["heads"]
    size, length = hidden // heads, SIZES["sequence"]

    def make(*shape):
        return torch.nn.Parameter((torch.randn(*shape) * 0.02).to(dtype))

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(hidden, dtype=dtype)) for _ in range(2))
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

    layers = torch.nn.ModuleList(Layer() for _ in range(SIZES["layers"]))
    embedding, head = make(SIZES["vocabulary"], hidden), make(SIZES["vocabulary"], hidden)
    norm = torch.nn.Parameter(torch.ones(hidden, dtype=dtype))
    parameters = [embedding, head, norm, *layers.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
    random = numpy.random.RandomState(0)
    for _ in range(steps + 1):
        block = torch.tensor(random.randint(0, SIZES["vocabulary"], (BATCH, length + 1)))
        start = time.time()
        optimizer.zero_grad()
        x = embedding[block[:, :-1]]
        for layer in layers:
            x = x + attend(layer, rms_norm(x, layer.norms[0]))
            x = x + run_experts(layer, rms_norm(x, layer.norms[1]))
        logits = linear(rms_norm(x, norm), head).float()
        cross_entropy(logits.view(-1, SIZES["vocabulary"]), block[:, 1:].reshape(-1)).backward()
        torch_llama.clip(parameters, 1.0)
        optimizer.step()
        print("step %.4f" % (time.time() - start), flush=True)
    print("peak_mib %d" % (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


def run_torch(element_type, steps, experts):
    output = subprocess.run(
        [sys.executable, __file__, "--torch", element_type, "--steps", str(steps), "--experts", str(experts)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    times = [float(t) for t in re.findall(r"step (\S+)", output)][1:]
    return times, int(re.search(r"peak_mib (\d+)", output)[1])


def run_mf(tools, element_type, steps, experts):
    yaml, model, step = (os.path.join(tools.work, name) for name in ("e.yaml", "e.mlir", "e.step.mlir"))
    with open(yaml, "w") as file:
        file.write(YAML % dict(SIZES, batch=BATCH, chosen=CHOSEN, experts=experts, type=NAMES[element_type]))
    for command in (
        ["mf-translate", "--import-mindformers", yaml, "-o", model],
        ["mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step],
    ):
        subprocess.run([os.path.join(tools.bin, command[0]), *command[1:]], check=True, capture_output=True)
    report = tools.train(step, "/usr/share/common-licenses/GPL-3", steps + 1, threads=THREADS)
    return [s["seconds"] for s in report["steps"]][1:], report["ranks"][0]["planned_bytes"] >> 20


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--experts", type=int, default=64)
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch:
        return time_torch(arguments.torch, arguments.steps, arguments.experts)
    row = "%-6s%12s%14s%10s%14s%16s"
    print(row % ("type", "mf s/step", "torch s/step", "torch/mf", "mf arena MiB", "torch RSS MiB"))
    with tempfile.TemporaryDirectory() as folder:
        tools = training.Tools(arguments.bin_folder, folder)
        for element_type in arguments.types.split(","):
            ours, arena = run_mf(tools, element_type, arguments.steps, arguments.experts)
            theirs, resident = run_torch(element_type, arguments.steps, arguments.experts)
            print(
                row % (element_type, "%.3f" % median(ours), "%.3f" % median(theirs),
                       "%.2f" % (median(theirs) / median(ours)), arena, resident),
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
