# SPDX-License-Identifier: Apache-2.0
"""Decoders in plain PyTorch, which losses and gradients of mf are compared with.

Written from the definitions: RMSNorm before each half of a layer and grouped-query attention (Touvron et al., 2023), rotary
embeddings (Su et al., 2021), ALiBi (Press et al., 2022), multi-head latent attention and layers that predict later tokens
(DeepSeek-AI, 2024), YaRN (Peng et al., 2023), and the experts of torch_moe.py.

A model is a record of names, the keys of a YAML's model_config or of a config.json, and its parameters. Which of several
layouts of weights a layer has follows from the parameters that are there. A new family is a record below; what it computes
otherwise is a method that a subclass overrides. Parts that come in at several places are methods, too: `drop`, `weigh`,
`find_hidden` and `extend`.
"""

import math

import numpy
import torch
import torch_moe
from torch.nn.functional import cross_entropy, pad, silu

LLAMA = {
    "table": "model.tok_embeddings.embedding_weight",
    "layer": "model.layers.%d.",
    "norms": ("attention_norm", "ffn_norm"),
    "attention": "attention.",
    "projections": (("w_qkv",), ("wq", "wk_v"), ("wq", "wk", "wv")),
    "output": "wo",
    "feed_forward": "feed_forward.",
    "gate_up": (("w_gate_hidden",), ("w1", "w3")),
    "down": "w2",
    "final": "model.norm_out",
    "head": "lm_head",
    # The layers that predict later tokens: what joins a state and an embedding, and the names in it, in their order.
    "later": {"at": "model.mtp_hidden_fusers.%d.", "state": "norm", "embedding": "norm_emb", "join": "dense", "final": "model.mtp_norms.%d"},
}  # fmt: skip
# Keys of rates and names of what drops elements: of the embedding, of probabilities, and behind the halves of a layer.
TELECHAT = dict(LLAMA, drops={
    "embedding": ("embed_dropout_prob", "tok_embeddings.dropout.dropout"),
    "scores": ("attention_dropout_prob", "attention_dropout.dropout"),
    "attention": ("hidden_dropout_prob", "attention.wo.dropout.dropout"),
    "feed_forward": ("hidden_dropout_prob", "feed_forward.w2.dropout.dropout"),
})  # fmt: skip
QWEN = dict(LLAMA, table="transformer.wte.embedding_weight", layer="transformer.layers.%d.", final="transformer.ln_f")
GLM2 = {
    "table": "transformer.embedding.embedding_weight",
    "layer": "transformer.encoder.layers.%d.",
    "norms": ("input_layernorm", "post_attention_layernorm"),
    "attention": "self_attention.",
    "projections": (("query_key_value",),),
    "output": "dense",
    "feed_forward": "mlp.",
    "gate_up": (("dense_h_to_4h",),),
    "down": "dense_4h_to_h",
    "final": "transformer.encoder.final_layernorm",
    "head": "transformer.output_layer",
    # The first half of a head rotates.
    "rotation": "pairs of a half",
    "drops": {
        "scores": ("attention_dropout", "core_attention.attention_dropout.dropout"),
        "attention": ("hidden_dropout", "dropout.dropout"),
        "feed_forward": ("hidden_dropout", "dropout.dropout:1"),
    },
}
MCORE = {
    "table": "embedding.word_embeddings.weight",
    "layer": "decoder.layers.%d.",
    "norms": ("input_layernorm", "pre_mlp_layernorm"),
    "attention": "self_attention.",
    "projections": (("linear_qkv",),),
    "head_norms": ("q_layernorm", "k_layernorm"),
    "output": "linear_proj",
    "feed_forward": "mlp.",
    "gate_up": (("linear_fc1",),),
    "down": "linear_fc2",
    "final": "decoder.final_layernorm",
    "head": "output_layer",
    "later": {"at": "mtp.layers.%d.", "state": "hnorm", "embedding": "enorm", "join": "eh_proj", "layer": "transformer_layer.",
              "final": "final_layernorm"},
}  # fmt: skip
# Names of checkpoints in Hugging Face.
HUGGING_FACE = {
    "table": "model.embed_tokens.weight",
    "layer": "model.layers.%d.",
    "norms": ("input_layernorm", "post_attention_layernorm"),
    "attention": "self_attn.",
    "projections": (("q_proj", "k_proj", "v_proj"),),
    "head_norms": ("q_norm", "k_norm"),
    "output": "o_proj",
    "feed_forward": "mlp.",
    "gate_up": (("gate_proj", "up_proj"),),
    "down": "down_proj",
    "final": "model.norm",
    "head": "lm_head",
    "later": {"at": "model.layers.%d.", "state": "hnorm", "embedding": "enorm", "join": "eh_proj", "layer": "",
              "final": "shared_head.norm"},
}  # fmt: skip
MIXTRAL = dict(HUGGING_FACE, feed_forward="block_sparse_moe.")
# All queries, then all keys, then all values.
BAICHUAN = dict(HUGGING_FACE, projections=(("W_pack",),), packs_whole=True)
QWEN1 = {
    "table": "transformer.wte.weight",
    "layer": "transformer.h.%d.",
    "norms": ("ln_1", "ln_2"),
    "attention": "attn.",
    "projections": (("c_attn",),),
    "packs_whole": True,
    "output": "c_proj",
    "feed_forward": "mlp.",
    "gate_up": (("w2", "w1"),),
    "down": "c_proj",
    "final": "transformer.ln_f",
    "head": "lm_head",
}
TELECHAT_CHECKPOINT = dict(
    HUGGING_FACE, table="transformer.word_embeddings.weight", layer="transformer.h.%d.", attention="self_attention.",
    projections=(("query", "key_value"),), output="dense", final="transformer.ln_f",
)  # fmt: skip
# Latent attention: queries and their latent, keys and values and theirs, by the weight that a layout has. Where the first
# entry ends queries of no rank begin.
LATENT = {
    "linear_kvb": ("linear_qkv", "linear_q_proj", "q_layernorm", "linear_qb", None, "k_layernorm", "linear_kvb"),
    "linear_kv_up_proj": ("linear_q_down_proj", "linear_q_proj", "q_layernorm", "linear_q_up_proj", "linear_kv_down_proj", "kv_layernorm",
                          "linear_kv_up_proj"),
    "kv_b_proj": ("q_a_proj", "q_proj", "q_a_layernorm", "q_b_proj", "kv_a_proj_with_mqa", "kv_a_layernorm", "kv_b_proj"),
}  # fmt: skip


