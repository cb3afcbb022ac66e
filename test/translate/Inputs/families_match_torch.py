# SPDX-License-Identifier: Apache-2.0
"""Compares the loss of imported models with references written from the papers
and the published model code, family by family, with random parameters.

usage: families_match_torch.py MF_TRANSLATE WORK_FOLDER
"""

import math
import os
import subprocess
import sys

import torch
from evaluate import Model, alibi_slopes, attention, rms_norm
from torch.nn.functional import cross_entropy, linear, silu

BATCH, LENGTH, VOCAB, HIDDEN, LAYERS, HEADS, GROUPS = 2, 12, 96, 64, 2, 4, 2

COMMON = {"seq_length": LENGTH, "hidden_size": HIDDEN}
LLAMA = dict(
    COMMON,
    num_layers=LAYERS,
    num_heads=HEADS,
    n_kv_heads=GROUPS,
    vocab_size=VOCAB,
    intermediate_size=80,
    compute_dtype="bfloat16",
    rms_norm_eps=1e-5,
)
GLM = dict(
    COMMON,
    num_layers=LAYERS,
    num_attention_heads=HEADS,
    multi_query_group_num=GROUPS,
    kv_channels=16,
    padded_vocab_size=VOCAB,
    ffn_hidden_size=80,
    rope_ratio=50,
)
QWEN3 = dict(
    COMMON,
    num_hidden_layers=LAYERS,
    num_attention_heads=HEADS,
    num_key_value_heads=GROUPS,
    head_dim=32,
    vocab_size=VOCAB,
    intermediate_size=80,
    rope_theta=1000000.0,
    rms_norm_eps=1e-5,
    fp32_residual_connection=True,
)


def llama3_frequencies(frequencies, factor, low, high, length):
    """Frequencies as transformers' _compute_llama3_parameters computes them."""
    waves = 2 * math.pi / frequencies
    smooth = (length / waves - low) / (high - low)
    mixed = (1 - smooth) * frequencies / factor + smooth * frequencies
    scaled = torch.where(waves > length / low, frequencies / factor, frequencies)
    is_medium = (waves >= length / high) & (waves <= length / low)
    return torch.where(is_medium, mixed, scaled)


def half_rotation(x, base, scale=1.0, llama3=None):
    """Su et al., 2021, as Llama's published weights want it: dimension i turns
    with dimension i + size / 2."""
    size = x.shape[-1]
    frequencies = base ** (-torch.arange(0, size, 2).double() / size)
    if llama3:
        frequencies = llama3_frequencies(frequencies, *llama3)
    angles = torch.outer(torch.arange(x.shape[-2]).double() * scale, frequencies)
    turns = torch.polar(torch.ones_like(angles), angles)
    low, high = x.chunk(2, -1)
    turned = torch.complex(low, high) * turns
    return torch.cat((turned.real, turned.imag), -1)


def pair_rotation(x, base):
    """ChatGLM: the first half of a head, neighbours as complex numbers."""
    rotating, passing = x.chunk(2, -1)
    size = rotating.shape[-1]
    angles = torch.outer(
        torch.arange(x.shape[-2]).double(),
        base ** (-torch.arange(0, size, 2).double() / size),
    )
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(rotating.reshape(*rotating.shape[:-1], -1, 2))
    turned = torch.view_as_real(pairs * turns).flatten(-2)
    return torch.cat((turned, passing), -1)


