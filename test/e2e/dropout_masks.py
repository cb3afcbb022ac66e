# SPDX-License-Identifier: Apache-2.0
"""Checks dropout: against PyTorch with masks made once more, and that nothing changes a bit of them.

usage: dropout_masks.py [--part=K/N] BIN_FOLDER WORK_FOLDER

Four models: TeleChat without and with flash attention, which drops the embedding's result, probabilities and what is added
to the residual stream, GLM without flash attention, and a DeepSeek-V3 of the mcore graph that predicts two tokens.
Of all but the last, losses and gradients of two steps of one rank are compared with PyTorch's, to which the masks are given
as docs/dropout.md defines them. Layouts of ranks, some with layers in blocks of rows, and pieces of the sequence must agree
with one rank to a relative 2e-5. Recompute, swap, stages, schedules and threads may change no bit.
"""

import math
import os
import sys

import numpy
import parts
import safetensors
import torch
import torch_cases
import torch_llama
import training

STEPS, ROWS, MICRO_BATCHES, SEED = 2, 2, 4, 5
TORCH_LOSS, TORCH_GRADIENT, LAYOUT = 1e-5, 1e-4, 2e-5

SIZES = {
    "hidden_size": 32, "num_layers": 4, "intermediate_size": 48, "seq_length": 16, "vocab_size": 256, "num_heads": 4,
    "n_kv_heads": 4,
}  # fmt: skip
TELECHAT = {"hidden_dropout_prob": 0.1, "attention_dropout_prob": 0.2, "embed_dropout_prob": 0.3}
MODELS = {
    "telechat": (dict(training.MODEL, **SIZES, use_flash_attention=False, **TELECHAT), "TelechatConfig", "TelechatForCausalLM"),
    "flash": (dict(training.MODEL, **SIZES, **TELECHAT), "TelechatConfig", "TelechatForCausalLM"),
    "glm": (
        {
            "hidden_size": 32, "num_layers": 4, "ffn_hidden_size": 48, "seq_length": 16, "padded_vocab_size": 256,
            "num_attention_heads": 4, "kv_channels": 8, "multi_query_group_num": 4, "use_flash_attention": False,
            "hidden_dropout": 0.1, "attention_dropout": 0.2, "compute_dtype": '"float32"', "param_init_type": '"float32"',
            "layernorm_compute_type": '"float32"', "rotary_dtype": '"float32"', "pad_token_id": -1,
        },
        "ChatGLM2Config", "ChatGLM2ForConditionalGeneration",
    ),
    "mcore": (
        {
            "hidden_size": 32, "num_hidden_layers": 3, "intermediate_size": 48, "seq_length": 16, "vocab_size": 256,
            "num_attention_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8,
            "v_head_dim": 12, "mla_qkv_concat": True, "mtp_num_layers": 1, "mtp_loss_scaling_factor": 0.2,
            "hidden_dropout": 0.1, "attention_dropout": 0.2, "use_flash_attention": True, "compute_dtype": "float32", "params_dtype": "float32",
            "rotary_dtype": "float32", "pad_token_id": -1,
        },
        "DeepseekV3Config", "deepseek_v3",
    ),
}  # fmt: skip

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
PIECES = {"seq_split_num": 2}
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
# TeleChat and GLM in PyTorch
# ---------------------------------------------------------------------------


