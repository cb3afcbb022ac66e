# SPDX-License-Identifier: Apache-2.0
"""Checks that randomly drawn layouts of models with experts change a step by rounding alone.

usage: expert_layouts.py [--seed N] [--count N] [--first N] [--family NAME] [--pieces] [--verbose] BIN_FOLDER WORK_FOLDER

Each draw is a model of a family with classic layers (experts with a capacity or without, shared ones, losses of routers)
and a layout of data, context, model, expert and pipeline parallel ranks, with sequence parallel and without and with up to
six sequences for a replica, imported from a YAML and lowered. --family telechat draws TeleChat's, whose ranks of model
parallel have experts of their own or parts of each (ep_extend_tp). Against one rank whose routers see the same rows of
tokens (with --pieces, which cuts sequences into pieces, one for each of them), loss and all gradients must agree to a relative 2e-5. Within the layout recompute, swap and threads change no bit, and each rank needs the memory that was planned.
"""

import copy
import sys

import step_results
import training
from drawn_cases import DrawnCases

BOUND = 2e-5
LENGTH = 24
MODEL = dict(
    training.MODEL, hidden_size=16, num_layers=2, num_heads=4, n_kv_heads=4, intermediate_size=24, seq_length=LENGTH, vocab_size=128,
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
        return self.pieces * self.dp * self.cp * (self.mp if self.has_sequence_parallel else 1)

    def get_one_rank(self):
        return self.change(
            dp=1, cp=1, mp=1, ep=1, pp=1, pieces=1, rows=self.rows * self.dp, recompute=None, swap=None, threads=2,
            router_rows=self.get_row_ranks(), place_multiple=1 if self.has_sequence_parallel else self.mp,
        )  # fmt: skip

    def get_options(self):
        config_class, network, keys = FAMILIES[self.family]
        experts = {
            "expert_num": 8, "num_experts_chosen": 2, "routing_policy": "TopkRouterV2", "use_gmm": self.dropless,
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
        return dict(
            model=dict(MODEL, **keys), model_type=config_class, arch=network, stages=self.pp, scheduler="seqpipe" if self.pieces > 1 else "1f1b", batch_size=self.rows,
            micro_batches=self.micro_batches, ranks=ranks, experts=experts, recompute=self.recompute, swap=self.swap,
            importing=["--expert-room=8"] * self.dropless + ["--router-rows=%s" % self.router_rows] * bool(self.router_rows),
        )  # fmt: skip


class Checks:
    def __init__(self, tools):
        self.tools, self.worst = tools, 0.0
        training.start_drawing(tools.path("data.txt"), 3)

    def run(self, draw):
        tools = self.tools
        model, step = tools.lower("draw", **draw.get_options())
        return step_results.run(
            tools, step, tools.path("data.txt"), 1, step_results.initialize(tools, model), threads=draw.threads
        )

    def check(self, draw, generator):
        actual = self.run(draw)
        distance = step_results.get_distance(self.run(draw.get_one_rank()), actual)
        self.worst = max(self.worst, distance)
        if not distance < BOUND:
            yield "%.3g off from one rank" % distance
        # Full recompute does not go with pieces.
        what, changes = generator.choice(VARIATIONS[1:] if draw.pieces > 1 else VARIATIONS)
        if not self.run(draw.change(**changes)).has_same_bits(actual):
            yield "other bits with " + what


def main():
    cases = DrawnCases()
    cases.parser.add_argument("--family", choices=FAMILIES)
    cases.parser.add_argument("--pieces", action="store_true")
    arguments = cases.parse()
    checks = Checks(training.Tools(arguments.bin, arguments.work))

    def choose(number, generator):
        draw = Draw.choose(generator, [arguments.family] if arguments.family else ["llama", "deepseek"])
        return draw.cut(generator) if arguments.pieces else draw

    count, problems = cases.run(choose, checks.check)
    print("%d layouts, %d problems; worst relative difference %.2g" % (count, problems, checks.worst))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
