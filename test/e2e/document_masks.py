# SPDX-License-Identifier: Apache-2.0
"""Checks attention within documents: against PyTorch, on layouts of ranks, and that nothing changes a bit.

usage: document_masks.py BIN_FOLDER WORK_FOLDER

A TeleChat with eod_reset, with and without flash attention, whose samples hold several documents. Losses and gradients of
two steps of one rank are compared with PyTorch's, where a query sees the keys of its document up to its own. Layouts of
ranks, and with flash attention pieces of the sequence, must agree with one rank to a relative 2e-5. Recompute, swap, stages,
schedules and threads may change no bit.
"""

import math
import random
import sys

import dropout_masks
import torch
import training

END, TORCH_LOSS, TORCH_GRADIENT = 97, 1e-6, 1e-4
RATES = {"hidden_dropout_prob": 0, "attention_dropout_prob": 0, "embed_dropout_prob": 0}
MODEL = dict(training.MODEL, **dict(dropout_masks.SIZES, seq_length=32), **RATES, eod_reset=True, eos_token_id=END)
for kind in ("flash", "scores"):
    model = dict(MODEL, use_flash_attention=kind == "flash")
    dropout_masks.MODELS["documents-" + kind] = (model, "TelechatConfig", "TelechatForCausalLM")
LAYOUTS = dict(dropout_masks.LAYOUTS, **{"dp 2 mp 2 pp 2": {"data_parallel": 2, "model_parallel": 2, "use_seq_parallel": True}})

SWAP = {"op_swap": "[{op_name: 'attention.*', backward_prefetch: 1, layers: True}]"}
OPTIONS = dict(
    dropout_masks.OPTIONS,
    select=dict(recompute={"select_recompute": r"['attention', 'feed_forward']"}),
    swap=dict(swap=SWAP),
    both=dict(recompute={"recompute": "[1, 0]"}, stages=2, swap=SWAP),
)


def find_hidden(tokens):
    """[batch, query, key]: later keys, and those of other documents, one end token each."""
    ends = (tokens == END).long()
    document = ends.cumsum(1) - ends
    length = tokens.shape[1]
    later = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
    return later | (document[:, :, None] != document[:, None, :])


class Model(dropout_masks.Model):
    def loss(self, tokens, labels, masks):
        self.hidden = find_hidden(tokens)[:, None]
        return super().loss(tokens, labels, masks)

    def attention(self, x, prefix, masks):
        q, k, v = self.project(x, prefix)
        scores = q @ k.transpose(-1, -2) / math.sqrt(8)
        weights = torch.softmax(scores.masked_fill(self.hidden, float("-inf")), dim=-1)
        return self.linear((weights @ v).transpose(1, 2).reshape(x.shape), prefix + "wo")


class Checker(dropout_masks.Checker):
    def compare_torch(self):
        steps = list(dropout_masks.run_torch(self.kind, self.model, self.parameters, self.data))
        loss, gradient = self.get_worst(self.one, tuple(zip(*steps)))
        self.expect("PyTorch", loss <= TORCH_LOSS and gradient <= TORCH_GRADIENT, "loss %.1e gradient %.1e" % (loss, gradient))

    def compare_causal(self):
        """Documents matter: without the key the losses differ."""
        _, step = self.lower("causal", dict(self.model, eod_reset=False), micro_batches=4, batch_size=dropout_masks.ROWS)
        loss, _ = self.get_worst(self.run(step), self.one)
        self.expect("causal", loss > 1e-4, "loss %.1e" % loss)

    def compare_layouts(self, layouts):
        for name, ranks in layouts.items():
            rows = dropout_masks.ROWS // ranks.get("data_parallel", 1)
            stages = 2 if "pp" in name else 1
            _, step = self.lower(name, ranks=ranks, stages=stages, micro_batches=dropout_masks.MICRO_BATCHES, batch_size=rows)
            loss, gradient = self.get_worst(self.run(step), self.one)
            self.expect(name, max(loss, gradient) <= dropout_masks.LAYOUT, "loss %.1e gradient %.1e" % (loss, gradient))

    def compare_copies(self):
        """Copies of a run have micro-batches of their own, whose tokens and draws each stage loads."""
        model = dict(self.model, hidden_dropout_prob=0.1)
        options = dict(top={"micro_batch_interleave_num": 2}, micro_batches=4, batch_size=1)
        one = self.run(self.lower("copies", model, **options)[1])
        for name, stages in {"copies on stages": dict(stages=2), "copies of chunks": dict(stages=2, interleave=2)}.items():
            loss, gradient = self.get_worst(self.run(self.lower(name, model, **stages, **options)[1]), one)
            self.expect(name, max(loss, gradient) <= dropout_masks.LAYOUT, "loss %.1e gradient %.1e" % (loss, gradient))

    def check(self):
        self.compare_torch()
        self.compare_causal()
        self.compare_layouts(LAYOUTS)
        self.compare_blocks()
        self.compare_options()
        if self.model["use_flash_attention"]:
            self.compare_pieces()
            self.compare_copies()
        return ["%s: %s" % (self.kind, problem) for problem in self.problems]


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    dropout_masks.Model = Model
    dropout_masks.OPTIONS = OPTIONS
    data = tools.path("text.txt")
    generator = random.Random(3)
    with open(data, "wb") as file:
        file.write(bytes(generator.randint(END, END + 8) for _ in range(20000)))
    problems = []
    for kind in ("flash", "scores"):
        problems += Checker("documents-" + kind, tools, data).check()
    if problems:
        sys.exit("error: " + ", ".join(problems))


if __name__ == "__main__":
    main()
