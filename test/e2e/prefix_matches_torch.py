# SPDX-License-Identifier: Apache-2.0
"""Compares prefix tuning and P-tuning v2 with PyTorch's, written apart, over several steps.

usage: prefix_matches_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER

PyTorch computes in double precision, from the definition: rows of a table, maybe through two linear layers with tanh between
them, give keys and values for each layer, which stand before those of the tokens and which all tokens see. fp16, which the
prefix has in MindSpore Transformers, is replaced by fp32 in the imported model, so that tolerances are those of
lora_matches_torch.py. In the last step recompute, swap and ranks are compared with the step without: the first two have the
same bits, ranks the same gradients but for the order of sums.
"""

import dropout_masks
import lora_matches_torch
import numpy
import safetensors
import torch
import torch_cases
import torch_llama
import training
from lora_matches_torch import BATCH, MICRO_BATCHES

RANK_TOLERANCE = 2e-6
# Two groups of keys and values for four heads of queries.
GLM2 = {
    "hidden_size": 64, "num_layers": 4, "num_attention_heads": 4, "multi_query_attention": True, "multi_query_group_num": 2,
    "kv_channels": 16, "padded_vocab_size": 256, "ffn_hidden_size": 96, "seq_length": 32, "add_bias_linear": False,
    "add_qkv_bias": True, "rmsnorm": True, "layernorm_epsilon": "1.0e-5", "use_flash_attention": True, "pad_token_id": -1,
    "compute_dtype": '"float32"', "layernorm_compute_type": '"float32"', "param_init_type": '"float32"',
    "rotary_dtype": '"float32"',
}  # fmt: skip
TYPES = {"prefixtuning": "mindpet_delta_prefixtuning", "ptuning2": "mindpet_delta_ptuning2"}
# name: (changes of the model, stages, adapters)
CASES = {
    "prefix": ({}, 1, {"pet_type": "prefixtuning", "prefix_token_num": 5, "mid_dim": 12, "dropout_rate": 0.0}),
    "prefix-dropout": (
        {"use_flash_attention": False}, 2,
        {"pet_type": "prefixtuning", "prefix_token_num": 3, "mid_dim": 8, "dropout_rate": 0.2},
    ),
    "p-tuning": ({"qkv_concat": True}, 2, {"pet_type": "ptuning2", "pre_seq_len": 40, "dropout_prob": 0.0}),
    "p-tuning-projection": (
        {}, 1, {"pet_type": "ptuning2", "pre_seq_len": 4, "prefix_projection": True, "projection_dim": 6, "dropout_prob": 0.1},
    ),
    "glm2": (GLM2, 1, {"pet_type": "ptuning2", "pre_seq_len": 5, "dropout_prob": 0.0}),
    "glm2-dropout": (
        dict(GLM2, use_flash_attention=False), 2, {"pet_type": "ptuning2", "pre_seq_len": 7, "dropout_prob": 0.2},
    ),
}  # fmt: skip
# name: (keys of the YAML, whether bits stay)
VARIANTS = {
    "recompute": ({"recompute": {"recompute": "True"}}, True),
    "swap": ({"swap": {"layer_swap": "[{backward_prefetch: 1, layers: True}]"}}, True),
    "dp2": ({"ranks": {"data_parallel": 2}}, False),
    "mp2": ({"ranks": {"model_parallel": 2}}, False),
    "dp2-mp2": ({"ranks": {"data_parallel": 2, "model_parallel": 2}}, False),
    "dp2-shared": ({"ranks": {"data_parallel": 2}, "parallel": {"enable_parallel_optimizer": "True"}}, False),
}


class PrefixedLlama(torch_llama.Llama):
    """Llama with keys and values before those of the tokens."""

    def __init__(self, config, parameters, adapters):
        super().__init__(config, {name: value.astype(numpy.float64) for name, value in parameters.items()})
        self.cos, self.sin = self.cos.double(), self.sin.double()
        self.parent = "prefix_layers"
        self.name = self.parent + "." + TYPES[adapters["pet_type"]]
        self.rate = adapters.get("dropout_rate", adapters.get("dropout_prob"))
        self.masks = None

    def dense(self, x, name):
        return x @ self.params[self.name + name + ".weight"].T + self.params[self.name + name + ".bias"]

    def get_prefix(self, batch):
        """[layer][keys, values], each [batch, heads, prefix, head size]."""
        x = self.params[self.name + "_embedding.embedding_table"].expand(batch, -1, -1)
        if self.name + "_dense_in.weight" in self.params:
            x = self.dense(torch.tanh(self.dense(x, "_dense_in")), "_dense_out")
        layers, heads = self.config["num_layers"], self.config["num_heads"]
        x = x.reshape(batch, x.shape[1], 2 * layers, -1)
        if self.rate > 0:
            x = self.masks.drop(x, self.rate, self.parent + ".dropout.dropout")
        x = x.reshape(batch, x.shape[1], layers, 2, heads, -1)
        return x.permute(2, 3, 0, 4, 1, 5)

    def loss(self, tokens, labels):
        return get_loss(self, tokens, labels)