class Reference:
    """One decoder for all; families differ in names and in a few steps."""

    def __init__(self, parameters, names, **options):
        self.parameters, self.names, self.options = parameters, names, options

    def linear(self, x, name):
        weight = self.parameters[name + ".weight"]
        return linear(x, weight, self.parameters.get(name + ".bias"))

    def norm(self, x, name):
        return rms_norm(x, self.parameters[name + ".weight"], 1e-5)

    def project(self, x, layer):
        """Query, key and value as [batch, heads, length, head size]."""
        weights = [layer + name for name in self.names["projections"]]
        # Weights that are stored together are grouped by heads of keys and values.
        projected = [self.linear(x, name) for name in weights]
        packed = torch.cat([part.view(BATCH, LENGTH, GROUPS, -1) for part in projected], -1)
        size = packed.shape[-1] // (HEADS // GROUPS + 2)
        parts = packed.split([HEADS // GROUPS * size, size, size], -1)
        return [part.reshape(BATCH, LENGTH, -1, size) for part in parts]

    def attend(self, x, layer):
        query, key, value = self.project(x, layer)
        if "head_norms" in self.names:
            for_query, for_key = self.names["head_norms"]
            query = self.norm(query, layer + for_query)
            key = self.norm(key, layer + for_key)
        query, key, value = (each.transpose(1, 2) for each in (query, key, value))
        rotate = self.options.get("rotate", lambda heads: heads)
        slopes = alibi_slopes(HEADS) if self.options.get("alibi") else None
        scale = key.shape[-1] ** -0.5
        out = attention(rotate(query), rotate(key), value, scale, slopes)
        return self.linear(out.transpose(1, 2).flatten(2), layer + self.names["out"])

    def feed_forward(self, x, layer):
        weights = [layer + name for name in self.names["gate_up"]]
        # And gate and up by neurons.
        projected = [self.linear(x, name) for name in weights]
        neurons = sum(part.shape[-1] for part in projected) // 2
        packed = torch.cat([part.unflatten(-1, (neurons, -1)) for part in projected], -1)
        gate, up = packed.unbind(-1)
        return self.linear(silu(gate) * up, layer + self.names["down"])

    def loss(self, tokens, labels):
        x = self.parameters[self.names["embedding"]][tokens]
        for index in range(LAYERS):
            layer = "%s.%d." % (self.names["layers"], index)
            first, second = (layer + name for name in self.names["norms"])
            x = x + self.attend(self.norm(x, first), layer)
            x = x + self.feed_forward(self.norm(x, second), layer)
        x = self.norm(x, self.names["final_norm"])
        head = self.parameters[self.names["head"] + ".weight"]
        if self.options.get("normalizes_head"):
            head = head / (head.pow(2).sum(1, keepdim=True) + 1e-5).sqrt()
        return cross_entropy(linear(x, head).flatten(0, 1), labels.flatten())


LLAMA_NAMES = {
    "embedding": "model.tok_embeddings.embedding_weight",
    "layers": "model.layers",
    "norms": ("attention_norm", "ffn_norm"),
    "projections": ("attention.wq", "attention.wk", "attention.wv"),
    "out": "attention.wo",
    "gate_up": ("feed_forward.w1", "feed_forward.w3"),
    "down": "feed_forward.w2",
    "final_norm": "model.norm_out",
    "head": "lm_head",
}
CONCATENATED_NAMES = dict(
    LLAMA_NAMES,
    projections=("attention.w_qkv",),
    gate_up=("feed_forward.w_gate_hidden",),
)
TELECHAT_NAMES = dict(LLAMA_NAMES, projections=("attention.wq", "attention.wk_v"))
QWEN_NAMES = dict(
    LLAMA_NAMES,
    embedding="transformer.wte.embedding_weight",
    layers="transformer.layers",
    final_norm="transformer.ln_f",
)
GLM_NAMES = {
    "embedding": "transformer.embedding.embedding_weight",
    "layers": "transformer.encoder.layers",
    "norms": ("input_layernorm", "post_attention_layernorm"),
    "projections": ("self_attention.query_key_value",),
    "out": "self_attention.dense",
    "gate_up": ("mlp.dense_h_to_4h",),
    "down": "mlp.dense_4h_to_h",
    "final_norm": "transformer.encoder.final_layernorm",
    "head": "transformer.output_layer",
}
QWEN3_NAMES = {
    "embedding": "embedding.word_embeddings.weight",
    "layers": "decoder.layers",
    "norms": ("input_layernorm", "pre_mlp_layernorm"),
    "projections": ("self_attention.linear_qkv",),
    "head_norms": ("self_attention.q_layernorm", "self_attention.k_layernorm"),
    "out": "self_attention.linear_proj",
    "gate_up": ("mlp.linear_fc1",),
    "down": "mlp.linear_fc2",
    "final_norm": "decoder.final_layernorm",
    "head": "output_layer",
}


def half(base=10000.0, scale=1.0, llama3=None):
    return lambda x: half_rotation(x, base, scale, llama3)


# arch, model_config, names of the reference, its options
CASES = {
    "llama": ("LlamaForCausalLM", LLAMA, LLAMA_NAMES, {"rotate": half()}),
    "llama-flash": (
        "LlamaForCausalLM",
        dict(LLAMA, use_flash_attention=True, theta=500000.0),
        LLAMA_NAMES,
        {"rotate": half(500000.0)},
    ),
    "llama-interpolated": (
        "LlamaForCausalLM",
        dict(LLAMA, extend_method="PI", scaling_factor=4),
        LLAMA_NAMES,
        {"rotate": half(scale=0.25)},
    ),
    "llama3.1": (
        "LlamaForCausalLM",
        dict(
            LLAMA,
            extend_method="LLAMA3",
            scaling_factor="{factor: 8, low_freq_factor: 1, high_freq_factor: 4, "
            "original_max_position_embeddings: 64}",
        ),
        LLAMA_NAMES,
        {"rotate": half(llama3=(8, 1, 4, 64))},
    ),
    "qwen2": (
        "LlamaForCausalLM",
        dict(LLAMA, qkv_concat=True, qkv_has_bias=True, tie_word_embeddings=True),
        CONCATENATED_NAMES,
        {"rotate": half()},
    ),
    "internlm": ("InternLMForCausalLM", LLAMA, LLAMA_NAMES, {"rotate": half()}),
    "qwen": ("QwenForCausalLM", LLAMA, QWEN_NAMES, {"rotate": half()}),
    "baichuan-7b": (
        "Baichuan7BV2ForCausalLM",
        LLAMA,
        LLAMA_NAMES,
        {"rotate": half(), "normalizes_head": True},
    ),
    "baichuan-13b": (
        "Baichuan13BV2ForCausalLM",
        LLAMA,
        LLAMA_NAMES,
        {"alibi": True, "normalizes_head": True},
    ),
    "baichuan-13b-flash": (
        "Baichuan13BV2ForCausalLM",
        dict(LLAMA, use_flash_attention=True),
        LLAMA_NAMES,
        {"alibi": True, "normalizes_head": True},
    ),
    "telechat": (
        "TelechatForCausalLM",
        dict(LLAMA, res_dtype="float32"),
        TELECHAT_NAMES,
        {"rotate": half()},
    ),
    "chatglm": (
        "ChatGLM2ForConditionalGeneration",
        dict(GLM, use_flash_attention=True),
        GLM_NAMES,
        {"rotate": lambda x: pair_rotation(x, 500000.0)},
    ),
    "chatglm-scores": (
        "ChatGLM2ForConditionalGeneration",
        GLM,
        GLM_NAMES,
        {"rotate": lambda x: pair_rotation(x, 500000.0)},
    ),
    "qwen3": ("Qwen3ForCausalLM", QWEN3, QWEN3_NAMES, {"rotate": half(1e6)}),
    "qwen3-scores": (
        "Qwen3ForCausalLM",
        dict(QWEN3, use_flash_attention=False),
        QWEN3_NAMES,
        {"rotate": half(1e6)},
    ),
}


def write_yaml(path, arch, model_config):
    lines = ["runner_config: {batch_size: %d}" % BATCH, "model:"]
    lines += ["  arch: {type: %s}" % arch, "  model_config:"]
    lines += ["    %s: %s" % item for item in model_config.items()]
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def compare(name, translate, folder):
    arch, model_config, names, options = CASES[name]
    yaml = os.path.join(folder, name + ".yaml")
    write_yaml(yaml, arch, model_config)
    text = subprocess.run(
        [translate, "--import-mindformers", yaml],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    model = Model(text)
    generator = torch.Generator().manual_seed(1)
    tokens, labels = torch.randint(VOCAB, (2, BATCH, LENGTH), generator=generator)
    expected = Reference(model.parameters, names, **options).loss(tokens, labels)
    difference = abs(model.loss(tokens, labels) - expected).item()
    print("%s: loss %.12f, difference %.1e" % (name, expected, difference))
    return difference < 1e-12 * expected.item()


def main():
    translate, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    wrong = [name for name in CASES if not compare(name, translate, folder)]
    if wrong:
        sys.exit("different from the reference: " + ", ".join(wrong))


main()
