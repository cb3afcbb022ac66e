# SPDX-License-Identifier: Apache-2.0
"""Checks that ranks which share experts out compute what one rank does.

usage: experts_on_ranks.py [--part=K/N] BIN_FOLDER WORK_FOLDER

Runs models with experts, with a capacity and without, on one rank and on several of data,
context, model and expert parallel. Loss, norm and gradients must agree to a relative 1e-5;
sharing the optimizer out on level 1 changes no bit of gradients; within a layout recompute, swap,
threads and stages change no bit; each rank needs the memory that was planned, and the collectives
between experts are the closed forms': of E experts in rows of n places of h elements, with ep ranks
that share experts out and mp that cut each,

  capacity   an all_to_all over ep of E n h, before and behind the experts, and back in backward; with mp an all_gather to
             mp times as much behind the first one and a reduce_scatter before the second, and the same in backward
  whole      with expert_model_parallel 1, the all_to_all alone; that behind the experts has an empty place for each
  dropless   an all_to_all of E counts, and of as many rows as there is room for an all_to_all_v there, one of their
             experts, one back, and two in backward
"""

import collections
import json
import subprocess
import sys

import expert_models
import parts
import step_results
import training

BOUND = 1e-5
YAML = """optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-8, weight_decay: 0.1}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.e-3, warmup_steps: 0}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1.0, use_clip_grad: True, max_grad_norm: 1.0}
runner_config: {batch_size: 1, gradient_accumulation_steps: %(accumulated)d}
parallel: {parallel_mode: 1, full_batch: True, enable_parallel_optimizer: %(shards)s,
  parallel_optimizer_config: {optimizer_level: level%(level)s, parallel_optimizer_threshold: 0, optimizer_weight_shard_size: %(shard_size)d}}
parallel_config: {data_parallel: %(dp)d, context_parallel: %(cp)d, model_parallel: %(mp)d, expert_parallel: %(ep)d,
  pipeline_stage: %(pp)d, micro_batch_num: %(piped)d, use_seq_parallel: True, vocab_emb_dp: True}
moe_config: {use_gmm: %(gmm)s%(tensors)s}
recompute_config: {recompute: %(recompute)s}
micro_batch_interleave_num: %(copies)d
model: {model_config: {fine_grain_interleave: %(blocks)d}}
%(swap)s
"""
SWAP = "swap_config: {swap: True, layer_swap: [{backward_prefetch: 1, layers: True}]}"


class Case:
    """A model, and ranks for it."""

    dp = cp = mp = ep = pp = micro = blocks = copies = 1
    level, shard_size, threads, recompute, swap = 0, -1, 2, False, ""
    # Ranks of mp have experts of their own, rather than parts of each.
    whole = False

    def __init__(self, sizes, **changes):
        self.sizes = sizes
        self.__dict__.update(changes)

    def change(self, **changes):
        return Case(self.sizes, **dict({k: v for k, v in self.__dict__.items() if k != "sizes"}, **changes))

    def __str__(self):
        return ", ".join("%s = %s" % item for item in self.__dict__.items())

    def get_model(self):
        model = expert_models.Model(**self.sizes)
        if self.whole:
            model.expert_cuts = ('[["ep"], [], []]', '[["ep"], [], []]')
        return model

    def get_yaml(self):
        return YAML % dict(
            {name: getattr(self, name) for name in ("dp", "cp", "mp", "ep", "pp", "shard_size", "recompute", "swap", "blocks", "copies")},
            accumulated=1 if self.pp > 1 else self.micro, piped=self.micro if self.pp > 1 else 1,
            shards=self.level > 0, level=self.level or 1, gmm=not self.sizes.get("capacity"),
            tensors=", expert_model_parallel: 1" if self.whole else "",
        )  # fmt: skip


def expect(case):
    """(kind, bytes) to count, of a micro-batch and layer, where each rank has a row and whole sequences."""
    m = case.get_model()
    expected = collections.Counter()
    if m.capacity is None:
        room = m.room or m.parallel * m.tokens * m.choices
        expected["all_to_all", m.experts] += 1
        expected["all_to_all_v", room] += 1
        expected["all_to_all_v", room * m.hidden] += 4
        return expected
    places = m.experts * m.capacity * m.hidden
    expected["all_to_all", places] += 2 if case.whole else 4
    if case.whole:
        expected["all_to_all", m.experts * (m.capacity + 1) * m.hidden] += 2
    elif case.mp > 1:
        expected["all_gather", case.mp * places] += 2
        expected["reduce_scatter", case.mp * places] += 2
    return expected


