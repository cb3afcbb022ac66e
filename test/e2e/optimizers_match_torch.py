# SPDX-License-Identifier: Apache-2.0
"""Compares Came, PmaAdamW, AdamW with a rate for each group and the fused AdamW with what is written in PyTorch, and layouts of
ranks with each other.

usage: optimizers_match_torch.py BIN_FOLDER WORK_FOLDER CASE...
"""

import os
import sys

import numpy
import safetensors
import torch
import torch_cases
import training
from dynamic_configurations import QWEN, Configuration, make_data
from torch_cases import BATCH, Runs, compare_results, have_same_bytes

RATE, DECAY = 1e-3, 0.1
SHARDS = {"parallel": {"enable_parallel_optimizer": "True"}, "optimizer_shard": {"parallel_optimizer_threshold": 0}}
HALF = {"ranks": {"data_parallel": 2}, "batch_size": BATCH // 2}
SHARED = dict(HALF, **SHARDS)
LAYOUTS = {
    "one": {},
    "stages": {"stages": 2},
    "copies": HALF,
    "shared": SHARED,
    "shared-stages": dict(SHARED, stages=2),
    "cut": dict(SHARDS, ranks={"data_parallel": 2, "model_parallel": 2}, batch_size=BATCH // 2, stages=2),
}


def check_resumed(runs, step, path, steps, saved_step):
    """A run that is interrupted and resumed ends with the same bits."""
    folder = runs.tools.path("checkpoints")
    runs.train(step, "half", saved_step, "--checkpoint-dir", folder)
    _, resumed = runs.train(step, "resumed", steps, "--checkpoint-dir", folder, "--resume")
    assert have_same_bytes(path, resumed), "resumed with other bits"


# ---------------------------------------------------------------------------
# Came
# ---------------------------------------------------------------------------

CAME_STEPS, CAME_TOLERANCE = 5, 1e-5
CAME = {"type": "Came", "betas": None, "eps": None}


class Came:
    """As Luo et al., 2023, define it, with what MindSpore Transformers has of its own: beta2 grows, vectors have
    neither factors nor a confidence, everything decays, and states have the type of the parameter."""

    BETA1, BETA3, DECAY_RATE = 0.9, 0.99, 0.8

    def __init__(self, params, clip_threshold=1.0):
        self.params, self.clip_threshold = params, clip_threshold
        self.states = {name: {} for name in params}

    def average(self, name, state, value, beta):
        kept = self.states[name].get(state)
        if kept is None:
            kept = torch.zeros(value.shape, dtype=self.params[name].dtype)
        self.states[name][state] = (kept.float() * beta + value * (1 - beta)).to(kept.dtype)
        return self.states[name][state].float()

    def divide(self, name, what, value, squares, beta):
        rows = self.average(name, what + "_rows", squares.mean(-1), beta)
        columns = self.average(name, what + "_columns", squares.mean(-2), beta)
        moment = (rows / rows.mean(-1, keepdim=True)).unsqueeze(-1) * columns.unsqueeze(-2)
        return value * moment.rsqrt()

    @torch.no_grad()
    def step(self, number):
        beta2 = 1 - number**-self.DECAY_RATE
        for name, p in self.params.items():
            gradient = p.grad.float()
            squares = gradient.square() + 1e-30
            if p.dim() > 1:
                update = self.divide(name, "square", gradient, squares, beta2)
            else:
                update = gradient * self.average(name, "second_moment", squares, beta2).rsqrt()
            update = update / max(1.0, update.square().mean().sqrt().item() / self.clip_threshold)
            moment = self.average(name, "first_moment", update, self.BETA1)
            if p.dim() > 1:
                instability = (update - moment).square() + 1e-16
                moment = self.divide(name, "instability", moment, instability, self.BETA3)
            p.copy_(p.float() * (1 - RATE * DECAY) - RATE * moment)


def compare_came(runs, layout="one", **threshold):
    step = runs.lower("model", optimizer=dict(CAME, **threshold), **LAYOUTS[layout])
    losses, path = runs.train(step, "whole", CAME_STEPS)
    model = runs.make_model()
    expected = runs.train_torch(model, CAME_STEPS, Came(model.unique_parameters(), **threshold).step)
    compare_results((losses, safetensors.load(path)), expected, 1e-5, CAME_TOLERANCE)
    return step, path


def check_came(layout):
    def check(runs):
        step, path = compare_came(runs, layout)
        check_resumed(runs, step, path, CAME_STEPS, 3)

    return check


def check_came_threshold(runs):
    """Updates are scaled to a smaller norm."""
    _, path = compare_came(runs, clip_threshold=0.25)
    assert training.get_difference(safetensors.load(path)["lm_head.weight"], runs.values["lm_head.weight"]) > 1e-4


def check_came_types(runs):
    """Matrices and their states in bf16, given the same gradients."""
    step = runs.lower("model", dict(training.MODEL, param_init_type='"bfloat16"'), optimizer=CAME)
    folder = runs.tools.path("gradients")
    _, path = runs.train(step, "whole", CAME_STEPS, "--dump-gradients-every-step", folder)
    params = {name: torch.tensor(value) for name, value in runs.values.items()}
    params = {name: p.bfloat16() if p.dim() > 1 else p for name, p in params.items()}
    came = Came(params)
    for number in range(1, CAME_STEPS + 1):
        gradients = safetensors.load(os.path.join(folder, "step_%06d.safetensors" % number))
        norm = sum(float(numpy.square(g, dtype=numpy.float64).sum()) for g in gradients.values()) ** 0.5
        factor = min(1.0, 1.0 / (max(norm, 1.0) + 1e-6))
        for name, p in params.items():
            # PyTorch itself would round the factor to bf16.
            p.grad = (torch.tensor(gradients[name]) * factor).to(p.dtype)
        came.step(number)
    expected = {name: p.float().numpy() for name, p in params.items()}
    # A state or an element at the middle of two numbers of bf16 may go either way.
    compare_results(([1.0], safetensors.load(path)), ([1.0], expected), 1e-5, 2e-4)


def check_came_bits(runs):
    """What changes no gradient changes no bit of the update."""
    cases = {"one": {}, "stages": {"stages": 2}, "recomputed": {"recompute": {"recompute": "True"}}}
    paths = [runs.train(runs.lower(name, optimizer=CAME, **c), name, CAME_STEPS)[1] for name, c in cases.items()]
    assert have_same_bytes(*paths), "stages or recompute change bits"


# ---------------------------------------------------------------------------
# Averages of weights
# ---------------------------------------------------------------------------

INTERVAL, FUSED, ALPHA = 2, 2, 0.2


class Averages:
    """What PmaAdamW keeps beside AdamW's moments."""

    def __init__(self, parameters, sums):
        self.parameters, self.sums = parameters, sums
        self.kept = {name: torch.zeros_like(p) for name, p in parameters.items()}

    @torch.no_grad()
    def follow(self, step):
        if step % INTERVAL != 0:
            return
        for name, p in self.parameters.items():
            kept = self.kept[name]
            kept.copy_(kept + p if self.sums else (1 - ALPHA) * kept + ALPHA * p)
            if step % (INTERVAL * FUSED) == 0:
                p.copy_(kept / FUSED if self.sums else kept)
                kept.zero_()


def check_averages(algorithm, layout):
    def check(runs):
        steps, folder = 7, runs.tools.path("checkpoints-of-all")
        optimizer = {
            "type": "PmaAdamW", "fused_num": FUSED, "interleave_step": INTERVAL, "fused_algo": algorithm, "ema_alpha": ALPHA,
        }  # fmt: skip
        step = runs.lower("model", optimizer=optimizer, **LAYOUTS[layout])
        losses, path = runs.train(step, "whole", steps, "--checkpoint-dir", folder)
        model = runs.make_model()
        averages, adamw = Averages(model.unique_parameters(), algorithm == "sma"), torch_cases.make_optimizer(model)

        def update(number):
            adamw.step()
            averages.follow(number)

        expected = runs.train_torch(model, steps, update)
        # Rounding alone: applied means make parameters small, and gradients then have few digits.
        compare_results((losses, safetensors.load(path)), expected, 1e-5, 1e-4)
        # The last checkpoint has the averages of the steps since the last that was applied.
        last = os.path.join(folder, "step_%06d" % steps)
        parts = [safetensors.load(os.path.join(last, file)) for file in sorted(os.listdir(last)) if file.endswith(".safetensors")]
        names = {name for part in parts for name in part if name.startswith("pma_weight.")}
        assert names == {"pma_weight." + name for name in expected[1]}, names
        if layout == "one":
            worst = max(training.get_difference(parts[0]["pma_weight." + n], v.numpy()) for n, v in averages.kept.items())
            assert worst <= 1e-4, "averages are %.1e off" % worst
        check_resumed(runs, step, path, steps, 5)

    return check


# ---------------------------------------------------------------------------
# Rates
# ---------------------------------------------------------------------------

GROUPED_STEPS = 5
# The norms' rate is constant, the attention's rises for two steps and then falls, and that of all other parameters falls
# from the start.
RATES = """{default: {type: LinearWithWarmUpLR, learning_rate: 1.e-3, warmup_steps: 0},
  grouped: [{params: ['norm'], type: ConstantWarmUpLR, learning_rate: 5.e-3, warmup_steps: 0},
    {params: ['model.layers.*.w[qk]*', 'wv.weight'], type: LinearWithWarmUpLR, learning_rate: 2.e-3, warmup_steps: 2}]}"""


def get_rate(name, step):
    """The rate of a parameter in a step that counts from 0."""
    if "norm" in name:
        return 5e-3
    left = GROUPED_STEPS - step
    if any(part in name for part in (".wq.", ".wk.", ".wv.")):
        return 2e-3 * (step / 2 if step < 2 else left / (GROUPED_STEPS - 2))
    return 1e-3 * left / GROUPED_STEPS


def check_grouped(layout):
    def check(runs):
        options = dict(LAYOUTS[layout], top={"grouped_lr_schedule": RATES})
        saving = dict(options, recompute={"recompute": "True"}, swap={"layer_swap": "[{backward_prefetch: 1, layers: True}]"})
        (losses, path), (_, saved) = (
            runs.train(runs.lower(name, **keys), name, GROUPED_STEPS) for name, keys in (("whole", options), ("saving", saving))
        )
        model = runs.make_model()
        groups = [
            {"params": [p], "weight_decay": DECAY if p.dim() > 1 else 0, "name": name}
            for name, p in model.unique_parameters().items()
        ]
        adamw = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)

        def update(number):
            for group in adamw.param_groups:
                group["lr"] = get_rate(group["name"], number - 1)
            adamw.step()

        compare_results((losses, safetensors.load(path)), runs.train_torch(model, GROUPED_STEPS, update), 2e-5, 2e-5)
        assert have_same_bytes(path, saved), "other bits with recompute and swap"

    return check


def check_late(runs):
    """The rates of the fused AdamW of the dynamic graph's trainer are one step late: parameters behind four steps are those of
    an AdamW in double precision that gets mf's gradients and the rates of steps -1, 0, 1 and 2. The first is negative, as the
    schedule warms up for two steps."""
    steps, warmup = 4, 2
    for key in ("use_fused", "enable_fused_opt"):
        configuration = Configuration(
            dict(QWEN, num_hidden_layers=1), {}, {}, (1, 2), optimizer={key: True}, training={"max_norm": "1.e+9", "steps": steps},
            scheduler={"warmup_ratio": warmup / steps},
        )  # fmt: skip
        mlir, step = configuration.lower(runs.tools)
        runs.data, folder = runs.tools.path("case.npy"), runs.tools.path(key)
        numpy.save(runs.data, make_data(2 * steps, 1))
        runs.values = training.random_parameters(runs.tools.parameters(mlir))
        runs.weights = runs.tools.path("weights.safetensors")
        safetensors.save(runs.weights, runs.values)
        _, path = runs.train(step, "end", steps, "--dump-gradients-every-step", folder)
        values = {name: torch.tensor(value).double() for name, value in runs.values.items()}
        groups = [{"params": [value], "weight_decay": DECAY if value.dim() > 1 else 0} for value in values.values()]
        # PyTorch takes no negative rate, but computes with one.
        adamw = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
        for number in range(1, steps + 1):
            gradients = safetensors.load(os.path.join(folder, "step_%06d.safetensors" % number))
            for name, value in values.items():
                value.grad = torch.tensor(gradients[name]).double()
            for group in adamw.param_groups:
                group["lr"] = RATE * min((number - 2) / warmup, 1)
            adamw.step()
        ours = safetensors.load(path)
        worst = max(float(numpy.abs(ours[name] - value.numpy()).max()) for name, value in values.items())
        print("%s: parameters %.1e off" % (key, worst))
        assert worst < 2e-7


CASES = {
    **{"came-" + layout: check_came(layout) for layout in ("one", "stages", "copies", "shared", "cut")},
    "came-threshold": check_came_threshold,
    "came-types": check_came_types,
    "came-bits": check_came_bits,
    **{"%s-%s" % (kind, layout): check_averages(kind, layout) for kind in ("ema", "sma") for layout in ("one", "shared-stages")},
    **{"grouped-" + layout: check_grouped(layout) for layout in ("one", "shared-stages")},
    "late-rates": check_late,
}  # fmt: skip


def main():
    torch.set_num_threads(1)
    for case in sys.argv[3:]:
        folder = os.path.join(sys.argv[2], case)
        os.makedirs(folder)
        CASES[case](Runs(training.Tools(sys.argv[1], folder)))


if __name__ == "__main__":
    main()
