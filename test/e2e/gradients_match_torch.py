# SPDX-License-Identifier: Apache-2.0
"""Compares loss and gradients of mf with PyTorch's, over several steps.

usage: gradients_match_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER
"""

import torch_cases
import torch_llama
import training

STEPS = 5

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


def compare(name, tools, data):
    changes, stages = CASES[name]
    config = dict(training.MODEL, **changes)
    mlir, step = tools.lower(name, config, stages=stages, micro_batches=torch_cases.MICRO_BATCHES, batch_size=torch_cases.BATCH)
    parameters = training.random_parameters(tools.parameters(mlir))
    if config["tie_word_embeddings"]:
        parameters.pop("lm_head.weight", None)
    ours = torch_cases.run_steps(tools, name, step, data, STEPS, parameters)
    batches = torch_cases.read_batches(data, config["seq_length"], STEPS)
    expected = torch_cases.train(torch_llama.Llama(config, parameters), batches)
    tied = ["lm_head.weight"] if config["tie_word_embeddings"] else []
    return torch_cases.compare_steps(name, ours, expected, tied, "model.tok_embeddings.embedding_weight")


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare)
