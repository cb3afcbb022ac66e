"""Numbers of a target fitted to measured steps.

A Gauss-Newton step takes what `mf-run --simulate --report` says of each row: its
time, and how it changes with the logarithm of each number of the target. Errors
are those of logarithms of times, weighed down where they are large; each number
has a prior around where it starts.
"""

import numpy

# How far, as a share, a number may be from where it starts: one standard deviation. Numbers that are not here stay.
PRIORS = {
    "memory.bytes_per_second": 0.1,
    "kernels.matmul.peak_share": 0.1,
    "kernels.matmul.flops.half": 0.25,
    "kernels.grouped_matmul.peak_share": 0.15,
    "kernels.grouped_matmul.rows.half": 0.25,
    "kernels.attention.peak_share": 0.1,
    "kernels.attention.query_rows.half": 0.25,
    "kernels.attention_grad.peak_share": 0.1,
    "kernels.attention_grad.query_rows.half": 0.25,
    "kernels.elementwise.passes": 0.25,
    "kernels.transpose.passes": 0.35,
    "kernels.copy.passes": 0.35,
    "kernels.permutation.passes": 0.25,
    "kernels.optimizer.passes": 0.25,
    "kernels.router.latency": 0.35,
    "networks.nvlink.collective_share": 0.15,
    "networks.nvlink.collective_latency": 0.25,
    "networks.nvlink.message_latency": 0.35,
    "step_latency": 0.35,
}
# Of measured times and of what a sum of kernels leaves out.
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
    """Steps, what they took, and the target's numbers to start from."""

    def __init__(self, simulator, steps, seconds):
        self.simulator, self.steps = simulator, steps
        self.seconds = numpy.array(seconds)
        start = simulator.get_numbers()
        self.paths = [path for path in PRIORS if start.get(path, 0) > 0]
        self.start = numpy.log([start[path] for path in self.paths])
        self.priors = numpy.array([PRIORS[path] for path in self.paths])

    def evaluate(self, logs, chosen):
        """Errors of logarithms of times, and their slopes."""
        changes = dict(zip(self.paths, numpy.exp(logs)))
        reports = self.simulator.simulate_all([self.steps[i] for i in chosen], changes)
        times = numpy.array([report["step_seconds"] for report in reports])
        slopes = [[report["sensitivity"].get(path, 0.0) for path in self.paths] for report in reports]
        return numpy.log(times / self.seconds[chosen]), numpy.array(slopes) / times[:, None]

    def run(self, chosen, rounds=5, logs=None):
        """Logarithms of numbers fitted to the `chosen` steps."""
        chosen = list(chosen)
        logs = self.start.copy() if logs is None else logs.copy()
        for _ in range(rounds):
            errors, slopes = self.evaluate(logs, chosen)
            change = solve(errors, slopes, logs - self.start, self.priors)
            logs += numpy.clip(change, -0.5, 0.5)
        return logs

    def get_percents(self, logs, chosen):
        """Errors of times of the `chosen` steps."""
        return 100 * (numpy.exp(self.evaluate(logs, list(chosen))[0]) - 1)

    def get_numbers(self, logs):
        return dict(zip(self.paths, numpy.exp(logs)))


def get_sizes(errors):
    """Their mean, and the largest."""
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
