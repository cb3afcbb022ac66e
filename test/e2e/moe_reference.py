# SPDX-License-Identifier: Apache-2.0
"""Checks the reference of layers with experts against itself.

usage: moe_reference.py

Its gradients are the slopes of its losses in double precision; places found by
counting are those of the operators' index algebra; rows do not know each other.
"""

import math

import torch
import torch_moe

HIDDEN, WIDTH, EXPERTS, TOKENS = 6, 5, 8, 12


def make_settings(**changes):
    defaults = {"experts": EXPERTS, "chosen": 3, "capacity_factor": 4.0}
    return dict(torch_moe.SETTINGS, **dict(defaults, **changes))


def make_parameters(settings, shared=0, has_down_bias=False, bias=None, skew=0.0):
    """Random weights in double precision. `skew` draws tokens to expert 0."""
    random = torch.Generator().manual_seed(3)

    def draw(*shape):
        return 0.5 * torch.randn(*shape, generator=random, dtype=torch.float64)

    count, routed = settings["experts"], "routed_experts." if shared else ""
    router = draw(count, HIDDEN)
    router[0, 0] += skew
    if settings["kind"] == "capacity":
        params = {
            routed + "router.dense.weight": router,
            routed + "ffn.w1.weight": draw(count, WIDTH, HIDDEN),
            routed + "ffn.w3.weight": draw(count, WIDTH, HIDDEN),
            routed + "ffn.w2.weight": draw(count, HIDDEN, WIDTH),
        }
        if has_down_bias:
            params[routed + "ffn.w2.bias"] = draw(1, count, 1, HIDDEN)
    else:
        params = {
            routed + "router_dense.weight": router,
            routed + "ffn.w1": draw(count, HIDDEN, 2 * WIDTH),
            routed + "ffn.w2": draw(count, WIDTH, HIDDEN),
        }
    if shared:
        for name, shape in (("w1", (shared, HIDDEN)), ("w3", (shared, HIDDEN)), ("w2", (HIDDEN, shared))):
            params["shared_experts.%s.weight" % name] = draw(*shape)
        params["shared_experts_gate.weight"] = draw(1, HIDDEN)
    params = {name: value.requires_grad_(True) for name, value in params.items()}
    if settings["has_bias"]:
        params[routed + "topk_bias"] = torch.zeros(count).double() if bias is None else bias
    return params


def draw_input(batch=2, length=TOKENS):
    random = torch.Generator().manual_seed(5)
    x = torch.randn(batch, length, HIDDEN, generator=random, dtype=torch.float64)
    x[..., 0] += 4
    return x


LOSSES = (("expert", 0.3), ("device", 0.2), ("comm", 0.1))
# name: (settings, options of the parameters)
CASES = {
    "softmax": ({}, {}),
    "sigmoid": ({"sigmoid": True, "scale": 2.5}, {}),
    "not normalized": ({"normalizes": False}, {}),
    "one choice": ({"chosen": 1}, {}),
    "bias": (
        {"has_bias": True, "sigmoid": True, "losses": LOSSES[:1]},
        {"bias": torch.linspace(-0.2, 0.2, EXPERTS).double()},
    ),
    "largest of groups": (
        {"method": "group_limited_greedy", "groups": 4, "kept_groups": 2, "normalizes": False, "scale": 16.0},
        {},
    ),
    "two of groups": (
        {"method": "noaux_tc", "groups": 4, "kept_groups": 2, "has_bias": True, "sigmoid": True},
        {"bias": torch.linspace(-0.2, 0.2, EXPERTS).double()},
    ),
    "groups by index": (
        {"method": "mcore", "groups": 4, "kept_groups": 2, "chosen": 4, "kind": "mcore", "sigmoid": True},
        {},
    ),
    "losses": ({"losses": LOSSES, "loss_groups": {"device": 4, "comm": 2}, "z_loss": 0.1, "rows": 4}, {}),
    "dropped by choice": ({"capacity_factor": 0.6, "rows": 2}, {}),
    "dropped by token": ({"capacity_factor": 0.6, "rows": 2, "by_token": True}, {}),
    "most find no place": ({"capacity_factor": 1.0, "chosen": 1}, {"skew": 40.0}),
    "places for all": ({"capacity_factor": 0.0, "multiple": 4}, {}),
    "bias of down": ({"capacity_factor": 0.8}, {"has_down_bias": True}),
    "shared": ({"gates_shared": True}, {"shared": 7}),
    "grouped": ({"kind": "grouped"}, {"shared": 7}),
    "all at one expert": ({"kind": "grouped", "chosen": 1, "normalizes": False}, {"skew": 40.0}),
}  # fmt: skip


