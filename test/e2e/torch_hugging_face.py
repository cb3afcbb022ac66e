# SPDX-License-Identifier: Apache-2.0
"""Decoders of Hugging Face checkpoints in plain PyTorch, under their own names.

Written as the published model code computes: rotary embeddings by rotate_half,
key and value heads repeated, ALiBi and a normalised head for Baichuan2,
TeleChat's key and value heads in turn. It says what a converted checkpoint has
to mean.
"""

import math

import torch
from torch.nn.functional import cross_entropy, embedding, linear, silu
from torch_llama import rms_norm

LLAMA = {
    "embedding": "model.embed_tokens.weight",
    "layer": "model.layers.%d.",
    "norms": ("input_layernorm.weight", "post_attention_layernorm.weight"),
    "attention": "self_attn.",
    "projections": ("q_proj", "k_proj", "v_proj"),
    "output": "o_proj",
    "feed_forward": ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
    "final_norm": "model.norm.weight",
}
# Keys and names of a layer's experts: their number in a config.json, the router, an expert's
# projections, the shared expert's and the weight of its result.
QWEN_EXPERTS = {
    "count": "num_experts",
    "router": "mlp.gate.weight",
    "expert": ("mlp.experts.%d.gate_proj", "mlp.experts.%d.up_proj", "mlp.experts.%d.down_proj"),
    "shared": ("mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj", "mlp.shared_expert.down_proj"),
    "shared_router": "mlp.shared_expert_gate",
}  # fmt: skip
MIXTRAL_EXPERTS = {
    "count": "num_local_experts",
    "router": "block_sparse_moe.gate.weight",
    "expert": tuple("block_sparse_moe.experts.%%d.w%d" % number for number in (1, 3, 2)),
}
MIXTRAL = dict(LLAMA, experts=MIXTRAL_EXPERTS)
QWEN_MOE = dict(LLAMA, experts=QWEN_EXPERTS)
BAICHUAN = dict(LLAMA, projections=("W_pack",))
QWEN1 = {
    "embedding": "transformer.wte.weight",
    "layer": "transformer.h.%d.",
    "norms": ("ln_1.weight", "ln_2.weight"),
    "attention": "attn.",
    "projections": ("c_attn",),
    "output": "c_proj",
    "feed_forward": ("mlp.w2", "mlp.w1", "mlp.c_proj"),
    "final_norm": "transformer.ln_f.weight",
}
TELECHAT = {
    "embedding": "transformer.word_embeddings.weight",
    "layer": "transformer.h.%d.",
    "norms": ("input_layernorm.weight", "post_attention_layernorm.weight"),
    "attention": "self_attention.",
    "projections": ("query", "key_value"),
    "output": "dense",
    "feed_forward": ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
    "final_norm": "transformer.ln_f.weight",
}


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def alibi_slopes(heads):
    """Press et al., 2022, as their code has it."""

    def power_of_two(count):
        start = 2 ** (-(2 ** -(math.log2(count) - 3)))
        return [start * start**i for i in range(count)]

    if math.log2(heads).is_integer():
        return power_of_two(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return power_of_two(closest) + alibi_slopes(2 * closest)[0::2][: heads - closest]


def llama3_frequencies(inverse, scaling):
    """Frequencies as transformers' _compute_llama3_parameters computes them."""
    factor, length = scaling["factor"], scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    waves = 2 * math.pi / inverse
    smooth = (length / waves - low) / (high - low)
    mixed = (1 - smooth) * inverse / factor + smooth * inverse
    scaled = torch.where(waves > length / low, inverse / factor, inverse)
    is_medium = (waves >= length / high) & (waves <= length / low)
    return torch.where(is_medium, mixed, scaled)


class Decoder:
    """`config` has the keys of a config.json, and `alibi`, `normalizes_head`."""

    def __init__(self, names, config, parameters):
        self.names, self.config = names, config
        self.params = {
            name: torch.nn.Parameter(torch.tensor(value))
            for name, value in parameters.items()
        }

    def linear(self, x, name):
        bias = self.params.get(name + ".bias")
        return linear(x, self.params[name + ".weight"], bias)

    def norm(self, x, name):
        return rms_norm(x, self.params[name], self.config["rms_norm_eps"])

    def project(self, x, prefix):
        """Query, key and value, [batch, length, heads, head size]."""
        config = self.config
        heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
        parts = [self.linear(x, prefix + name) for name in self.names["projections"]]

        def split(value):
            return value.unflatten(-1, (-1, config["head_dim"]))

        if len(parts) == 2:
            pairs = parts[1].unflatten(-1, (groups, 2, -1))
            return split(parts[0]), pairs[..., 0, :], pairs[..., 1, :]
        return split(torch.cat(parts, -1)).split([heads, groups, groups], 2)

    def rotate(self, x):
        config = self.config
        size = config["head_dim"]
        inverse = config["rope_theta"] ** (-torch.arange(0, size, 2).double() / size)
        if "rope_scaling" in config:
            inverse = llama3_frequencies(inverse, config["rope_scaling"])
        angles = torch.outer(torch.arange(x.shape[-2]).double(), inverse)
        angles = torch.cat((angles, angles), -1)
        return x * angles.cos().float() + rotate_half(x) * angles.sin().float()

    def attention(self, x, prefix):
        config = self.config
        heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
        query, key, value = self.project(x, prefix)
        if prefix + "q_norm.weight" in self.params:
            query = self.norm(query, prefix + "q_norm.weight")
            key = self.norm(key, prefix + "k_norm.weight")
        query, key, value = (each.transpose(1, 2) for each in (query, key, value))
        if not config.get("alibi"):
            query, key = self.rotate(query), self.rotate(key)
        key = key.repeat_interleave(heads // groups, 1)
        value = value.repeat_interleave(heads // groups, 1)
        scores = query @ key.transpose(-1, -2) / math.sqrt(config["head_dim"])
        positions = torch.arange(x.shape[1])
        distance = positions[None, :] - positions[:, None]
        if config.get("alibi"):
            slopes = torch.tensor(alibi_slopes(heads))
            scores = scores + slopes[:, None, None] * distance
        scores = scores.masked_fill(distance > 0, -math.inf)
        out = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        return self.linear(out, prefix + self.names["output"])

    def dense(self, x, names):
        gate, up, down = names
        return self.linear(silu(self.linear(x, gate)) * self.linear(x, up), down)

    def experts(self, x, layer):
        """Every token goes to its experts; none is dropped."""
        config, names = self.config, self.names["experts"]
        scores = linear(x, self.params[layer + names["router"]]).softmax(-1)
        gates, chosen = scores.topk(config["num_experts_per_tok"], -1)
        if config.get("norm_topk_prob", config["model_type"] == "mixtral"):
            gates = gates / gates.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for expert in range(config[names["count"]]):
            weight = (gates * (chosen == expert)).sum(-1, keepdim=True)
            out = out + weight * self.dense(x, [layer + name % expert for name in names["expert"]])
        if layer + names.get("shared_router", "") + ".weight" in self.params:
            weight = torch.sigmoid(self.linear(x, layer + names["shared_router"]))
            out = out + weight * self.dense(x, [layer + name for name in names["shared"]])
        return out

    def feed_forward(self, x, layer):
        if "experts" in self.names and layer + self.names["experts"]["router"] in self.params:
            return self.experts(x, layer)
        return self.dense(x, [layer + name for name in self.names["feed_forward"]])

    def loss(self, tokens, labels):
        names = self.names
        x = embedding(tokens, self.params[names["embedding"]])
        for index in range(self.config["num_hidden_layers"]):
            layer = names["layer"] % index
            first, second = (layer + norm for norm in names["norms"])
            x = x + self.attention(self.norm(x, first), layer + names["attention"])
            x = x + self.feed_forward(self.norm(x, second), layer)
        x = self.norm(x, names["final_norm"])
        head = self.params.get("lm_head.weight", self.params[names["embedding"]])
        if self.config.get("normalizes_head"):
            head = head / (head.pow(2).sum(1, keepdim=True) + 1e-5).sqrt()
        return cross_entropy(linear(x, head).flatten(0, 1), labels.flatten())
