# SPDX-License-Identifier: Apache-2.0
"""Times a training step of a 134M-parameter Llama on 1, 2 and 4 ranks, with the
same threads in all: mf beside PyTorch.

usage: ranks.py [BIN_FOLDER] [--steps N] [--tiny] [--ranks 1,2,4]

The global batch is the same everywhere: 4 rows of 512 tokens, or 32 with
--tiny, a model of which a step takes milliseconds. Data parallel ranks share
out the rows, tensor parallel ones heads, feed-forward columns and the
vocabulary of the head, pipeline stages the layers, with each row as a
micro-batch; these are beside one rank with the same micro-batches. mf runs its ranks as threads of one process and, as
PyTorch, as processes. PyTorch runs DistributedDataParallel and, for tensor
parallel, the layers of Megatron-LM (Shoeybi et al., 2019), both over gloo, and no stages. The
median step counts, in seconds.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import training  # noqa: E402

ROWS, THREADS = 4, 2
SIZES = {
    "hidden_size": 768, "num_layers": 12, "num_heads": 12, "n_kv_heads": 12, "intermediate_size": 2048,
    "seq_length": 512, "vocab_size": 32000,
}  # fmt: skip
TINY = dict(SIZES, hidden_size=64, num_layers=2, num_heads=4, n_kv_heads=4, intermediate_size=128, seq_length=32, vocab_size=256)
MPIRUN = ["mpirun", "-q", "--oversubscribe", "--bind-to", "none"]
TEXT = "/usr/share/common-licenses/GPL-3"


def get_config(is_tiny):
    return dict(training.MODEL, **(TINY if is_tiny else SIZES))


def median(values):
    return sorted(values)[len(values) // 2]


# --------------------------------------------------------------------------------------------------------------------
# PyTorch, in processes of its own
# --------------------------------------------------------------------------------------------------------------------


def make_parallel_llama(group_size, rank):
    """A Llama whose ranks share out heads, feed-forward columns and the head's vocabulary."""
    import torch
    import torch.distributed as dist
    import torch_llama

    class SumGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, gradient):
            gradient = gradient.contiguous()
            dist.all_reduce(gradient)
            return gradient

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x = x.contiguous()
            dist.all_reduce(x)
            return x

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    class ParallelLlama(torch_llama.Llama):
        def attention(self, x, prefix):
            config, x = self.config, SumGradient.apply(x)
            heads, width = config["num_heads"] // group_size, config["hidden_size"] // config["num_heads"]
            split = lambda name: self.linear(x, prefix + name).unflatten(-1, (heads, width)).transpose(1, 2)
            q, k, v = torch_llama.rotate(split("wq"), self.cos, self.sin), torch_llama.rotate(split("wk"), self.cos, self.sin), split("wv")
            scores = q @ k.transpose(-1, -2) / width**0.5
            mask = torch.triu(torch.ones(scores.shape[-2:], dtype=torch.bool), 1)
            out = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
            return Sum.apply(self.linear(out.transpose(1, 2).flatten(2), prefix + "wo"))

        def feed_forward(self, x, prefix):
            return Sum.apply(super().feed_forward(SumGradient.apply(x), prefix))

        def head_loss(self, x, labels):
            logits = torch.nn.functional.linear(SumGradient.apply(x), self.params["lm_head.weight"]).float()
            logits = logits.reshape(-1, logits.shape[-1])
            largest = logits.detach().max(-1).values
            dist.all_reduce(largest, op=dist.ReduceOp.MAX)
            shifted = logits - largest[:, None]
            sums = Sum.apply(shifted.exp().sum(-1))
            first = rank * logits.shape[-1]
            index = labels.reshape(-1) - first
            is_own = (index >= 0) & (index < logits.shape[-1])
            picked = shifted.gather(1, index.clamp(0, logits.shape[-1] - 1)[:, None])[:, 0]
            picked = Sum.apply(torch.where(is_own, picked, torch.zeros_like(picked)))
            return (sums.log() - picked).mean()

        def loss(self, tokens, labels):
            epsilon = float(self.config["rms_norm_eps"])
            x = self.params["model.tok_embeddings.embedding_weight"][tokens]
            for layer in range(self.config["num_layers"]):
                prefix = "model.layers.%d." % layer
                x = x + self.attention(torch_llama.rms_norm(x, self.params[prefix + "attention_norm.weight"], epsilon), prefix + "attention.")
                x = x + self.feed_forward(torch_llama.rms_norm(x, self.params[prefix + "ffn_norm.weight"], epsilon), prefix + "feed_forward.")
            return self.head_loss(torch_llama.rms_norm(x, self.params["model.norm_out.weight"], epsilon), labels)

    return ParallelLlama


