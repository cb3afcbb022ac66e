# SPDX-License-Identifier: Apache-2.0
"""Random models, layouts of ranks and schedules, for random_layouts.py."""

import copy

# Name for --schedule, pipeline_scheduler, the number of chunks on a stage.
PIECE_SCHEDULES = [(None, "seqpipe", 1), (None, "seqpipe", 2), (None, "seqvpp", 2), (None, "seqsmartvpp", 2)]
SCHEDULES = [
    (None, "1f1b", 1),
    (None, "gpipe", 1),
    ("zero-bubble-h1", "1f1b", 1),
    (None, "1f1b", 2),
    (None, "gpipe", 2),
    ("interleaved-low-memory", "1f1b", 2),
    (None, "zero_bubble_v", 2),
]
# Targets of adapters, by family: linear layers that ranks cut by rows and by columns.
TARGETS = {
    "glm": [".*query_key_value*|wq|wk|wv", "dense", ".*dense_4h_to_h|wq"],
    "telechat": ["wq|wk_v", ".*wo|.*w2", ".*w"],
    "mcore": [".*linear_qkv|.*linear_fc1", ".*linear_proj|.*linear_fc2", ".*linear", ".*linear_qkv|output_layer"],
}
CLASSIC_TARGETS = [".*wq|.*wk|.*wv|.*wo|w_qkv", ".*wo|.*w2", ".*w"]
# It and the feed forward divide by all that is drawn.
SEQUENCE_LENGTH = 48
# Settings that keep, repeat, slice or move communicated values.
NORMS = r"'.*\.norm'"
COMMUNICATION = [
    {"select_comm_recompute": "[%s]" % NORMS},
    {
        "select_comm_recompute": r"[%s, 'attention\.w[ko]\.matmul']" % NORMS,
        "select_comm_recompute_exclude": r"['ffn_norm\.norm']",
    },
    {"select_recompute": r"['attention', 'feed_forward\.mul']"},
    {"select_recompute": "['feed_forward']", "select_comm_recompute": "[%s]" % NORMS, "mp_comm_recompute": "False"},
    {"recompute": "True", "recompute_slice_activation": "True"},
    {"recompute": "True", "recompute_slice_activation": "True", "mp_comm_recompute": "False"},
    {"recompute": "True", "parallel_optimizer_comm_recompute": "True"},
]  # fmt: skip
SWAP_LAYERS = {"layer_swap": "[{backward_prefetch: %d, layers: True}]"}


def get_llama(draw):
    return {
        "num_heads": draw.heads, "n_kv_heads": draw.kv_heads, "intermediate_size": draw.feed_forward,
        "vocab_size": draw.vocabulary, "rms_norm_eps": "1.0e-5", "theta": "10000.0",
        "qkv_has_bias": draw.has_bias, "qkv_concat": draw.concatenates, "tie_word_embeddings": draw.is_tied,
        "parallel_optimizer": draw.shards_table, "layernorm_compute_type": '"float32"',
        "softmax_compute_type": '"float32"',
    }  # fmt: skip


def get_glm(draw):
    return {
        "num_attention_heads": draw.heads, "multi_query_attention": True,
        "multi_query_group_num": draw.kv_heads, "kv_channels": draw.head_size,
        "ffn_hidden_size": draw.feed_forward, "padded_vocab_size": draw.vocabulary,
        "add_qkv_bias": draw.has_bias, "qkv_concat": draw.concatenates, "mlp_concat": draw.concatenates,
        "tie_word_embeddings": draw.is_tied, "layernorm_compute_type": '"float32"',
        "attention_softmax_in_fp32": True,
    }  # fmt: skip


def get_mcore(draw):
    return {
        "num_attention_heads": draw.heads, "num_key_value_heads": draw.kv_heads, "head_dim": draw.head_size,
        "intermediate_size": draw.feed_forward, "vocab_size": draw.vocabulary, "rms_norm_eps": "1.0e-5",
        "attention_bias": draw.has_bias, "tie_word_embeddings": draw.is_tied,
        "layernorm_compute_dtype": '"float32"', "softmax_compute_dtype": '"float32"',
    }  # fmt: skip


# The functions that make a model_config of a draw, with its class and its network.
FAMILIES = {
    "llama": (get_llama, "LlamaConfig", "LlamaForCausalLM"),
    "glm": (get_glm, "ChatGLM2Config", "ChatGLM4ForConditionalGeneration"),
    "telechat": (get_llama, "TelechatConfig", "TelechatForCausalLM"),
    "baichuan": (get_llama, "LlamaConfig", "Baichuan13BV2ForCausalLM"),
    "mcore": (get_mcore, "Qwen3Config", "Qwen3ForCausalLM"),
}


