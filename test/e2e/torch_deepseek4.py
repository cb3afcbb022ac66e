# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-V4 in plain PyTorch, under MindSpore Transformers' parameter names.

Written from the definitions: hyper-connections (mHC, arXiv 2512.24880), hybrid attention with a window, compressed
entries and an indexer, hash routing and later-token layers, as the dynamic graph has them. It is what losses and
gradients of mf are compared with.
"""

import math
import zlib

import numpy
import torch
from torch.nn.functional import cross_entropy, linear, one_hot, pad, silu, softplus
from torch_decoder import MCORE, Decoder, rotate, yarn_frequencies, yarn_growth

# The class's defaults of the keys that are read here.
DEFAULTS = {
    "experimental_attention_variant": "dsv4_hybrid",
    "enable_hyper_connections": True,
    "hc_mult": 4,
    "hc_sinkhorn_iters": 20,
    "hc_eps": 1e-6,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "compress_rope_theta": 160000.0,
    "rotary_scaling_factor": 40.0,
    "original_max_position_embeddings": 4096,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 0.707,
    "mscale_all_dim": 0.707,
    "csa_dense_mode": False,
    "apply_dsa_kernel_fusion": True,
    "moe_router_score_function": "sqrtsoftplus",
    "norm_topk_prob": True,
    "routed_scaling_factor": 2.5,
    "num_hash_layers": 3,
    "n_group": 0,
    "first_k_dense_replace": 0,
    "moe_aux_loss_coeff": 0.0,
    "n_shared_experts": 1,
    "hidden_act": "silu",
    "swiglu_limit": 10.0,
    "num_nextn_predict_layers": 0,
    "mtp_loss_factor": 0.3,
    "dsa_indexer_loss_coeff": 0.0,
    # The token that ends a document, if attention stays within documents; no key of the class.
    "eod": None,
}


def mix32(x):
    """MurmurHash3's finalizer."""
    x = numpy.asarray(x, numpy.uint64) & 0xFFFFFFFF
    for shift, factor in ((16, 2246822507), (13, 3266489909)):
        x = ((x ^ (x >> numpy.uint64(shift))) * numpy.uint64(factor)) & 0xFFFFFFFF
    return x ^ (x >> numpy.uint64(16))


def numbers(name, count):
    """Integers of 32 bits by a formula."""
    places = numpy.arange(count, dtype=numpy.uint64) * numpy.uint64(2654435761)
    return mix32(places + numpy.uint64(zlib.crc32(name.encode())))


def uniform(name, shape):
    """Between -1 and 1."""
    return (numbers(name, int(numpy.prod(shape))).astype(numpy.float64) / 2.0**31 - 1).reshape(shape)


def initial_mixing(count):
    streams = round(math.sqrt(count + 1)) - 1
    start = [-math.log(3.0)] * streams + [0.0] * streams
    return numpy.array(start + [5.0 * (i == j) - 5.0 for i in range(streams) for j in range(streams)])


def make_parameter(name, shape):
    """A value far from the initial one, by a formula that is the same in any language."""
    value = uniform(name, shape)
    leaf, parent = name.rsplit(".", 1)[-1], name.rsplit(".", 2)[-2]
    if "norm" in parent:
        return 1 + 0.2 * value
    if leaf.startswith("alpha"):
        return 0.5 + 0.2 * value
    if leaf == "bias":
        return initial_mixing(shape[0]) + 0.5 * value
    if leaf == "hc_scale":
        return 1 + 0.2 * value
    if leaf in ("hc_base", "attn_sink", "ape") or "word_embeddings" in name:
        return value
    if leaf == "expert_bias":
        return 0.1 * value
    if parent in ("mapping_proj", "hc_fn"):
        return 0.2 * value
    if leaf.endswith(("lora_a", "lora_b")):
        return 0.1 * value
    return 1.5 * value / math.sqrt(shape[-1])


def make_table(name, shape, experts):
    """A table of a hash layer, by a formula, in which some tokens have an expert twice."""
    return (numbers(name + " of tokens", int(numpy.prod(shape))) % experts).astype(numpy.int32).reshape(shape)