def get_part(name, value, ranks, rank):
    """The part of a parameter that a tensor parallel rank has, and whether other ranks have the same part."""
    rows = ("wq.weight", "wk.weight", "wv.weight", "w1.weight", "w3.weight", "lm_head.weight")
    if ranks > 1 and name.endswith(rows):
        return value.reshape(ranks, -1, value.shape[1])[rank], False
    if ranks > 1 and name.endswith(("wo.weight", "w2.weight")):
        return value.reshape(value.shape[0], ranks, -1)[:, rank].copy(), False
    return value, True


def get_shapes(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {"model.tok_embeddings.embedding_weight": [config["vocab_size"], hidden]}
    for layer in range(config["num_layers"]):
        prefix = "model.layers.%d." % layer
        shapes.update({prefix + "attention.%s.weight" % name: [hidden, hidden] for name in ("wq", "wk", "wv", "wo")})
        shapes.update({prefix + "feed_forward.%s.weight" % name: [inner, hidden] for name in ("w1", "w3")})
        shapes[prefix + "feed_forward.w2.weight"] = [hidden, inner]
        shapes.update({prefix + name + ".weight": [hidden] for name in ("attention_norm", "ffn_norm")})
    return dict(shapes, **{"model.norm_out.weight": [hidden], "lm_head.weight": [config["vocab_size"], hidden]})


def clip(parameters, is_shared, max_norm):
    """Clips by the norm of all ranks' gradients; gradients that several ranks have count once."""
    import torch
    import torch.distributed as dist

    own = sum((p.grad.pow(2).sum() for p, shared in zip(parameters, is_shared) if not shared), torch.zeros(()))
    if not all(is_shared):
        dist.all_reduce(own)
    norm = torch.sqrt(own + sum(p.grad.pow(2).sum() for p, shared in zip(parameters, is_shared) if shared))
    factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    for p in parameters:
        p.grad.mul_(factor)


def run_torch_rank(kind, ranks, steps, is_tiny):
    """One process; prints the seconds and the loss of each step on the first rank."""
    import numpy
    import torch
    import torch.distributed as dist
    import torch_llama

    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(max(1, THREADS // ranks))
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    config = get_config(is_tiny)
    parallel = ranks if kind == "tensors" else 1
    whole = training.random_parameters(get_shapes(config))
    parts = {name: get_part(name, value, parallel, rank) for name, value in whole.items()}
    kept = {name: part for name, (part, _) in parts.items()}
    model = (make_parallel_llama(ranks, rank) if parallel > 1 else torch_llama.Llama)(config, kept)
    optimizer = torch_llama.make_optimizer(model, 1e-4)
    is_shared = [shared for _, shared in parts.values()]

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.nn.ParameterList(model.params.values())

        def forward(self, tokens, labels):
            return model.loss(tokens, labels)

    module = Module()
    if kind == "samples" and ranks > 1:
        module = torch.nn.parallel.DistributedDataParallel(module)
    random = numpy.random.RandomState(0)
    for _ in range(steps + 1):
        block = torch.tensor(random.randint(0, config["vocab_size"], (ROWS, config["seq_length"] + 1)))
        if kind == "samples":
            block = block[rank * ROWS // ranks : (rank + 1) * ROWS // ranks]
        dist.barrier()
        start = time.time()
        optimizer.zero_grad()
        loss = module(block[:, :-1], block[:, 1:])
        loss.backward()
        clip(list(model.params.values()), is_shared, 1.0)
        optimizer.step()
        loss = loss.detach()
        if kind == "samples":
            dist.all_reduce(loss)
            loss /= ranks
        if rank == 0:
            print("step %.5f %.6f" % (time.time() - start, loss), flush=True)
    dist.destroy_process_group()


def time_torch(kind, ranks, steps, is_tiny):
    environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    command = [sys.executable, __file__, "--torch", kind, "--ranks", str(ranks), "--steps", str(steps)]
    processes = [
        subprocess.Popen(command + ["--tiny"] * is_tiny, env=dict(environment, RANK=str(rank)), stdout=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]
    outputs = [process.communicate(timeout=1200)[0] for process in processes]
    assert not any(process.returncode for process in processes), outputs
    found = re.findall(r"step (\S+) (\S+)", outputs[0])
    return median([float(seconds) for seconds, _ in found[1:]]), [float(loss) for _, loss in found]


# --------------------------------------------------------------------------------------------------------------------
# mf
# --------------------------------------------------------------------------------------------------------------------


def lower(tools, config, kind, ranks):
    dp, mp, pp = (ranks if kind == name else 1 for name in ("samples", "tensors", "stages"))
    micro_batches = ROWS if kind == "stages" else 1
    yaml, model, step = (tools.path("%s%d%s" % (kind, ranks, end)) for end in (".yaml", ".model.mlir", ".mlir"))
    training.write_yaml(yaml, config, batch_size=ROWS // dp // micro_batches)
    training.write_layout(yaml, open(yaml).read(), {}, dp, 1, mp, pp, micro_batches, "vocab_emb_dp: %s" % (mp == 1))
    tools.run("mf-translate", "--import-mindformers", yaml, "-o", model)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step)
    return step


def time_mf(tools, step, steps, processes):
    report = tools.path("report.json")
    command = MPIRUN + ["-n", str(processes)] if processes > 1 else []
    command += [os.path.join(tools.bin, "mf-run"), step, "--steps", str(steps + 1), "--quiet", "--data", TEXT]
    command += ["--threads", str(THREADS), "--report", report]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    subprocess.run(command, check=True, env=environment)
    found = json.load(open(report))["steps"]
    return median([step["seconds"] for step in found[1:]]), [step["loss"] for step in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch:
        return run_torch_rank(arguments.torch, int(arguments.ranks), arguments.steps, arguments.tiny)
    config = get_config(arguments.tiny)
    row = "%-9s%6s%14s%14s%14s%16s"
    print(row % ("shared", "ranks", "mf threads", "mf processes", "torch", "torch/mf"), flush=True)
    losses = {}
    with tempfile.TemporaryDirectory() as folder:
        tools = training.Tools(arguments.bin_folder, folder)
        for ranks in map(int, arguments.ranks.split(",")):
            for kind in ("samples", "tensors", "stages") if ranks > 1 else ("samples", "stages"):
                step = lower(tools, config, kind, ranks)
                threads, first = time_mf(tools, step, arguments.steps, 1)
                processes, second = time_mf(tools, step, arguments.steps, ranks) if ranks > 1 else (threads, first)
                assert first == second, (first, second)
                theirs, third = (0, []) if kind == "stages" else time_torch(kind, ranks, arguments.steps, arguments.tiny)
                for name, values in (("mf", first), ("torch", third)):
                    expected = losses.setdefault(name, values)
                    assert all(abs(a - b) < 1e-3 * abs(a) for a, b in zip(expected, values)), (name, expected, values)
                print(row % ("-" if ranks == 1 and kind == "samples" else kind, ranks, "%.4f" % threads,
                             "%.4f" % processes if ranks > 1 else "-", "%.4f" % theirs if theirs else "-",
                             "%.2f" % (theirs / min(threads, processes)) if theirs else "-"), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
