# SPDX-License-Identifier: Apache-2.0
"""Compares fine-tuning with low-rank adapters with PyTorch's, written apart, over several steps.

usage: lora_matches_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER

The models are Llama, and Qwen3 of the mcore training graph and of the dynamic graph. PyTorch computes in double precision,
from the definition: y = x W^T + b + alpha/r dropout(x) A^T B^T. Masks are made once
more from docs/dropout.md. In each step, from the parameters that mf-run has then, losses agree to a relative 1e-6, and so do
the gradients of all that is trained as one vector; each by itself to 5e-6, as far as fp32 goes. No other parameter has a
gradient, and after training all others have the bits that they started with.
"""



import dropout_masks
import dynamic_configurations
import numpy
import safetensors
import torch
import torch_cases
import torch_llama
import training

STEPS, BATCH, MICRO_BATCHES = 3, 2, 2
TOLERANCE, EACH_TOLERANCE = 1e-6, 5e-6

ATTENTION = ".*wq|.*wk|.*wv|.*wo"
FEED_FORWARD = "w1|w2|w3"
# name: (changes of the model, stages, adapters)
CASES = {
    "attention": ({}, 1, {"target_modules": ATTENTION}),
    "attention-dropout": ({}, 1, {"target_modules": ATTENTION, "lora_dropout": 0.2}),
    "feed-forward": ({}, 1, {"target_modules": FEED_FORWARD, "lora_rank": 3}),
    "all-stages-dropout": (
        {"qkv_has_bias": True}, 2,
        {"target_modules": ".*w", "lora_dropout": 0.05, "exclude_layers": "['0']"},
    ),
    "head-too": ({}, 1, {"target_modules": "wq|wv", "freeze_exclude": "['*tok_embeddings*', 'lm_head*']"}),
    "concatenated": ({"qkv_concat": True}, 2, {"target_modules": "w_qkv", "lora_rank": 1}),
    "mcore": ({}, 1, {"target_modules": ".*linear"}),
    "mcore-dropout": (
        {}, 2,
        {"target_modules": ".*linear_qkv|.*fc2", "lora_dropout": 0.2, "freeze_include": "['*']", "freeze_exclude": "['*lora*']"},
    ),
    "mcore-head": ({}, 1, {"target_modules": "output_layer|linear_fc1"}),
    "mcore-half": ({}, 1, {"target_modules": "linear_proj", "freeze_include": "['*']", "freeze_exclude": "['*lora_B*']"}),
    "dynamic": ({}, 1, {"target_modules": "linear_(qkv|proj)"}),
    "dynamic-dropout": ({}, 1, {"target_modules": "self_attention|mlp", "lora_dropout": 0.2, "exclude_layers": "layers.0"}),
    "dynamic-head": ({}, 1, {"target_modules": "output_layer|fc1", "lora_b_std": 0.02}),
}  # fmt: skip


QWEN = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}


def find_adapter(params, name):
    """A and B of a linear layer, or None."""
    for leaf in (".mindpet_delta_lora_%s", ".lora_%s"):
        if name + leaf % "a" in params:
            return [params[name + leaf % letter] for letter in "ab"]
    if name + ".lora_A.weight" in params:
        return [params[name + ".lora_%s.weight" % letter] for letter in "AB"]
    return None


class AdaptedLlama(torch_llama.Llama):
    """Llama with adapters wherever there are parameters of theirs."""

    def __init__(self, config, parameters, adapters):
        super().__init__(config, {name: value.astype(numpy.float64) for name, value in parameters.items()})
        self.cos, self.sin = self.cos.double(), self.sin.double()
        self.factor = adapters["lora_alpha"] / adapters["lora_rank"]
        self.rate = adapters["lora_dropout"]
        self.masks = None

    def linear(self, x, name):
        result = super().linear(x, name)
        adapter = find_adapter(self.params, name)
        if adapter is None:
            return result
        a, b = adapter
        dropped = self.masks.drop(x, self.rate, name + ".lora_dropout.dropout")
        return result + dropped @ a.T @ b.T * self.factor


def is_trained(name, adapters):
    words = adapters.get("freeze_exclude", "")
    if "lora_B" in words:
        return "lora_B" in name
    return "lora" in name or ("tok_embeddings" in words and name.split(".")[-2] in ("tok_embeddings", "lm_head"))


