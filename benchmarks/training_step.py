# SPDX-License-Identifier: Apache-2.0
"""Times a training step of a Llama: mf beside PyTorch eager, and beside its ceiling.

usage: training_step.py [BIN_FOLDER] [--all] [--isa] [--no-torch] [--steps N] [--types f32,bf16]
                        [--batch N] [--sequence N] [--kv-heads N] [--layers N]

Both train on the same text with the same sizes (134M parameters if nothing is changed: 12 layers, hidden 768, 12 heads,
feed-forward 2048, vocabulary 32000, batch 4, sequence 512; AdamW, clipping by global norm) on two threads, one after the
other. The table shows the median step, the ratio, the GFLOP/s of the matrix products and their share of what oneDNN
reaches on two threads on the same matrices in the same minute (it needs mf-benchmark-kernels).

--isa shows each step with all instructions, with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 where the machine has AMX, and with
ONEDNN_MAX_CPU_ISA=AVX2 where it has AVX-512, for mf, PyTorch and the ceiling alike. PyTorch 1.13 multiplies matrices in bf16
by oneDNN and in fp32 by the BLAS of the system, which has a limit of its own (OPENBLAS_CORETYPE=Haswell for AVX2).
--all prints all rows: this step, with 4 heads of keys and values, with sequence 4096 and batch 1, and expert_step.py's.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import step_table  # noqa: E402
import training  # noqa: E402

NAMES = {"f32": '"float32"', "bf16": '"bfloat16"'}


class LlamaStep:
    script = os.path.abspath(__file__)

    def __init__(self, element_type, batch=4, sequence=512, kv_heads=12, layers=12):
        self.fields = dict(
            element_type=element_type, batch=batch, sequence=sequence, kv_heads=kv_heads, layers=layers
        )
        self.element_type, self.batch = element_type, batch
        self.config = dict(
            training.MODEL, hidden_size=768, num_layers=layers, num_heads=12, n_kv_heads=kv_heads,
            intermediate_size=2048, seq_length=sequence, vocab_size=32000,
        )  # fmt: skip
        for key in self.config:
            if key.endswith("_type") or key.endswith("_dtype"):
                self.config[key] = NAMES[element_type]
        self.name = "Llama"
        for field, value, usual in (("layers", layers, 12), ("kv heads", kv_heads, 12), ("sequence", sequence, 512)):
            if value != usual:
                self.name += ", %s %d" % (field, value)

    def lower(self, tools):
        return tools.lower("step", self.config, batch_size=self.batch)[1]

    def get_sizes(self):
        """The sizes of the hidden state, of keys and values, and of the feed-forward layer."""
        hidden = self.config["hidden_size"]
        head = hidden // self.config["num_heads"]
        return hidden, head * self.config["n_kv_heads"], self.config["intermediate_size"]

    def list_products(self):
        hidden, kv, inner = self.get_sizes()
        rows, layers = self.batch * self.config["seq_length"], self.config["num_layers"]
        shapes = [(hidden, hidden, 2 * layers), (hidden, kv, 2 * layers), (hidden, inner, 2 * layers)]
        shapes += [(inner, hidden, layers), (hidden, self.config["vocab_size"], 1)]
        return [product for shape in shapes for product in step_table.list_linear(rows, *shape)]

    def count_flops(self):
        """FLOPs of the matrix products of forward and backward; causal attention counts as half."""
        linear = sum(2 * m * n * k * calls for m, n, k, _, calls in self.list_products())
        length = self.config["seq_length"]
        attention = 6 * self.batch * length * length * self.config["hidden_size"]
        return linear + self.config["num_layers"] * attention

    def make_torch(self):
        """The same step in PyTorch, as a function."""
        import numpy
        import torch
        import torch_llama

        config = self.config
        hidden, kv, inner = self.get_sizes()
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[self.element_type]
        shapes = {"model.tok_embeddings.embedding_weight": [config["vocab_size"], hidden]}
        for layer in range(config["num_layers"]):
            prefix = "model.layers.%d." % layer
            for name, size in (("wq", hidden), ("wk", kv), ("wv", kv), ("wo", hidden)):
                shapes[prefix + "attention.%s.weight" % name] = [size, hidden]
            for name in ("w1", "w3"):
                shapes[prefix + "feed_forward.%s.weight" % name] = [inner, hidden]
            shapes[prefix + "feed_forward.w2.weight"] = [hidden, inner]
            for name in ("attention_norm", "ffn_norm"):
                shapes[prefix + name + ".weight"] = [hidden]
        shapes["model.norm_out.weight"] = [hidden]
        shapes["lm_head.weight"] = [config["vocab_size"], hidden]
        model = torch_llama.Llama(config, training.random_parameters(shapes))
        model.params = {name: torch.nn.Parameter(value.detach().to(dtype)) for name, value in model.params.items()}
        model.cos, model.sin = model.cos.to(dtype), model.sin.to(dtype)
        optimizer = torch_llama.make_optimizer(model, 1e-4)
        random = numpy.random.RandomState(0)

        def step():
            size = (self.batch, config["seq_length"] + 1)
            block = torch.tensor(random.randint(0, config["vocab_size"], size))
            optimizer.zero_grad()
            model.loss(block[:, :-1], block[:, 1:]).backward()
            torch_llama.clip(list(model.params.values()), 1.0)
            optimizer.step()

        return step


def list_all(types):
    import expert_step

    for changes in ({}, {"kv_heads": 4}, {"batch": 1, "sequence": 4096}):
        for element_type in types:
            yield LlamaStep(element_type, **changes)
    for element_type in types:
        yield expert_step.ExpertStep(element_type)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    step_table.add_options(parser)
    parser.add_argument("--all", action="store_true", help="all steps, each as --isa shows it")
    parser.add_argument("--batch", type=int, help="4, or 1 for sequences above 2048")
    parser.add_argument("--sequence", type=int, default=512)
    parser.add_argument("--kv-heads", type=int, default=12)
    parser.add_argument("--layers", type=int, default=12)
    arguments = parser.parse_args()
    if arguments.torch:
        return step_table.time_torch(LlamaStep(**json.loads(arguments.torch)), arguments.steps)
    types = arguments.types.split(",")
    batch = arguments.batch or (4 if arguments.sequence <= 2048 else 1)
    models = list_all(types) if arguments.all else [
        LlamaStep(element_type, batch, arguments.sequence, arguments.kv_heads, arguments.layers)
        for element_type in types
    ]  # fmt: skip
    step_table.print_rows(arguments, models, every_way=arguments.isa or arguments.all)


if __name__ == "__main__":
    main()
