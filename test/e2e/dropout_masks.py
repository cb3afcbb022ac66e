# SPDX-License-Identifier: Apache-2.0
"""Checks dropout and attention within documents: against PyTorch, on layouts of ranks, and with options of memory.

usage: dropout_masks.py [--part=K/N] BIN_FOLDER WORK_FOLDER [KIND...]

Models are TeleChat without and with flash attention, which drops the embedding's result, probabilities and what is added
to the residual stream, GLM-2, GPT-2, the first GLM and iFlytekSpark with LayerNorm, a DeepSeek-V3 of the mcore graph that
predicts two tokens, and TeleChat with eod_reset, whose samples hold several documents: a query sees the keys of its document
up to its own. Losses and gradients of two steps of one rank are compared with PyTorch's in fp64, to which the masks are given
as docs/dropout.md defines them. Layouts of ranks, some with layers in blocks of rows, and pieces of the sequence must agree
with one rank to a relative 2e-5. Recompute, swap, stages, schedules and threads may change no bit.
"""

import os
import random
import sys

import numpy
import parts
import safetensors
import torch
import torch_cases
import torch_layer_norm
import training
from torch_decoder import GLM2, TELECHAT, Decoder

STEPS, ROWS, MICRO_BATCHES, SEED = 2, 2, 4, 5
# Of losses, and of gradients of the first and of the second step, which begins with parameters that AdamW moved by about the
# rate even where a gradient was hardly more than rounding, in a direction that rounding decides.
BOUNDS, LAYOUT = (1e-6, 2e-6, 1e-4), 2e-5

SWAP = {"op_swap": "[{op_name: '.*dropout', backward_prefetch: 2, layers: True}]"}
# Options of training.write_yaml that may change no bit.
OPTIONS = {
    "recompute": dict(recompute={"recompute": "True"}),
    "select": dict(recompute={"select_recompute": r"['attention', '.*dropout']"}),
    "swap": dict(swap=SWAP),
    "both": dict(recompute={"recompute": "[1, 0]"}, stages=2, swap=SWAP),
    "stages": dict(stages=4),
    "interleaved": dict(stages=2, interleave=2, recompute={"recompute": "True"}),
    "zero bubble": dict(stages=2, interleave=2, scheduler="zero_bubble_v"),
}
# Ranks, and whether what norms read is cut among them.
LAYOUTS = {
    "dp 2": {"data_parallel": 2},
    "mp 2": {"model_parallel": 2},
    "mp 2 sequence": {"model_parallel": 2, "use_seq_parallel": True},
    "dp 2 mp 2 sequence": {"data_parallel": 2, "model_parallel": 2, "use_seq_parallel": True},
}
CONTEXT = {
    "cp 2": {"context_parallel": 2},
    "dp 2 cp 2 mp 2 sequence": {"data_parallel": 2, "context_parallel": 2, "model_parallel": 2, "use_seq_parallel": True},
}


# ---------------------------------------------------------------------------
# Masks, from their definition
# ---------------------------------------------------------------------------


