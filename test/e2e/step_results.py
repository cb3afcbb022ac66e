# SPDX-License-Identifier: Apache-2.0
"""What a training step gave, and how far it is from another's."""

import numpy
import safetensors
import training

# How much further off several ranks may be than one whose weights are rounded otherwise: each product over ranks
# is, and draws differ in how much they make of it.
ROUNDING_FACTOR = 2


class Result:
    """The results of a run of mf-run: (loss, norm) of each step, gradients of the last step, parameters after it."""

    def __init__(self, report, gradients, parameters):
        self.losses = self.printed = [(step["loss"], step["global_norm"]) for step in report["steps"]]
        self.parts = [step.get("loss_parts", {}) for step in report["steps"]]
        self.gradients, self.parameters = (safetensors.load(path) for path in (gradients, parameters))
        self.bytes = [safetensors.load_bytes(path) for path in (gradients, parameters)]
        self.ranks = len(report["ranks"])
        self.planned = [rank["planned_bytes"] for rank in report["ranks"]]

    def has_same_bits(self, other):
        return self.printed == other.printed and self.bytes == other.bytes


def find_difference(expected, actual):
    """What differs between the bits of two results, or None."""
    if expected.printed != actual.printed:
        return "losses %s and %s" % (expected.printed, actual.printed)
    for what, left, right in zip(("gradients", "parameters"), expected.bytes, actual.bytes):
        names = [name for name in sorted({*left, *right}) if left.get(name) != right.get(name)]
        if names:
            return "%s of %s" % (what, ", ".join(names[:5]))
    return None


def initialize(tools, model):
    """A file of weights so large that attention and routing are not the same for all tokens.

    The second matrix of adapters is small: else alpha / r of 16 makes scores of 890, of which fp32 loses so many
    digits that one rank is 1.4e-2 off from double precision. The vectors of sites of residual streams are large, else
    all streams are nearly equal, and the gradients of their weights cancel: one rounding of the parameters then
    changes these by 2.5e-5.
    """
    path = tools.path("initial.safetensors")
    values = training.random_parameters(tools.parameters(model))

    def get_scale(name, value):
        if value.ndim == 1 and name.split(".")[-2] in ("attn_hc", "ffn_hc", "hc_head"):
            return 10
        return 0.25 if name.endswith(("lora_b", "lora_B.weight")) else 4 if value.ndim > 1 else 1

    safetensors.save(path, {name: value * get_scale(name, value) for name, value in values.items()})
    return path


def move(initial, seed=1):
    """Moves each weight to the next fp32 number or leaves it, at random: what a step then differs by is how much
    it makes of one rounding. The same seed moves the same weights of each layout."""
    generator, values = numpy.random.RandomState(seed), safetensors.load(initial)
    for name, value in values.items():
        moved = numpy.nextafter(value, numpy.float32(numpy.inf))
        values[name] = numpy.where(generator.rand(*value.shape) < 0.5, moved, value)
    safetensors.save(initial, values)


def run(tools, step, data, steps, initial=None, threads=2, launcher=(), extra=()):
    """The result of a step file, of which each rank must need the memory that was planned."""
    files = [tools.path(name) for name in ("gradients.safetensors", "parameters.safetensors")]
    report = tools.train(step, data, steps, initial, threads=threads, launcher=launcher,
                         extra=["--dump-gradients", files[0], "--save-params", files[1], "--debug-memory", *extra])  # fmt: skip
    for rank in report["ranks"]:
        if rank["peak_bytes"] != rank["planned_bytes"]:
            raise RuntimeError("rank %(rank)s: peak %(peak_bytes)s, planned %(planned_bytes)s" % rank)
    result = Result(report, *files)
    result.description = tools.describe()
    return result


def get_distance(expected, actual):
    """The largest difference of losses, norms and gradients, relative to the largest element of each. The gradients of
    vectors are sums over all tokens, in which most may cancel: they are relative to a thousandth of the norm of all at
    least, those of single numbers to a hundredth. Those of matrices are relative to a millionth at least: what remains of
    larger sums, as for adapters of factors of streams, has their rounding errors."""
    steps = zip(expected.losses, actual.losses, strict=True)
    distances = [abs(a - e) / abs(e) for step in steps for e, a in zip(*step, strict=True)]
    if expected.gradients.keys() != actual.gradients.keys():
        return float("inf")
    for name, value in expected.gradients.items():
        difference = numpy.abs(actual.gradients[name].astype(numpy.float64) - value).max()
        share = 1e-2 if value.size == 1 else 1e-3 if value.ndim == 1 else 1e-6
        least = max(share * expected.losses[-1][1], 1e-30)
        distances.append(float(difference / max(numpy.abs(value).max(), least)))
    # A NaN is not close to anything.
    return max(d if d == d else float("inf") for d in distances)
