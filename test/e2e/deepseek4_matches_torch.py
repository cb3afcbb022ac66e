# SPDX-License-Identifier: Apache-2.0
"""Compares DeepSeek-V4 with PyTorch: losses, gradients of all parameters and parameters behind two updates.

usage: deepseek4_matches_torch.py BIN_FOLDER WORK_FOLDER [CASE...]

Hybrid attention with all ratios, latent attention, plain residuals, the gradient of the fused indexer's loss, and adapters
of linear layers and of routed experts, beside which no parameter changes. All parameters are by formula (torch_deepseek4.py), and
so are the tables of hash layers in the cases that no other program has computed. The reference computes in fp64.
"""

import os
import re
import sys

import numpy
import safetensors
import torch
import torch_cases
import torch_deepseek4
import training
from dynamic_configurations import Configuration

BATCH, STEPS = 2, 2
# Of losses, and of gradients and parameters behind two updates, relative to the norm of each. The factors of streams
# are single numbers, whose gradients are small sums of large numbers: of those, relative to 1 % of the norm of all.
LOSS_BOUND, BOUND, LEAST_SHARE = 1e-6, 2e-6, 0.01
# Of what updates change, and of gradients behind one. AdamW makes steps of one size of all gradients: elements with less
# than this share of all gradients' norm are left out. The first site of equal streams has such: its input only scales.
LATER_BOUND, COUNTED_SHARE = 1e-3, 1e-6
BALANCE_RATE = 1e-3

HYBRID = {
    "model_type": "deepseek_v4", "architectures": "DeepseekV4ForCausalLM", "vocab_size": 64, "seq_length": 256,
    "hidden_size": 32, "num_hidden_layers": 3, "num_nextn_predict_layers": 1, "mtp_loss_factor": 0.3,
    "num_attention_heads": 4, "q_lora_rank": 12, "head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "o_groups": 2, "o_lora_rank": 6, "index_n_heads": 2, "index_head_dim": 16, "index_topk": 8,
    "sliding_window": 8, "compress_ratios": [0, 4, 128, 4], "dsa_indexer_loss_coeff": 0.1,
    "apply_dsa_kernel_fusion": False, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
    "moe_intermediate_size": 16, "first_k_dense_replace": 1, "ffn_hidden_size": 64, "num_hash_layers": 2,
    "moe_aux_loss_coeff": 0.01, "moe_router_load_balancing_type": "aux_loss", "hc_mult": 4, "hc_sinkhorn_iters": 3,
}  # fmt: skip
SHORT = dict(
    HYBRID, seq_length=32, num_hidden_layers=2, num_nextn_predict_layers=0, compress_ratios=[0, 4], num_hash_layers=1,
    first_k_dense_replace=0, index_topk=3,
)  # fmt: skip
LATENT = dict(
    HYBRID, seq_length=32, experimental_attention_variant="mla", kv_lora_rank=16, qk_nope_head_dim=8,
    qk_layernorm=True, hc_mult=2, hc_sinkhorn_iters=0, enable_hc_head=False, hidden_act="fusedswiglu",
    swiglu_limit=0.5, position_embedding_type="yarn", max_position_embeddings=4096,
    moe_router_score_function="sigmoid",
)  # fmt: skip
del LATENT["compress_ratios"]
FUSED = dict(
    SHORT, num_attention_heads=2, head_dim=512, v_head_dim=512, index_n_heads=8, index_head_dim=128,
    sliding_window=128, apply_dsa_kernel_fusion=True,
)  # fmt: skip
# Sites as fused kernels, alone and with fused attention of all ratios.
STREAMS = {"hidden_size": 128, "hc_sinkhorn_iters": 20, "use_fused_mhc": True}
ALL_FUSED = dict(FUSED, seq_length=136, compress_ratios=[4, 128], index_topk=16, **STREAMS)
# The model, and the loss and the gradients' norm of the first step if another program has computed them.
CASES = {
    "hybrid": (HYBRID, (5.962171675, 0.863785350)),
    "plain-residuals": (dict(HYBRID, enable_hyper_connections=False, seq_length=128), (6.042764289, 1.239735132)),
    "short": (SHORT, (4.471720974, 1.940757198)),
    "latent": (LATENT, (6.103250868, 2.031373625)),
    "fused-loss": (FUSED, None),
    "fused-streams": (dict(LATENT, hc_mult=4, **STREAMS), None),
    "all-fused": (ALL_FUSED, None),
    "fused-entries": (dict(FUSED, csa_dense_mode=True), None),
    "all-entries": (dict(SHORT, csa_dense_mode=True), None),
    "ragged": (dict(SHORT, seq_length=30, index_topk=64), None),
    "no-indexer-loss": (dict(SHORT, dsa_indexer_loss_coeff=0), None),
    "one-stream": (dict(LATENT, hc_mult=1, hidden_act="silu", num_hash_layers=0), None),
    "many-iterations": (dict(LATENT, hc_mult=5, hc_sinkhorn_iters=20), None),
    # Hash layers divide gates by their sum whatever norm_topk_prob says, and a layer of later tokens is no hash layer.
    "plain-gates": (dict(
        SHORT, norm_topk_prob=False, num_nextn_predict_layers=1, compress_ratios=[0, 4, 4], num_hash_layers=1,
        hidden_act="fusedswiglu", swiglu_limit=0.3,
    ), None),
    "all-hash": (dict(
        SHORT, num_nextn_predict_layers=1, compress_ratios=[4, 0, 4], num_hash_layers=2, first_k_dense_replace=0,
        enable_hc_head=False, hc_mult=3, num_experts_per_tok=3,
    ), None),
    # Documents of 64 tokens at the mean, whose ends are in groups of 4 and of 128, also in the layer of later tokens.
    "documents": (dict(HYBRID, eod=5), None),
    "documents-all-entries": (dict(SHORT, csa_dense_mode=True, eod=5, vocab_size=16), None),
    "softmax-scores": (dict(
        LATENT, moe_router_score_function="softmax", moe_router_enable_expert_bias=False, num_hash_layers=3
    ), None),
    # The score of a group is that of its two best experts, however many are chosen.
    "groups": (dict(
        LATENT, hidden_act="silu", num_hash_layers=0, n_routed_experts=8, num_experts_per_tok=3, n_group=2, topk_group=1
    ), None),
    "adapters": (dict(LATENT, hidden_act="silu"), None),
}  # fmt: skip
# lora_config of the cases that have it.
RANK, ALPHA = 4, 8
ADAPTERS = {
    "adapters": "{target_modules: 'mlp|linear_(qkv|proj)|eh_proj', lora_rank: %d, lora_alpha: %d}" % (RANK, ALPHA),
}  # fmt: skip