def philox(counter, key):
    """Philox 4x32-10 of Salmon et al., 2011, on arrays of words."""
    c = [numpy.asarray(word, numpy.uint64) for word in counter]
    k = [int(word) for word in key]
    low = numpy.uint64(0xFFFFFFFF)
    for _ in range(10):
        even, odd = numpy.uint64(0xD2511F53) * c[0], numpy.uint64(0xCD9E8D57) * c[2]
        half = numpy.uint64(32)
        c = [odd >> half ^ c[1] ^ numpy.uint64(k[0]), odd & low, even >> half ^ c[3] ^ numpy.uint64(k[1]), even & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def split(number):
    return number & 0xFFFFFFFF, number >> 32


def hash_name(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


class Masks:
    """The masks of dropped tensors: 0, or the factor of a kept element."""

    def __init__(self, step, micro_batch):
        self.step, self.micro_batch = step, micro_batch

    def drop(self, x, rate, name):
        if rate == 0:
            return x
        own = [int(word) for word in philox((*split(hash_name(name)), self.step, self.micro_batch), split(SEED))]
        groups = numpy.arange((x.numel() + 3) // 4, dtype=numpy.uint64)
        words = philox((groups, numpy.zeros_like(groups), numpy.full_like(groups, own[2]), numpy.full_like(groups, own[3])), own)
        kept = numpy.stack(words, axis=1).reshape(-1)[: x.numel()] >= rate * 2**32
        return x * torch.tensor(kept.reshape(tuple(x.shape)).astype(numpy.float32)) / (1 - rate)


# ---------------------------------------------------------------------------
# Models
# ---------------------------------------------------------------------------

END = 97


class Documents(Decoder):
    """Queries see neither later keys nor those of other documents, one end token each."""

    def embed(self, tokens):
        ends = (tokens == END).long()
        self.document = ends.cumsum(1) - ends
        return super().embed(tokens)

    def find_hidden(self, distance):
        return (distance > 0) | (self.document[:, None, :, None] != self.document[:, None, None])


class Kind:
    """A model with the class and the names of its reference, and what changes it."""

    tied, layouts, options, draws = (), LAYOUTS, OPTIONS, None
    has_blocks = has_pieces = False

    def __init__(self, model, model_type, arch, reference=Decoder, names=None, **more):
        self.model, self.model_type, self.arch, self.reference, self.names = model, model_type, arch, reference, names
        self.__dict__.update(more)


SIZES = {
    "hidden_size": 32, "num_layers": 4, "intermediate_size": 48, "seq_length": 16, "vocab_size": 256, "num_heads": 4,
    "n_kv_heads": 4,
}  # fmt: skip
RATES = {"hidden_dropout_prob": 0.1, "attention_dropout_prob": 0.2, "embed_dropout_prob": 0.3}
TELECHAT_MODEL = dict(training.MODEL, **SIZES, **RATES)
GLM2_MODEL = {
    "hidden_size": 32, "num_layers": 4, "ffn_hidden_size": 48, "seq_length": 16, "padded_vocab_size": 256,
    "num_attention_heads": 4, "kv_channels": 8, "multi_query_group_num": 4, "use_flash_attention": False,
    "hidden_dropout": 0.1, "attention_dropout": 0.2, "compute_dtype": '"float32"', "param_init_type": '"float32"',
    "layernorm_compute_type": '"float32"', "rotary_dtype": '"float32"', "pad_token_id": -1,
}  # fmt: skip
DEEPSEEK = {
    "hidden_size": 32, "num_hidden_layers": 3, "intermediate_size": 48, "seq_length": 16, "vocab_size": 256,
    "num_attention_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8,
    "v_head_dim": 12, "mla_qkv_concat": True, "mtp_num_layers": 1, "mtp_loss_scaling_factor": 0.2,
    "hidden_dropout": 0.1, "attention_dropout": 0.2, "use_flash_attention": True, "compute_dtype": "float32", "params_dtype": "float32",
    "rotary_dtype": "float32", "pad_token_id": -1,
}  # fmt: skip
# Nothing is dropped.
DOCUMENTS = dict(
    training.MODEL, **dict(SIZES, seq_length=32), **dict.fromkeys(RATES, 0), eod_reset=True, eos_token_id=END
)  # fmt: skip
LAYER_NORM = {"seq_length": 16, "hidden_size": 32, "num_layers": 4, "num_heads": 4, "vocab_size": 256, "pad_token_id": -1}
GPT2 = {
    **LAYER_NORM, "expand_ratio": 3, "embedding_dropout_prob": 0.3, "hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.2,
    "compute_dtype": "float32", "use_flash_attention": False, "hidden_act": "gelu",
}  # fmt: skip
SPARK = {
    **LAYER_NORM, "ffn_hidden_size": 96, "dropout_rate": 0.1, "compute_type": "float32", "softmax_compute_type": "float32",
    "embedding_init_type": "float32",
}  # fmt: skip
GLM = {
    **LAYER_NORM, "inner_hidden_size": 96, "embedding_dropout_prob": 0.3, "hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.2,
    "compute_dtype": "float32", "param_init_type": "float32", "bos_token_id": ord("e"),
}  # fmt: skip
TABLES = dict(LAYOUTS, table={"model_parallel": 2, "vocab_emb_dp": "False"})
CUT_SCORES = dict(LAYOUTS, **CONTEXT)
DOCUMENT_LAYOUTS = dict(LAYOUTS, **{"dp 2 mp 2 pp 2": {"data_parallel": 2, "model_parallel": 2, "use_seq_parallel": True}})
DOCUMENT_SWAP = {"op_swap": "[{op_name: 'attention.*', backward_prefetch: 1, layers: True}]"}
DOCUMENT_OPTIONS = dict(
    OPTIONS, select=dict(recompute={"select_recompute": r"['attention', 'feed_forward']"}), swap=dict(swap=DOCUMENT_SWAP),
    both=dict(recompute={"recompute": "[1, 0]"}, stages=2, swap=DOCUMENT_SWAP),
)  # fmt: skip


def telechat(model, reference=Decoder, **more):
    more = dict(dict(has_blocks=True, has_pieces=model["use_flash_attention"]), **more)
    return Kind(model, "TelechatConfig", "TelechatForCausalLM", reference, TELECHAT, **more)


def documents(**changes):
    return telechat(
        dict(DOCUMENTS, **changes), Documents, layouts=DOCUMENT_LAYOUTS, options=DOCUMENT_OPTIONS, draws=(END, END + 8)
    )


def gpt2(**changes):
    return Kind(
        dict(GPT2, **changes), "GPT2Config", "GPT2LMHeadModel", torch_layer_norm.Gpt2, torch_layer_norm.GPT2, tied=["head.weight"],
        layouts=TABLES,
    )  # fmt: skip


KINDS = {
    "telechat": telechat(dict(TELECHAT_MODEL, use_flash_attention=False)),
    "flash": telechat(TELECHAT_MODEL, layouts=CUT_SCORES),
    "glm2": Kind(GLM2_MODEL, "ChatGLM2Config", "ChatGLM2ForConditionalGeneration", Decoder, GLM2, has_blocks=True),
    "mcore": Kind(DEEPSEEK, "DeepseekV3Config", "deepseek_v3", None),
    "gpt2": gpt2(),
    "gpt2-flash": gpt2(use_flash_attention=True, hidden_act="fast_gelu"),
    "glm": Kind(GLM, "GLMConfig", "GLMForPreTraining", torch_layer_norm.Glm, torch_layer_norm.GLM, layouts=TABLES),
    "spark": Kind(
        SPARK, "IFlytekSparkConfig", "IFlytekSparkModelForCasualLM", torch_layer_norm.Spark, torch_layer_norm.SPARK,
        tied=["lm_head.weight"], layouts=TABLES, base=1e6,
    ),
    "documents": documents(),
    "documents-scores": documents(use_flash_attention=False),
}  # fmt: skip


def make_parameters(shapes):
    """Random values, of norms near one; those of models with LayerNorm are larger."""
    if not any(name.endswith(".gamma") for name in shapes):
        return training.random_parameters(shapes)
    normal, values = numpy.random.RandomState(7).standard_normal, {}
    for name in sorted(shapes):
        noise = normal(shapes[name])
        values[name] = (1 + 0.2 * noise if name.endswith(".gamma") else 0.15 * noise).astype(numpy.float32)
    return values


# ---------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------


class Checker:
    def __init__(self, name, tools):
        self.name, self.kind, self.tools, self.problems = name, KINDS[name], tools, []
        self.data = tools.path(name + ".txt")
        training.start_drawing(self.data, 3)
        if self.kind.draws:
            generator = random.Random(3)
            with open(self.data, "wb") as file:
                file.write(bytes(generator.randint(*self.kind.draws) for _ in range(20000)))
        mlir, step = self.lower("one")
        shapes = tools.parameters(mlir)
        self.parameters = make_parameters({name: shape for name, shape in shapes.items() if name not in self.kind.tied})
        self.weights = tools.path(name + ".weights.safetensors")
        safetensors.save(self.weights, self.parameters)
        self.one = self.run(step)

    def lower(self, name, changes=(), ranks=(), **options):
        """Lowers the model with some of its keys changed, for ranks that share out the rows of a micro-batch."""
        ranks = dict(ranks)
        options = dict({"micro_batches": MICRO_BATCHES, "batch_size": ROWS // ranks.get("data_parallel", 1)}, **options)
        return self.tools.lower(
            self.name + "-" + name.replace(" ", "-"), dict(self.kind.model, **dict(changes)), model_type=self.kind.model_type,
            arch=self.kind.arch, ranks=ranks, **options,
        )  # fmt: skip

    def run(self, step, threads=2):
        """Losses and gradients of each step, and the gradients' bytes."""
        folder = step + ".gradients"
        os.makedirs(folder, exist_ok=True)
        extra = ["--dump-gradients-every-step", folder, "--seed", str(SEED)]
        report = self.tools.train(step, self.data, STEPS, self.weights, threads=threads, extra=extra)
        files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        gradients = [safetensors.load(name) for name in files]
        for of_step in gradients:
            for name in set(self.kind.tied) & set(of_step):
                of_step[self.kind.names["table"]] = of_step[self.kind.names["table"]] + of_step.pop(name)
        return report["losses"], gradients, [safetensors.load_bytes(name) for name in files]

    def expect(self, what, holds, detail=""):
        print("%-16s %-28s %s" % (self.name, what, "ok" if holds else "WRONG " + detail), flush=True)
        if not holds:
            self.problems.append("%s: %s" % (self.name, what))

    def get_worst(self, actual, expected):
        """The largest differences of losses and of gradients, relative to their norms. Without rotary positions the bias of keys
        has no gradient: what rounding leaves of it counts relative to that of the weight."""
        losses = max(abs(a - e) / abs(e) for a, e in zip(actual[0], expected[0]))
        worst = 0.0
        for ours, theirs in zip(actual[1], expected[1]):
            assert set(ours) == set(theirs), set(ours) ^ set(theirs)
            for name, value in theirs.items():
                # Nothing but rounding is left of a gradient that is none.
                norm = max(numpy.linalg.norm(theirs[name.replace("dense2.bias", "dense2.weight")].astype(numpy.float64)), 1e-6)
                worst = max(worst, numpy.linalg.norm(ours[name].astype(numpy.float64) - value) / norm)
        return losses, worst

    def expect_near(self, what, step, expected=None):
        """A step agrees with that of one rank but for the order of sums."""
        loss, gradient = self.get_worst(self.run(step), expected or self.one)
        self.expect(what, max(loss, gradient) <= LAYOUT, "loss %.1e gradient %.1e" % (loss, gradient))

    def run_torch(self, precision=torch.float64):
        """Loss and gradients of each step."""
        config = dict(self.kind.model, theta=getattr(self.kind, "base", 10000.0))
        model = self.kind.reference(self.kind.names, config, self.parameters, precision)
        batches = torch_cases.read_batches(self.data, config["seq_length"], STEPS, ROWS, MICRO_BATCHES)
        return torch_cases.train(model, batches, lambda *numbers: (Masks(*numbers),))

    def compare_torch(self):
        for step, (loss, gradients) in enumerate(self.run_torch()):
            own = [results[step : step + 1] for results in self.one[:2]]
            errors = self.get_worst(own, ([loss], [gradients]))
            is_near = errors[0] <= BOUNDS[0] and errors[1] <= BOUNDS[1 + step]
            self.expect("PyTorch, step %d" % (step + 1), is_near, "loss %.1e gradient %.1e" % errors)

    def compare_layouts(self):
        for name, ranks in self.kind.layouts.items():
            _, step = self.lower(name, ranks=ranks, stages=2 if "pp" in name else 1)
            self.expect_near(name, step)
        if self.kind.has_blocks:
            _, step = self.lower("blocks", {"fine_grain_interleave": 2}, LAYOUTS["mp 2 sequence"])
            self.expect_near("layers in blocks of rows", step)
        if self.kind.has_pieces:
            # Sums over pieces are added in another order, but masks are the same.
            _, step = self.lower("pieces", ranks={"seq_split_num": 2}, stages=2, scheduler="seqpipe")
            self.expect_near("pieces", step)

    def compare_options(self):
        for name, options in self.kind.options.items():
            result = self.run(self.lower(name, **options)[1], threads=1)
            self.expect(name, result[0] == self.one[0] and result[2] == self.one[2])

    def compare_documents(self):
        """Documents matter: without the key the losses differ. Copies of a run have micro-batches of their own, whose tokens
        and draws each stage loads."""
        loss, _ = self.get_worst(self.run(self.lower("causal", {"eod_reset": False})[1]), self.one)
        self.expect("causal", loss > 1e-4, "loss %.1e" % loss)
        if not self.kind.model["use_flash_attention"]:
            return
        drops, options = {"hidden_dropout_prob": 0.1}, dict(top={"micro_batch_interleave_num": 2}, batch_size=1)
        one = self.run(self.lower("copies", drops, **options)[1])
        for name, stages in {"copies on stages": dict(stages=2), "copies of chunks": dict(stages=2, interleave=2)}.items():
            self.expect_near(name, self.lower(name, drops, **stages, **options)[1], one)

    def check(self):
        if self.kind.reference:
            self.compare_torch()
        if self.kind.reference is Documents:
            self.compare_documents()
        self.compare_layouts()
        self.compare_options()
        return self.problems


def main():
    part = parts.pop_part()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    problems = [problem for name in part.select(sys.argv[3:] or KINDS) for problem in Checker(name, tools).check()]
    if problems:
        sys.exit("error: " + ", ".join(problems))


if __name__ == "__main__":
    main()
