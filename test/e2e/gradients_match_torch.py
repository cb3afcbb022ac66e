# SPDX-License-Identifier: Apache-2.0
"""Compares loss and gradients of mf with PyTorch's, over several steps, family by family.

usage: gradients_match_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER [CASE...]

For a new family add a record of its names to torch_decoder.py and a case to FAMILIES.
"""

import torch_cases
import training
from torch_decoder import GLM2, LLAMA, MCORE, QWEN, TELECHAT, Decoder

# Behind the first steps rounding decides in which direction AdamW moves parameters of small gradients.
STEPS, FAMILY_STEPS = 5, 2

FUSED = {"use_fused_rope": True, "use_fused_swiglu": True}
GLM2_MODEL = {
    "hidden_size": 64, "num_layers": 4, "num_attention_heads": 4, "multi_query_attention": True, "multi_query_group_num": 2,
    "kv_channels": 16, "padded_vocab_size": 256, "ffn_hidden_size": 96, "seq_length": 32, "add_bias_linear": False,
    "add_qkv_bias": True, "rmsnorm": True, "layernorm_epsilon": "1.0e-5", "use_flash_attention": True, "pad_token_id": -1,
    "compute_dtype": '"float32"', "layernorm_compute_type": '"float32"', "param_init_type": '"float32"',
    "rotary_dtype": '"float32"',
}  # fmt: skip
QWEN3_MODEL = {
    "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
    "intermediate_size": 96, "seq_length": 32, "vocab_size": 256, "rms_norm_eps": "1.0e-5", "rope_theta": "1000000.0",
    "compute_dtype": "float32", "params_dtype": "float32", "rotary_dtype": "float32", "pad_token_id": -1,
    "initializer_range": 0.02,
}  # fmt: skip
LLAMA3 = {
    "type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64,
}  # fmt: skip


class Case:
    """The model that a YAML has, and what is said of it to the reference beside."""

    def __init__(self, names, model, stages=1, reference=(), **options):
        self.names, self.model, self.stages, self.reference, self.options = names, model, stages, dict(reference), options


def llama(stages=1, names=LLAMA, arch="LlamaForCausalLM", reference=(), **changes):
    return Case(names, dict(training.MODEL, **changes), stages, reference, arch=arch)


def glm2(**changes):
    return Case(GLM2, dict(GLM2_MODEL, **changes), arch="ChatGLM2ForConditionalGeneration", model_type="ChatGLM2Config")


def qwen3(**changes):
    return Case(MCORE, dict(QWEN3_MODEL, **changes), arch="Qwen3ForCausalLM", model_type="Qwen3Config")


NORMALIZED, ALIBI = {"normalizes_head": True}, {"normalizes_head": True, "alibi": True}
LLAMA3_TEXT = "{%s}" % ", ".join("%s: %s" % item for item in LLAMA3.items() if item[0] != "type")
# What docs/running.md has in its table.
LLAMAS = {
    "gqa-1-stage": llama(),
    "gqa-4-stages": llama(4),
    "mha-1-stage": llama(n_kv_heads=4),
    "mha-4-stages": llama(4, n_kv_heads=4),
    "gqa-bias-1-stage": llama(qkv_has_bias=True),
    "gqa-bias-4-stages": llama(4, qkv_has_bias=True),
    "mha-bias-4-stages": llama(4, n_kv_heads=4, qkv_has_bias=True),
    "no-flash-1-stage": llama(use_flash_attention=False),
    "tied-1-stage": llama(tie_word_embeddings=True),
    "tied-4-stages": llama(4, tie_word_embeddings=True),
    "qkv-concat-1-stage": llama(qkv_concat=True),
    "fused-1-stage": llama(**FUSED),
    "fused-bias-4-stages": llama(4, qkv_has_bias=True, **FUSED),
    "fused-qkv-concat-1-stage": llama(qkv_concat=True, **FUSED),
}
FAMILIES = {
    "theta": llama(theta=500000.0),
    "interpolated": llama(extend_method="PI", scaling_factor=4, reference={"rope_scaling": {"type": "linear", "factor": 4}}),
    "llama3.1": llama(extend_method="LLAMA3", scaling_factor=LLAMA3_TEXT, reference={"rope_scaling": LLAMA3}),
    "internlm": llama(arch="InternLMForCausalLM"),
    "qwen": llama(names=QWEN, arch="QwenForCausalLM"),
    "qwen2": llama(qkv_concat=True, qkv_has_bias=True, tie_word_embeddings=True),
    "baichuan-7b": llama(arch="Baichuan7BV2ForCausalLM", reference=NORMALIZED),
    "baichuan-13b": llama(arch="Baichuan13BV2ForCausalLM", use_flash_attention=False, reference=ALIBI),
    "baichuan-13b-flash": llama(arch="Baichuan13BV2ForCausalLM", reference=ALIBI),
    "telechat": llama(names=TELECHAT, arch="TelechatForCausalLM"),
    "chatglm": glm2(rope_ratio=50),
    "chatglm-scores": glm2(rope_ratio=50, use_flash_attention=False),
    "qwen3": qwen3(),
    "qwen3-scores": qwen3(use_flash_attention=False),
}
CASES = {**LLAMAS, **FAMILIES}


def compare(name, tools, data):
    case = CASES[name]
    mlir, step = tools.lower(
        name, case.model, stages=case.stages, micro_batches=torch_cases.MICRO_BATCHES, batch_size=torch_cases.BATCH, **case.options
    )
    parameters = training.random_parameters(tools.parameters(mlir))
    tied = ["lm_head.weight"] if case.model.get("tie_word_embeddings") else []
    for key in tied:
        parameters.pop(key, None)
    steps = STEPS if name in LLAMAS else FAMILY_STEPS
    ours = torch_cases.run_steps(tools, name, step, data, steps, parameters)
    model = Decoder(case.names, dict(case.model, **case.reference), parameters)
    expected = torch_cases.train(model, torch_cases.read_batches(data, case.model["seq_length"], steps))
    return torch_cases.compare_steps(name, ours, expected, tied, case.names["table"])


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare)