class Runs:
    def __init__(self, bin_folder, work):
        self.tools = training.Tools(bin_folder, work)
        training.start_drawing(self.tools.path("data.txt"), 3)
        self.wholes, self.count = {}, 0

    def lower(self, case):
        tools = self.tools
        model, yaml, step = (tools.path("case" + end) for end in (".mlir", ".yaml", ".step.mlir"))
        for path, text in ((model, str(case.get_model())), (yaml, case.get_yaml())):
            with open(path, "w") as file:
                file.write(text)
        self.report = tools.path("step.json")
        tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, "--json=" + self.report, model, "-o", step)
        return model, step

    def check_exchanges(self, case):
        """Compares the exchanges of the step that was lowered last with closed forms."""
        lines = [json.loads(line) for line in open(self.report)]
        stages = next(line["stages"] for line in lines if "stages" in line)
        found = collections.Counter()
        for row in stages[0]["exchanges"]:
            found[row["kind"], row["bytes"] // 4] += row["count"]
        expected = expect(case)
        keys = set(expected) | {key for key in found if key[0].startswith("all_to_all")}
        for key in sorted(keys):
            count = expected[key] * case.micro * case.get_model().layers
            if found[key] != count:
                yield "%d %s of %d elements, expected %d" % (found[key], *key, count)

    def run(self, case):
        self.count += 1
        tools = self.tools
        model, step = self.lower(case)
        initial = step_results.initialize(tools, model)
        return step_results.run(tools, step, tools.path("data.txt"), 2, initial, threads=case.threads)

    def get_whole(self, case):
        key = (str(case.sizes), case.micro, case.copies)
        if key not in self.wholes:
            self.wholes[key] = self.run(Case(case.sizes, micro=case.micro, copies=case.copies))
        return self.wholes[key]

    def check(self, case):
        actual = self.run(case)
        has_rows = case.sizes["rows"] == case.dp * case.cp * case.mp and case.sizes["batch"] == case.dp
        if has_rows and case.pp * case.blocks * case.copies == 1 and not case.level:
            yield from self.check_exchanges(case)
        distance = step_results.get_distance(self.get_whole(case), actual)
        print("%.3g off: %s" % (distance, case))
        if not distance < BOUND:
            yield "%.3g off from one rank" % distance
        variations = [dict(threads=1), dict(recompute=True), dict(swap=SWAP)]
        if case.level == 0 and case.dp * case.mp > 1:
            variations.append(dict(level=1))
        for changes in variations:
            other = self.run(case.change(**changes))
            same = other.bytes[0] == actual.bytes[0] if "level" in changes else other.has_same_bits(actual)
            if not same:
                yield "other bits with %s" % changes


SMALL = dict(vocabulary=256, rows=4, batch=2, sequence=16, hidden=8, experts=4, choices=2, width=8)
CASES = [
    # Four rows, one for each rank of dp and mp.
    Case(dict(SMALL, capacity=6), dp=2, mp=2, ep=2),
    Case(dict(SMALL, capacity=6), dp=2, mp=2, ep=2, level=1, micro=2),
    Case(dict(SMALL, capacity=6), dp=2, mp=2, ep=4, whole=True),
    Case(dict(SMALL, capacity=6, layers=2), dp=2, cp=2, ep=2, level=2, micro=2),
    Case(dict(SMALL, parallel=2), dp=2, mp=2, ep=2),
    Case(dict(SMALL, parallel=4), dp=2, mp=2, ep=4, level=1, micro=2),
    Case(dict(SMALL, parallel=4, layers=2, product="grouped_matmul"), pp=2, dp=2, mp=2, ep=4, level=3, micro=2),
    # Gates and ups are one weight, in a block for each rank of mp; a sequence is cut over cp and mp together.
    Case(dict(SMALL, batch=1, capacity=6, blocks=2), cp=2, mp=2, ep=2),
    Case(dict(SMALL, rows=8, capacity=6, blocks=2, layers=2), dp=2, cp=2, mp=2, ep=4, level=1, micro=2),
    # dp in two factors, of which one shares experts out.
    Case(dict(SMALL, rows=8, batch=4, capacity=6), dp=4, mp=2, ep=2),
    Case(dict(SMALL, rows=8, batch=4, parallel=4), dp=4, mp=2, ep=4, level=1),
    Case(dict(SMALL, rows=8, batch=4, parallel=2), dp=2, mp=4, ep=2, shard_size=2, level=1),
    # Several sequences of a rank: rows of tokens are no parts of them.
    Case(dict(SMALL, batch=4, capacity=10), dp=2, mp=2, ep=2),
    Case(dict(SMALL, rows=8, batch=4, capacity=6), dp=2, mp=4, ep=2),
    Case(dict(SMALL, rows=4, batch=6, capacity=12), dp=2, mp=2, ep=2),
    Case(dict(SMALL, batch=4, parallel=4), dp=2, mp=2, ep=4),
    # More rows of tokens than ranks.
    Case(dict(SMALL, rows=8, batch=4, capacity=6), dp=2, ep=2),
    # Blocks of rows and copies of the model.
    Case(dict(SMALL, parallel=4), dp=2, mp=2, ep=4, blocks=2),
    Case(dict(SMALL, capacity=6), dp=2, mp=2, ep=2, blocks=2, copies=2),
]


def main():
    part = parts.pop_part()
    runs = Runs(*sys.argv[1:3])
    problems = 0
    cases = part.select(CASES)
    for case in cases:
        try:
            found = list(runs.check(case))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            found = [str(error)]
        for problem in found:
            print("%s: %s" % (case, problem))
        problems += len(found)
    print("%d layouts, %d runs, %d problems" % (len(cases), runs.count, problems))
    return problems != 0


if __name__ == "__main__":
    sys.exit(main())
