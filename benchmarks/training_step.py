"""Times a training step of a 134M-parameter Llama: mf beside PyTorch eager.

usage: training_step.py BIN_FOLDER [--steps N] [--types f32,bf16]

Both train on the same text with the same sizes (12 layers, hidden 768, 12
heads, feed-forward 2048, vocabulary 32000, batch 4, sequence 512, AdamW,
clipping by global norm) on two threads, one after the other. The table shows
the median step, the ratio, the GFLOP/s of the matrix products and their share
of what oneDNN reaches on two threads on the same matrices in the same run.
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

BATCH, THREADS = 4, 2
SIZES = {
    "hidden_size": 768,
    "num_layers": 12,
    "num_heads": 12,
    "n_kv_heads": 12,
    "intermediate_size": 2048,
    "seq_length": 512,
    "vocab_size": 32000,
}
NAMES = {"f32": '"float32"', "bf16": '"bfloat16"'}


def make_config(element_type):
    config = dict(training.MODEL, **SIZES)
    for key in config:
        if key.endswith("_type") or key.endswith("_dtype"):
            config[key] = NAMES[element_type]
    return config


def step_flops(config):
    """FLOPs of the matrix products of forward and backward, causal attention
    counted as half."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    tokens = BATCH * config["seq_length"]
    layer = 4 * hidden * hidden + 3 * hidden * inner
    weights = config["num_layers"] * layer + config["vocab_size"] * hidden
    attention = config["num_layers"] * 2 * config["seq_length"] * hidden / 2
    return 6 * tokens * (weights + attention)


def time_torch(element_type, steps):
    """Step times in seconds, measured in a process of its own."""
    import numpy
    import torch
    import torch_llama

    torch.set_num_threads(THREADS)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[element_type]
    config = make_config(element_type)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {"model.tok_embeddings.embedding_weight": [config["vocab_size"], hidden]}
    for layer in range(config["num_layers"]):
        prefix = "model.layers.%d." % layer
        for name in ("wq", "wk", "wv", "wo"):
            shapes[prefix + "attention.%s.weight" % name] = [hidden, hidden]
        for name in ("w1", "w3"):
            shapes[prefix + "feed_forward.%s.weight" % name] = [inner, hidden]
        shapes[prefix + "feed_forward.w2.weight"] = [hidden, inner]
        for name in ("attention_norm", "ffn_norm"):
            shapes[prefix + name + ".weight"] = [hidden]
    shapes["model.norm_out.weight"] = [hidden]
    shapes["lm_head.weight"] = [config["vocab_size"], hidden]
    model = torch_llama.Llama(config, training.random_parameters(shapes))
    model.params = {
        name: torch.nn.Parameter(value.detach().to(dtype))
        for name, value in model.params.items()
    }
    model.cos, model.sin = model.cos.to(dtype), model.sin.to(dtype)
    optimizer = torch_llama.make_optimizer(model, 1e-4)
    random = numpy.random.RandomState(0)
    for _ in range(steps + 1):
        block = random.randint(0, config["vocab_size"], (BATCH, config["seq_length"] + 1))
        block = torch.tensor(block)
        start = time.time()
        optimizer.zero_grad()
        model.loss(block[:, :-1], block[:, 1:]).backward()
        torch_llama.clip(list(model.params.values()), 1.0)
        optimizer.step()
        print("step %.4f" % (time.time() - start), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("peak_mib %d" % (peak // 1024))


def run_torch(element_type, steps):
    output = subprocess.run(
        [sys.executable, __file__, "--torch", element_type, "--steps", str(steps)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    times = [float(t) for t in re.findall(r"step (\S+)", output)][1:]
    return times, int(re.search(r"peak_mib (\d+)", output)[1])


def run_mf(tools, element_type, steps):
    _, step = tools.lower("step", make_config(element_type), batch_size=BATCH)
    text = "/usr/share/common-licenses/GPL-3"
    report = tools.train(step, text, steps + 1, threads=THREADS)
    times = [s["seconds"] for s in report["steps"]][1:]
    return times, report["ranks"][0]["planned_bytes"] >> 20


ROW = re.compile(
    r"=\s+([\d.]+) ms\s+(\d+) GFLOP/s\s+\d+ % of oneDNN's (\d+)"
)


def measure_ceiling(bin_folder, element_type):
    """GFLOP/s of oneDNN called directly on all matrix products of the step."""
    program = os.path.join(bin_folder, "mf-benchmark-kernels")
    if not os.path.exists(program):
        return None
    output = subprocess.run(
        [program, "--only=Matmul", "--threads=%d" % THREADS],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    # One block of rows per type, headed by its name.
    blocks = re.split(r"^(f32|bf16)$", output, flags=re.MULTILINE)
    rows = ROW.findall(blocks[blocks.index(element_type) + 1])
    work = [float(milliseconds) * float(rate) for milliseconds, rate, _ in rows]
    best = [flops / float(row[2]) for flops, row in zip(work, rows)]
    return sum(work) / sum(best) if rows else None


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch:
        return time_torch(arguments.torch, arguments.steps)
    row = "%-6s%12s%14s%10s%14s%12s%14s%16s"
    print(row % ("type", "mf s/step", "torch s/step", "torch/mf", "mf GFLOP/s",
                 "of ceiling", "mf arena MiB", "torch RSS MiB"))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        tools = training.Tools(arguments.bin_folder, folder)
        for element_type in arguments.types.split(","):
            ours, arena = run_mf(tools, element_type, arguments.steps)
            theirs, resident = run_torch(element_type, arguments.steps)
            rate = step_flops(make_config(element_type)) / median(ours) / 1e9
            ceiling = measure_ceiling(arguments.bin_folder, element_type)
            share = "%.0f %%" % (100 * rate / ceiling) if ceiling else "-"
            print(
                row
                % (
                    element_type, "%.3f" % median(ours), "%.3f" % median(theirs),
                    "%.2f" % (median(theirs) / median(ours)), "%.0f" % rate,
                    share, arena, resident,
                ),
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
