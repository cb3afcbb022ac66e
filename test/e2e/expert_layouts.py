# SPDX-License-Identifier: Apache-2.0
"""Checks that randomly drawn layouts of models with experts change a step by rounding alone.

usage: expert_layouts.py [--part=K/N] [--seed N] [--count N] [--first N] [--family NAME] [--pieces] [--named] [--verbose] BIN_FOLDER WORK_FOLDER

Each draw is a model of a family with classic layers (experts with a capacity or without, shared ones, losses of routers)
and a layout of data, context, model, expert and pipeline parallel ranks, with sequence parallel and without and with up to
six sequences for a replica, imported from a YAML and lowered. --family telechat draws TeleChat's, whose ranks of model
parallel have experts of their own or parts of each (ep_extend_tp). Against one rank whose routers see the same rows of
tokens (with --pieces, which cuts sequences into pieces, one for each of them), loss and all gradients must agree to a relative
2e-5. Within the layout recompute, swap and threads change no bit, sharing the optimizer out on level 1 changes no bit of
gradients, and each rank needs the memory that was planned. --named adds layouts with shared out optimizers, blocks of rows and
copies of the model.

Where each rank has one row of tokens, the collectives between experts are the closed forms': of E experts with n places of h
elements, with ep ranks that share experts out and mp that cut each,

  capacity   an all_to_all over ep of E n h, before and behind the experts, and back in backward; with mp an all_gather to
             mp times as much behind the first one and a reduce_scatter before the second, and the same in backward
  whole      with expert_model_parallel 1, the all_to_all alone; that behind the experts has an empty place for each
  dropless   an all_to_all of E counts, and of as many rows as there is room for an all_to_all_v there, one of their
             experts, one back, and two in backward
"""

import collections
import copy
import json
import math
import sys

import numpy
import safetensors
import step_results
import training
from drawn_cases import DrawnCases

BOUND = 2e-5
LENGTH, HIDDEN, EXPERTS, CHOICES = 24, 16, 8, 2
MODEL = dict(
    training.MODEL, hidden_size=HIDDEN, num_layers=2, num_heads=4, n_kv_heads=4, intermediate_size=24, seq_length=LENGTH, vocab_size=128,
    initializer_range=0.1,
)  # fmt: skip
LATENT = dict(
    q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=4, v_head_dim=4, qk_nope_head_dim=4,
    first_k_dense_replace=1, return_extra_loss=True, extend_method='"None"',
)  # fmt: skip
FAMILIES = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "deepseek": ("DeepseekV2Config", "DeepseekV2ForCausalLM", LATENT),
    "telechat": ("TelechatConfig", "TelechatForCausalLM", {}),
    # Gates and ups are one weight.
    "mixtral": ("LlamaConfig", "MixtralForCausalLM", {"qkv_concat": True}),
}
VARIATIONS = [
    ("recompute", dict(recompute={"recompute": "True"})),
    ("swap", dict(swap={"layer_swap": "[{backward_prefetch: 1, layers: True}]"})),
    ("one thread", dict(threads=1)),
]


