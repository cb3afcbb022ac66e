# SPDX-License-Identifier: Apache-2.0
"""A Llama in PyTorch that keeps what its modules make, with defects to be found.

usage: traced_llama.py DEFECT WEIGHTS DATA OUTPUT

Runs one micro-batch and writes activations, their gradients and gradients of parameters as safetensors, under names
of its own. DEFECT is one of
  none   the model as it should be
  rope   positions of layer 2's rotary embedding begin at 1
  sum    on two processes, each with half of the feed-forward layers; layer 1 does not add up the gradients of its
         input over them
"""

import os
import sys

import safetensors
import torch
import torch.distributed as ranks
import training
from torch_cases import read_batches
from torch_decoder import LLAMA, Decoder, rotate


class CopyToRanks(torch.autograd.Function):
    """All ranks read the same value, so its gradient is the sum of theirs."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        total = gradient.clone()
        ranks.all_reduce(total)
        return total


class SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        total = x.clone()
        ranks.all_reduce(total)
        return total

    @staticmethod
    def backward(context, gradient):
        return gradient


class TracedLlama(Decoder):
    def __init__(self, config, parameters, defect):
        super().__init__(LLAMA, config, parameters, torch.float32)
        self.defect, self.values, self.layer = defect, {}, None

    def keep(self, name, value):
        value.retain_grad()
        self.values[name] = value
        return value

    def linear(self, x, name):
        return self.keep(name, super().linear(x, name))

    def norm(self, x, name):
        return self.keep(name, super().norm(x, name))

    def attention(self, x, prefix):
        self.layer = prefix
        return super().attention(x, prefix)

    def rotate(self, x):
        cos, sin = self.get_angles(x.shape[-1], x.shape[-2])
        if self.defect == "rope" and self.layer == "model.layers.2.attention.":
            cos, sin = cos.roll(-1, 0), sin.roll(-1, 0)
        # First queries, then keys.
        name = self.layer + "rotated_q"
        name = self.layer + "rotated_k" if name in self.values else name
        return self.keep(name, rotate(x, cos, sin))

    def dump(self):
        tensors = {name: value.detach() for name, value in self.values.items()}
        tensors.update({"grad_of." + name: value.grad for name, value in self.values.items() if value.grad is not None})
        tensors.update({"grad_of." + name: value.grad for name, value in self.params.items()})
        return {name: value.numpy() for name, value in tensors.items()}


class SplitLlama(TracedLlama):
    """Each rank has half of the rows of w1 and w3, and of the columns of w2."""

    def __init__(self, config, parameters, defect):
        rank, size = ranks.get_rank(), ranks.get_world_size()

        def cut(name, value):
            if name.endswith((".w1.weight", ".w3.weight")):
                return value.reshape(size, -1, value.shape[1])[rank]
            if name.endswith(".w2.weight"):
                return value.reshape(value.shape[0], size, -1)[:, rank]
            return value

        super().__init__(config, {name: cut(name, value) for name, value in parameters.items()}, defect)

    def feed_forward(self, x, prefix):
        if prefix != "model.layers.1.feed_forward.":
            x = CopyToRanks.apply(x)
        return self.keep(prefix + "w2", SumOverRanks.apply(super().feed_forward(x, prefix)))


def run(defect, weights, data, output):
    config = dict(training.MODEL)
    tokens, labels = next(read_batches(data, config["seq_length"], 1, 2, 1))[0]
    kind = SplitLlama if defect == "sum" else TracedLlama
    model = kind(config, safetensors.load(weights), defect)
    model.loss(tokens, labels).backward()
    if defect != "sum" or ranks.get_rank() == 0:
        safetensors.save(output, model.dump())


def main():
    torch.set_num_threads(1)
    defect, weights, data, output = sys.argv[1:]
    if defect != "sum":
        return run(defect, weights, data, output)
    rank = 1 if os.fork() == 0 else 0
    ranks.init_process_group("gloo", "file://" + output + ".meeting", rank=rank, world_size=2)
    run(defect, weights, data, output)
    if rank == 0 and os.wait()[1] != 0:
        sys.exit("error: the other rank failed")


if __name__ == "__main__":
    main()
