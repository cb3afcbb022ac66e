# SPDX-License-Identifier: Apache-2.0
"""Numbers of a target fitted to measured steps.

An iteration of Gauss-Newton takes what `mf-run --simulate --report` says of each row: its
time, and how it changes with the logarithm of each number of the target. Errors
are differences of logarithms of times; large errors have less weight. Each number
has a prior around its first value.
"""

import numpy

# Where a number starts, and how far, as a share, it may be from there: one standard deviation. Starts are those of
# docs/sources.md (B200); where it has none, one pass over the operands, or what Megatron's kernels leave
# of it. Numbers that are not here stay.
PRIORS = {
    "memory.bytes_per_second": (5.7e12, 0.05),
    "kernels.matmul.peak_share": (0.46, 0.05),
    "kernels.matmul.flops.half": (7e10, 0.12),
    "kernels.grouped_matmul.peak_share": (0.36, 0.08),
    "kernels.grouped_matmul.rows.half": (210, 0.12),
    "kernels.attention.peak_share": (0.45, 0.05),
    "kernels.attention.query_rows.half": (1.9e4, 0.12),
    "kernels.attention_grad.peak_share": (0.39, 0.05),
    "kernels.attention_grad.query_rows.half": (1.9e4, 0.12),
    "kernels.elementwise.passes": (1.0, 0.12),
    # Attention takes any order of heads and rows, so few of these are left.
    "kernels.transpose.passes": (0.4, 0.25),
    "kernels.copy.passes": (0.4, 0.25),
    "kernels.permutation.passes": (1.0, 0.12),
    "kernels.optimizer.passes": (1.0, 0.12),
    "kernels.router.latency": (2e-5, 0.2),
    "networks.nvlink.collective_share": (0.622, 0.08),
    "networks.nvlink.collective_latency": (34e-6, 0.12),
    "step_latency": (3e-3, 0.25),
}
# The error of measured times and of the kernels that a sum leaves out.
NOISE = 0.02


def solve(errors, slopes, shifts, priors):
    """The change of the logarithms of all numbers, with Huber's weights on errors."""
    residuals = errors / NOISE
    weights = numpy.minimum(1, 1.5 / numpy.maximum(numpy.abs(residuals), 1e-9))
    rows = slopes / NOISE * numpy.sqrt(weights)[:, None]
    matrix = numpy.concatenate([rows, numpy.diag(1 / priors)])
    right = numpy.concatenate([-residuals * numpy.sqrt(weights), -shifts / priors])
    return numpy.linalg.lstsq(matrix, right, rcond=None)[0]


class Fit:
    """Measured training steps, and numbers of the target that fit them."""

    def __init__(self, simulator, steps, seconds):
        self.simulator, self.steps = simulator, steps
        # Simulated times, by step and numbers.
        self.known = {}
        self.seconds = numpy.array(seconds)
        self.paths = list(PRIORS)
        self.start = numpy.log([start for start, _ in PRIORS.values()])
        self.priors = numpy.array([width for _, width in PRIORS.values()])

    def evaluate(self, logs, chosen):
        """Errors of logarithms of times, and their slopes."""
        changes = dict(zip(self.paths, numpy.exp(logs)))
        missing = [i for i in chosen if (i, logs.tobytes()) not in self.known]
        reports = self.simulator.simulate_all([self.steps[i] for i in missing], changes)
        for index, report in zip(missing, reports):
            slopes = [report["sensitivity"].get(path, 0.0) for path in self.paths]
            self.known[index, logs.tobytes()] = report["step_seconds"], numpy.array(slopes) / report["step_seconds"]
        found = [self.known[i, logs.tobytes()] for i in chosen]
        times = numpy.array([seconds for seconds, _ in found])
        return numpy.log(times / self.seconds[chosen]), numpy.array([slopes for _, slopes in found])

    def run(self, chosen, rounds=3):
        """Logarithms of numbers fitted to the `chosen` steps."""
        chosen = list(chosen)
        logs = self.start.copy()
        for _ in range(rounds):
            errors, slopes = self.evaluate(logs, chosen)
            change = solve(errors, slopes, logs - self.start, self.priors)
            logs += numpy.clip(change, -0.5, 0.25)
        return logs

    def run_near(self, chosen, logs, rounds=5):
        """As run(), with the slopes at `logs` for all iterations; and the errors of all training steps in percent."""
        chosen = list(chosen)
        errors, slopes = self.evaluate(logs, list(range(len(self.steps))))
        found = logs.copy()
        for _ in range(rounds):
            there = errors + slopes @ (found - logs)
            found += solve(there[chosen], slopes[chosen], found - self.start, self.priors)
        return found, 100 * (numpy.exp(errors + slopes @ (found - logs)) - 1)

    def get_percents(self, logs, chosen):
        """Errors of times of the `chosen` steps."""
        return 100 * (numpy.exp(self.evaluate(logs, list(chosen))[0]) - 1)

    def get_numbers(self, logs):
        return dict(zip(self.paths, numpy.exp(logs)))


def get_sizes(errors):
    """The mean and the largest of errors."""
    return numpy.abs(errors).mean(), numpy.abs(errors).max()


def get_halves(groups, times, seed=0):
    """Random halves of the groups: pairs of what is fitted and what is held out, as lists of members."""
    keys = sorted(groups)
    random = numpy.random.default_rng(seed)
    for _ in range(times):
        order = random.permutation(len(keys))
        half = len(keys) // 2
        for fitted in (order[:half], order[half:]):
            inside = {keys[i] for i in fitted}
            yield (
                [member for key in keys if key in inside for member in groups[key]],
                [member for key in keys if key not in inside for member in groups[key]],
            )