class Draw:
    family = "llama"
    pieces = 1
    dp = cp = mp = ep = pp = rows = micro_batches = 1
    has_sequence_parallel, dropless, drops_by_token, whole, shared, losses = True, False, False, False, 0, False
    recompute, swap, threads, factor, router_rows, place_multiple = None, None, 2, 1.5, None, 1
    # Shards of the optimizer, blocks of rows in a layer, and copies of the model.
    level, shard_size, blocks, copies = 0, -1, 1, 1

    def change(self, **changes):
        result = copy.copy(self)
        result.__dict__.update(changes)
        return result

    def __str__(self):
        return ", ".join("%s = %s" % item for item in sorted(self.__dict__.items()))

    @staticmethod
    def choose(generator, families):
        choose = generator.choice
        draw = Draw().change(
            family=choose(families), dp=choose([1, 2, 2, 4]), mp=choose([1, 2, 2, 4]), pp=choose([1, 1, 1, 2]),
            dropless=choose([False, False, True]), drops_by_token=choose([False, True]), shared=choose([0, 1]),
            rows=choose([1, 2, 2, 3, 4, 6]), losses=choose([False, True]), whole=choose([False, False, True]),
            factor=choose([0.8, 1.5]), has_sequence_parallel=choose([True, True, False]),
        )  # fmt: skip
        if draw.family == "telechat":
            draw = draw.change(dropless=False, shared=0)
        if draw.dropless:
            draw = draw.change(has_sequence_parallel=True)
        # Without a capacity experts go with no context parallel.
        cp = 1 if draw.dropless else choose([1, 1, 2])
        if cp * draw.dp * draw.mp == 1:
            draw = draw.change(dp=2)
        draw = draw.change(cp=cp, micro_batches=draw.pp * choose([1, 2]))
        if draw.family == "telechat":
            # Whole experts are shared out over model-parallel ranks, too.
            whole = draw.mp if draw.whole and draw.has_sequence_parallel else 1
            return draw.change(ep=choose([n for n in (1, 2, 4) if draw.dp * cp % n == 0 and 8 % (n * whole) == 0]))
        has_all = draw.has_sequence_parallel and (draw.dropless or draw.whole)
        ranks = draw.dp * cp * (draw.mp if has_all else 1)
        return draw.change(ep=choose([n for n in (1, 2, 4) if ranks % n == 0]))

    def cut(self, generator):
        """The layout with pieces of the sequence, and with what they require of other settings."""
        draw = self.change(dropless=False, losses=False, cp=1, rows=1, dp=max(self.dp, 2))
        parts = draw.mp if draw.has_sequence_parallel else 1
        ep = generator.choice([n for n in (1, 2) if draw.dp % n == 0])
        return draw.change(ep=ep, pieces=generator.choice([n for n in (2, 3, 4) if LENGTH % (n * parts) == 0]))

    def get_row_ranks(self):
        return self.router_rows or self.pieces * self.dp * self.cp * (self.mp if self.has_sequence_parallel else 1)

    def get_one_rank(self):
        return self.change(
            dp=1, cp=1, mp=1, ep=1, pp=1, pieces=1, rows=self.rows * self.dp, recompute=None, swap=None, threads=2,
            level=0, shard_size=-1, blocks=1, router_rows=self.get_row_ranks(), place_multiple=1 if self.has_sequence_parallel else self.mp,
        )  # fmt: skip

    def get_options(self):
        config_class, network, keys = FAMILIES[self.family]
        experts = {
            "expert_num": EXPERTS, "num_experts_chosen": CHOICES, "routing_policy": "TopkRouterV2", "use_gmm": self.dropless,
            "capacity_factor": self.factor, "enable_sdrop": self.drops_by_token, "shared_expert_num": self.shared,
            "moe_intermediate_size": 24,
        }  # fmt: skip
        if self.place_multiple > 1:
            experts.update(comp_comm_parallel=True, comp_comm_parallel_degree=self.place_multiple)
        if self.losses:
            experts.update(aux_loss_types='["expert"]', aux_loss_factors="[0.01]")
        if self.family == "telechat":
            experts["ep_extend_tp"] = self.whole
        elif self.whole and not self.dropless:
            experts["expert_model_parallel"] = 1
        ranks = {
            "data_parallel": self.dp, "model_parallel": self.mp, "context_parallel": self.cp, "expert_parallel": self.ep,
            "use_seq_parallel": self.has_sequence_parallel, "vocab_emb_dp": True, "seq_split_num": self.pieces,
        }  # fmt: skip
        if self.blocks > 1:
            keys = dict(keys, fine_grain_interleave=self.blocks)
        shard = {
            "optimizer_level": "level%d" % self.level, "parallel_optimizer_threshold": 0,
            "optimizer_weight_shard_size": self.shard_size,
        }  # fmt: skip
        return dict(
            model=dict(MODEL, **keys), model_type=config_class, arch=network, stages=self.pp,
            scheduler="seqpipe" if self.pieces > 1 else "1f1b", batch_size=self.rows,
            parallel={"enable_parallel_optimizer": self.level > 0}, optimizer_shard=shard if self.level else None,
            top={"micro_batch_interleave_num": self.copies},
            micro_batches=self.micro_batches, ranks=ranks, experts=experts, recompute=self.recompute, swap=self.swap,
            importing=["--expert-room=8"] * self.dropless + ["--router-rows=%s" % self.router_rows] * bool(self.router_rows),
        )  # fmt: skip


SMALL = Draw().change(dp=2, mp=2, ep=2)
DROPLESS = SMALL.change(dropless=True)
NAMED = {
    "capacity": SMALL,
    "capacity, shards": SMALL.change(level=1, micro_batches=2),
    "whole": SMALL.change(ep=4, whole=True),
    "contexts, shards": Draw().change(dp=2, cp=2, ep=2, level=2, micro_batches=2),
    "dropless": DROPLESS,
    "dropless, shards": DROPLESS.change(ep=4, level=1, micro_batches=2),
    "dropless on stages": DROPLESS.change(family="deepseek", pp=2, ep=4, level=3, micro_batches=2),
    # Gates and ups are one weight, in a block for each rank of mp; a sequence is cut over cp and mp together.
    "one weight": Draw().change(family="mixtral", cp=2, mp=2, ep=2),
    "one weight, shards": Draw().change(family="mixtral", dp=2, cp=2, mp=2, ep=4, level=1, micro_batches=2),
    # dp in two factors, of which one shares experts out.
    "factors": SMALL.change(dp=4),
    "factors, dropless": DROPLESS.change(dp=4, ep=4, level=1),
    "shards of two": DROPLESS.change(mp=4, shard_size=2, level=1),
    # Several sequences of a rank: rows of tokens are no parts of them.
    "two sequences": SMALL.change(rows=2),
    "two sequences of four": SMALL.change(mp=4, rows=2),
    "three sequences": SMALL.change(rows=3),
    "two sequences, dropless": DROPLESS.change(ep=4, rows=2),
    "more rows than ranks": Draw().change(dp=2, ep=2, rows=2, router_rows=8),
    "blocks": DROPLESS.change(ep=4, blocks=2, rows=2),
    "blocks and copies": SMALL.change(blocks=2, copies=2, rows=2),
}


