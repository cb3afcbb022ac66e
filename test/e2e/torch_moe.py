# SPDX-License-Identifier: Apache-2.0
"""Layers with experts in plain PyTorch, under MindSpore Transformers' parameter
names.

Written from what its routers, losses and experts compute, token by token: who
finds a place in an expert is decided by counting, not by the index algebra of
its operators. It works in the type of the parameters, and is what loss and
gradients of mf are compared with.
"""

import math

import torch
import torch_llama
from torch.nn.functional import linear, one_hot, silu

# The settings of a layer's experts, with the values for models that do not give them.
SETTINGS = {
    "kind": "capacity",  # capacity, grouped or mcore
    "experts": 1,
    "chosen": 1,
    "sigmoid": False,
    "method": "greedy",  # greedy, group_limited_greedy, noaux_tc, mcore or dynamic
    "groups": None,
    "kept_groups": None,
    "normalizes": True,
    # Gates are divided by the sum of those that found a place.
    "normalizes_kept": False,
    "scale": 1.0,
    "has_bias": False,
    "update_rate": 0.0,
    "target": 0.0,  # of a step's load
    "losses": (),  # of (expert, device or comm, factor)
    "loss_groups": {},  # groups of the device and of the comm loss
    "z_loss": 0.0,
    "adds_losses": True,
    "capacity_factor": 1.1,
    "multiple": 1,
    "by_token": False,  # sdrop
    "gates_shared": False,
    "rows": 1,
}


