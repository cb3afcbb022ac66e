# SPDX-License-Identifier: Apache-2.0
"""Layers with experts in plain PyTorch, under the names of MindSpore Transformers and of Hugging Face.

Written from what its routers, losses and experts compute, token by token: who
finds a place in an expert is decided by counting, not by the index algebra of
its operators. It works in the type of the parameters, and is what loss and
gradients of mf are compared with.
"""

import math

import torch
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

# Those that moe_config, a model_config or a config.json has under other names.
KEYS = {
    "num_experts_chosen": "chosen", "num_experts_per_tok": "chosen", "capacity_factor": "capacity_factor",
    "enable_sdrop": "by_token", "use_shared_expert_gating": "gates_shared", "norm_topk_prob": "normalizes",
    "topk_method": "method", "n_group": "groups", "topk_group": "kept_groups", "routed_scaling_factor": "scale",
    "use_gating_sigmoid": "sigmoid", "balance_via_topk_bias": "has_bias", "z_loss_factor": "z_loss",
}  # fmt: skip


def read_settings(keys):
    return {KEYS[key]: value for key, value in keys.items() if key in KEYS}


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


# Names of a layer's gate, up and down projections, in MindSpore Transformers' classic models and in Hugging Face.
PROJECTIONS = (("w1", "w3", "w2"), ("gate_proj", "up_proj", "down_proj"))


class Experts:
    """A layer's router, its experts and the shared one, whose weights are found by their names behind `prefix`."""

    def __init__(self, settings, params, prefix):
        self.settings = dict(SETTINGS, **settings)
        self.params, self.prefix = params, prefix
        routed = prefix + "routed_experts."
        has_routed = any(name.startswith(routed) for name in params)
        self.routed = routed if has_routed else prefix
        self.indices, self.loads = None, []

    def find(self, *names):
        """The parameter behind the prefix of the layer, or of what is routed."""
        for name in names:
            for prefix in (self.routed, self.prefix):
                if prefix + name in self.params:
                    return self.params[prefix + name]
        return None

    def get_router(self):
        return self.find("router.dense.weight", "router_dense.weight", "router.weight", "gate.weight")

    def get_bias(self):
        if not self.settings["has_bias"]:
            return None
        return self.find("router.router.topk_bias", "topk_bias", "router.expert_bias", "gate.e_score_correction_bias")

    def find_projections(self, prefix):
        """Weights of gate, up and down projection, of whatever names, or None."""
        found = ([self.find("%s.%s.weight" % (prefix, name)) for name in names] for names in PROJECTIONS)
        return next((weights for weights in found if weights[0] is not None), None)

    def run_expert(self, expert, x):
        own = self.find_projections("experts.%d" % expert)
        if own is not None:
            return run_projections(x, *own)
        stacked = self.find_projections("ffn")
        if stacked is not None:
            y = run_projections(x, *(weight[expert] for weight in stacked))
            bias = self.find("ffn.w2.bias")
            return y if bias is None else y + bias.reshape(-1, y.shape[-1])[expert]
        both = self.find("ffn.w_gate_hidden.weight")
        if both is not None:
            return run_projections(x, *both[expert].chunk(2), self.find("ffn.w2.weight")[expert])
        experts, hidden = self.settings["experts"], x.shape[-1]
        both = self.find("ffn.w1", "experts.weight1").reshape(experts, hidden, -1)[expert]
        down = self.find("ffn.w2", "experts.weight2").reshape(experts, -1, hidden)[expert]
        return run_projections(x, *both.T.chunk(2), down.T)

    def run_shared(self, x):
        both = self.find("shared_experts.linear_fc1.weight")
        if both is not None:
            # Rows of gate and up in turn.
            weights = [*both.unflatten(0, (-1, 2)).unbind(1), self.find("shared_experts.linear_fc2.weight")]
        else:
            weights = self.find_projections("shared_experts") or self.find_projections("shared_expert")
        if weights is None:
            return torch.zeros_like(x)
        y = run_projections(x, *weights)
        if self.settings["gates_shared"]:
            y = y * torch.sigmoid(linear(x, self.find("shared_experts_gate.weight", "shared_expert_gate.weight")))
        return y

    @torch.no_grad()
    def balance(self):
        """Ends a step: the bias of experts with less than their part rises, that of those with more falls."""
        if not self.loads:
            return
        load, self.last_load, self.loads = sum(load.mean(0) for load in self.loads), self.loads[-1], []
        if self.get_bias() is not None:
            self.get_bias().add_(self.settings["update_rate"] * torch.sign(self.settings["target"] - load))

    def run(self, x):
        """Output of x [batch, length, hidden] and the layer's losses."""
        settings = self.settings
        rows = x.reshape(settings["rows"], -1, x.shape[-1])
        router = Router(settings, self.get_router(), self.get_bias())
        indices, gates, losses = router.route(rows)
        self.indices = indices
        self.loads.append(router.get_load(indices))
        dropped = torch.zeros_like(indices, dtype=torch.bool)
        if settings["kind"] == "capacity":
            dropped = find_dropped(indices, settings)
        out = torch.zeros_like(rows)
        for expert in range(settings["experts"]):
            row, token, choice = torch.nonzero((indices == expert) & ~dropped, as_tuple=True)
            y = self.run_expert(expert, rows[row, token])
            y = y * gates[row, token, choice, None]
            out = out.index_put((row, token), y, accumulate=True)
        if not settings["adds_losses"]:
            losses = losses * 0
        return out.reshape(x.shape) + self.run_shared(x), losses


def run_projections(x, gate, up, down):
    return linear(silu(linear(x, gate)) * linear(x, up), down)
