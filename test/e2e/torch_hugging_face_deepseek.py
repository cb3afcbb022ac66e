# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-V2 and V3 in plain PyTorch, under Hugging Face's names.

Written as the published model code computes: latent attention whose neighbours
rotate, experts in groups, and layers that predict one more token.
"""

import math

import torch
import torch_hugging_face
from torch.nn.functional import cross_entropy, linear

EXPERTS = {
    "count": "n_routed_experts",
    "router": "mlp.gate.weight",
    "expert": ("mlp.experts.%d.gate_proj", "mlp.experts.%d.up_proj", "mlp.experts.%d.down_proj"),
    "shared": ("mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj", "mlp.shared_experts.down_proj"),
}  # fmt: skip
NAMES = dict(torch_hugging_face.LLAMA, experts=EXPERTS)


def yarn_scale(factor, mscale):
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def yarn_frequencies(base, size, scaling):
    """Fast waves stay, slow ones are stretched."""
    steps = torch.arange(0, size, 2).double() / size
    fast, slow = base**-steps, base**-steps / scaling["factor"]

    def find_dimension(turns):
        length = scaling["original_max_position_embeddings"]
        return size * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(find_dimension(scaling["beta_fast"])), 0)
    high = min(math.ceil(find_dimension(scaling["beta_slow"])), size - 1)
    high += 0.001 if low == high else 0
    ramp = ((torch.arange(size // 2).double() - low) / (high - low)).clamp(0, 1)
    return slow * ramp + fast * (1 - ramp)


class Decoder(torch_hugging_face.Decoder):
    def rotate(self, x):
        """Neighbours, which move to two halves first."""
        config = self.config
        size, scaling = config["qk_rope_head_dim"], config.get("rope_scaling")
        amplitude = 1.0
        frequencies = config["rope_theta"] ** (-torch.arange(0, size, 2).double() / size)
        if scaling:
            frequencies = yarn_frequencies(config["rope_theta"], size, scaling)
            amplitude = yarn_scale(scaling["factor"], scaling["mscale"])
            amplitude /= yarn_scale(scaling["factor"], scaling["mscale_all_dim"])
        angles = torch.outer(torch.arange(x.shape[-2]).double(), frequencies)
        angles = torch.cat((angles, angles), -1)
        cos, sin = (amplitude * table for table in (angles.cos(), angles.sin()))
        x = torch.cat((x[..., 0::2], x[..., 1::2]), -1)
        return x * cos.float() + torch_hugging_face.rotate_half(x) * sin.float()

    def get_scale(self):
        config, scaling = self.config, self.config.get("rope_scaling")
        scale = (config["qk_nope_head_dim"] + config["qk_rope_head_dim"]) ** -0.5
        if scaling:
            scale *= yarn_scale(scaling["factor"], scaling["mscale_all_dim"]) ** 2
        return scale

    def attention(self, x, prefix):
        config, heads = self.config, self.config["num_attention_heads"]
        nope, rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]

        def split(value):
            return value.unflatten(-1, (heads, -1)).transpose(1, 2)

        if config["q_lora_rank"]:
            query = self.linear(x, prefix + "q_a_proj")
            query = self.norm(query, prefix + "q_a_layernorm.weight")
            query = self.linear(query, prefix + "q_b_proj")
        else:
            query = self.linear(x, prefix + "q_proj")
        query, turned = split(query).split([nope, rope], -1)
        query = torch.cat((query, self.rotate(turned)), -1)
        latent = self.linear(x, prefix + "kv_a_proj_with_mqa")
        latent, turned = latent.split([config["kv_lora_rank"], rope], -1)
        latent = self.norm(latent, prefix + "kv_a_layernorm.weight")
        both = split(self.linear(latent, prefix + "kv_b_proj"))
        key, value = both.split([nope, config["v_head_dim"]], -1)
        turned = self.rotate(turned[:, None]).expand(-1, heads, -1, -1)
        key = torch.cat((key, turned), -1)
        scores = query @ key.transpose(-1, -2) * self.get_scale()
        above = torch.triu(torch.ones(scores.shape[-2:], dtype=torch.bool), 1)
        out = scores.masked_fill(above, -math.inf).softmax(-1) @ value
        return self.linear(out.transpose(1, 2).flatten(2), prefix + "o_proj")

    def choose(self, scores, layer):
        """The experts of each token, and their weights."""
        config = self.config
        is_third = config["model_type"] == "deepseek_v3"
        wanted = scores
        if is_third:
            wanted = scores + self.params[layer + "mlp.gate.e_score_correction_bias"].detach()
        groups = wanted.unflatten(-1, (config["n_group"], -1))
        best = groups.topk(2 if is_third else 1, -1).values.sum(-1)
        best = best.topk(config["topk_group"], -1).indices
        stays = torch.zeros(groups.shape[:-1], dtype=torch.bool).scatter(-1, best, True)
        wanted = torch.where(stays[..., None], groups, torch.zeros_like(groups)).flatten(-2)
        chosen = wanted.topk(config["num_experts_per_tok"], -1).indices
        gates = scores.gather(-1, chosen)
        if config["norm_topk_prob"]:
            gates = gates / (gates.sum(-1, keepdim=True) + 1e-20)
        return chosen, gates * config["routed_scaling_factor"]

    def experts(self, x, layer):
        config, names = self.config, self.names["experts"]
        logits = linear(x, self.params[layer + names["router"]])
        is_third = config["model_type"] == "deepseek_v3"
        scores = torch.sigmoid(logits) if is_third else logits.softmax(-1)
        chosen, gates = self.choose(scores, layer)
        out = self.dense(x, [layer + name for name in names["shared"]])
        for expert in range(config["n_routed_experts"]):
            weight = (gates * (chosen == expert)).sum(-1, keepdim=True)
            out = out + weight * self.dense(x, [layer + name % expert for name in names["expert"]])
        return out

    def run_layer(self, x, layer):
        names = self.names
        first, second = (layer + norm for norm in names["norms"])
        x = x + self.attention(self.norm(x, first), layer + names["attention"])
        return x + self.feed_forward(self.norm(x, second), layer)

    def predict(self, x, tokens, layer):
        """The hidden state for one more token, from that behind the last norm."""
        embedded = self.params[self.names["embedding"]][tokens]
        parts = self.norm(embedded, layer + "enorm.weight"), self.norm(x, layer + "hnorm.weight")
        x = self.linear(torch.cat(parts, -1), layer + "eh_proj")
        return self.norm(self.run_layer(x, layer), layer + "shared_head.norm.weight")

    def loss(self, tokens, labels):
        config, names = self.config, self.names
        x = self.params[names["embedding"]][tokens]
        for index in range(config["num_hidden_layers"]):
            x = self.run_layer(x, names["layer"] % index)
        x = self.norm(x, names["final_norm"])
        head = self.params["lm_head.weight"]
        loss = cross_entropy(linear(x, head).flatten(0, 1), labels.flatten())
        if config.get("num_nextn_predict_layers"):
            after = torch.cat((tokens[:, 1:], torch.zeros_like(tokens[:, :1])), 1)
            x = self.predict(x, after, names["layer"] % config["num_hidden_layers"])
            logits = linear(x[:, :-1], head).flatten(0, 1)
            loss = loss + 0.3 * cross_entropy(logits, labels[:, 1:].flatten())
        return loss