def lower(tools, name, model, parallel=None, memory=()):
    """Lowers a step of `model`; `memory` are sections of memory options as text."""
    optimizer = {"type": "AdamW", "weight_decay": 0.1}
    training_keys = {"max_norm": 1.0}
    parallel = parallel or {}
    documents = model.get("eod")
    model = {key: value for key, value in model.items() if key != "eod"}
    configuration = Configuration(
        model, parallel, {}, (1, BATCH // parallel.get("data", 1)), memory, optimizer=optimizer, training=training_keys,
        adapters=ADAPTERS.get(name), documents=documents,
    )  # fmt: skip
    return configuration.lower(tools, name, lowering=["--verify=false"])


def make_tables(mlir, model):
    """Tables by formula for the hash layers of a model."""
    shapes = re.findall(r"mf\.param @(\S+router\.tid2eid) : tensor<(\d+)x(\d+)x", open(mlir).read())
    return {
        name: torch_deepseek4.make_table(name, [int(n) for n in shape], model["n_routed_experts"])
        for name, *shape in shapes
    }


def write_data(tools, model):
    data = tools.path("data.npy")
    length = model["seq_length"]
    rows = torch_deepseek4.make_tokens(BATCH, length, model["vocab_size"])
    # Both steps have the same tokens.
    numpy.save(data, numpy.concatenate([rows] * STEPS).astype(numpy.int32))
    return data, torch.tensor(rows)


class Adapted(torch_deepseek4.DeepSeek4):
    """Adapters are a part of the weights that they adapt."""

    def loss(self, *arguments):
        params = self.params
        self.params = dict(params)
        for name in params:
            if name.endswith("lora_a"):
                a, b = params[name], params[name[:-1] + "b"]
                # Weights of experts are [experts, in, out], those of linear layers [out, in].
                is_linear = name.endswith(".lora_a")
                weight = name[: -len("lora_a")] + "weight" if is_linear else name[: -len("_lora_a")]
                self.params[weight] = params[weight] + ALPHA / RANK * (b @ a if is_linear else a @ b)
        loss = super().loss(*arguments)
        self.params = params
        return loss


class Reference:
    """Steps of AdamW in fp64, in which vectors do not decay, with clipping. If there are adapters, only they are trained."""

    def __init__(self, model, parameters, biases, tables):
        self.model = Adapted(model, parameters, tables)
        self.biases = {name: torch.tensor(value) for name, value in biases.items()}
        adapters = {n: p for n, p in self.model.params.items() if n.endswith(("lora_a", "lora_b"))}
        self.trained = adapters or self.model.params
        for name, param in self.model.params.items():
            param.requires_grad = name in self.trained
        self.optimizer = torch_cases.make_optimizer(self.model)

    def step(self, rows):
        loss = torch_cases.accumulate(self.model, [(rows[:, :-1], rows[:, 1:])], lambda number: (self.biases,))
        for param in self.trained.values():
            if param.grad is None:
                param.grad = torch.zeros_like(param)
        gradients = {name: param.grad.clone().numpy() for name, param in self.trained.items()}
        norm = torch_cases.clip(list(self.trained.values())).item()
        self.optimizer.step()
        for name, counts in self.model.counts.items():
            if name in self.biases:
                self.biases[name] += BALANCE_RATE * torch.sign(counts.mean() - counts)
        return loss, norm, gradients


def compare(tools, name):
    model, known = CASES[name]
    mlir, step = lower(tools, name, model)
    shapes = {n: s for n, s in tools.parameters(mlir).items() if "mtp.embeddings" not in n}
    values = {n: torch_deepseek4.make_parameter(n, s) for n, s in shapes.items()}
    weights, folder = tools.path(name + ".weights.safetensors"), tools.path(name + ".gradients")
    behind = tools.path(name + ".behind.safetensors")
    tables = {} if known else make_tables(mlir, model)
    safetensors.save(weights, dict({n: v.astype(numpy.float32) for n, v in values.items()}, **tables))
    os.makedirs(folder)
    data, rows = write_data(tools, model)
    report = tools.train(
        step, data, STEPS, weights, extra=["--dump-gradients-every-step", folder, "--save-params", behind]
    )  # fmt: skip
    biases = {n: v for n, v in values.items() if n.endswith("expert_bias")}
    # Both begin with the same numbers of fp32.
    start = {n: v.astype(numpy.float32).astype(numpy.float64) for n, v in values.items() if n not in biases}
    biases = {n: v.astype(numpy.float32).astype(numpy.float64) for n, v in biases.items()}
    reference = Reference(model, start, biases, tables)
    counted = {}
    problems, worst = [], {"loss": 0.0, "gradient": 0.0, "parameter": 0.0}
    for index, dump in enumerate(sorted(os.listdir(folder))):
        loss, norm, gradients = reference.step(rows)
        actual = safetensors.load(os.path.join(folder, dump))
        table = "embedding.word_embeddings.weight"
        for key in [key for key in actual if "mtp.embeddings" in key]:
            actual[table] = actual[table] + actual.pop(key)
        actual = {key: value for key, value in actual.items() if key not in biases}
        if set(actual) != set(gradients):
            problems.append("gradients of %s" % sorted(set(actual) ^ set(gradients)))
            continue
        if index == 0 and known is not None:
            for what, value, expected in zip(("loss", "norm"), (loss, norm), known, strict=True):
                if abs(value - expected) > 1e-6:
                    problems.append("PyTorch's %s is %.9f, not %.9f" % (what, value, expected))
        error = abs(report["steps"][index]["loss"] - loss) / loss
        worst["loss"] = max(worst["loss"], error)
        if not error <= LOSS_BOUND:
            problems.append("step %d: loss %.9f instead of %.9f" % (index, report["steps"][index]["loss"], loss))
        for key, expected in gradients.items():
            is_large = numpy.abs(expected) >= COUNTED_SHARE * norm
            counted[key] = counted.get(key, True) & is_large
            least = LEAST_SHARE * norm
            distance = numpy.linalg.norm(actual[key] - expected) / max(least, numpy.linalg.norm(expected))
            if index == 0 and distance > worst["gradient"]:
                worst["gradient"], worst["name"] = distance, key
            if not distance <= (LATER_BOUND if index else BOUND):
                problems.append("step %d: %s is %.2g off" % (index, key, distance))
    saved = safetensors.load(behind)
    changed = [key for key in start if key not in reference.trained and (saved[key] != start[key]).any()]
    if changed:
        problems.append("%s changed, but only adapters are trained" % changed)
    for key, table in tables.items():
        if saved[key].dtype != table.dtype or (saved[key] != table).any():
            problems.append("%s changed" % key)
    for key, param in reference.trained.items():
        kept = counted[key]
        actual, wanted, before = saved[key][kept], param.detach().numpy()[kept], start[key][kept]
        distance = training.get_difference(actual, wanted)
        worst["parameter"] = max(worst["parameter"], distance)
        if not distance <= BOUND:
            problems.append("%s is %.2g off behind updates" % (key, distance))
        distance = training.get_difference(actual - before, wanted - before)
        if not distance <= LATER_BOUND:
            problems.append("the update of %s is %.2g off" % (key, distance))
    for key, bias in reference.biases.items():
        if not numpy.allclose(saved[key], bias.numpy(), rtol=0, atol=1e-7):
            problems.append("%s differs" % key)
    print(
        "%-16s loss %.1e  parameter %.1e  gradient %.1e (%s)"
        % (name, worst["loss"], worst["parameter"], worst["gradient"], worst.get("name")), flush=True
    )  # fmt: skip
    return ["%s: %s" % (name, problem) for problem in problems]


def main():
    torch.set_default_dtype(torch.float64)
    tools = training.Tools(sys.argv[1], sys.argv[2])
    problems = [problem for name in sys.argv[3:] or CASES for problem in compare(tools, name)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