def rotate_pairs(x, base=10000.0):
    """Rotates the first half of each head, by pairs of neighbours."""
    size, length = x.shape[-1] // 2, x.shape[-2]
    inverse = base ** (-torch.arange(0, size, 2).double() / size)
    angles = torch.outer(torch.arange(length).double(), inverse)
    even, odd = x[..., :size].unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = angles.cos(), angles.sin()
    turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)
    return torch.cat((turned, x[..., size:]), dim=-1)


class PrefixedGlm2:
    """ChatGLM2, whose heads of queries share those of keys and values, with a prefix of these."""

    def __init__(self, config, parameters, adapters):
        values = {name: value.astype(numpy.float64) for name, value in parameters.items()}
        self.params = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in values.items()}
        self.config, self.rate, self.masks = config, adapters["dropout_prob"], None

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.params[name + ".weight"], self.params.get(name + ".bias"))

    def norm(self, x, name):
        return torch_llama.rms_norm(x, self.params[name + ".weight"], float(self.config["layernorm_epsilon"]))

    def get_prefix(self, batch):
        """[layer][keys, values], each [batch, groups, prefix, head size]."""
        x = self.params["prefix_encoder.mindpet_delta_ptuning2_embedding.embedding_table"].expand(batch, -1, -1)
        layers, groups = self.config["num_layers"], self.config["multi_query_group_num"]
        x = x.reshape(batch, x.shape[1], 2 * layers, -1)
        if self.rate > 0:
            x = self.masks.drop(x, self.rate, "prefix_encoder.dropout.dropout")
        return x.reshape(batch, x.shape[1], layers, 2, groups, -1).permute(2, 3, 0, 4, 1, 5)

    def attention(self, x, prefix, own):
        batch, length, _ = x.shape
        groups, head = self.config["multi_query_group_num"], self.config["kv_channels"]
        shared = self.config["num_attention_heads"] // groups
        packed = self.linear(x, prefix + "query_key_value").view(batch, length, groups, -1)
        q, k, v = packed.split([shared * head, head, head], dim=-1)
        q = rotate_pairs(q.reshape(batch, length, groups * shared, head).transpose(1, 2))
        k = torch.cat([own[0], rotate_pairs(k.transpose(1, 2))], dim=2).repeat_interleave(shared, dim=1)
        v = torch.cat([own[1], v.transpose(1, 2)], dim=2).repeat_interleave(shared, dim=1)
        mask = torch.triu(torch.ones(length, k.shape[2], dtype=torch.bool), 1 + own.shape[3])
        scores = (q @ k.transpose(-1, -2) / head**0.5).masked_fill(mask, float("-inf"))
        out = torch.softmax(scores, dim=-1) @ v
        return self.linear(out.transpose(1, 2).reshape(batch, length, -1), prefix + "dense")

    def loss(self, tokens, labels):
        x = self.params["transformer.embedding.embedding_weight"][tokens]
        prefixes = self.get_prefix(tokens.shape[0])
        for layer in range(self.config["num_layers"]):
            name = "transformer.encoder.layers.%d." % layer
            x = x + self.attention(self.norm(x, name + "input_layernorm"), name + "self_attention.", prefixes[layer])
            n = self.norm(x, name + "post_attention_layernorm")
            gate, up = self.linear(n, name + "mlp.dense_h_to_4h").unflatten(-1, (-1, 2)).unbind(-1)
            x = x + self.linear(torch.nn.functional.silu(gate) * up, name + "mlp.dense_4h_to_h")
        logits = self.linear(self.norm(x, "transformer.encoder.final_layernorm"), "transformer.output_layer")
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.reshape(-1))


def attention(model, x, prefix, own):
    config = model.config
    batch, length, _ = x.shape
    heads = config["num_heads"]
    if config["qkv_concat"]:
        packed = model.linear(x, prefix + "w_qkv").view(batch, length, heads, 3, -1)
        q, k, v = (packed[:, :, :, index].transpose(1, 2) for index in range(3))
    else:
        q, k, v = (model.linear(x, prefix + name).view(batch, length, heads, -1).transpose(1, 2) for name in ("wq", "wk", "wv"))
    q, k = (torch_llama.rotate(value, model.cos, model.sin) for value in (q, k))
    k, v = torch.cat([own[0], k], dim=2), torch.cat([own[1], v], dim=2)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    mask = torch.triu(torch.ones(length, k.shape[2], dtype=torch.bool), 1 + own.shape[3])
    weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
    return model.linear((weights @ v).transpose(1, 2).reshape(batch, length, -1), prefix + "wo")