def run(settings, params, x):
    """A number that depends on all of the output, and the layer."""
    layer = torch_moe.Experts(settings, params, "")
    out, losses = layer.run(x)
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
    return (out * weights).sum() + losses, layer


def check_slopes(name):
    """A step along each gradient changes the number as the gradient says."""
    changes, options = CASES[name]
    settings = make_settings(**changes)
    params = make_parameters(settings, **options)
    x = draw_input().requires_grad_(True)
    total, layer = run(settings, params, x)
    total.backward()
    indices = layer.indices
    for key, value in list(params.items()) + [("x", x)]:
        if not value.requires_grad or value.grad is None:
            continue
        step = 1e-6 / max(1.0, value.grad.norm().item())
        sides = []
        for sign in (1, -1):
            moved = {k: v.detach() for k, v in params.items()}
            moved_x = x.detach()
            if key == "x":
                moved_x = moved_x + sign * step * value.grad
            else:
                moved[key] = moved[key] + sign * step * value.grad
            result, other = run(settings, moved, moved_x)
            assert torch.equal(other.indices, indices), (name, key)
            sides.append(result.item())
        slope, expected = (sides[0] - sides[1]) / (2 * step), value.grad.pow(2).sum().item()
        assert abs(slope - expected) <= 1e-5 * max(abs(expected), 1e-2), (name, key, slope, expected)


def get_places_by_algebra(indices, experts, places, by_token):
    """The steps of MindSpore Transformers' operators: kept choices, and
    dispatch and combine indices."""
    rows, tokens, chosen = indices.shape
    slots = indices if by_token else indices.transpose(1, 2)
    slots = slots.reshape(rows, -1)
    mask = torch.nn.functional.one_hot(slots, experts)
    position = mask.cumsum(1) * mask
    position = position * (position < places + 1)
    summed = position.sum(-1)
    combine = slots * (places + 1) + summed
    if by_token:
        combine, summed = (v.reshape(indices.shape) for v in (combine, summed))
    else:
        combine, summed = (
            v.reshape(rows, chosen, tokens).transpose(1, 2) for v in (combine, summed)
        )
    numbers = torch.arange(chosen * tokens)[None, :, None]
    taken = torch.where(position > 0, numbers, numbers + 2 * chosen * tokens)
    taken = taken.sort(1).values[:, :places].transpose(1, 2)
    token = taken // chosen if by_token else taken % tokens
    dispatch = torch.where(taken < 2 * chosen * tokens, token + 1, 0)
    return summed > 0, dispatch, combine


def run_by_algebra(layer, x):
    """The output as gathers make it, for experts of a capacity."""
    settings = layer.settings
    rows = x.reshape(settings["rows"], -1, x.shape[-1])
    router = torch_moe.Router(settings, layer.find("router.dense.weight"), layer.get_bias())
    indices, gates, _ = router.route(rows)
    count, (number, tokens, chosen) = settings["experts"], indices.shape
    loads = torch.nn.functional.one_hot(indices, count).sum((1, 2))
    places = torch_moe.get_places(
        settings["capacity_factor"], chosen, tokens, count, settings["multiple"], loads.max().item()
    )
    kept, dispatch, combine = get_places_by_algebra(indices, count, places, settings["by_token"])
    assert torch.equal(~kept, torch_moe.find_dropped(indices, settings))
    assert torch.equal(combine % (places + 1) != 0, kept)
    zero = torch.zeros(number, 1, rows.shape[-1], dtype=rows.dtype)
    source = torch.cat((zero, rows), 1)
    taken = torch.stack([source[r][dispatch[r]] for r in range(number)])
    made = torch.stack([layer.run_expert(e, taken[:, e]) for e in range(count)], 1)
    made = torch.cat((torch.zeros_like(made[:, :, :1]), made), 2).flatten(1, 2)
    picked = torch.stack([made[r][combine[r]] for r in range(number)])
    out = (picked * (gates * kept)[..., None]).sum(2)
    return out.reshape(x.shape) + layer.run_shared(x)


def check_algebra(name):
    changes, options = CASES[name]
    settings = make_settings(**changes)
    if settings["kind"] != "capacity":
        return
    params, x = make_parameters(settings, **options), draw_input()
    layer = torch_moe.Experts(settings, params, "")
    out, _ = layer.run(x)
    torch.testing.assert_close(run_by_algebra(layer, x), out, rtol=1e-12, atol=1e-12)


