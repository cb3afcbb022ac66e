# SPDX-License-Identifier: Apache-2.0
"""Evaluates the forward graph of an mf.model in PyTorch, operator by operator.

Each operator is what its description in dialects/mf says, in float64, so that
a difference from a reference is the graph's and not rounding.
"""

import math
import re

import evaluate_experts
import torch

TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")
PARAM = re.compile(
    r"mf\.param @(\S+) : (tensor<\S+>) init <(\w+)(?:, value = ([^,> ]+))?"
    r"(?:, scale = ([^,> ]+))?(?: amplitude ([^,> ]+))?(?: frequencies \[([^\]]+)\])?>"
    r"(?: tied to @(\S+))?( \{frozen\})?"
)
LAYER = re.compile(r"mf\.layer @\S+ (\w+) \((.*?)\) -> ")
OPERATOR = re.compile(
    r"(?:(?P<results>%\S+(?:, %\S+)*) = )?mf\.(?P<kind>\w+)"
    r"(?: (?P<operands>[%@][^{:]*?))?(?: \{(?P<attributes>.*?)\})? : (?P<types>.*)$"
)


def read_shape(text):
    return [int(size) for size in TENSOR.search(text).group(1).split("x") if size]


def read_attribute(attributes, name, default=None):
    found = re.search(r"\b%s = (array<i64: ([^>]*)>|[^,]+)" % name, attributes or "")
    if not found:
        return default
    if found.group(2) is not None:
        return [int(item) for item in found.group(2).split(",")]
    return found.group(1).split(" : ")[0]


def make_table(kind, shape, value, scale, amplitude, frequencies=None):
    if kind in ("rotary_cos", "rotary_sin"):
        length, size = shape
        inverse = value ** (-torch.arange(0, size, 2).double() / size)
        if frequencies:
            inverse = torch.tensor(
                [float(x.split(":")[0]) for x in frequencies.split(",")], dtype=torch.float64
            )
        angles = torch.outer(torch.arange(length).double() * scale, inverse)
        angles = torch.cat((angles, angles), -1)
        return amplitude * (angles.cos() if kind == "rotary_cos" else angles.sin())
    if kind == "causal_mask":
        return torch.triu(torch.full(shape, value, dtype=torch.float64), 1)
    if kind == "alibi":
        slopes = alibi_slopes(shape[0])
        return slopes if len(shape) == 1 else slopes[:, None, None] * distances(shape[1])
    if kind == "constant":
        return torch.full(shape, value, dtype=torch.float64)
    raise ValueError("no table of kind " + kind)


def distances(length):
    """The distance of each key from each query."""
    positions = torch.arange(length).double()
    return positions[None, :] - positions[:, None]


def alibi_slopes(heads):
    """Press et al., 2022: the series for the largest power of two of heads, then
    every other element of that for twice as many."""
    power = 1 << (heads.bit_length() - 1)
    more = torch.arange(heads - power).double() * 2 + 1
    return torch.cat(
        (
            2 ** (-8 * (torch.arange(power).double() + 1) / power),
            2 ** (-8 * more / (2 * power)),
        )
    )


def attention(query, key, value, scale, slopes=None):
    groups = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(groups, 1)
    value = value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(-1, -2) * scale
    if slopes is not None:
        scores = scores + slopes[:, None, None] * distances(scores.shape[-1])
    above = torch.triu(torch.ones(scores.shape[-2:], dtype=torch.bool), 1)
    return scores.masked_fill(above, -math.inf).softmax(-1) @ value


def rms_norm(x, gamma, epsilon):
    return x * (x.pow(2).mean(-1, keepdim=True) + epsilon).rsqrt() * gamma


