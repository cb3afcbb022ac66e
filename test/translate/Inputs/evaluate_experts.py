# SPDX-License-Identifier: Apache-2.0
"""What the operators of routers and experts compute, in PyTorch: for evaluate.py."""

import torch
from torch.nn.functional import one_hot

COMPARISONS = {
    "greater": torch.gt,
    "at_least": torch.ge,
    "less": torch.lt,
    "not_equal": torch.ne,
}


def top_k(x, k):
    """The largest; of equal ones the first."""
    indices = torch.sort(x.detach(), dim=-1, descending=True, stable=True).indices[..., :k]
    return x.gather(-1, indices), indices


def sort(keys):
    indices = torch.sort(keys.detach(), dim=-1, stable=True).indices
    return keys.gather(-1, indices), indices


def gather_rows(x, indices):
    """Rows by index, of each of the leading dimensions; zeros outside."""
    inside = (indices >= 0) & (indices < x.shape[-2])
    places = torch.where(inside, indices, torch.zeros_like(indices))
    rows = x.gather(-2, places[..., None].expand(*places.shape, x.shape[-1]))
    return rows * inside[..., None]


def expert_matmul(x, weight, counts, transposed):
    out = []
    for group in range(x.shape[0]):
        for rank in range(x.shape[1]):
            parts, row = [], 0
            for expert, count in enumerate(counts[group, rank].long().tolist()):
                own = weight[rank, expert]
                part = x[group, rank, row : row + count]
                parts.append(part @ (own.T if transposed else own))
                row += count
            width = parts[0].shape[-1]
            parts.append(x.new_zeros(x.shape[2] - row, width))
            out.append(torch.cat(parts))
    return torch.stack(out).unflatten(0, x.shape[:2])


def top_k_router(experts, number, places, k_major):
    """Places of tokens in experts: counted one by one."""
    rows, tokens, chosen = experts.shape
    dispatch = torch.zeros(rows, number, places, dtype=torch.long)
    combine = torch.zeros_like(experts)
    for row in range(rows):
        taken = [0] * number
        if k_major:
            turns = [(t, c) for c in range(chosen) for t in range(tokens)]
        else:
            turns = [(t, c) for t in range(tokens) for c in range(chosen)]
        for token, choice in turns:
            expert = int(experts[row, token, choice])
            combine[row, token, choice] = expert * (places + 1)
            if taken[expert] < places:
                dispatch[row, expert, taken[expert]] = token + 1
                taken[expert] += 1
                combine[row, token, choice] += taken[expert]
    return dispatch, combine


def token_permute(x, keys):
    order = torch.sort(keys.detach(), dim=-1, stable=True).indices
    return gather_rows(x, order), torch.sort(order, dim=-1).indices


def compare(x, attribute):
    name = attribute("comparison").split("<")[1].rstrip(">")
    return COMPARISONS[name](x, float(attribute("value")))


def compute(kind, x, attribute, shape):
    """Results of an operator on `x`; none if it is not one of these. `shape` is
    that of its first result."""
    simple = {
        "sigmoid": lambda: torch.sigmoid(x[0]),
        "exp": lambda: x[0].exp(),
        "log": lambda: x[0].log(),
        "div": lambda: x[0] / x[1],
        "add_scalar": lambda: x[0] + float(attribute("value")),
        "at_least": lambda: (x[0] >= x[1]).to(x[0].dtype),
        "compare_scalar": lambda: compare(x[0], attribute).to(x[0].dtype),
        "remainder": lambda: torch.remainder(x[0], float(attribute("value"))),
        "floor_divide": lambda: torch.floor(x[0] / float(attribute("value"))),
        "gather_elements": lambda: x[0].gather(-1, x[1]),
        "one_hot": lambda: one_hot(x[0], shape[-1]).double(),
        "cumsum": lambda: x[0].cumsum(int(attribute("axis"))),
        "gather_rows": lambda: gather_rows(x[0], x[1]),
        "token_unpermute": lambda: gather_rows(x[0], x[1]),
        "track_load": lambda: x[0],
        "record": lambda: x[0],
        "reduce_sum": lambda: x[0].sum(attribute("axes")).reshape(shape),
    }
    if kind in simple:
        return (simple[kind](),)
    if kind in ("expert_matmul", "grouped_matmul"):
        transposed = attribute("transpose_weight") == "true"
        return (expert_matmul(*x, transposed),)
    several = {
        "top_k": lambda: top_k(x[0], int(attribute("k"))),
        "sort": lambda: sort(x[0]),
        "token_permute": lambda: token_permute(x[0], x[1]),
    }
    if kind in several:
        return several[kind]()
    if kind == "top_k_router":
        return top_k_router(x[0], shape[1], shape[2], attribute("k_major") == "true")
    return None
