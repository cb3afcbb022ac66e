# SPDX-License-Identifier: Apache-2.0
"""GPT-2, the first GLM and iFlytekSpark in plain PyTorch, in fp64 unless told otherwise, under MindSpore Transformers' parameter names.

GPT-2 is written from Radford et al., 2019: LayerNorm before each half of a layer, learned positions, a feed forward with
GELU and no gate, a tied head. GLM (Du et al., 2022) has rotary positions in two dimensions, a prefix that all tokens of the
sample see, and a stream that goes on from what norms give (DeepNorm, Wang et al., 2022). iFlytekSpark has rotary positions
with base 1e6 and a gate instead. `drop(x, rate, name)` is what drops elements.
"""

import math

import torch

EPSILON = 1e-5


class LayerNormModel:
    """What they have in common; a tied head is the table."""

    # Filled in by each: the names of the table, of the final norm, of layers and of a layer's two norms.
    table = final = layers = norms = None

    def __init__(self, config, parameters, precision=torch.float64):
        self.config = config
        self.params = {name: torch.nn.Parameter(torch.tensor(value).to(precision)) for name, value in parameters.items()}
        self.head = config["hidden_size"] // config["num_heads"]

    def unique_parameters(self):
        return self.params

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.params[name + ".weight"], self.params[name + ".bias"])

    def norm(self, x, name):
        factors = self.params[name + ".gamma"], self.params[name + ".beta"]
        return torch.nn.functional.layer_norm(x, x.shape[-1:], *factors, EPSILON)

    def split(self, x):
        return x.unflatten(-1, (-1, self.head)).transpose(1, 2)

    def loss(self, tokens, labels, drop):
        x = self.embed(tokens, drop)
        for number in range(self.config["num_layers"]):
            prefix = "%s.%d." % (self.layers, number)
            x = x + self.attention(self.norm(x, prefix + self.norms[0]), prefix, drop)
            x = x + self.feed_forward(self.norm(x, prefix + self.norms[1]), prefix, drop)
        logits = self.norm(x, self.final) @ self.params[self.table].T
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def attend(self, query, key, value, drop_probabilities):
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.head)
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        probabilities = drop_probabilities(scores.masked_fill(later, -math.inf).softmax(-1))
        return (probabilities @ value).transpose(1, 2).flatten(-2)


class Gpt2(LayerNormModel):
    table, final = "backbone.embedding.word_embedding.embedding_table", "backbone.layernorm"
    layers, norms = "backbone.blocks", ("layernorm1", "layernorm2")

    def transposed(self, x, name):
        """A weight whose rows are inputs."""
        return x @ self.params[name + ".weight"] + self.params[name + ".bias"]

    def embed(self, tokens, drop):
        x = self.params[self.table][tokens] + self.params["backbone.embedding.position_embedding.embedding_table"]
        return drop(x, self.config["embedding_dropout_prob"], "embedding.dropout.dropout")

    def attention(self, x, prefix, drop):
        prefix += "attention."
        heads = [self.split(self.linear(x, prefix + name)) for name in ("dense1", "dense2", "dense3")]
        rate = self.config["attention_dropout_rate"]
        name = "flash_attention.flash_attention" if self.config["use_flash_attention"] else "prob_dropout.dropout"
        x = self.attend(*heads, lambda p: drop(p, rate, prefix + name))
        x = self.transposed(x, prefix + "projection")
        return drop(x, self.config["hidden_dropout_rate"], prefix + "dropout.dropout")

    def feed_forward(self, x, prefix, drop):
        prefix += "output."
        x = self.transposed(x, prefix + "mapping")
        is_fast = self.config["hidden_act"] == "fast_gelu"
        x = x * torch.sigmoid(1.702 * x) if is_fast else torch.nn.functional.gelu(x, approximate="tanh")
        x = self.transposed(x, prefix + "projection")
        return drop(x, self.config["hidden_dropout_rate"], prefix + "dropout.dropout")