def get_places(factor, chosen, tokens, experts, multiple, largest_load):
    """Places of an expert in a row of `tokens` tokens."""
    if factor <= 0:
        return (largest_load // multiple + 1) * multiple
    places = min(math.ceil(((chosen * tokens) * factor) / experts), tokens)
    return (places + multiple - 1) // multiple * multiple


class Router:
    """Chooses experts for x [rows, tokens, hidden]."""

    def __init__(self, settings, weight, bias=None):
        self.settings, self.weight, self.bias = settings, weight, bias

    def route(self, x):
        """Indices and gates [rows, tokens, chosen]; the losses, as one number."""
        settings = self.settings
        epsilon = 1e-20 if settings["kind"] == "mcore" else 1e-9
        logits = linear(x, self.weight)
        if settings["sigmoid"]:
            scores = torch.sigmoid(logits)
            shares = scores / (scores.sum(-1, keepdim=True) + epsilon)
        else:
            scores = shares = torch.softmax(logits, -1)
        biased = scores if self.bias is None else scores + self.bias
        biased = self.mask_groups(biased)
        indices = self.choose(biased)
        # With a bias it only decides; without, groups that are left out give 0.
        gates = (biased if self.bias is None else scores).gather(-1, indices)
        if settings["chosen"] > 1 and settings["normalizes"]:
            counted = gates
            if settings["normalizes_kept"]:
                counted = gates * ~find_dropped(indices, settings)
            gates = gates / (counted.sum(-1, keepdim=True) + epsilon)
        return indices, gates * settings["scale"], self.get_losses(logits, shares, indices)

    def choose(self, scores):
        """The largest; of equal ones the first."""
        order = torch.sort(scores.detach(), dim=-1, descending=True, stable=True).indices
        return order[..., : self.settings["chosen"]]

    def mask_groups(self, scores):
        settings = self.settings
        if settings["method"] == "greedy":
            return scores
        in_groups = scores.unflatten(-1, (settings["groups"], -1))
        summed = {
            "group_limited_greedy": 1,
            "noaux_tc": 2,
            "dynamic": 2,
            "mcore": settings["chosen"] // settings["kept_groups"],
        }[settings["method"]]
        values = in_groups.detach().sort(-1, descending=True).values[..., :summed].sum(-1)
        ordered = values.sort(dim=-1, descending=True, stable=True)
        if settings["method"] in ("mcore", "dynamic"):
            best = ordered.indices[..., : settings["kept_groups"]]
            stays = one_hot(best, settings["groups"]).sum(-2) > 0
        else:
            stays = values >= ordered.values[..., settings["kept_groups"] - 1, None]
        # The dynamic graph never chooses an expert of another group.
        others = float("-inf") if settings["method"] == "dynamic" else 0.0
        return torch.where(stays[..., None], in_groups, torch.full_like(in_groups, others)).flatten(-2)

    def get_losses(self, logits, shares, indices):
        settings = self.settings
        total = logits.new_zeros(())
        if settings["z_loss"]:
            total = total + settings["z_loss"] * torch.logsumexp(logits, -1).pow(2).mean()
        if self.bias is not None and settings["kind"] != "mcore":
            indices = self.choose(shares)
        experts = settings["experts"]
        chosen = self.get_load(indices).to(shares.dtype)
        means = shares.mean(1)
        for kind, factor in settings["losses"]:
            groups = experts if kind == "expert" else settings["loss_groups"][kind]
            p, f = (v.unflatten(-1, (groups, -1)).mean(-1) for v in (means, chosen))
            total = total + factor * experts**2 * (p * f).mean()
        return total

    def get_load(self, indices):
        """For each row, the share of its choices that each expert gets."""
        rows, tokens, chosen = indices.shape
        load = torch.zeros(rows, self.settings["experts"], dtype=torch.float64)
        for row in range(rows):
            for expert in indices[row].flatten().tolist():
                load[row, expert] += 1
        return load / (chosen * tokens)


def find_dropped(indices, settings):
    """Which choices [rows, tokens, chosen] find no place in their expert."""
    rows, tokens, chosen = indices.shape
    experts = settings["experts"]
    loads = [torch.bincount(row.flatten(), minlength=experts) for row in indices]
    places = get_places(
        settings["capacity_factor"],
        chosen,
        tokens,
        experts,
        settings["multiple"],
        max(int(load.max()) for load in loads),
    )
    if settings["by_token"]:
        turns = [(t, c) for t in range(tokens) for c in range(chosen)]
    else:
        turns = [(t, c) for c in range(chosen) for t in range(tokens)]
    dropped = torch.zeros_like(indices, dtype=torch.bool)
    for row in range(rows):
        taken = [0] * experts
        for token, choice in turns:
            expert = int(indices[row, token, choice])
            dropped[row, token, choice] = taken[expert] >= places
            taken[expert] += 1
    return dropped


class Experts:
    """A layer's router, its experts and the shared one, whose weights are found
    by their names behind `prefix`."""

    def __init__(self, settings, params, prefix):
        self.settings = dict(SETTINGS, **settings)
        self.params, self.prefix = params, prefix
        routed = prefix + "routed_experts."
        has_routed = any(name.startswith(routed) for name in params)
        self.routed = routed if has_routed else prefix
        self.indices = self.load = None

    def find(self, *names):
        """The parameter behind the prefix of the layer, or of what is routed."""
        for name in names:
            for prefix in (self.routed, self.prefix):
                if prefix + name in self.params:
                    return self.params[prefix + name]
        return None

    def get_bias(self):
        if not self.settings["has_bias"]:
            return None
        return self.find("router.router.topk_bias", "topk_bias", "router.expert_bias")

    def run_expert(self, expert, x):
        stacked = self.find("ffn.w1.weight")
        if stacked is not None:
            gate, up = stacked[expert], self.find("ffn.w3.weight")[expert]
            down = self.find("ffn.w2.weight")[expert]
            y = linear(silu(linear(x, gate)) * linear(x, up), down)
            bias = self.find("ffn.w2.bias")
            return y if bias is None else y + bias.reshape(-1, y.shape[-1])[expert]
        both = self.find("ffn.w_gate_hidden.weight")
        if both is not None:
            gate, up = linear(x, both[expert]).chunk(2, -1)
            return linear(silu(gate) * up, self.find("ffn.w2.weight")[expert])
        experts, hidden = self.settings["experts"], x.shape[-1]
        both = self.find("ffn.w1", "experts.weight1").reshape(experts, hidden, -1)[expert]
        down = self.find("ffn.w2", "experts.weight2").reshape(experts, -1, hidden)[expert]
        width = down.shape[0]
        return (silu(x @ both[:, :width]) * (x @ both[:, width:])) @ down

    def run_shared(self, x):
        both = self.find("shared_experts.linear_fc1.weight")
        if both is not None:
            # Rows of gate and up in turn.
            gate, up = linear(x, both).unflatten(-1, (-1, 2)).unbind(-1)
            down = self.find("shared_experts.linear_fc2.weight")
        elif self.find("shared_experts.w1.weight") is not None:
            gate = linear(x, self.find("shared_experts.w1.weight"))
            up = linear(x, self.find("shared_experts.w3.weight"))
            down = self.find("shared_experts.w2.weight")
        else:
            return torch.zeros_like(x)
        y = linear(silu(gate) * up, down)
        if self.settings["gates_shared"]:
            y = y * torch.sigmoid(linear(x, self.find("shared_experts_gate.weight")))
        return y

    def run(self, x):
        """Output of x [batch, length, hidden] and the layer's losses."""
        settings = self.settings
        rows = x.reshape(settings["rows"], -1, x.shape[-1])
        weight = self.find("router.dense.weight", "router_dense.weight", "router.weight")
        router = Router(settings, weight, self.get_bias())
        indices, gates, losses = router.route(rows)
        self.indices, self.load = indices, router.get_load(indices)
        dropped = torch.zeros_like(indices, dtype=torch.bool)
        if settings["kind"] == "capacity":
            dropped = find_dropped(indices, settings)
        out = torch.zeros_like(rows)
        for expert in range(settings["experts"]):
            row, token, choice = torch.nonzero(
                (indices == expert) & ~dropped, as_tuple=True
            )
            y = self.run_expert(expert, rows[row, token])
            y = y * gates[row, token, choice, None]
            out = out.index_put((row, token), y, accumulate=True)
        if not settings["adds_losses"]:
            losses = losses * 0
        return out.reshape(x.shape) + self.run_shared(x), losses


def update_bias(bias, loads, rate, target):
    """The bias at a step's end, with the loads of its micro-batches: [rows,
    experts] each."""
    load = sum(load.mean(0) for load in loads)
    return bias + (rate * torch.sign(target - load)).to(bias.dtype)


class Decoder(torch_llama.Llama):
    """Llama's or mcore's attention; `config["experts"]` has SETTINGS of the
    layers with experts, those from `config["first_expert_layer"]` on. Rotary
    tables are stored in `table_type`."""

    def __init__(self, config, parameters, dtype=torch.float64, table_type=torch.float32):
        super().__init__(dict(config, tie_word_embeddings=False), {})
        self.config = config
        self.params = {
            name: torch.nn.Parameter(torch.tensor(value).to(dtype))
            for name, value in parameters.items()
        }
        self.dtype, self.table_type = dtype, table_type
        self.layers = {}
        for index in range(config.get("first_expert_layer", 0), config["num_layers"]):
            prefix = self.get_layer(index) + ("mlp." if self.is_mcore() else "feed_forward.")
            self.layers[index] = Experts(config["experts"], self.params, prefix)
        self.fix_biases()
        self.set_angles()

    def is_mcore(self):
        return self.config["experts"]["kind"] == "mcore"

    def get_layer(self, index):
        return ("decoder" if self.is_mcore() else "model") + ".layers.%d." % index

    def fix_biases(self):
        """No gradient moves the biases of routers."""
        self.biases = {}
        for index, layer in self.layers.items():
            bias = layer.get_bias()
            if bias is not None:
                bias.requires_grad_(False)
                self.biases[index] = bias

    def get_head_size(self):
        heads, hidden = self.config["num_heads"], self.config["hidden_size"]
        return self.config.get("head_dim", hidden // heads)

    def set_angles(self):
        size = self.get_head_size()
        steps = torch.arange(0, size, 2, dtype=torch.float64) / size
        angles = torch.outer(
            torch.arange(self.config["seq_length"]).double(), float(self.config["theta"]) ** -steps
        )
        angles = torch.cat((angles, angles), -1)
        tables = (angles.cos(), angles.sin())
        self.cos, self.sin = (v.to(self.table_type).to(self.dtype) for v in tables)

    def norm(self, x, name):
        epsilon = float(self.config["rms_norm_eps"])
        return torch_llama.rms_norm(x, self.params[name], epsilon)

    def project(self, x, prefix):
        """Query, key, value: [batch, length, heads, head size]."""
        heads, groups = self.config["num_heads"], self.config["n_kv_heads"]
        size = self.get_head_size()
        packed = [name for name in ("w_qkv", "linear_qkv") if prefix + name + ".weight" in self.params]
        if packed:
            # By heads of keys and values, each with its queries.
            parts = self.linear(x, prefix + packed[0]).unflatten(-1, (groups, -1))
            parts = parts.split([heads // groups * size, size, size], -1)
        elif prefix + "wk_v.weight" in self.params:
            pairs = self.linear(x, prefix + "wk_v").unflatten(-1, (groups, -1))
            parts = [self.linear(x, prefix + "wq"), *pairs.chunk(2, -1)]
        else:
            parts = [self.linear(x, prefix + name) for name in ("wq", "wk", "wv")]
        return [part.reshape(*x.shape[:2], -1, size) for part in parts]

    def attention(self, x, prefix):
        heads, groups = self.config["num_heads"], self.config["n_kv_heads"]
        length = x.shape[1]
        query, key, value = self.project(x, prefix)
        if prefix + "q_layernorm.weight" in self.params:
            query = self.norm(query, prefix + "q_layernorm.weight")
            key = self.norm(key, prefix + "k_layernorm.weight")
        query, key, value = (each.transpose(1, 2) for each in (query, key, value))
        query = torch_llama.rotate(query, self.cos, self.sin)
        key = torch_llama.rotate(key, self.cos, self.sin)
        key, value = (each.repeat_interleave(heads // groups, 1) for each in (key, value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
        out = torch.softmax(scores.masked_fill(mask, -math.inf), -1) @ value
        out = out.transpose(1, 2).flatten(2)
        return self.linear(out, prefix + ("linear_proj" if self.is_mcore() else "wo"))

    def feed_forward(self, x, prefix):
        if prefix + "linear_fc1.weight" not in self.params:
            return super().feed_forward(x, prefix)
        gate, up = self.linear(x, prefix + "linear_fc1").unflatten(-1, (-1, 2)).unbind(-1)
        return self.linear(silu(gate) * up, prefix + "linear_fc2")

    def run_layer(self, index, x):
        prefix = self.get_layer(index)
        names = (
            ("input_layernorm", "self_attention.", "pre_mlp_layernorm", "mlp.")
            if self.is_mcore()
            else ("attention_norm", "attention.", "ffn_norm", "feed_forward.")
        )
        x = x + self.attention(self.norm(x, prefix + names[0] + ".weight"), prefix + names[1])
        n = self.norm(x, prefix + names[2] + ".weight")
        if index in self.layers:
            y, losses = self.layers[index].run(n)
            return x + y, losses
        return x + self.feed_forward(n, prefix + names[3]), x.new_zeros(())

    def loss(self, tokens, labels):
        names = (
            ("embedding.word_embeddings.weight", "decoder.final_layernorm.weight", "output_layer")
            if self.is_mcore()
            else ("model.tok_embeddings.embedding_weight", "model.norm_out.weight", "lm_head")
        )
        x = self.params[names[0]][tokens]
        extra = x.new_zeros(())
        for index in range(self.config["num_layers"]):
            x, losses = self.run_layer(index, x)
            extra = extra + losses
        logits = self.linear(self.norm(x, names[1]), names[2])
        entropy = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return entropy + extra

    def unique_parameters(self):
        return {name: value for name, value in self.params.items() if value.requires_grad}