def find(config, *keys, default=None):
    """The value of the first key that is there."""
    return next((config[key] for key in keys if config.get(key) is not None), default)


def rms_norm(x, gamma, epsilon):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * gamma


def rotate(x, cos, sin, has_pairs=False):
    """Turns dimension i with dimension i + size / 2, or neighbours; `cos` and `sin` are [length, size / 2]."""
    first, second = (x[..., 0::2], x[..., 1::2]) if has_pairs else x.chunk(2, -1)
    turned = first * cos - second * sin, second * cos + first * sin
    return torch.stack(turned, -1).flatten(-2) if has_pairs else torch.cat(turned, -1)


def get_slopes(heads):
    """ALiBi's, of the largest power of two of heads, then every other one of those for twice as many."""
    power = 1 << (heads.bit_length() - 1)
    first = 2 ** (-8 * (torch.arange(power).double() + 1) / power)
    return torch.cat((first, 2 ** (-8 * (torch.arange(heads - power).double() * 2 + 1) / (2 * power))))


def yarn_growth(factor, scale):
    return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1.0


def yarn_frequencies(plain, base, yarn):
    """A ramp from waves that turn often, which stay, to those that do not."""
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


def llama3_frequencies(plain, scaling):
    """As transformers' _compute_llama3_parameters computes them."""
    factor, length = scaling["factor"], scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    waves = 2 * math.pi / plain
    smooth = (length / waves - low) / (high - low)
    mixed = (1 - smooth) * plain / factor + smooth * plain
    scaled = torch.where(waves > length / low, plain / factor, plain)
    is_medium = (waves >= length / high) & (waves <= length / low)
    return torch.where(is_medium, mixed, scaled)