class Model:
    """Either, under MindSpore Transformers' names of parameters."""

    def __init__(self, kind, config, parameters):
        self.is_glm, self.config = kind == "glm", config
        self.params = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in parameters.items()}
        head = 8
        size = head // 2 if self.is_glm else head
        inverse = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angles = torch.outer(torch.arange(config["seq_length"]).double(), inverse)
        self.cos, self.sin = angles.cos().float(), angles.sin().float()

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.params[name + ".weight"], self.params.get(name + ".bias"))

    def rotate(self, x):
        if not self.is_glm:
            cos, sin = (torch.cat((table, table), dim=-1) for table in (self.cos, self.sin))
            return torch_llama.rotate(x, cos, sin)
        pairs = x[..., :4].unflatten(-1, (2, 2))
        a, b = pairs[..., 0], pairs[..., 1]
        turned = torch.stack((a * self.cos - b * self.sin, b * self.cos + a * self.sin), dim=-1)
        return torch.cat((turned.flatten(-2), x[..., 4:]), dim=-1)

    def project(self, x, prefix):
        heads, head = 4, 8
        batch, length, _ = x.shape
        if self.is_glm:
            packed = self.linear(x, prefix + "query_key_value").view(batch, length, heads, 3, head)
            parts_of = packed.unbind(3)
        else:
            packed = self.linear(x, prefix + "wk_v").view(batch, length, heads, 2, head)
            parts_of = (self.linear(x, prefix + "wq").view(batch, length, heads, head), *packed.unbind(3))
        q, k, v = (part.transpose(1, 2) for part in parts_of)
        return self.rotate(q), self.rotate(k), v

    def attention(self, x, prefix, masks):
        q, k, v = self.project(x, prefix)
        scores = q @ k.transpose(-1, -2) / math.sqrt(8)
        length = x.shape[1]
        hidden = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        rate = self.config["attention_dropout" if self.is_glm else "attention_dropout_prob"]
        name = "core_attention.attention_dropout.dropout" if self.is_glm else "attention_dropout.dropout"
        if self.config["use_flash_attention"]:
            name = "flash_attention.flash_attention"
        weights = masks.drop(weights, rate, prefix + name)
        out = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.linear(out, prefix + ("dense" if self.is_glm else "wo"))

    def feed_forward(self, x, prefix):
        silu = torch.nn.functional.silu
        if self.is_glm:
            gate, up = self.linear(x, prefix + "dense_h_to_4h").unflatten(-1, (-1, 2)).unbind(-1)
            return self.linear(silu(gate) * up, prefix + "dense_4h_to_h")
        return self.linear(silu(self.linear(x, prefix + "w1")) * self.linear(x, prefix + "w3"), prefix + "w2")

    def run_layer(self, x, number, masks):
        config = self.config
        if self.is_glm:
            prefix = "transformer.encoder.layers.%d." % number
            norms, cells = ("input_layernorm", "post_attention_layernorm"), ("self_attention.", "mlp.")
            names, rate = ("dropout.dropout", "dropout.dropout:1"), config["hidden_dropout"]
        else:
            prefix = "model.layers.%d." % number
            norms, cells = ("attention_norm", "ffn_norm"), ("attention.", "feed_forward.")
            names = ("attention.wo.dropout.dropout", "feed_forward.w2.dropout.dropout")
            rate = config["hidden_dropout_prob"]
        n = torch_llama.rms_norm(x, self.params[prefix + norms[0] + ".weight"], 1e-5)
        x = x + masks.drop(self.attention(n, prefix + cells[0], masks), rate, prefix + names[0])
        n = torch_llama.rms_norm(x, self.params[prefix + norms[1] + ".weight"], 1e-5)
        return x + masks.drop(self.feed_forward(n, prefix + cells[1]), rate, prefix + names[1])

    def unique_parameters(self):
        return self.params

    def loss(self, tokens, labels, masks):
        table = "transformer.embedding" if self.is_glm else "model.tok_embeddings"
        x = self.params[table + ".embedding_weight"][tokens]
        if not self.is_glm:
            x = masks.drop(x, self.config["embed_dropout_prob"], "tok_embeddings.dropout.dropout")
        for number in range(self.config["num_layers"]):
            x = self.run_layer(x, number, masks)
        norm, head = ("transformer.encoder.final_layernorm", "transformer.output_layer") if self.is_glm else ("model.norm_out", "lm_head")
        x = torch_llama.rms_norm(x, self.params[norm + ".weight"], 1e-5)
        logits = self.linear(x, head)
        return torch.nn.functional.cross_entropy(logits.reshape(-1, 256), labels.reshape(-1))


def run_torch(kind, config, parameters, data):
    """Loss and gradients of each step."""
    batches = torch_cases.read_batches(data, config["seq_length"], STEPS, ROWS, MICRO_BATCHES)
    return torch_cases.train(Model(kind, config, parameters), batches, lambda *numbers: (Masks(*numbers),))


# ---------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------