def qwen_loss(model, tokens, labels):
    """The loss of Qwen3: heads of queries and keys have norms, and rows of gate and up projection alternate."""
    config, head = model.config, QWEN["head_dim"]
    x = model.params["embedding.word_embeddings.weight"][tokens]
    for layer in range(config["num_layers"]):
        prefix = "decoder.layers.%d." % layer
        n = model.norm(x, prefix + "input_layernorm")
        packed = model.linear(n, prefix + "self_attention.linear_qkv").unflatten(-1, (config["n_kv_heads"], -1))
        q, k, v = packed.split([packed.shape[-1] - 2 * head, head, head], -1)
        q, k, v = (part.reshape(*x.shape[:2], -1, head) for part in (q, k, v))
        q = model.rotate(model.norm(q, prefix + "self_attention.q_layernorm").transpose(1, 2))
        k = model.rotate(model.norm(k, prefix + "self_attention.k_layernorm").transpose(1, 2))
        result = attend(q, k, v.transpose(1, 2))
        x = x + model.linear(result, prefix + "self_attention.linear_proj")
        n = model.norm(x, prefix + "pre_mlp_layernorm")
        gate, up = model.linear(n, prefix + "mlp.linear_fc1").unflatten(-1, (-1, 2)).unbind(-1)
        x = x + model.linear(torch.nn.functional.silu(gate) * up, prefix + "mlp.linear_fc2")
    logits = model.linear(model.norm(x, "decoder.final_layernorm"), "output_layer")
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.reshape(-1))


def loss(model, tokens, labels):
    if "embedding.word_embeddings.weight" in model.params:
        return qwen_loss(model, tokens, labels)
    config, epsilon = model.config, float(model.config["rms_norm_eps"])
    x = model.params["model.tok_embeddings.embedding_weight"][tokens]
    for layer in range(config["num_layers"]):
        prefix = "model.layers.%d." % layer
        n = torch_llama.rms_norm(x, model.params[prefix + "attention_norm.weight"], epsilon)
        batch, length, _ = n.shape
        x = x + attention(model, n, prefix + "attention.", batch, length)
        n = torch_llama.rms_norm(x, model.params[prefix + "ffn_norm.weight"], epsilon)
        x = x + model.feed_forward(n, prefix + "feed_forward.")
    x = torch_llama.rms_norm(x, model.params["model.norm_out.weight"], epsilon)
    logits = model.linear(x, "lm_head")
    return torch.nn.functional.cross_entropy(logits.reshape(-1, config["vocab_size"]), labels.reshape(-1))