def check_rows():
    """Each row chooses, drops and counts on its own; losses are the mean."""
    settings = make_settings(losses=LOSSES[:1], capacity_factor=0.7, rows=4, z_loss=0.2)
    params, x = make_parameters(settings), draw_input(batch=2)
    out, losses = torch_moe.Experts(settings, params, "").run(x)
    single = torch_moe.Experts(dict(settings, rows=1), params, "")
    parts = [single.run(part[None]) for part in x.reshape(4, -1, HIDDEN)]
    torch.testing.assert_close(torch.cat([part[0] for part in parts], 1).reshape(x.shape), out)
    torch.testing.assert_close(sum(part[1] for part in parts) / 4, losses)


def check_enough_places():
    """Experts with places for all tokens compute what grouped experts compute."""
    capacity = make_settings(capacity_factor=0.0)
    params, x = make_parameters(capacity), draw_input()
    gate, up, down = (params["ffn.%s.weight" % name] for name in ("w1", "w3", "w2"))
    grouped = {
        "router_dense.weight": params["router.dense.weight"],
        "ffn.w1": torch.cat((gate.transpose(1, 2), up.transpose(1, 2)), -1),
        "ffn.w2": down.transpose(1, 2),
    }
    expected, _ = torch_moe.Experts(capacity, params, "").run(x)
    out, _ = torch_moe.Experts(make_settings(kind="grouped"), grouped, "").run(x)
    torch.testing.assert_close(out, expected)


def check_by_hand():
    """What papers and documents say of one small case each."""
    # 1024 tokens, two of eight experts, a factor of 1.1.
    assert torch_moe.get_places(1.1, 2, 1024, 8, 1, 0) == 282
    assert torch_moe.get_places(1.1, 2, 1024, 8, 4, 0) == 284
    assert torch_moe.get_places(8.0, 2, 10, 8, 4, 0) == 12
    assert torch_moe.get_places(-1.0, 2, 10, 8, 4, 8) == 12
    # A balanced load has the factor as its loss.
    settings = make_settings(experts=4, chosen=1, losses=(("expert", 0.25),))
    weight = torch.eye(4).double() * 50
    _, _, losses = torch_moe.Router(settings, weight).route(torch.eye(4).double()[None])
    assert math.isclose(losses.item(), 0.25, rel_tol=1e-9)
    # Two groups with the same score both stay; experts of others count as 0.
    settings = make_settings(experts=6, chosen=2, method="group_limited_greedy", groups=3, kept_groups=1, normalizes=False)
    scores = torch.tensor([[[0.1, 0.3, 0.3, 0.05, 0.2, 0.05]]], dtype=torch.float64)
    masked = torch_moe.Router(settings, None).mask_groups(scores)
    assert masked.tolist() == [[[0.1, 0.3, 0.3, 0.05, 0, 0]]]
    # By index only the first of the two stays.
    settings = make_settings(experts=6, chosen=2, method="mcore", groups=3, kept_groups=1, normalizes=False)
    scores = torch.tensor([[[0.1, 0.25, 0.25, 0.1, 0.2, 0.1]]], dtype=torch.float64)
    masked = torch_moe.Router(settings, None).mask_groups(scores)
    assert masked.tolist() == [[[0.1, 0.25, 0, 0, 0, 0]]]
    # A masked 0 beats a negative score.
    router = torch_moe.Router(make_settings(chosen=2), None)
    assert router.choose(torch.tensor([[[-0.5, 0.2, 0.0, 0.0]]])).tolist() == [[[1, 2]]]
    # Experts with less than their part rise, those with more fall, others stay.
    loads = [torch.tensor([[0.5, 0.25, 0.25, 0.0]], dtype=torch.float64)] * 2
    bias = torch_moe.update_bias(torch.zeros(4, dtype=torch.float64), loads, 0.001, 2 / 4)
    assert bias.tolist() == [-0.001, 0, 0, 0.001]


def check_drop_rates():
    """Where places are not rounded, the rate of the log is that of dropped choices."""
    settings = make_settings(experts=8, chosen=2, capacity_factor=0.75, rows=2)
    params, x = make_parameters(settings, skew=1.0), draw_input(batch=2, length=16)
    layer = torch_moe.Experts(settings, params, "")
    layer.run(x)
    rates = torch_moe.get_drop_rates(layer.load, settings["capacity_factor"])
    torch.testing.assert_close(rates, layer.dropped.double().mean((1, 2)))
    assert rates.max() > 0


def main():
    for name in CASES:
        check_slopes(name)
        check_algebra(name)
    check_rows()
    check_enough_places()
    check_by_hand()
    check_drop_rates()
    print("%d cases" % len(CASES))


main()