class Checker:
    def __init__(self, kind, tools, data):
        self.kind, self.tools, self.data, self.problems = kind, tools, data, []
        self.model, self.model_type, self.arch = MODELS[kind]
        options = dict(micro_batches=MICRO_BATCHES, batch_size=ROWS)
        mlir, step = self.lower("one", **options)
        self.parameters = training.random_parameters(tools.parameters(mlir))
        self.weights = tools.path(kind + ".weights.safetensors")
        safetensors.save(self.weights, self.parameters)
        self.one = self.run(step)

    def lower(self, name, model=None, **options):
        return self.tools.lower(
            self.kind + "-" + name.replace(" ", "-"), model or self.model, model_type=self.model_type, arch=self.arch, **options
        )

    def run(self, step, threads=2):
        """Losses and gradients of each step, and the gradients' bytes."""
        folder = step + ".gradients"
        os.makedirs(folder, exist_ok=True)
        extra = ["--dump-gradients-every-step", folder, "--seed", str(SEED)]
        report = self.tools.train(step, self.data, STEPS, self.weights, threads=threads, extra=extra)
        files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        return report["losses"], [safetensors.load(name) for name in files], [safetensors.load_bytes(name) for name in files]

    def expect(self, what, holds, detail=""):
        print("%-10s %-28s %s" % (self.kind, what, "ok" if holds else "WRONG " + detail), flush=True)
        if not holds:
            self.problems.append(what)

    def get_worst(self, actual, expected):
        """The largest differences of losses and of gradients, relative to their norms."""
        losses = max(abs(a - e) / abs(e) for a, e in zip(actual[0], expected[0]))
        worst = 0.0
        for ours, theirs in zip(actual[1], expected[1]):
            assert set(ours) == set(theirs), set(ours) ^ set(theirs)
            for name, value in theirs.items():
                # Nothing but rounding is left of a gradient that is none.
                norm = max(numpy.linalg.norm(value.astype(numpy.float64)), 1e-6)
                worst = max(worst, numpy.linalg.norm(ours[name].astype(numpy.float64) - value) / norm)
        return losses, worst

    def compare_torch(self):
        steps = list(run_torch(self.kind, self.model, self.parameters, self.data))
        loss, gradient = self.get_worst(self.one, tuple(zip(*steps)))
        detail = "loss %.1e gradient %.1e" % (loss, gradient)
        self.expect("PyTorch", loss <= TORCH_LOSS and gradient <= TORCH_GRADIENT, detail)

    def compare_layouts(self, layouts):
        for name, ranks in layouts.items():
            rows = ROWS // ranks.get("data_parallel", 1)
            _, step = self.lower(name, ranks=ranks, micro_batches=MICRO_BATCHES, batch_size=rows)
            loss, gradient = self.get_worst(self.run(step), self.one)
            self.expect(name, max(loss, gradient) <= LAYOUT, "loss %.1e gradient %.1e" % (loss, gradient))

    def compare_options(self):
        for name, options in OPTIONS.items():
            _, step = self.lower(name, **dict(dict(micro_batches=MICRO_BATCHES, batch_size=ROWS), **options))
            result = self.run(step, threads=1)
            self.expect(name, result[0] == self.one[0] and result[2] == self.one[2])

    def compare_blocks(self):
        """Compares steps with layers in blocks of rows."""
        ranks = LAYOUTS["mp 2 sequence"]
        model = dict(self.model, fine_grain_interleave=2)
        _, step = self.lower("blocks", model, ranks=ranks, micro_batches=MICRO_BATCHES, batch_size=ROWS)
        loss, gradient = self.get_worst(self.run(step), self.one)
        self.expect("blocks", max(loss, gradient) <= LAYOUT, "loss %.1e gradient %.1e" % (loss, gradient))

    def compare_pieces(self):
        """Sums over pieces are added in another order, but masks are the same."""
        options = dict(ranks=PIECES, stages=2, scheduler="seqpipe", micro_batches=MICRO_BATCHES, batch_size=ROWS)
        _, step = self.lower("pieces", **options)
        loss, gradient = self.get_worst(self.run(step), self.one)
        self.expect("pieces", max(loss, gradient) <= LAYOUT, "loss %.1e gradient %.1e" % (loss, gradient))

    def check(self):
        if self.kind == "mcore":
            self.compare_layouts(LAYOUTS)
            self.compare_options()
            return self.problems
        self.compare_torch()
        self.compare_layouts(LAYOUTS)
        self.compare_blocks()
        self.compare_options()
        if self.model["use_flash_attention"]:
            self.compare_layouts(CONTEXT)
            self.compare_pieces()
        return ["%s: %s" % (self.kind, problem) for problem in self.problems]


def main():
    part = parts.pop_part()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    data = tools.path("text.txt")
    training.start_drawing(data, 3)
    problems = []
    for kind in part.select(MODELS):
        problems += Checker(kind, tools, data).check()
    if problems:
        sys.exit("error: " + ", ".join(problems))


if __name__ == "__main__":
    main()