class Glm(LayerNormModel):
    table, final = "transformer.word_embeddings.embedding_table", "transformer.final_layernorm"
    layers = "transformer.layers"

    def rotate(self, x, positions):
        inverse = 1e4 ** (-torch.arange(0, x.shape[-1], 2).double() / x.shape[-1])
        angles = positions.double()[:, None, :, None] * inverse
        pairs = torch.complex(*x.chunk(2, -1))
        pairs = pairs * torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)
        return torch.cat((pairs.real, pairs.imag), -1)

    def rotate_halves(self, x, lengths):
        """Rotates the first half of the elements by the position in the prefix, the second half by the position behind it."""
        places, ends = torch.arange(x.shape[-2])[None], lengths[:, None]
        first, second = x.chunk(2, -1)
        within, behind = torch.minimum(places, ends - 1), (places - ends + 1).clamp(min=0)
        return torch.cat((self.rotate(first, within), self.rotate(second, behind)), -1)

    def get_prefixes(self, tokens):
        """What is before the first bos_token_id, and one token at least."""
        rows = [row.index(self.config["bos_token_id"]) if self.config["bos_token_id"] in row else 0 for row in tokens.tolist()]
        return torch.tensor(rows).clamp(min=1)

    def attention(self, x, lengths, prefix, drop):
        packed = self.linear(x, prefix + "query_key_value").unflatten(-1, (-1, 3 * self.head)).transpose(1, 2)
        query, key, value = packed.chunk(3, -1)
        query, key = (self.rotate_halves(heads, lengths) for heads in (query, key))
        places = torch.arange(x.shape[1])
        hidden = (places > places[:, None]) & (places >= lengths[:, None, None, None])
        scores = (query @ key.transpose(-1, -2) / math.sqrt(self.head)).masked_fill(hidden, -math.inf)
        probabilities = drop(scores.softmax(-1), self.config["attention_dropout_rate"], prefix + "attention_dropout.dropout")
        x = self.linear((probabilities @ value).transpose(1, 2).flatten(-2), prefix + "dense")
        return drop(x, self.config["hidden_dropout_rate"], prefix + "output_dropout.dropout")

    def feed_forward(self, x, prefix, drop):
        x = torch.nn.functional.gelu(self.linear(x, prefix + "dense_h_to_4h"), approximate="tanh")
        return drop(self.linear(x, prefix + "dense_4h_to_h"), self.config["hidden_dropout_rate"], prefix + "dropout.dropout")

    def loss(self, tokens, labels, drop):
        x = drop(self.params[self.table][tokens], self.config["embedding_dropout_prob"], "embedding_dropout.dropout")
        alpha, lengths = math.sqrt(2 * self.config["num_layers"]), self.get_prefixes(tokens)
        for number in range(self.config["num_layers"]):
            prefix = "%s.%d." % (self.layers, number)
            x = self.norm(x, prefix + "input_layernorm")
            x = alpha * x + self.attention(x, lengths, prefix + "attention.", drop)
            x = self.norm(x, prefix + "post_attention_layernorm")
            x = alpha * x + self.feed_forward(x, prefix + "mlp.", drop)
        logits = self.norm(x, self.final) @ self.params["lm_head.weight"].T
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Spark(LayerNormModel):
    table, final = "transformer.embedding.word_embeddings.embedding_table", "transformer.transformer.layernorm"
    layers, norms = "transformer.transformer.layers", ("layer_norm", "final_layer_norm")

    def embed(self, tokens, drop):
        x = self.params[self.table][tokens]
        return drop(x, self.config["dropout_rate"], "embedding.embedding_dropout.dropout")

    def rotate(self, x):
        inverse = 1e6 ** (-torch.arange(0, self.head, 2).double() / self.head)
        angles = torch.outer(torch.arange(x.shape[-2]).double(), inverse)
        pairs = torch.complex(*x.chunk(2, -1))
        pairs = pairs * torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)
        return torch.cat((pairs.real, pairs.imag), -1)

    def attention(self, x, prefix, drop):
        cell = prefix + "attention."
        query, key, value = (self.split(self.linear(x, cell + name)) for name in ("q_proj", "k_proj", "v_proj"))
        name, rate = cell + "core_attention.flash_attention.flash_attention", self.config["dropout_rate"]
        x = self.attend(self.rotate(query), self.rotate(key), value, lambda p: drop(p, rate, name))
        return drop(self.linear(x, cell + "out_proj"), self.config["dropout_rate"], prefix + "dropout.dropout")

    def feed_forward(self, x, prefix, drop):
        gate = torch.nn.functional.gelu(self.linear(x, prefix + "mlp.fc0"), approximate="tanh")
        x = self.linear(gate * self.linear(x, prefix + "mlp.fc1"), prefix + "mlp.fc2")
        return drop(x, self.config["dropout_rate"], prefix + "dropout.dropout:1")
