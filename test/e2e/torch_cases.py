# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a comparison with PyTorch."""

import os
import sys

import numpy
import parts
import safetensors
import torch
import torch_llama
import training

BATCH, MICRO_BATCHES = 2, 4


def write_words(path):
    """4000 of 200 different words, so that there is something to learn."""
    random = numpy.random.RandomState(1)
    words = [bytes(random.randint(97, 123, random.randint(2, 9)).tolist()) for _ in range(200)]
    with open(path, "wb") as file:
        file.write(b" ".join(words[i] for i in random.randint(0, 200, 4000)))


def run_cases(cases, compare, write_text=write_words):
    """Compares the cases of this part, or those of the command line, on the text that `write_text` writes to a path."""
    part = parts.pop_part()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    data = tools.path("text.txt")
    write_text(data)
    failed = [name for name in part.select(sys.argv[3:] or cases) if not compare(name, tools, data)]
    if failed:
        sys.exit("error: beyond the tolerance: " + ", ".join(failed))


def read_batches(data, length, steps, batch=BATCH, micro_batches=MICRO_BATCHES):
    """The micro-batches of all steps: [step][micro-batch] of (tokens, labels)."""
    tokens = numpy.frombuffer(open(data, "rb").read(), numpy.uint8).astype(numpy.int64)
    rows = [tokens[row * length :][: length + 1] for row in range(steps * micro_batches * batch)]
    for blocks in torch.tensor(numpy.stack(rows)).view(steps, micro_batches, batch, length + 1):
        yield [(block[:, :-1], block[:, 1:]) for block in blocks]


def train(model, batches, arguments=lambda step, micro_batch: ()):
    """Loss and gradients (before clipping) of each step of AdamW, whose losses take `arguments`, too."""
    params = model.unique_parameters()
    optimizer = torch_llama.make_optimizer(model, 1e-3)
    for step, micro_batches in enumerate(batches, 1):
        optimizer.zero_grad()
        losses = []
        for number, (tokens, labels) in enumerate(micro_batches):
            loss = model.loss(tokens, labels, *arguments(step, number))
            (loss / len(micro_batches)).backward()
            losses.append(loss.item())
        yield numpy.mean(losses), {name: p.grad.clone().numpy() for name, p in params.items()}
        torch_llama.clip(list(params.values()), 1.0)
        optimizer.step()


def run_steps(tools, name, step, data, steps, parameters):
    """Loss and gradients of each step of a step file."""
    weights, folder = tools.path(name + ".weights.safetensors"), tools.path(name + ".gradients")
    safetensors.save(weights, parameters)
    os.makedirs(folder, exist_ok=True)
    report = tools.train(step, data, steps, weights, extra=["--dump-gradients-every-step", folder])
    dumps = sorted(os.listdir(folder))
    assert len(dumps) == steps, dumps
    for loss, dump in zip(report["losses"], dumps):
        yield loss, safetensors.load(os.path.join(folder, dump))


def compare_steps(name, ours, expected, tied=(), owner=None, loss=1e-5, gradient=1e-4, later=None):
    """Whether losses and gradients are within these bounds, gradients behind the first step within `later` if given. Gradients
    of `tied` parameters are added to that of their owner."""
    worst_loss, worst_gradient, worst_name, is_within = 0, 0, "", True
    for index, ((our_loss, gradients), (torch_loss, references)) in enumerate(zip(ours, expected, strict=True)):
        for key in tied:
            if key in gradients:
                gradients[owner] = gradients[owner] + gradients.pop(key)
        assert set(gradients) == set(references), set(gradients) ^ set(references)
        worst_loss = max(worst_loss, abs(our_loss - torch_loss) / abs(torch_loss))
        for key, value in references.items():
            error = training.get_difference(gradients[key], value)
            is_within &= error <= (later if index and later else gradient)
            if (index == 0 or not later) and error > worst_gradient:
                worst_gradient, worst_name = error, key
    print("%-20s loss %.1e  gradient %.1e (%s)" % (name, worst_loss, worst_gradient, worst_name), flush=True)
    return is_within and worst_loss <= loss