def expect_exchanges(draw):
    """(kind, elements) to count, of a micro-batch and layer, where each rank has a row."""
    tokens = LENGTH // draw.mp
    expected = collections.Counter()
    if draw.dropless:
        # There is room for all rows that each can send.
        room = draw.ep * tokens * CHOICES
        expected["all_to_all", EXPERTS] += 1
        expected["all_to_all_v", room] += 1
        expected["all_to_all_v", room * HIDDEN] += 4
        return expected
    places = min(math.ceil(CHOICES * tokens * draw.factor / EXPERTS), tokens)
    expected["all_to_all", EXPERTS * places * HIDDEN] += 2 if draw.whole else 4
    if draw.whole:
        expected["all_to_all", EXPERTS * (places + 1) * HIDDEN] += 2
    elif draw.mp > 1:
        expected["all_gather", draw.mp * EXPERTS * places * HIDDEN] += 2
        expected["reduce_scatter", draw.mp * EXPERTS * places * HIDDEN] += 2
    return expected


def place_blocks(name, value, outer, inner):
    """A weight with the gates and the ups of all neurons as one with both in a block for each of `inner` ranks, or the other
    way round."""
    if not name.endswith("w_gate_hidden.weight") or value.ndim < 3:
        return value
    blocks = value.reshape(len(value), outer, inner, -1, value.shape[-1])
    return numpy.ascontiguousarray(blocks.swapaxes(1, 2)).reshape(value.shape)


class Checks:
    """Of what may change no bit, one way is drawn, or all are tried."""

    def __init__(self, tools, tries_all=False):
        self.tools, self.tries_all, self.worst = tools, tries_all, 0.0
        training.start_drawing(tools.path("data.txt"), 3)

    def run(self, draw):
        tools, options = self.tools, draw.get_options()
        self.report = tools.path("step.json")
        model, step = tools.lower("draw", lowering=["--json=" + self.report], **options)
        initial = step_results.initialize(tools, model)
        values = safetensors.load(initial)
        safetensors.save(initial, {name: place_blocks(name, value, 2, draw.mp) for name, value in values.items()})
        result = step_results.run(tools, step, tools.path("data.txt"), 1, initial, threads=draw.threads)
        result.gradients = {name: place_blocks(name, value, draw.mp, 2) for name, value in result.gradients.items()}
        return result

    def check_exchanges(self, draw):
        """Compares the exchanges of the step that was lowered last with closed forms."""
        with open(self.report) as file:
            stages = next(line["stages"] for line in map(json.loads, file) if "stages" in line)
        found = collections.Counter()
        for row in stages[0]["exchanges"]:
            found[row["kind"], row["bytes"] // 4] += row["count"]
        expected = expect_exchanges(draw)
        for key in sorted({*expected, *(key for key in found if key[0].startswith("all_to_all"))}):
            count = expected[key] * draw.micro_batches * MODEL["num_layers"]
            if found[key] != count:
                yield "%d %s of %d elements, expected %d" % (found[key], *key, count)

    def check(self, draw, generator):
        actual = self.run(draw)
        has_rows = draw.has_sequence_parallel and draw.rows == 1 and not draw.router_rows
        if draw.family == "llama" and has_rows and draw.cp * draw.pp * draw.pieces * draw.blocks * draw.copies == 1 and not draw.level:
            yield from self.check_exchanges(draw)
        distance = step_results.get_distance(self.run(draw.get_one_rank()), actual)
        self.worst = max(self.worst, distance)
        if not distance < BOUND:
            yield "%.3g off from one rank" % distance
        # Full recompute does not go with pieces.
        variations = VARIATIONS[1:] if draw.pieces > 1 else VARIATIONS
        for what, changes in variations if self.tries_all else [generator.choice(variations)]:
            if not self.run(draw.change(**changes)).has_same_bits(actual):
                yield "other bits with " + what
        if draw.level == 0 and draw.pieces == 1 and self.run(draw.change(level=1)).bytes[0] != actual.bytes[0]:
            yield "other bits of gradients with a shared out optimizer"


def main():
    cases = DrawnCases()
    cases.parser.add_argument("--family", choices=FAMILIES)
    cases.parser.add_argument("--pieces", action="store_true")
    cases.parser.add_argument("--named", action="store_true")
    arguments = cases.parse()
    checks = Checks(training.Tools(arguments.bin, arguments.work), arguments.named)

    def choose(number, generator):
        if number in NAMED:
            return NAMED[number]
        draw = Draw.choose(generator, [arguments.family] if arguments.family else ["llama", "deepseek"])
        return draw.cut(generator) if arguments.pieces else draw

    count, problems = cases.run(choose, checks.check, [*NAMED] if arguments.named else [])
    print("%d layouts, %d problems; worst relative difference %.2g" % (count, problems, checks.worst))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
