# SPDX-License-Identifier: Apache-2.0
"""Compares loss and gradients of mf with PyTorch's, over several steps.

usage: gradients_match_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER
"""

import os

import numpy
import safetensors
import torch
import torch_cases
import torch_llama
import training

STEPS, BATCH, MICRO_BATCHES = 5, 2, 4
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-4

FUSED = {"use_fused_rope": True, "use_fused_swiglu": True}

# name: (changes of the model, stages)
CASES = {
    "gqa-1-stage": ({}, 1),
    "gqa-4-stages": ({}, 4),
    "mha-1-stage": ({"n_kv_heads": 4}, 1),
    "mha-4-stages": ({"n_kv_heads": 4}, 4),
    "gqa-bias-1-stage": ({"qkv_has_bias": True}, 1),
    "gqa-bias-4-stages": ({"qkv_has_bias": True}, 4),
    "mha-bias-4-stages": ({"n_kv_heads": 4, "qkv_has_bias": True}, 4),
    "no-flash-1-stage": ({"use_flash_attention": False}, 1),
    "tied-1-stage": ({"tie_word_embeddings": True}, 1),
    "tied-4-stages": ({"tie_word_embeddings": True}, 4),
    "qkv-concat-1-stage": ({"qkv_concat": True}, 1),
    "fused-1-stage": (FUSED, 1),
    "fused-bias-4-stages": (dict(FUSED, qkv_has_bias=True), 4),
    "fused-qkv-concat-1-stage": (dict(FUSED, qkv_concat=True), 1),
}


def read_batches(data, length, steps=STEPS, batch=BATCH, micro_batches=MICRO_BATCHES):
    """The micro-batches of all steps: [step][micro-batch] of (tokens, labels)."""
    tokens = numpy.frombuffer(open(data, "rb").read(), numpy.uint8).astype(numpy.int64)
    sequence = 0
    for _ in range(steps):
        step = []
        for _ in range(micro_batches):
            rows = [
                tokens[(sequence + row) * length :][: length + 1] for row in range(batch)
            ]
            sequence += batch
            block = torch.tensor(numpy.stack(rows))
            step.append((block[:, :-1], block[:, 1:]))
        yield step


def run_torch(config, parameters, data):
    """Losses and gradients (before clipping) of each step."""
    model = torch_llama.Llama(config, parameters)
    params = model.unique_parameters()
    optimizer = torch_llama.make_optimizer(model, 1e-3)
    for step in read_batches(data, config["seq_length"]):
        optimizer.zero_grad()
        losses = []
        for tokens, labels in step:
            loss = model.loss(tokens, labels)
            (loss / MICRO_BATCHES).backward()
            losses.append(loss.item())
        gradients = {name: p.grad.clone().numpy() for name, p in params.items()}
        yield numpy.mean(losses), gradients
        torch_llama.clip(list(params.values()), 1.0)
        optimizer.step()


def compare(name, tools, data):
    changes, stages = CASES[name]
    config = dict(training.MODEL, **changes)
    mlir, step = tools.lower(
        name, config, stages=stages, micro_batches=MICRO_BATCHES, batch_size=BATCH
    )
    parameters = training.random_parameters(tools.parameters(mlir))
    if config["tie_word_embeddings"]:
        parameters.pop("lm_head.weight", None)
    weights = tools.path(name + ".weights.safetensors")
    safetensors.save(weights, parameters)
    folder = tools.path(name + ".gradients")
    os.makedirs(folder, exist_ok=True)
    report = tools.train(
        step, data, STEPS, weights, extra=["--dump-gradients-every-step", folder]
    )
    dumps = sorted(os.listdir(folder))
    assert len(dumps) == STEPS, dumps

    worst_loss, worst_gradient, worst_name = 0, 0, ""
    for index, (loss, gradients) in enumerate(run_torch(config, parameters, data)):
        ours = safetensors.load(os.path.join(folder, dumps[index]))
        if config["tie_word_embeddings"] and "lm_head.weight" in ours:
            key = "model.tok_embeddings.embedding_weight"
            ours[key] = ours[key] + ours.pop("lm_head.weight")
        assert set(ours) == set(gradients), set(ours) ^ set(gradients)
        error = abs(report["steps"][index]["loss"] - loss) / abs(loss)
        worst_loss = max(worst_loss, error)
        for key, expected in gradients.items():
            norm = numpy.linalg.norm(expected.astype(numpy.float64))
            difference = numpy.linalg.norm(ours[key].astype(numpy.float64) - expected)
            if difference / norm > worst_gradient:
                worst_gradient, worst_name = difference / norm, key
    print(
        "%-20s loss %.1e  gradient %.1e (%s)"
        % (name, worst_loss, worst_gradient, worst_name),
        flush=True,
    )
    return worst_loss <= LOSS_TOLERANCE and worst_gradient <= GRADIENT_TOLERANCE


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare)