def get_loss(model, tokens, labels):
    config, epsilon = model.config, float(model.config["rms_norm_eps"])
    x = model.params["model.tok_embeddings.embedding_weight"][tokens]
    prefixes = model.get_prefix(tokens.shape[0])
    for layer in range(config["num_layers"]):
        name = "model.layers.%d." % layer
        n = torch_llama.rms_norm(x, model.params[name + "attention_norm.weight"], epsilon)
        x = x + attention(model, n, name + "attention.", prefixes[layer])
        n = torch_llama.rms_norm(x, model.params[name + "ffn_norm.weight"], epsilon)
        x = x + model.feed_forward(n, name + "feed_forward.")
    x = torch_llama.rms_norm(x, model.params["model.norm_out.weight"], epsilon)
    logits = model.linear(x, "lm_head")
    return torch.nn.functional.cross_entropy(logits.reshape(-1, config["vocab_size"]), labels.reshape(-1))


def run_torch(config, parameters, adapters, batches, step):
    model = (PrefixedGlm2 if is_glm2(config) else PrefixedLlama)(config, parameters, adapters)
    trained = {name: p for name, p in model.params.items() if name.startswith("prefix_")}
    for name, value in model.params.items():
        value.requires_grad = name in trained
    losses = []
    for micro_batch, (tokens, labels) in enumerate(batches):
        model.masks = dropout_masks.Masks(step, micro_batch)
        value = model.loss(tokens, labels)
        (value / MICRO_BATCHES).backward()
        losses.append(value.item())
    return numpy.mean(losses), {name: p.grad.numpy() for name, p in trained.items()}


def is_glm2(config):
    return "multi_query_group_num" in config


def lower(name, tools, model, **options):
    """Lowers the model with its prefix in fp32; returns the model's file and the step's."""
    yaml, mlir, step = (tools.path(name + e) for e in (".yaml", ".mlir", ".step.mlir"))
    if is_glm2(model):
        options.update(arch="ChatGLM2WithPtuning2", model_type="ChatGLM2Config")
    training.write_yaml(yaml, model, micro_batches=MICRO_BATCHES, **options)
    tools.run("mf-translate", "--import-mindformers", yaml, "-o", mlir)
    text = open(mlir).read().replace("xf16>", "xf32>")
    open(mlir, "w").write(text)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, mlir, "-o", step)
    return mlir, step


def run_step(tools, step, data, number, weights, name):
    dump, saved = tools.path(name + ".gradients.safetensors"), tools.path(name + ".saved.safetensors")
    extra = ["--seed", dropout_masks.SEED, "--dump-gradients", dump, "--save-params", saved]
    return tools.train(step, data, number, weights, extra=extra)["losses"][-1], dump, saved


def compare_variants(name, tools, data, model, stages, weights, reference):
    """Returns the variants that differ from the step without."""
    failed = []
    for variant, (keys, keeps_bits) in VARIANTS.items():
        key = name + "-" + variant
        options = dict(keys)
        # The same micro-batch is cut over dp.
        rows = BATCH // options.get("ranks", {}).get("data_parallel", 1)
        _, step = lower(key, tools, model, stages=stages, batch_size=rows, **options)
        _, dump, saved = run_step(tools, step, data, lora_matches_torch.STEPS, weights, key)
        if keeps_bits:
            same = safetensors.load_bytes(saved) == safetensors.load_bytes(reference[1])
            print("%-20s %s: %s bits" % (name, variant, "the same" if same else "other"), flush=True)
        else:
            whole, each, worst = lora_matches_torch.get_errors(safetensors.load(dump), safetensors.load(reference[0]))
            print("%-20s %s: gradient %.1e, each %.1e (%s)" % (name, variant, whole, each, worst), flush=True)
            same = whole <= RANK_TOLERANCE
        failed += [] if same else [variant]
    return failed


def compare(name, tools, data):
    changes, stages, adapters = CASES[name]
    config = changes if is_glm2(changes) else dict(training.MODEL, n_kv_heads=training.MODEL["num_heads"], **changes)
    keys = ", ".join("%s: %s" % item for item in adapters.items())
    model = dict(config, pet_config="{%s}" % keys)
    mlir, step = lower(name, tools, model, stages=stages, batch_size=BATCH)
    parameters = training.random_parameters(tools.parameters(mlir))
    weights = tools.path(name + ".weights.safetensors")
    safetensors.save(weights, parameters)
    before, rows = safetensors.load_bytes(weights), []
    all_batches = torch_cases.read_batches(data, config["seq_length"], lora_matches_torch.STEPS, BATCH, MICRO_BATCHES)
    for number, batches in enumerate(all_batches, 1):
        loss, dump, saved = run_step(tools, step, data, number, weights, name)
        expected_loss, gradients = run_torch(config, parameters, adapters, batches, number)
        errors = lora_matches_torch.get_errors(safetensors.load(dump), gradients)
        rows.append((abs(loss - expected_loss) / expected_loss, *errors))
        parameters = safetensors.load(saved)
    changed = lora_matches_torch.find_changed(before, safetensors.load_bytes(saved), gradients)
    is_same = lora_matches_torch.is_within(name, rows, parameters, gradients, changed)
    differing = compare_variants(name, tools, data, model, stages, weights, (dump, saved))
    return is_same and not differing


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare, lambda path: training.start_drawing(path, 3))