class Draw:
    """A model, a layout, and the options of its run."""

    family, heads, kv_heads, feed_forward, vocabulary, layers = "llama", 16, 16, 48, 256, 4
    head_size, sequence = 4, SEQUENCE_LENGTH
    has_bias = concatenates = is_tied = shards_table = False
    compute_type, param_type, uses_flash = "float32", "float32", True
    fuses = False
    rows, micro_batches, pieces = 1, 2, 1
    pp = dp = cp = mp = degree = 1
    # Blocks of rows in a layer, copies of the model, and collectives that may be on their way.
    blocks, copies, in_flight = 1, 1, 8
    algorithm, sequence_parallel, vocab_emb_dp = "colossalai_cp", False, False
    level, threshold, shard_size = 0, 0, -1
    # The order in which each replica reads: "round_robin" and "blocks" without full_batch.
    order, is_mean = "whole", False
    schedule = SCHEDULES[0]
    recompute, swap, scale, threads = None, None, "1.0", 1
    # Recompute is a task of its own.
    has_tasks = False
    # The text of pet_config.
    adapters = None
    # Labels that are this token do not count.
    pad = -1

    def change(self, **changes):
        result = copy.copy(self)
        result.__dict__.update(changes)
        return result

    def get_ranks(self):
        return self.pp * self.dp * self.cp * self.mp

    def get_head_parts(self):
        exchanging = {"ulysses_cp": self.cp, "hybrid_cp": self.degree}.get(self.algorithm, 1)
        return self.mp * exchanging

    def __str__(self):
        return ", ".join("%s = %s" % item for item in sorted(self.__dict__.items()))

    @staticmethod
    def choose(generator):
        choose = generator.choice
        while True:
            draw = Draw().change(**{axis: choose([1, 1, 2, 2, 4]) for axis in ("pp", "dp", "cp", "mp")})
            if choose([False] * 7 + [True]):
                draw = draw.change(**{choose(["dp", "cp", "mp"]): choose([3, 8])})
            if 2 <= draw.get_ranks() <= 16:
                break
        draw = draw.change(
            algorithm=choose(["colossalai_cp", "ulysses_cp", "hybrid_cp"]),
            sequence_parallel=choose([False, True]), vocab_emb_dp=choose([False, True]),
            level=choose([0, 1, 1, 2, 3]), threshold=choose([0, 1, 2, 4]), shard_size=choose([-1, -1, 1, 2, 3, 4]),
            rows=choose([1, 1, 2, 3]), scale=choose(["1.0", "1024.0"]), threads=choose([1, 2, 3]),
            recompute=choose([None, {"recompute": "True"}]), is_mean=choose([False] * 7 + [True]),
            order=choose(["whole", "whole", "round_robin", "blocks"]),
        )  # fmt: skip
        if draw.algorithm == "hybrid_cp":
            draw = draw.change(degree=choose([d for d in (1, 2, 4) if draw.cp % d == 0]))
        return draw.choose_schedule(generator).choose_model(generator).choose_pieces(generator)

    def choose_schedule(self, generator):
        schedule = SCHEDULES[0]
        if self.pp > 1:
            schedule = generator.choice(SCHEDULES)
        micro_batches = generator.randint(self.pp, 2 * self.pp + 1)
        if schedule[1] == "zero_bubble_v":
            micro_batches = 2 * self.pp
        layers = max(2, self.pp * schedule[2])
        return self.change(schedule=schedule, micro_batches=micro_batches, layers=layers)

    def choose_model(self, generator):
        choose = generator.choice
        family = choose(["llama", "llama", "glm", "mcore", "telechat", "baichuan"])
        parts = self.get_head_parts()
        heads = 24 if parts % 3 == 0 else 16
        kv_heads = [n for n in (1, 2, 3, 4, 8, 16, 24) if heads % n == 0 and n % parts == 0]
        if family == "baichuan":
            kv_heads = [heads]
        if family == "mcore":
            kv_heads = [n for n in kv_heads if n % self.mp == 0]
        if family == "glm" and self.get_head_parts() == self.mp:
            # Fewer are copied.
            kv_heads += [n for n in (1, 2, 3, 4) if heads % n == 0 and n < self.mp and self.mp % n == 0] * 2
        three = 3 if 3 in (self.mp, self.cp, self.dp) else 1
        compute_type = choose(["float32"] * 4 + ["bfloat16"])
        return self.change(
            uses_flash=self.cp > 1 or choose([True, False]), compute_type=compute_type,
            param_type=choose(["float32", compute_type]),
            family=family, heads=heads, kv_heads=choose(kv_heads), feed_forward=48 * choose([1, 2]),
            # Some do not divide, and are then whole on all ranks.
            vocabulary=choose([256, 240, 240 * three, 202]), has_bias=choose([False, True]),
            concatenates=choose([False, True]), is_tied=choose([False, False, True]),
            shards_table=choose([False, True]), fuses=choose([False, True]),
        )  # fmt: skip

    def choose_pieces(self, generator):
        """Cuts some into pieces of the sequence, which all axes but cp and all but full recompute go with."""
        rows = SEQUENCE_LENGTH // (self.mp if self.sequence_parallel else 1)
        counts = [n for n in (2, 3, 4, 8) if rows % n == 0]
        if self.cp > 1 or not counts or generator.random() < 0.5:
            return self
        schedules = [s for s in PIECE_SCHEDULES if s[2] == self.schedule[2] and (s[1] != "seqsmartvpp" or self.pp % 2 == 0)]
        return self.change(
            pieces=generator.choice(counts), uses_flash=True, recompute=self.recompute and {"select_recompute": "True"},
            schedule=SCHEDULES[0] if self.pp == 1 else generator.choice(schedules),
        )  # fmt: skip

    def choose_size(self, generator):
        """Makes it as large as models that are trained, with up to 24 times the layers."""
        choose = generator.choice
        return self.change(
            sequence=self.sequence * choose([8, 16, 32, 64]), head_size=choose([64, 128]), layers=self.layers * choose([1, 4, 8, 24]),
            feed_forward=self.feed_forward * choose([32, 64]), vocabulary=self.vocabulary * choose([64, 400]),
            uses_flash=self.pieces > 1 or self.cp > 1 or choose([False, True]),
        )  # fmt: skip

    def choose_adapters(self, generator):
        """Fine-tunes. A micro-batch of one rank may have other rows, and then other elements are dropped."""
        choose = generator.choice
        draw = self
        has_same_rows = draw.dp == 1 or (draw.micro_batches == 1 and draw.order == "whole") or draw.sequence > SEQUENCE_LENGTH
        rank = choose([1, 2, 3, 4, 8])
        values = (
            rank, rank * choose([0.5, 2, 16]), choose([0.0, 0.1]) if has_same_rows else 0.0,
            choose(TARGETS.get(draw.family, CLASSIC_TARGETS)), choose(["[]", "['0']"]),
            choose(["[]", "[]", "['*embedding*', '*head*']", "['*norm*']"]),
        )  # fmt: skip
        keys = "lora_rank: %d, lora_alpha: %g, lora_dropout: %g, target_modules: '%s', exclude_layers: %s, "
        if draw.family == "mcore":
            # What both lists name is trained.
            keys += "freeze_include: ['*'], freeze_exclude: %s"
            values = values[:-1] + (choose(["['*lora*']", "['*lora*', '*embedding*', '*output*']", "['*lora*', '*norm*']", "['*lora_B*']"]),)
        else:
            keys += "freeze_exclude: %s"
        return draw.change(adapters="{pet_type: lora, " + keys % values + "}", is_mean=False)

    def get_one_rank(self):
        """That takes the same rows: one after the other what are micro-batches here."""
        return self.change(
            pp=1, dp=1, cp=1, mp=1, degree=1, algorithm="colossalai_cp", sequence_parallel=False, level=0,
            rows=self.rows * self.dp, blocks=1, copies=1, micro_batches=self.micro_batches * self.copies, schedule=SCHEDULES[0], recompute=None, has_tasks=False, swap=None, threads=2,
            threshold=0, shard_size=-1, vocab_emb_dp=False, order="whole", is_mean=False, pieces=1, fuses=False,
        )  # fmt: skip

    def get_rows(self, count):
        """The rows of `count` rows of data that one rank takes for the rows of the first step."""
        own = self.rows * self.micro_batches * self.copies
        block = -(-count // self.dp)
        place = {
            "whole": lambda replica, row: replica * own + row,
            "round_robin": lambda replica, row: row * self.dp + replica,
            "blocks": lambda replica, row: (replica * block + row) % count,
        }[self.order]
        return [place(replica, row) for replica in range(self.dp) for row in range(own)]

    def get_options(self):
        """The options for training.Tools.lower."""
        describe, config_class, network = FAMILIES[self.family]
        model = dict(
            describe(self), seq_length=self.sequence, hidden_size=self.head_size * self.heads, num_layers=self.layers,
            use_flash_attention=self.uses_flash, compute_dtype='"%s"' % self.compute_type, rotary_dtype='"float32"',
            param_init_type='"%s"' % self.param_type, pad_token_id=self.pad, ignore_token_id=-100, initializer_range=0.02,
            use_fused_rope=self.fuses, use_fused_swiglu=self.fuses,
        )  # fmt: skip
        if self.blocks > 1:
            model["fine_grain_interleave"] = self.blocks
        if self.adapters:
            model["pet_config"] = self.adapters
        name, scheduler, interleave = self.schedule
        ranks = {
            "data_parallel": self.dp, "model_parallel": self.mp, "context_parallel": self.cp,
            "context_parallel_algo": self.algorithm, "ulysses_degree_in_cp": self.degree,
            "use_seq_parallel": self.sequence_parallel, "vocab_emb_dp": self.vocab_emb_dp, "seq_split_num": self.pieces,
        }  # fmt: skip
        shard = {
            "optimizer_level": "level%d" % self.level, "parallel_optimizer_threshold": self.threshold,
            "optimizer_weight_shard_size": self.shard_size,
        }  # fmt: skip
        parallel = {
            "enable_parallel_optimizer": self.level > 0, "gradients_mean": self.is_mean,
            "full_batch": self.order == "whole", "dataset_strategy": "[[%d, 1], [%d, 1]]" % (self.dp, self.dp),
        }  # fmt: skip
        loader = "MindDataset" if self.order == "blocks" else "BlendedMegatronDatasetDataLoader"
        return dict(
            model=model, model_type=config_class, arch=network, stages=self.pp, schedule=name,
            scheduler=scheduler, interleave=interleave, micro_batches=self.micro_batches, batch_size=self.rows,
            recompute=self.recompute, swap=self.swap, scale_sense=self.scale, ranks=ranks,
            parallel=parallel, optimizer_shard=shard if self.level else None, loader=loader,
            lowering=["--recompute-tasks"] if self.has_tasks else [], top={"micro_batch_interleave_num": self.copies},
        )  # fmt: skip

    def get_variations(self):
        """What must change no bit, by name."""
        swaps = [("swap", dict(swap={"layer_swap": SWAP_LAYERS["layer_swap"] % prefetch}, recompute=None))
                 for prefetch in (1, 20)]  # fmt: skip
        recomputes = [
            ("recompute", dict(recompute=None if self.recompute else {"recompute": "True"})),
            ("select_recompute", dict(recompute={"select_recompute": "True", "select_comm_recompute": "True"})),
            ("mp_comm_recompute", dict(recompute={"recompute": "True", "mp_comm_recompute": "False"})),
            *(("%s" % keys, dict(recompute=keys)) for keys in COMMUNICATION),
        ]  # fmt: skip
        if self.pieces > 1:
            recomputes = [recomputes[1], ("select_comm_recompute", dict(recompute={"select_comm_recompute": "True"}))]
        tasks = {"select_recompute": "True"} if self.pieces > 1 else {"recompute": "True"}
        others = [
            ("other threads", dict(threads=5 - self.threads)),
            ("recompute tasks", dict(recompute=tasks, has_tasks=True)),
        ]  # fmt: skip
        if self.schedule[0] is None:
            others.append(("one collective after another", dict(in_flight=0)))
        if self.pp > 1:
            for schedule in SCHEDULES if self.pieces == 1 else PIECE_SCHEDULES[:-1]:
                fits = schedule[1] != "zero_bubble_v" or self.micro_batches >= 2 * self.pp
                if schedule != self.schedule and self.layers >= self.pp * schedule[2] and fits:
                    others.append(("the schedule %s" % (schedule,), dict(schedule=schedule)))
        return swaps + recomputes + others


PADDED = Draw().change(pad=0, layers=4)
NAMED_DRAWS = {
    "many": Draw().change(
        pp=4, dp=2, cp=2, mp=4, micro_batches=4, sequence_parallel=True, level=1, has_bias=True, kv_heads=8,
        order="round_robin",
    ),
    # All ranks have the keys of one group of queries, and of earlier pieces.
    "one group": Draw().change(
        family="glm", heads=4, kv_heads=1, concatenates=True, mp=2, pieces=2, layers=1, micro_batches=1,
    ),
    # Pieces with unlike numbers of tokens that count.
    "one micro-batch in pieces": PADDED.change(pieces=4, micro_batches=1, rows=8),
    "pieces on stages": PADDED.change(pieces=8, pp=4, micro_batches=4, schedule=PIECE_SCHEDULES[0]),
    "whole on stages": PADDED.change(pp=2, micro_batches=4, schedule=PIECE_SCHEDULES[0]),
    "pieces in chunks": PADDED.change(pieces=4, pp=2, micro_batches=4, schedule=PIECE_SCHEDULES[2]),
    "pieces on ranks": PADDED.change(
        pieces=4, pp=2, dp=2, mp=2, micro_batches=4, sequence_parallel=True, schedule=PIECE_SCHEDULES[0],
    ),
}  # fmt: skip

BASE, SEQUENCES = Draw(), Draw().change(mp=2, sequence_parallel=True)
HYBRID = BASE.change(cp=4, algorithm="hybrid_cp", degree=2)
CONCATENATED, GLM = BASE.change(concatenates=True, has_bias=True), BASE.change(family="glm", kv_heads=2, concatenates=True)
# Layouts that draws seldom have, by their axes, the level of optimizer shards, blocks of rows and copies.
FIXED_DRAWS = {
    "fixed %d" % number: draw
    for number, draw in enumerate([
        BASE.change(dp=2), BASE.change(mp=2), SEQUENCES, BASE.change(cp=2), BASE.change(pp=2), *(BASE.change(dp=2, level=n) for n in (1, 2, 3)),
        *(BASE.change(dp=4, micro_batches=1, level=n) for n in (0, 1, 3)), SEQUENCES.change(dp=2, level=1),
        BASE.change(dp=2, cp=2, mp=2, level=2), BASE.change(pp=2, dp=2, mp=2, level=1, scale="1024.0"),
        SEQUENCES.change(pp=4, dp=2, level=3, micro_batches=4), BASE.change(dp=2, cp=2, mp=2, algorithm="ulysses_cp", level=1),
        SEQUENCES.change(blocks=2), SEQUENCES.change(mp=4, blocks=4, micro_batches=1, rows=4),
        SEQUENCES.change(pp=2, blocks=2, level=1, micro_batches=4), BASE.change(dp=2, cp=2, mp=2, blocks=2),
        BASE.change(mp=2, copies=2, micro_batches=1), BASE.change(copies=4, mp=2), BASE.change(pp=2, dp=2, mp=2, copies=2, level=3),
        SEQUENCES.change(pp=2, blocks=2, copies=2), BASE.change(dp=4, mp=2, shard_size=2, level=1),
        BASE.change(dp=2, cp=2, mp=2, shard_size=2, level=3),
        # Ranks sum the same, of the same type, whether they share parameters out or not.
        *(BASE.change(dp=4, micro_batches=1, level=n, compute_type="bfloat16", param_type="bfloat16") for n in (1, 3)),
        *(SEQUENCES.change(dp=2, micro_batches=1, level=n, compute_type="bfloat16", param_type="bfloat16") for n in (1, 3)),
        BASE.change(dp=2, level=1, compute_type="bfloat16", param_type="bfloat16"),
        # Kinds of context parallel, with model parallel and without, and blocks of rows there.
        BASE.change(cp=2, algorithm="ulysses_cp"), SEQUENCES.change(cp=2), HYBRID, HYBRID.change(mp=2, sequence_parallel=True, blocks=2),
        SEQUENCES.change(cp=2, blocks=2), SEQUENCES.change(dp=2, blocks=2), SEQUENCES.change(mp=4, blocks=2, copies=2),
        # Other families, and other layouts of weights.
        CONCATENATED.change(mp=4), CONCATENATED.change(dp=2, mp=2, sequence_parallel=True),
        CONCATENATED.change(dp=2, mp=2, sequence_parallel=True, blocks=4), BASE.change(is_tied=True, mp=2),
        BASE.change(is_tied=True, cp=2, mp=2), BASE.change(uses_flash=False, kv_heads=8, mp=2),
        SEQUENCES.change(family="baichuan"), BASE.change(family="baichuan", cp=2, mp=2),
        BASE.change(family="telechat", mp=4), SEQUENCES.change(family="telechat", dp=2), SEQUENCES.change(family="telechat", blocks=2),
        GLM.change(dp=2, mp=2), GLM.change(mp=4), GLM.change(mp=4, concatenates=False),
        GLM.change(dp=2, mp=4, sequence_parallel=True, concatenates=False),
        GLM.change(mp=2, sequence_parallel=True, vocab_emb_dp=True, is_tied=True),
        BASE.change(family="mcore", mp=4), SEQUENCES.change(family="mcore", dp=2),
    ])
}  # fmt: skip
