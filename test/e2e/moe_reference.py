# SPDX-License-Identifier: Apache-2.0
"""Checks the reference of layers with experts (torch_moe.py) in small cases, of which papers and documents say what comes out.

usage: moe_reference.py
"""

import math

import torch
import torch_moe


def make_settings(**changes):
    return dict(torch_moe.SETTINGS, **dict({"experts": 8, "chosen": 3, "capacity_factor": 4.0}, **changes))


def main():
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


main()