def make_tokens(batch, length, vocabulary):
    """[batch, length + 1]"""
    return (numbers("tokens", batch * (length + 1)) % vocabulary).astype(numpy.int64).reshape(batch, length + 1)


def find_starts(tokens, end):
    """Where the document of each token [batch, length] starts: behind the last end before it."""
    places = torch.arange(tokens.shape[1])
    behind = torch.where(tokens == end, places + 1, torch.zeros_like(tokens)) if end is not None else 0 * tokens
    return pad(behind[:, :-1], (1, 0)).cummax(-1).values


def normalize(x, epsilon, weight=None):
    x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon)
    return x if weight is None else x * weight


def sinkhorn(x, iterations):
    x = x.softmax(-1) + 1e-6
    x = x / (x.sum(-2, keepdim=True) + 1e-6)
    for _ in range(iterations - 1):
        x = x / (x.sum(-1, keepdim=True) + 1e-6)
        x = x / (x.sum(-2, keepdim=True) + 1e-6)
    return x


def hadamard(size, like):
    x = torch.ones(1, 1, dtype=like.dtype)
    while len(x) < size:
        x = torch.cat((torch.cat((x, x), 1), torch.cat((x, -x), 1)))
    return x * size**-0.5


def choose(scores, count):
    """The largest `count` of each row, of equal ones the first; and the least gap behind them."""
    order = torch.argsort(scores, dim=-1, descending=True, stable=True)
    return order[..., :count]