class Decoder:
    """`config` may have keys beside those of the model: `rope_scaling` as in a config.json, `sharpness`, a factor of latent
    attention's scores, `alibi`, `normalizes_head`, and `experts`, settings of torch_moe.py for the layers that have experts."""

    def __init__(self, names, config, parameters, dtype=torch.float64):
        self.names, self.config, self.dtype = names, config, dtype
        self.params = {
            name: torch.nn.Parameter(torch.tensor(numpy.array(value)).to(dtype)) for name, value in parameters.items()
        }
        # No gradient moves the biases of routers.
        for name, value in self.params.items():
            value.requires_grad_(not name.endswith(("topk_bias", "expert_bias", "score_correction_bias")))
        self.num_layers = find(config, "num_layers", "num_hidden_layers")
        self.heads = find(config, "num_heads", "num_attention_heads")
        self.groups = find(config, "n_kv_heads", "num_key_value_heads", "multi_query_group_num", default=self.heads)
        self.epsilon = float(find(config, "rms_norm_eps", "layernorm_epsilon", default=1e-5))
        self.later = find(config, "mtp_depth", "mtp_num_layers", "num_nextn_predict_layers", default=0)
        self.later_factor = find(config, "mtp_loss_factor", "mtp_loss_scaling_factor", default=0.3)
        self.experts, self.masks, self.losses = {}, None, []
        if "experts" in config:
            for index in range(self.num_layers + self.later):
                at = names["layer"] % index + names["feed_forward"]
                self.experts[at] = torch_moe.Experts(config["experts"], self.params, at)

    def unique_parameters(self):
        return {name: value for name, value in self.params.items() if value.requires_grad}

    def end_step(self):
        """Moves the biases of routers as their loads ask."""
        for layer in self.experts.values():
            layer.balance()

    def choose(self, at, options):
        """The weights that are there."""
        return next(names for names in options if all(at + name + ".weight" in self.params for name in names))

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.params[name + ".weight"], self.params.get(name + ".bias"))

    def norm(self, x, name):
        """No norm where a layout has none."""
        weight = self.params.get(name + ".weight")
        return x if weight is None else rms_norm(x, weight, self.epsilon)

    def drop(self, x, what, at=""):
        """Drops elements as `self.masks` say, where the model does."""
        key, name = self.names.get("drops", {}).get(what, (None, ""))
        if what == "scores" and self.config.get("use_flash_attention"):
            name = "flash_attention.flash_attention"
        return self.masks.drop(x, self.config.get(key, 0), at + name) if key and self.masks else x

    # Positions.

    def get_angles(self, size, length):
        """Cosines and sines [length, size / 2], of the precision in which they are stored."""
        config, scaling = self.config, self.config.get("rope_scaling") or {}
        base = float(find(config, "theta", "rope_theta", default=10000.0)) * config.get("rope_ratio", 1)
        frequencies, amplitude, angle = base ** (-torch.arange(0, size, 2).double() / size), 1.0, 1.0
        kind = find(scaling, "type", "rope_type")
        if kind == "llama3":
            frequencies = llama3_frequencies(frequencies, scaling)
        elif kind == "linear":
            angle = 1 / scaling["factor"]
        elif kind == "yarn":
            frequencies = yarn_frequencies(frequencies, base, scaling)
            ratio = yarn_growth(scaling["factor"], scaling["mscale"]) / yarn_growth(scaling["factor"], scaling["mscale_all_dim"])
            amplitude, angle = (1.0, ratio) if self.names is MCORE else (ratio, 1.0)
        angles = torch.outer(torch.arange(length).double() * angle, frequencies)
        return [(amplitude * table).float().to(self.dtype) for table in (angles.cos(), angles.sin())]

    def rotate(self, x):
        """Heads [batch, heads, length, size]; first the queries of a layer, then its keys."""
        if self.config.get("alibi") or self.names.get("rotation") == "none":
            return x
        if self.names.get("rotation") == "pairs of a half":
            turning, rest = x.chunk(2, -1)
            return torch.cat((rotate(turning, *self.get_angles(turning.shape[-1], x.shape[-2]), has_pairs=True), rest), -1)
        return rotate(x, *self.get_angles(x.shape[-1], x.shape[-2]))

    # Attention.

    def project(self, x, at):
        """Queries, keys and values: [batch, length, heads, size]."""
        parts = [self.linear(x, at + name) for name in self.choose(at, self.names["projections"])]
        per_group = self.heads // self.groups
        if self.names.get("packs_whole"):
            return torch.cat(parts, -1).unflatten(-1, (self.heads + 2 * self.groups, -1)).split([self.heads, self.groups, self.groups], 2)
        # Weights that are stored together are grouped by heads of keys and values.
        packed = torch.cat([part.unflatten(-1, (self.groups, -1)) for part in parts], -1)
        size = packed.shape[-1] // (per_group + 2)
        return [part.flatten(2).unflatten(-1, (-1, size)) for part in packed.split([per_group * size, size, size], -1)]

    def find_hidden(self, distance):
        """Which keys a query does not see, at these distances from it: [queries, keys]."""
        return distance > 0

    def weigh(self, scores, at):
        """What scores of visible keys are before their softmax."""
        return scores

    def extend(self, key, value, at):
        """Keys and values, with those before them."""
        return key, value

    def attend(self, scores, value, at):
        length, seen = scores.shape[-2:]
        distance = torch.arange(seen) - torch.arange(length)[:, None] - (seen - length)
        if self.config.get("alibi"):
            scores = scores + get_slopes(self.heads).to(scores)[:, None, None] * distance
        scores = self.weigh(scores.masked_fill(self.find_hidden(distance), -math.inf), at)
        return (self.drop(scores.softmax(-1), "scores", at) @ value).transpose(1, 2).flatten(2)

    def attention(self, x, at):
        if "kv_lora_rank" in self.config and self.is_latent(at):
            return self.latent_attention(x, at)
        query, key, value = self.project(x, at)
        if at + self.names.get("head_norms", ("none",))[0] + ".weight" in self.params:
            query, key = (self.norm(part, at + name) for part, name in zip((query, key), self.names["head_norms"]))
        query, key, value = (part.transpose(1, 2) for part in (query, key, value))
        query, key = self.rotate(query), self.rotate(key)
        key, value = (each.repeat_interleave(self.heads // each.shape[1], 1) for each in self.extend(key, value, at))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        return self.linear(self.attend(scores, value, at), at + self.names["output"])

    def is_latent(self, at):
        return any(at + name + ".weight" in self.params for name in (*LATENT, "lkv2kv_v"))

    def project_latent(self, x, at):
        """Plain and turning queries, plain keys, values by head, and the turning key that heads share."""
        config = self.config
        plain, turning, rank = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["kv_lora_rank"]

        def split(value):
            return value.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        if at + "lkv2kv_v.weight" in self.params:
            query = self.norm(self.linear(x, at + "q2l_proj"), at + "lq_norm")
            latent = self.norm(self.linear(x, at + "kv2l_latent_kv"), at + "lkv_norm")
            parts = [self.linear(query, at + name) for name in ("l2q_nope_proj", "l2q_pe_proj")]
            parts += [self.linear(latent, at + name) for name in ("lkv2kv_k_nope", "lkv2kv_v")]
            return [split(part) for part in parts] + [self.linear(x, at + "kv2l_k_pe")]
        layout = next(names for weight, names in LATENT.items() if at + weight + ".weight" in self.params)
        down, direct, query_norm, up, latent_down, latent_norm, latent_up = layout
        has_rank = at + up + ".weight" in self.params
        query = self.linear(x, at + (down if has_rank or not latent_down else direct))
        if latent_down:
            latent, shared = self.linear(x, at + latent_down).split([rank, turning], -1)
        else:
            query, latent, shared = query.split([query.shape[-1] - rank - turning, rank, turning], -1)
        if has_rank:
            query = self.linear(self.norm(query, at + query_norm), at + up)
        other = split(self.linear(self.norm(latent, at + latent_norm), at + latent_up))
        return [*split(query).split([plain, turning], -1), *other.split([plain, config["v_head_dim"]], -1), shared]

    def latent_attention(self, x, at):
        plain, turning, key, value, shared = self.project_latent(x, at)
        tables = self.get_angles(turning.shape[-1], x.shape[1])
        # Neighbours turn, but in the layout that is oldest.
        turning, shared = (rotate(part, *tables, at + "lkv2kv_v.weight" not in self.params) for part in (turning, shared[:, None]))
        scores = plain @ key.transpose(-1, -2) + turning @ shared.transpose(-1, -2)
        sharpness = self.config.get("sharpness", 1.0) / math.sqrt(plain.shape[-1] + turning.shape[-1])
        return self.linear(self.attend(scores * sharpness, value, at), at + self.names["output"])

    # Feed forwards, and the whole.

    def feed_forward(self, x, at):
        if at in self.experts and self.experts[at].get_router() is not None:
            result, losses = self.experts[at].run(x)
            self.losses.append(losses)
            return result
        parts = [self.linear(x, at + name) for name in self.choose(at, self.names["gate_up"])]
        # Gates and ups that are stored together are in turn.
        size = sum(part.shape[-1] for part in parts) // 2
        gate, up = torch.cat([part.unflatten(-1, (size, -1)) for part in parts], -1).unbind(-1)
        return self.linear(self.names.get("activation", silu)(gate) * up, at + self.names["down"])

    def run_layer(self, x, at):
        names = self.names
        first, second = (at + name for name in names["norms"])
        x = x + self.drop(self.attention(self.norm(x, first), at + names["attention"]), "attention", at)
        return x + self.drop(self.feed_forward(self.norm(x, second), at + names["feed_forward"]), "feed_forward", at)

    def embed(self, tokens):
        return self.drop(self.params[self.names["table"]][tokens], "embedding")

    def deepen(self, x, tokens, depth):
        """The state of depth `depth` of that before, and the state for the head; tokens are those of depth 0."""
        names, number = self.names["later"], depth - 1
        own = number + self.num_layers
        at = names["at"] % (own if self.names["layer"] == names["at"] else number)
        embedding = self.norm(self.embed(pad(tokens[:, depth:], (0, depth))), at + names["embedding"])
        both = [self.norm(x, at + names["state"]), embedding]
        x = self.linear(torch.cat(both if "layer" not in names else both[::-1], -1), at + names["join"])
        if "layer" not in names:
            x = self.run_layer(x, self.names["layer"] % own)
            return x, self.norm(x, names["final"] % number)
        x = self.norm(self.run_layer(x, at + names["layer"]), at + names["final"])
        return x, x

    def get_states(self, tokens):
        """The states for the head: of the next token, and of each later one."""
        x = self.embed(tokens)
        for index in range(self.num_layers):
            x = self.run_layer(x, self.names["layer"] % index)
        states = [self.norm(x, self.names["final"])]
        if "layer" in self.names.get("later", {}):
            x = states[0]
        for depth in range(1, self.later + 1):
            x, state = self.deepen(x, tokens, depth)
            states.append(state)
        return states

    def get_logits(self, state):
        head = self.names["head"]
        if head + ".weight" in self.params and not self.config.get("normalizes_head"):
            return self.linear(state, head)
        # A tied head is the table.
        weight = self.params.get(head + ".weight", self.params[self.names["table"]])
        if self.config.get("normalizes_head"):
            weight = weight / (weight.pow(2).sum(1, keepdim=True) + 1e-5).sqrt()
        return state @ weight.T

    def loss(self, tokens, labels, masks=None):
        self.masks, self.losses = masks, []
        total = 0
        for depth, state in enumerate(self.get_states(tokens)):
            wanted = pad(labels[:, depth:], (0, depth), value=-100)
            loss = cross_entropy(self.get_logits(state).flatten(0, 1), wanted.flatten(), ignore_index=-100)
            total = total + loss * (self.later_factor / self.later if depth else 1)
        return total + sum(self.losses)
