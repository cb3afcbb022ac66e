# SPDX-License-Identifier: Apache-2.0
"""A Llama in plain PyTorch, under MindSpore Transformers' parameter names.

Written from the model's definition (Touvron et al., 2023): RMSNorm before each
half of a layer, rotary embeddings by rotating halves, grouped-query attention,
SwiGLU. It is what the gradients of mf are compared with.
"""

import math

import torch


def rms_norm(x, gamma, epsilon):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * gamma


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


class Llama:
    def __init__(self, config, parameters):
        self.config = config
        self.params = {
            name: torch.nn.Parameter(torch.tensor(value))
            for name, value in parameters.items()
            if not (config["tie_word_embeddings"] and name == "lm_head.weight")
        }
        if config["tie_word_embeddings"]:
            self.params["lm_head.weight"] = self.params[
                "model.tok_embeddings.embedding_weight"
            ]
        head = config["hidden_size"] // config["num_heads"]
        inverse = float(config["theta"]) ** (
            -torch.arange(0, head, 2, dtype=torch.float64) / head
        )
        angles = torch.outer(torch.arange(config["seq_length"]).double(), inverse)
        angles = torch.cat((angles, angles), dim=-1)
        self.cos, self.sin = angles.cos().float(), angles.sin().float()

    def linear(self, x, name):
        return torch.nn.functional.linear(
            x, self.params[name + ".weight"], self.params.get(name + ".bias")
        )

    def norm(self, x, name):
        epsilon = float(self.config["rms_norm_eps"])
        return rms_norm(x, self.params[name + ".weight"], epsilon)

    def rotate(self, x):
        return rotate(x, self.cos, self.sin)

    def attention(self, x, prefix):
        config = self.config
        batch, length, hidden = x.shape
        heads, kv_heads = config["num_heads"], config["n_kv_heads"]
        head = hidden // heads
        if config["qkv_concat"]:
            packed = self.linear(x, prefix + "w_qkv")
            # By heads of keys and values, each with its queries.
            packed = packed.view(batch, length, kv_heads, -1)
            sizes = [heads // kv_heads * head, head, head]
            q, k, v = packed.split(sizes, dim=-1)
        else:
            q, k, v = (self.linear(x, prefix + name) for name in ("wq", "wk", "wv"))

        def split(value, count):
            return value.reshape(batch, length, count, head).transpose(1, 2)

        q = self.rotate(split(q, heads))
        k = self.rotate(split(k, kv_heads))
        v = split(v, kv_heads)
        k = k.repeat_interleave(heads // kv_heads, dim=1)
        v = v.repeat_interleave(heads // kv_heads, dim=1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(head)
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
        scores = scores.masked_fill(mask, float("-inf"))
        out = torch.softmax(scores.float(), dim=-1).to(v.dtype) @ v
        out = out.transpose(1, 2).reshape(batch, length, hidden)
        return self.linear(out, prefix + "wo")

    def feed_forward(self, x, prefix):
        if self.config["qkv_concat"]:
            packed = self.linear(x, prefix + "w_gate_hidden")
            gate, up = packed.unflatten(-1, (-1, 2)).unbind(-1)
        else:
            gate, up = self.linear(x, prefix + "w1"), self.linear(x, prefix + "w3")
        return self.linear(torch.nn.functional.silu(gate) * up, prefix + "w2")

    def loss(self, tokens, labels):
        config = self.config
        x = self.params["model.tok_embeddings.embedding_weight"][tokens]
        for layer in range(config["num_layers"]):
            prefix = "model.layers.%d." % layer
            n = self.norm(x, prefix + "attention_norm")
            x = x + self.attention(n, prefix + "attention.")
            n = self.norm(x, prefix + "ffn_norm")
            x = x + self.feed_forward(n, prefix + "feed_forward.")
        x = self.norm(x, "model.norm_out")
        logits = torch.nn.functional.linear(x, self.params["lm_head.weight"])
        return torch.nn.functional.cross_entropy(
            logits.float().reshape(-1, config["vocab_size"]),
            labels.reshape(-1),
            ignore_index=-100,
        )

    def unique_parameters(self):
        return {
            name: value
            for name, value in self.params.items()
            if not (self.config["tie_word_embeddings"] and name == "lm_head.weight")
        }


def make_optimizer(model, learning_rate):
    """AdamW; norm weights and biases do not decay."""
    params = list(model.unique_parameters().values())
    groups = [
        {"params": [p for p in params if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in params if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95), eps=1e-8)


def accumulate(model, batches):
    """Adds the gradients of a step's micro-batches, a list of (tokens, labels); returns the loss."""
    total = 0
    for tokens, labels in batches:
        loss = model.loss(tokens, labels) / len(batches)
        loss.backward()
        total += loss.item()
    return total


def clip(params, max_norm):
    """Clipping as MindSpore Transformers' ClipGradNorm defines it."""
    norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in params))
    factor = max_norm / (torch.clamp(norm, min=max_norm) + 1e-6)
    for p in params:
        p.grad.mul_(torch.clamp(factor, max=1.0))
    return norm