class DeepSeek4(Decoder):
    def __init__(self, config, parameters, tables=None):
        """`tables` are the experts of token ids, by parameter; without one, they are those that a model begins with."""
        config = dict(DEFAULTS, **config)
        config["sharpness"] = yarn_growth(config["rotary_scaling_factor"], config["mscale"]) ** 2
        if config.get("position_embedding_type") == "yarn":
            config["rope_scaling"] = dict(
                config, type="yarn", factor=config["rotary_scaling_factor"],
                original_max_position_embeddings=config["max_position_embeddings"],
            )  # fmt: skip
        super().__init__(MCORE, config, parameters)
        self.tables = {n: torch.as_tensor(v, dtype=torch.int64) for n, v in (tables or {}).items()}
        self.parts = {}

    def add_part(self, name, loss):
        self.parts[name] = self.parts.get(name, 0) + loss
        return loss

    # Hyper-connections.

    def open_site(self, x, at):
        """The input of a site, and how its streams go on."""
        streams = self.config["hc_mult"]
        mean = normalize(x.flatten(2), self.config["hc_eps"])
        h = self.linear(mean, at + "mapping_proj")
        alphas = torch.cat([
            self.params[at + "alpha_" + name].expand(count)
            for name, count in (("pre", streams), ("post", streams), ("res", streams**2))
        ])  # fmt: skip
        h = h * alphas + self.params[at + "bias"]
        pre = torch.sigmoid(h[..., :streams]) + 1e-6
        post = 2 * torch.sigmoid(h[..., streams : 2 * streams])
        mix = sinkhorn(h[..., 2 * streams :].unflatten(-1, (streams, streams)), self.config["hc_sinkhorn_iters"])
        return torch.einsum("bsi,bsih->bsh", pre, x), post, mix

    def run_site(self, x, at, function):
        if not self.config["enable_hyper_connections"]:
            return x + function(x)
        y, post, mix = self.open_site(x, at)
        return torch.einsum("bsij,bsih->bsjh", mix, x) + post[..., None] * function(y)[:, :, None]

    def split(self, x):
        if not self.config["enable_hyper_connections"]:
            return x
        return x[:, :, None].expand(-1, -1, self.config["hc_mult"], -1)

    def collapse(self, x, at):
        config = self.config
        if not config["enable_hyper_connections"]:
            return x
        if not config.get("enable_hc_head", True):
            return x.mean(2)
        flat = x.flatten(2)
        m = self.linear(flat, at + "hc_fn") * torch.rsqrt((flat * flat).mean(-1, keepdim=True) + config["hc_eps"])
        pre = torch.sigmoid(m * self.params[at + "hc_scale"] + self.params[at + "hc_base"]) + 1e-6
        return torch.einsum("bsi,bsih->bsh", pre, x)

    # Hybrid attention.

    def frequencies(self, ratio):
        config, size = self.config, self.config["qk_rope_head_dim"]
        base = float(config["compress_rope_theta"] if ratio > 1 else config["rope_theta"])
        plain = base ** (-torch.arange(0, size, 2).double() / size)
        if ratio <= 1:
            return plain
        return yarn_frequencies(plain, base, dict(config, factor=config["rotary_scaling_factor"]))

    def turn(self, x, positions, ratio):
        """Rotates the last dimensions of [batch, positions, ..., width]."""
        size = self.config["qk_rope_head_dim"]
        angles = torch.outer(torch.as_tensor(positions).double(), self.frequencies(ratio))
        shape = [1, len(angles)] + [1] * (x.dim() - 3) + [size // 2]
        cos, sin = angles.cos().reshape(shape).to(x), angles.sin().reshape(shape).to(x)
        kept, x = x[..., :-size], x[..., -size:]
        return torch.cat((kept, rotate(x, cos, sin, has_pairs=True)), -1)

    def compress(self, x, at, ratio, width, base_ratio):
        """[batch, entries, width]"""
        count = x.shape[1] // ratio
        groups = x[:, : count * ratio].unflatten(1, (count, ratio))
        u = self.linear(groups, at + "linear_wkv")
        s = self.linear(groups, at + "linear_wgate") + self.params[at + "ape"]
        if ratio == 4:
            before = [pad(t[:, :-1, :, :width], (0, 0, 0, 0, 1, 0), value=v) for t, v in ((u, 0), (s, -1e30))]
            u, s = (torch.cat((b, t[..., width:]), 2) for b, t in zip(before, (u, s)))
        entries = self.norm((s.softmax(2) * u).sum(2), at + "norm")
        return self.turn(entries, range(0, count * ratio, ratio), base_ratio)

    def choose_entries(self, x, c, at, seen):
        """Scores and indices of the entries that the indexer chooses for each query."""
        config = self.config
        heads, width = config["index_n_heads"], config["index_head_dim"]
        x, c = x.detach(), c.detach()
        table = hadamard(width, x)
        q = self.linear(c, at + "linear_wq_b").unflatten(-1, (heads, width))
        q = self.turn(q, range(x.shape[1]), 4) @ table
        k = self.compress(x, at + "compressor.", 4, width, 4) @ table
        weight = self.linear(x, at + "linear_weights_proj") * heads**-0.5 * width**-0.5
        scores = torch.einsum("bsh,bshg->bsg", weight, torch.einsum("bshd,bgd->bshg", q, k).relu())
        hidden = torch.where(seen, scores, torch.tensor(-math.inf).to(scores))
        chosen = choose(hidden, min(config["index_topk"], k.shape[1]))
        return scores.gather(-1, chosen), chosen

    def indexer_loss(self, scores, logits, weights, seen):
        """`scores` are the indexer's, `logits` those of the heads, `weights` their probabilities with window and
        sink; each of the chosen entries, of which `seen` are visible."""
        lowest = torch.tensor(-3.39e38).to(scores)
        y = torch.where(seen, scores, lowest).softmax(-1)
        if self.config["apply_dsa_kernel_fusion"]:
            p = weights.mean(2).detach()
        else:
            p = torch.where(seen[:, :, None], logits, lowest).softmax(-1).sum(2).detach()
        t = p / p.sum(-1, keepdim=True).clamp(min=1e-12)
        value = t * ((t / (t.sum(-1, keepdim=True) + 1e-9)).clamp(min=1e-9).log() - (y + 1e-9).log())
        value = value.sum(-1).mean()
        if not self.config["apply_dsa_kernel_fusion"]:
            return value
        # The fused kernels report one value and have the gradient of another.
        objective = -torch.where(seen, p * y.clamp(min=1e-300).log(), torch.zeros(()).to(y)).sum(-1).mean()
        return objective + (value - objective).detach()

    def attend_hybrid(self, x, at, ratio):
        config, length = self.config, x.shape[1]
        heads, width, window = config["num_attention_heads"], config["v_head_dim"], config["sliding_window"]
        c = self.norm(self.linear(x, at + "linear_q_down_proj"), at + "q_layernorm")
        q = self.linear(c, at + "linear_q_up_proj").unflatten(-1, (heads, width))
        q = self.turn(normalize(q, config["rms_norm_eps"]), range(length), ratio)
        k = self.turn(self.norm(self.linear(x, at + "linear_kv_proj"), at + "kv_layernorm"), range(length), ratio)
        core = at + "core_attention."
        place = torch.arange(length)
        distance = place[:, None] - place[None]
        in_window = ((distance >= 0) & (distance < window))[None] & (place >= self.starts[..., None])
        scores = torch.einsum("bshd,btd->bsht", q, k) * width**-0.5
        scores = scores.masked_fill(~in_window[:, :, None], -math.inf)
        count = length // ratio if ratio else 0
        entries = None
        if count:
            entries = self.compress(x, core + "compressor.", ratio, width, ratio)
            seen = ((torch.arange(count) + 1) * ratio)[None] <= place[:, None] + 1
            visible = seen[None] & (torch.arange(count) * ratio >= self.starts[..., None])
            logits = torch.einsum("bshd,bgd->bshg", q, entries) * width**-0.5
            chosen = None
            if ratio == 4 and not config["csa_dense_mode"]:
                values, chosen = self.choose_entries(x, c, core + "indexer.", visible)
                is_chosen = torch.zeros_like(visible).scatter(-1, chosen, True)
                seen_chosen = visible.gather(-1, chosen)
                visible = visible & is_chosen
            entry_scores = logits.masked_fill(~visible[:, :, None], -math.inf)
            scores = torch.cat((scores, entry_scores), -1)
        sink = self.params[core + "attn_sink"].expand(*scores.shape[:2], heads)[..., None]
        weights = torch.cat((scores, sink), -1).softmax(-1)[..., :-1]
        out = torch.einsum("bsht,btd->bshd", weights[..., :length], k)
        if count:
            out = out + torch.einsum("bshg,bgd->bshd", weights[..., length:], entries)
            if chosen is not None:
                take = chosen[:, :, None].expand(-1, -1, heads, -1)
                loss = self.indexer_loss(
                    values, logits.detach().gather(-1, take), weights[..., length:].gather(-1, take), seen_chosen
                )
                if config["dsa_indexer_loss_coeff"]:
                    self.loss_terms.append(self.add_part("indexer", config["dsa_indexer_loss_coeff"] * loss))
        out = self.turn(out, [-p for p in range(length)], ratio).flatten(2)
        groups, rank = config["o_groups"], config["o_lora_rank"]
        weight = self.params[at + "linear_o_group_proj"].unflatten(0, (groups, rank))
        out = torch.einsum("bsgd,gld->bsgl", out.unflatten(-1, (groups, -1)), weight).flatten(2)
        return self.linear(out, at + "linear_proj")

    # Feed forwards.

    def gate(self, gate, up):
        if self.config["hidden_act"] == "fusedswiglu":
            limit = self.config["swiglu_limit"]
            gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
        return silu(gate) * up

    def feed_forward(self, x, at):
        gate, up = self.linear(x, at + "linear_fc1").unflatten(-1, (-1, 2)).unbind(-1)
        return self.linear(self.gate(gate, up), at + "linear_fc2")

    def limit(self, scores):
        """Without the experts of groups whose two best ones add up to less than those of `topk_group` others."""
        if self.config["n_group"] <= 1:
            return scores
        grouped = scores.unflatten(-1, (self.config["n_group"], -1))
        kept = choose(grouped.topk(2, -1).values.sum(-1), self.config["topk_group"])
        is_kept = one_hot(kept, self.config["n_group"]).sum(-2).bool()
        return grouped.masked_fill(~is_kept[..., None], float("-inf")).flatten(-2)

    def route(self, x, at, tokens):
        """Gates and experts of rows of tokens [rows, hidden]; `tokens` are ids in hash layers, else None."""
        config = self.config
        count, chosen = config["n_routed_experts"], config["num_experts_per_tok"]
        products = linear(x, self.params[at + "router.weight"])
        kind = config["moe_router_score_function"]
        if kind == "softmax":
            scores = products.softmax(-1)
        else:
            scores = torch.sigmoid(products) if kind == "sigmoid" else softplus(products).sqrt()
        normalized = scores if kind == "softmax" else scores / (scores.sum(-1, keepdim=True) + 1e-20)
        if tokens is not None:
            table = self.tables.get(at + "router.tid2eid")
            experts = (tokens[:, None] + torch.arange(chosen)) % count if table is None else table[tokens]
        else:
            bias = self.biases.get(at + "router.expert_bias", 0)
            experts = choose(self.limit(scores.detach() + bias), chosen)
        self.counts[at + "router.expert_bias"] = one_hot(experts, count).sum((0, 1)).to(x)
        gates = scores.gather(-1, experts)
        if kind != "softmax" if tokens is not None else config["norm_topk_prob"]:
            gates = gates / (gates.sum(-1, keepdim=True) + 1e-20)
        if config["moe_aux_loss_coeff"]:
            counts = one_hot(choose(normalized.detach(), chosen), count).sum((0, 1)).to(x)
            loss = (normalized.sum(0) * counts).sum() * count * config["moe_aux_loss_coeff"]
            self.loss_terms.append(self.add_part("aux", loss / (chosen * len(x) ** 2)))
        return gates * config["routed_scaling_factor"], experts

    def run_experts(self, x, at, tokens):
        shape, config = x.shape, self.config
        x = x.flatten(0, 1)
        gates, experts = self.route(x, at, None if tokens is None else tokens.flatten())
        up, down = self.params[at + "experts.weight1"], self.params[at + "experts.weight2"]
        result = self.feed_forward(x, at + "shared_experts.") if config["n_shared_experts"] else torch.zeros_like(x)
        for index in range(config["n_routed_experts"]):
            made = self.gate(*(x @ up[index]).chunk(2, -1)) @ down[index]
            share = (gates * (experts == index)).sum(-1, keepdim=True)
            result = result + share * made
        return result.unflatten(0, shape[:2])

    # The whole.

    def layer(self, x, at, index, tokens):
        config = self.config

        def attention(value):
            value = self.norm(value, at + "input_layernorm")
            if config["experimental_attention_variant"] == "dsv4_hybrid":
                return self.attend_hybrid(value, at + "self_attention.", config["compress_ratios"][index])
            return self.latent_attention(value, at + "self_attention.")

        def feed_forward(value):
            value = self.norm(value, at + "pre_mlp_layernorm")
            if index < config["first_k_dense_replace"]:
                return self.feed_forward(value, at + "mlp.")
            return self.run_experts(value, at + "mlp.", tokens if index < config["num_hash_layers"] else None)

        x = self.run_site(x, at + "attn_hc.", attention)
        return self.run_site(x, at + "ffn_hc.", feed_forward)

    def head_loss(self, x, labels, depth):
        labels = pad(labels[:, depth:], (0, depth), value=-100)
        return cross_entropy(self.linear(x, "output_layer").flatten(0, 1), labels.flatten(), ignore_index=-100)

    def loss(self, tokens, labels, biases=None):
        config = self.config
        self.parts, self.loss_terms, self.counts, self.biases = {}, [], {}, biases or {}
        self.starts = find_starts(tokens, config["eod"])
        table = self.params["embedding.word_embeddings.weight"]
        x = self.split(table[tokens])
        for index in range(config["num_hidden_layers"]):
            x = self.layer(x, "decoder.layers.%d." % index, index, tokens)
        x = self.norm(self.collapse(x, "decoder.hc_head."), "decoder.final_layernorm")
        self.loss_terms.append(self.add_part("main", self.head_loss(x, labels, 0)))
        depths = config["num_nextn_predict_layers"]
        for depth in range(depths):
            at = "mtp.layers.%d." % depth
            later = table[pad(tokens[:, depth + 1 :], (0, depth + 1))]
            both = (self.norm(later, at + "enorm"), self.norm(x, at + "hnorm"))
            y = self.split(self.linear(torch.cat(both, -1), at + "eh_proj"))
            y = self.layer(y, at + "transformer_layer.", config["num_hidden_layers"] + depth, None)
            x = self.norm(self.collapse(y, at + "hc_head."), at + "final_layernorm")
            factor = config["mtp_loss_factor"] / depths
            self.loss_terms.append(self.add_part("mtp", factor * self.head_loss(x, labels, depth + 1)))
        return sum(self.loss_terms)
