# SPDX-License-Identifier: Apache-2.0
"""DeepSeek without its experts in plain PyTorch, under MindSpore Transformers' parameter names.

Written from the definitions: multi-head latent attention (DeepSeek-AI, 2024), YaRN
(Peng et al., 2023), multi-token prediction (DeepSeek-AI, 2024), as legacy DeepseekV3 and
as the mcore training graph have them. It is what losses and gradients of mf are compared
with.
"""

import math

import torch
from torch.nn.functional import cross_entropy, linear, silu
from torch_llama import rms_norm, rotate

LEGACY = {
    "table": "model.tok_embeddings.embedding_weight",
    "layers": "model.layers.%d.",
    "norms": ("attention_norm", "ffn_norm"),
    "attention": "attention.",
    "out": "wo",
    "final": "model.norm_out",
    "head": "lm_head",
}
MCORE = {
    "table": "embedding.word_embeddings.weight",
    "layers": "decoder.layers.%d.",
    "norms": ("input_layernorm", "pre_mlp_layernorm"),
    "attention": "self_attention.",
    "out": "linear_proj",
    "final": "decoder.final_layernorm",
    "head": "output_layer",
}


def yarn_growth(factor, scale):
    return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1.0


def yarn_frequencies(plain, base, yarn):
    """Peng et al.: a ramp from waves that turn often, which stay, to those that do not."""
    size = 2 * len(plain)

    def dimension(turns):
        length = yarn["original_max_position_embeddings"]
        return size * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    low = max(math.floor(dimension(yarn["beta_fast"])), 0)
    high = min(math.ceil(dimension(yarn["beta_slow"])), size - 1)
    if low == high:
        high += 0.001
    ramp = ((torch.arange(size // 2).double() - low) / (high - low)).clamp(0, 1)
    return plain * (1 - ramp) + plain / yarn["factor"] * ramp


class DeepSeek:
    """`config` has sizes by the legacy keys; `layout` is separate, together or apart;
    `yarn` is a dictionary of YaRN's numbers or None."""

    def __init__(self, config, parameters, layout="separate", yarn=None, scale=1.0):
        self.config, self.layout = config, layout
        self.is_mcore = layout != "separate"
        self.names = MCORE if self.is_mcore else LEGACY
        self.params = {
            name: torch.nn.Parameter(torch.as_tensor(value)) for name, value in parameters.items()
        }
        plain, turning = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
        self.scale = scale / math.sqrt(plain + turning)
        base = float(config.get("theta", 10000.0))
        frequencies = base ** (-torch.arange(0, turning, 2).double() / turning)
        times, angle = 1.0, 1.0
        if yarn:
            frequencies = yarn_frequencies(frequencies, base, yarn)
            ratio = yarn_growth(yarn["factor"], yarn["mscale"])
            ratio /= yarn_growth(yarn["factor"], yarn["mscale_all_dim"])
            times, angle = (1.0, ratio) if self.is_mcore else (ratio, 1.0)
        angles = torch.outer(torch.arange(config["seq_length"]).double() * angle, frequencies)
        angles = torch.cat((angles, angles), -1)
        dtype = next(iter(self.params.values())).dtype
        self.cos, self.sin = (angles.cos() * times).to(dtype), (angles.sin() * times).to(dtype)

    def unique_parameters(self):
        return self.params

    def linear(self, x, name):
        return linear(x, self.params[name + ".weight"])

    def norm(self, x, name):
        if name + ".weight" not in self.params:
            return x
        return rms_norm(x, self.params[name + ".weight"], float(self.config["rms_norm_eps"]))

    def turn(self, x):
        if self.is_mcore:
            x = torch.cat((x[..., 0::2], x[..., 1::2]), -1)
        return rotate(x, self.cos, self.sin)

    def heads(self, x):
        """[batch, heads, length, size]"""
        return x.unflatten(-1, (self.config["num_heads"], -1)).transpose(1, 2)

    def project(self, x, at):
        """Plain and turning queries, plain keys, values by head, and the turning key."""
        config = self.config
        plain, turning = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
        rank, value = config["kv_lora_rank"], config["v_head_dim"]
        if self.layout == "separate":
            query = self.norm(self.linear(x, at + "q2l_proj"), at + "lq_norm")
            latent = self.norm(self.linear(x, at + "kv2l_latent_kv"), at + "lkv_norm")
            queries = [self.linear(query, at + n) for n in ("l2q_nope_proj", "l2q_pe_proj")]
            others = [self.linear(latent, at + n) for n in ("lkv2kv_k_nope", "lkv2kv_v")]
            shared = self.linear(x, at + "kv2l_k_pe")
            return [self.heads(part) for part in queries + others] + [shared]
        has_rank = config["q_lora_rank"] is not None
        if self.layout == "together":
            packed = self.linear(x, at + "linear_qkv")
            query, latent, shared = packed.split(
                [packed.shape[-1] - rank - turning, rank, turning], -1
            )
            up, norm, down = "linear_qb", "k_layernorm", "linear_kvb"
        else:
            query = self.linear(x, at + ("linear_q_down_proj" if has_rank else "linear_q_proj"))
            latent, shared = self.linear(x, at + "linear_kv_down_proj").split([rank, turning], -1)
            up, norm, down = "linear_q_up_proj", "kv_layernorm", "linear_kv_up_proj"
        if has_rank:
            query = self.linear(self.norm(query, at + "q_layernorm"), at + up)
        other = self.heads(self.linear(self.norm(latent, at + norm), at + down))
        parts = self.heads(query).split([plain, turning], -1)
        return [*parts, *other.split([plain, value], -1), shared]

    def attend(self, x, layer):
        at = layer + self.names["attention"]
        plain, turning, key, value, shared = self.project(x, at)
        shared = self.turn(shared)[:, None]
        scores = plain @ key.transpose(-1, -2) + self.turn(turning) @ shared.transpose(-1, -2)
        length = x.shape[1]
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
        weights = (scores * self.scale).masked_fill(mask, float("-inf")).softmax(-1)
        return self.linear((weights @ value).transpose(1, 2).flatten(2), at + self.names["out"])

    def feed_forward(self, x, layer):
        if self.is_mcore:
            packed = self.linear(x, layer + "mlp.linear_fc1")
            gate, up = packed.unflatten(-1, (-1, 2)).unbind(-1)
            return self.linear(silu(gate) * up, layer + "mlp.linear_fc2")
        at = layer + "feed_forward."
        gate, up = self.linear(x, at + "w1"), self.linear(x, at + "w3")
        return self.linear(silu(gate) * up, at + "w2")

    def layer(self, x, layer):
        first, second = (layer + name for name in self.names["norms"])
        x = x + self.attend(self.norm(x, first), layer)
        return x + self.feed_forward(self.norm(x, second), layer)

    def deepen(self, x, tokens, depth):
        """The hidden state of depth `depth`, of that before; tokens are those of depth 0."""
        later = torch.nn.functional.pad(tokens[:, depth:], (0, depth))
        embedding = self.params[self.names["table"]][later]
        if self.is_mcore:
            at = "mtp.layers.%d." % (depth - 1)
            both = (self.norm(embedding, at + "enorm"), self.norm(x, at + "hnorm"))
            x = self.linear(torch.cat(both, -1), at + "eh_proj")
            return self.norm(self.layer(x, at + "transformer_layer."), at + "final_layernorm")
        at = "model.mtp_hidden_fusers.%d." % (depth - 1)
        both = (self.norm(x, at + "norm"), self.norm(embedding, at + "norm_emb"))
        x = self.linear(torch.cat(both, -1), at + "dense")
        return self.layer(x, self.names["layers"] % (self.config["num_layers"] + depth - 1))

    def loss(self, tokens, labels):
        config = self.config
        x = self.params[self.names["table"]][tokens]
        for index in range(config["num_layers"]):
            x = self.layer(x, self.names["layers"] % index)
        states = [self.norm(x, self.names["final"])]
        if self.is_mcore:
            x = states[0]
        depths = config.get("mtp_depth", 0)
        for depth in range(1, depths + 1):
            x = self.deepen(x, tokens, depth)
            states.append(x if self.is_mcore else self.norm(x, "model.mtp_norms.%d" % (depth - 1)))
        total = 0
        for depth, state in enumerate(states):
            logits = self.linear(state, self.names["head"])
            wanted = torch.nn.functional.pad(labels[:, depth:], (0, depth), value=-100)
            loss = cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100)
            total = total + loss * (config["mtp_loss_factor"] / depths if depth else 1)
        return total
