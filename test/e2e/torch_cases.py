# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a comparison with PyTorch."""

import os
import sys

import numpy
import parts
import safetensors
import torch
import training
from torch_decoder import LLAMA, Decoder

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


def make_optimizer(model, learning_rate=1e-3):
    """AdamW; norm weights and biases do not decay."""
    params = list(model.unique_parameters().values())
    groups = [
        {"params": [p for p in params if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in params if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95), eps=1e-8)


def clip(params, max_norm=1.0):
    """Clipping as MindSpore Transformers' ClipGradNorm defines it; returns the norm."""
    norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in params))
    factor = max_norm / (torch.clamp(norm, min=max_norm) + 1e-6)
    for p in params:
        p.grad.mul_(torch.clamp(factor, max=1.0))
    return norm


def accumulate(model, micro_batches, arguments=lambda number: ()):
    """Makes the gradients of a step, whose losses take `arguments`, too; returns the loss."""
    for p in model.unique_parameters().values():
        p.grad = None
    losses = [model.loss(tokens, labels, *arguments(number)) for number, (tokens, labels) in enumerate(micro_batches)]
    loss = sum(losses) / len(losses)
    loss.backward()
    return loss.item()


def train(model, batches, arguments=lambda step, micro_batch: ()):
    """Loss and gradients (before clipping) of each step of AdamW."""
    params, optimizer = model.unique_parameters(), make_optimizer(model)
    for step, micro_batches in enumerate(batches, 1):
        loss = accumulate(model, micro_batches, lambda number: arguments(step, number))
        yield loss, {name: p.grad.clone().numpy() for name, p in params.items()}
        clip(list(params.values()))
        optimizer.step()
        model.end_step()


def run_steps(tools, name, step, data, steps, parameters, extra=()):
    """Loss and gradients of each step of a step file."""
    weights, folder = tools.path(name + ".weights.safetensors"), tools.path(name + ".gradients")
    safetensors.save(weights, parameters)
    os.makedirs(folder, exist_ok=True)
    report = tools.train(step, data, steps, weights, extra=["--dump-gradients-every-step", folder, *extra])
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
            is_within &= bool(error <= (later if index and later else gradient))
            if (index == 0 or not later) and error > worst_gradient:
                worst_gradient, worst_name = error, key
    print("%-20s loss %.1e  gradient %.1e (%s)" % (name, worst_loss, worst_gradient, worst_name), flush=True)
    return is_within and worst_loss <= loss


def compare_results(ours, expected, loss_bound, bound):
    """Compares (losses, parameters behind the last step) of a run with those of PyTorch."""
    (losses, values), (expected_losses, expected_values) = ours, expected
    assert set(values) == set(expected_values), set(values) ^ set(expected_values)
    loss = max(abs(a - b) / b for a, b in zip(losses, expected_losses, strict=True))
    worst = max(training.get_difference(values[name], value) for name, value in expected_values.items())
    print("loss %.1e, parameters %.1e" % (loss, worst), flush=True)
    if not (loss <= loss_bound and worst <= bound):
        sys.exit("error: beyond the tolerance")


class Runs:
    """Training runs of a Llama by mf and by PyTorch, from the same random parameters and on the same tokens."""

    def __init__(self, tools):
        self.tools, self.data = tools, tools.path("text.txt")
        training.start_drawing(self.data, 1)

    def lower(self, name, model=training.MODEL, **options):
        """The step file; options are those of training.write_yaml."""
        options = dict({"batch_size": BATCH, "micro_batches": MICRO_BATCHES}, **options)
        mlir, step = self.tools.lower(name, model, **options)
        self.values = training.random_parameters(self.tools.parameters(mlir))
        self.weights = self.tools.path("weights.safetensors")
        safetensors.save(self.weights, self.values)
        return step

    def train(self, step, name, steps, *extra):
        """The losses and the file of parameters."""
        path = self.tools.path(name + ".safetensors")
        extra = ["--save-params", path, "--debug-memory", *extra]
        return self.tools.train(step, self.data, steps, self.weights, extra=extra)["losses"], path

    def make_model(self, model=training.MODEL):
        return Decoder(LLAMA, model, self.values, torch.float32)

    def train_torch(self, model, steps, update, max_norm=1.0):
        """The losses of all steps, and the parameters behind the last one; `update(step)` changes them, of steps from 1 on."""
        params, losses = model.unique_parameters(), []
        for step, micro_batches in enumerate(read_batches(self.data, model.config["seq_length"], steps), 1):
            losses.append(accumulate(model, micro_batches))
            if max_norm:
                clip(list(params.values()), max_norm)
            update(step)
        return losses, {name: p.detach().numpy() for name, p in params.items()}


def have_same_bytes(*paths):
    return len({open(path, "rb").read() for path in paths}) == 1