class Model:
    """`parameters` holds a random value for each parameter that is trained."""

    def __init__(self, text, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.parameters, self.tables, self.layers = {}, {}, []
        for line in text.splitlines():
            line = line.strip()
            if found := PARAM.match(line):
                name, kind, frequencies, owner, frozen = found.group(1, 3, 7, 8, 9)
                shape = read_shape(found.group(2))
                if owner:
                    self.parameters[name] = self.parameters[owner]
                elif frozen:
                    numbers = (float(found.group(i) or 1) for i in (4, 5, 6))
                    self.tables[name] = make_table(kind, shape, *numbers, frequencies)
                else:
                    noise = torch.randn(shape, dtype=torch.float64, generator=generator)
                    if kind == "ones":
                        self.parameters[name] = 1 + 0.3 * noise
                    else:
                        self.parameters[name] = noise * (1.5 / math.sqrt(shape[-1]))
            elif found := LAYER.match(line):
                types = re.findall(r"tensor<(?:\d+x)*(\w+)>", found.group(2))
                self.layers.append((found.group(1), types, []))
            elif self.layers and (found := OPERATOR.match(line)):
                self.layers[-1][2].append(found)

    def loss(self, tokens, labels):
        """The sum of all losses; other results go to the next layer."""
        hidden, losses = [], []
        for kind, types, operators in self.layers:
            data = tokens if kind == "embedding" else labels
            arguments = hidden + [data] * types.count("i32")
            values = {"%%arg%d" % i: value for i, value in enumerate(arguments)}
            results = self.run(operators, values)
            hidden = [value for value in results if value.dim() > 0]
            losses += [value for value in results if value.dim() == 0]
        return sum(losses)

    def run(self, operators, values):
        for op in operators:
            operands = [name for name in re.split(r", ", op["operands"] or "") if name]
            if op["kind"] == "return":
                return [values[name] for name in operands]
            if op["kind"] == "get_param":
                name = operands[0][1:]
                known = self.parameters if name in self.parameters else self.tables
                results = (known[name],)
            else:
                arguments = [values[name] for name in operands]
                results = self.compute(op, arguments)
            values.update(zip(op["results"].split(", "), results))
        raise ValueError("a layer without mf.return")

    def compute(self, op, x):
        kind, types = op["kind"], op["types"]

        def attribute(name, default=None):
            return read_attribute(op["attributes"], name, default)

        if kind == "embedding":
            return (x[0][x[1]],)
        result = types.split(" -> ")[-1]
        if kind == "cast":
            return (x[0].long() if result.endswith("xi32>") else x[0].to(torch.float64),)
        if kind == "reshape":
            return (x[0].reshape(read_shape(result)),)
        if kind == "matmul":
            transposed = attribute("transpose_b") == "true"
            return (x[0] @ (x[1].transpose(-1, -2) if transposed else x[1]),)
        if kind == "rms_norm":
            return rms_norm(x[0], x[1], float(attribute("epsilon"))), None
        if kind == "flash_attention":
            slopes = x[3] if len(x) > 3 else None
            scale = float(attribute("scale"))
            return None, None, attention(*x[:3], scale, slopes)
        if kind == "transpose":
            return (x[0].permute(attribute("perm")),)
        if kind == "slice":
            for axis, (start, size) in enumerate(
                zip(attribute("starts"), attribute("sizes"))
            ):
                x[0] = x[0].narrow(axis, start, size)
            return (x[0],)
        if kind == "pad":
            sides = list(zip(attribute("low"), attribute("high")))[::-1]
            flat = [size for side in sides for size in side]
            value = int(attribute("value", 0))
            return (torch.nn.functional.pad(x[0], flat, value=value),)
        if kind == "concat":
            return (torch.cat(x, int(attribute("axis"))),)
        if kind == "repeat":
            repeats = int(attribute("repeats"))
            return (x[0].repeat_interleave(repeats, int(attribute("axis"))),)
        if kind == "cross_entropy":
            loss = torch.nn.functional.cross_entropy(
                x[0], x[1], ignore_index=int(attribute("ignore_index", -100))
            )
            return loss, None, None
        made = evaluate_experts.compute(kind, x, attribute, read_shape(result))
        if made is not None:
            return made
        simple = {
            "add": lambda: x[0] + x[1],
            "mul": lambda: x[0] * x[1],
            "neg": lambda: -x[0],
            "scale": lambda: x[0] * float(attribute("value")),
            "silu": lambda: torch.nn.functional.silu(x[0]),
            "softmax": lambda: x[0].softmax(-1),
        }
        return (simple[kind](),)