def attention(model, x, prefix, batch, length):
    """Attention in double precision; torch_llama's has its softmax in fp32."""
    config = model.config
    heads, groups = config["num_heads"], config["n_kv_heads"]
    head = config["hidden_size"] // heads
    if config["qkv_concat"]:
        packed = model.linear(x, prefix + "w_qkv").view(batch, length, groups, -1)
        q, k, v = packed.split([heads // groups * head, head, head], dim=-1)
    else:
        q, k, v = (model.linear(x, prefix + name) for name in ("wq", "wk", "wv"))
    q = torch_llama.rotate(q.reshape(batch, length, heads, head).transpose(1, 2), model.cos, model.sin)
    k = torch_llama.rotate(k.reshape(batch, length, groups, head).transpose(1, 2), model.cos, model.sin)
    v = v.reshape(batch, length, groups, head).transpose(1, 2)
    return model.linear(attend(q, k, v), prefix + "wo")


def attend(q, k, v):
    """Attention of tensors [batch, heads, length, size], as rows."""
    k, v = (value.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for value in (k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    mask = torch.triu(torch.ones(q.shape[2], q.shape[2], dtype=torch.bool), 1)
    weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2)


def run_torch(config, parameters, adapters, batches, step):
    """Loss and gradients (before clipping) of step number `step`."""
    model = AdaptedLlama(config, parameters, adapters)
    trained = {name: p for name, p in model.params.items() if is_trained(name, adapters)}
    for name, value in model.params.items():
        value.requires_grad = name in trained
    losses = []
    for micro_batch, (tokens, labels) in enumerate(batches):
        model.masks = dropout_masks.Masks(step, micro_batch)
        value = loss(model, tokens, labels)
        (value / MICRO_BATCHES).backward()
        losses.append(value.item())
    return numpy.mean(losses), {name: p.grad.numpy() for name, p in trained.items()}


def get_errors(ours, expected):
    """Errors of all gradients as one vector and of the worst gradient, relative to their norms, and the name of the worst."""
    assert set(ours) == set(expected), set(ours) ^ set(expected)
    differences = {name: numpy.linalg.norm(ours[name].astype(numpy.float64) - value) for name, value in expected.items()}
    norms = {name: numpy.linalg.norm(value) for name, value in expected.items()}
    worst = max(expected, key=lambda name: differences[name] / norms[name])
    whole = numpy.linalg.norm(list(differences.values())) / numpy.linalg.norm(list(norms.values()))
    return whole, differences[worst] / norms[worst], worst


def find_changed(before, after, trained):
    """Parameters that are not trained, but have other bits than before."""
    assert set(before) == set(after), set(before) ^ set(after)
    return [name for name in before if name not in trained and before[name] != after[name]]


def is_within(name, rows, parameters, gradients, changed):
    """Prints the largest errors of the steps; returns whether they are within the tolerances and nothing frozen changed."""
    (error, whole), (each, key) = (max(row[i] for row in rows) for i in (0, 1)), max(row[2:] for row in rows)
    print("%-20s loss %.1e, gradient %.1e, each %.1e (%s), %d trained, %d frozen of which %d changed"
          % (name, error, whole, each, key, len(gradients), len(parameters) - len(gradients), len(changed)),
          flush=True)  # fmt: skip
    return max(error, whole) <= TOLERANCE and each <= EACH_TOLERANCE and not changed


def lower(name, tools, config, stages, keys):
    """The model file and the step file of a case, with these keys of its adapters."""
    if name.startswith("dynamic"):
        model = dict(dynamic_configurations.QWEN, **QWEN, pad_token_id=0, rms_norm_eps="1.0e-5", initializer_range=0.02)
        batches = (MICRO_BATCHES, BATCH)
        return dynamic_configurations.Configuration(model, {}, {}, batches, adapters="{%s}" % keys).lower(tools, name)
    pet = "{pet_type: lora, %s}" % keys
    shared = dict(stages=stages, micro_batches=MICRO_BATCHES, batch_size=BATCH)
    if name.startswith("mcore"):
        sizes = dict(
            QWEN, num_hidden_layers=config["num_layers"], seq_length=config["seq_length"], vocab_size=config["vocab_size"],
            compute_dtype="float32", params_dtype="float32", rotary_dtype="float32", pad_token_id=-1, pet_config=pet,
            rms_norm_eps="1.0e-5", initializer_range=0.02,
        )  # fmt: skip
        return tools.lower(name, sizes, model_type="Qwen3Config", arch="Qwen3ForCausalLM", **shared)
    return tools.lower(name, dict(config, pet_config=pet), **shared)


def compare(name, tools, data):
    changes, stages, given = CASES[name]
    adapters = dict({"lora_rank": 4, "lora_alpha": 8, "lora_dropout": 0.0}, **given)
    config = dict(training.MODEL, **changes)
    if name.startswith("dynamic"):
        config["vocab_size"] = dynamic_configurations.VOCABULARY
    # A pattern has commas and quotes of its own.
    keys = ", ".join("%s: %s" % (k, repr(v) if k == "target_modules" else v) for k, v in adapters.items())
    mlir, step = lower(name, tools, config, stages, keys)
    parameters = training.random_parameters(tools.parameters(mlir))
    weights = tools.path(name + ".weights.safetensors")
    safetensors.save(weights, parameters)
    before, rows = safetensors.load_bytes(weights), []
    for number, batches in enumerate(torch_cases.read_batches(data, config["seq_length"], STEPS, BATCH, MICRO_BATCHES), 1):
        dump, saved = tools.path(name + ".gradients.safetensors"), tools.path(name + ".saved.safetensors")
        extra = ["--seed", dropout_masks.SEED, "--dump-gradients", dump, "--save-params", saved]
        report = tools.train(step, data, number, weights, extra=extra)
        expected_loss, gradients = run_torch(config, parameters, adapters, batches, number)
        error = abs(report["losses"][-1] - expected_loss) / expected_loss
        rows.append((error, *get_errors(safetensors.load(dump), gradients)))
        parameters = safetensors.load(saved)
    changed = find_changed(before, safetensors.load_bytes(saved), gradients)
    return is_within(name, rows, parameters, gradients, changed)


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare, lambda path: training.start_drawing(path, 3))
