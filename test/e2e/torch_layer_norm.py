# SPDX-License-Identifier: Apache-2.0
"""GPT-2, the first GLM and iFlytekSpark in plain PyTorch, under MindSpore Transformers' parameter names.

GPT-2 is written from Radford et al., 2019: LayerNorm before each half of a layer, learned positions, a feed forward with
GELU and no gate, a tied head. GLM (Du et al., 2022) has rotary positions in two dimensions, a prefix that all tokens of the
sample see, and a stream that goes on from what norms give (DeepNorm, Wang et al., 2022). iFlytekSpark has rotary positions
with base 1e6 and a gate instead.
"""

import functools
import math

import torch
import torch_decoder
from torch.nn.functional import gelu, layer_norm

tanh_gelu = functools.partial(gelu, approximate="tanh")
GPT2 = {
    "table": "backbone.embedding.word_embedding.embedding_table",
    "layer": "backbone.blocks.%d.",
    "norms": ("layernorm1", "layernorm2"),
    "attention": "attention.",
    "projections": (("dense1", "dense2", "dense3"),),
    "rotation": "none",
    "output": "projection",
    "feed_forward": "output.",
    "final": "backbone.layernorm",
    "head": "head",
    "drops": {
        "embedding": ("embedding_dropout_prob", "embedding.dropout.dropout"),
        "scores": ("attention_dropout_rate", "prob_dropout.dropout"),
        "attention": ("hidden_dropout_rate", "attention.dropout.dropout"),
        "feed_forward": ("hidden_dropout_rate", "output.dropout.dropout"),
    },
}
GLM = {
    "table": "transformer.word_embeddings.embedding_table",
    "layer": "transformer.layers.%d.",
    "norms": ("input_layernorm", "post_attention_layernorm"),
    "attention": "attention.",
    "projections": (("query_key_value",),),
    "output": "dense",
    "feed_forward": "mlp.",
    "final": "transformer.final_layernorm",
    "head": "lm_head",
    "drops": {
        "embedding": ("embedding_dropout_prob", "embedding_dropout.dropout"),
        "scores": ("attention_dropout_rate", "attention_dropout.dropout"),
        "attention": ("hidden_dropout_rate", "attention.output_dropout.dropout"),
        "feed_forward": ("hidden_dropout_rate", "mlp.dropout.dropout"),
    },
}
SPARK = {
    "table": "transformer.embedding.word_embeddings.embedding_table",
    "layer": "transformer.transformer.layers.%d.",
    "norms": ("layer_norm", "final_layer_norm"),
    "attention": "attention.",
    "projections": (("q_proj", "k_proj", "v_proj"),),
    "output": "out_proj",
    "feed_forward": "mlp.",
    "gate_up": (("fc0", "fc1"),),
    "down": "fc2",
    "activation": tanh_gelu,
    "final": "transformer.transformer.layernorm",
    "head": "lm_head",
    "drops": {
        "embedding": ("dropout_rate", "embedding.embedding_dropout.dropout"),
        "scores": ("dropout_rate", "core_attention.flash_attention.flash_attention"),
        "attention": ("dropout_rate", "dropout.dropout"),
        "feed_forward": ("dropout_rate", "dropout.dropout:1"),
    },
}


class Spark(torch_decoder.Decoder):
    def norm(self, x, name):
        return layer_norm(x, x.shape[-1:], self.params[name + ".gamma"], self.params[name + ".beta"], self.epsilon)


class Gpt2(Spark):
    def linear(self, x, name):
        if name.endswith(("projection", "mapping")):
            # Rows of the weight are inputs.
            return x @ self.params[name + ".weight"] + self.params[name + ".bias"]
        return super().linear(x, name)

    def embed(self, tokens):
        positions = self.params["backbone.embedding.position_embedding.embedding_table"]
        return self.drop(self.params[self.names["table"]][tokens] + positions, "embedding")

    def feed_forward(self, x, at):
        x = self.linear(x, at + "mapping")
        x = x * torch.sigmoid(1.702 * x) if self.config["hidden_act"] == "fast_gelu" else tanh_gelu(x)
        return self.linear(x, at + "projection")


class Glm(Spark):
    def embed(self, tokens):
        """The prefix of a row is what is before the first bos_token_id, and one token at least."""
        first = self.config["bos_token_id"]
        rows = [row.index(first) if first in row else 0 for row in tokens.tolist()]
        self.ends = torch.tensor(rows).clamp(min=1)[:, None]
        return super().embed(tokens)

    def find_hidden(self, distance):
        return (distance > 0) & (torch.arange(len(distance)) >= self.ends[:, None, :, None])

    def rotate(self, x):
        """Turns the first half of the elements by the position in the prefix, the second half by the position behind it."""
        places, halves = torch.arange(x.shape[-2])[None], x.chunk(2, -1)
        positions = torch.minimum(places, self.ends - 1), (places - self.ends + 1).clamp(min=0)
        tables = self.get_angles(halves[0].shape[-1], x.shape[-2])
        return torch.cat([
            torch_decoder.rotate(half, *(table[place][:, None] for table in tables))
            for half, place in zip(halves, positions)
        ], -1)  # fmt: skip

    def feed_forward(self, x, at):
        return self.linear(tanh_gelu(self.linear(x, at + "dense_h_to_4h")), at + "dense_4h_to_h")

    def run_layer(self, x, at):
        first, second = (at + name for name in self.names["norms"])
        alpha, x = math.sqrt(2 * self.num_layers), self.norm(x, first)
        x = self.norm(alpha * x + self.drop(self.attention(x, at + "attention."), "attention", at), second)
        return alpha * x + self.drop(self.feed_forward(x, at + "mlp."), "feed_forward", at)
