# SPDX-License-Identifier: Apache-2.0
"""Converts checkpoints to Hugging Face's names and back, family by family.

usage: hugging_face_checkpoints.py BIN_FOLDER WORK_FOLDER [CASE...]

For each family random weights are exported as Hugging Face stores them, trained with for one step, and imported from a folder.
Loss and gradients of the step (which are exported too) must be those of a PyTorch model that reads these names, which has a
parameter for each exported tensor. Imported weights are the bytes of the first ones.
"""

import json
import os

import safetensors
import torch_cases
import torch_moe
import training
from torch_decoder import BAICHUAN, HUGGING_FACE, MIXTRAL, QWEN1, TELECHAT_CHECKPOINT, Decoder, yarn_growth

BATCH, LENGTH = 2, 32
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-4

CONFIG = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_hidden_layers": 2,
    "max_position_embeddings": LENGTH,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "vocab_size": 256,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
ALL_HEADS = {"num_key_value_heads": 4}
BAICHUAN_13B = dict(
    num_attention_heads=6,
    num_key_value_heads=6,
    head_dim=8,
    hidden_size=48,
)
MIXTRAL_MODEL = {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
# The first layer is dense.
QWEN2_MOE = {
    "model_type": "qwen2_moe",
    "num_experts": 6,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 40,
    "norm_topk_prob": False,
    "mlp_only_layers": [0],
}
QWEN3_MOE = {
    "model_type": "qwen3_moe",
    "head_dim": 32,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "norm_topk_prob": True,
}
DEEPSEEK2 = {
    "model_type": "deepseek_v2",
    "num_key_value_heads": 4,
    "q_lora_rank": None,
    "kv_lora_rank": 24,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 24,
    "first_k_dense_replace": 1,
    "topk_method": "group_limited_greedy",
    "n_group": 4,
    "topk_group": 2,
    "norm_topk_prob": False,
    "routed_scaling_factor": 4.0,
}
# With a layer that predicts one more token.
DEEPSEEK3 = dict(
    DEEPSEEK2,
    model_type="deepseek_v3",
    q_lora_rank=40,
    num_nextn_predict_layers=1,
    n_shared_experts=1,
    topk_method="noaux_tc",
    scoring_func="sigmoid",
    norm_topk_prob=True,
    routed_scaling_factor=2.5,
    rope_scaling={
        "type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 16,
        "beta_fast": 4.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 0.7,
    },
)


class Case:
    """`changes` are those of CONFIG, `reference` what is said to PyTorch beside. With `arch`, and `keys` of a model_config, the
    model comes from a training YAML, otherwise from the config.json. Two files with an index hold the weights if it `shards`
    them."""

    def __init__(self, names, changes, arch=None, keys=(), reference=(), shards=False):
        self.names, self.arch, self.keys, self.shards = names, arch, dict(keys), shards
        self.config = dict(CONFIG, **changes)
        self.reference = dict(self.config, **dict(reference))


def get_settings(config):
    """The settings of torch_moe.py for experts of a config.json."""
    kind = config["model_type"]
    is_third = kind == "deepseek_v3"
    count = next(config[key] for key in ("num_experts", "num_local_experts", "n_routed_experts") if key in config)
    return dict(
        torch_moe.read_settings(config), kind="grouped", experts=count, sigmoid=is_third, has_bias=is_third,
        gates_shared=kind == "qwen2_moe",
    )  # fmt: skip


def experts(model, names=HUGGING_FACE, **options):
    scaling = model.get("rope_scaling")
    sharpness = yarn_growth(scaling["factor"], scaling["mscale_all_dim"]) ** 2 if scaling else 1.0
    return Case(names, model, reference={"experts": get_settings(model), "sharpness": sharpness}, **options)


NORMALIZED, ALIBI = {"normalizes_head": True}, {"normalizes_head": True, "alibi": True}
CASES = {
    "llama": Case(HUGGING_FACE, {"model_type": "llama"}, shards=True),
    "llama3.1": Case(HUGGING_FACE, {"model_type": "llama", "rope_scaling": LLAMA3}),
    "mistral": Case(HUGGING_FACE, {"model_type": "mistral", "rope_theta": 1e6}),
    "qwen2-tied": Case(HUGGING_FACE, {"model_type": "qwen2", "tie_word_embeddings": True}),
    "qwen3": Case(HUGGING_FACE, {"model_type": "qwen3", "head_dim": 32, "rope_theta": 1e6}),
    "mixtral": experts(MIXTRAL_MODEL, MIXTRAL, shards=True),
    "qwen2-moe": experts(QWEN2_MOE),
    "qwen3-moe": experts(QWEN3_MOE),
    "deepseek2": experts(DEEPSEEK2),
    "deepseek3": experts(DEEPSEEK3, shards=True),
    "qwen2-concatenated": Case(HUGGING_FACE, {}, "LlamaForCausalLM", {"qkv_concat": True, "qkv_has_bias": True}),
    "qwen1": Case(QWEN1, ALL_HEADS, "QwenForCausalLM", {"qkv_has_bias": True}),
    "telechat": Case(TELECHAT_CHECKPOINT, {}, "TelechatForCausalLM"),
    "baichuan-7b": Case(BAICHUAN, ALL_HEADS, "Baichuan7BV2ForCausalLM", reference=NORMALIZED),
    "baichuan-13b": Case(BAICHUAN, BAICHUAN_13B, "Baichuan13BV2ForCausalLM", reference=ALIBI),
    "baichuan-13b-scores": Case(
        BAICHUAN, BAICHUAN_13B, "Baichuan13BV2ForCausalLM", {"use_flash_attention": False}, reference=ALIBI
    ),
}  # fmt: skip


def write_checkpoint(folder, weights, shards):
    """One file, or two with an index."""
    os.makedirs(folder)
    if not shards:
        safetensors.save(os.path.join(folder, "model.safetensors"), weights)
        return
    index = {"metadata": {}, "weight_map": {}}
    for number in range(2):
        file = "model-0000%d-of-00002.safetensors" % (number + 1)
        names = sorted(weights)[number::2]
        safetensors.save(os.path.join(folder, file), {name: weights[name] for name in names})
        index["weight_map"].update({name: file for name in names})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump(index, file)


def build_model(name, case, tools):
    """The model's file and its step's."""
    yaml, mlir, step = (tools.path(name + end) for end in (".yaml", ".mlir", ".step.mlir"))
    config = case.config
    model = dict(
        training.MODEL, hidden_size=config["hidden_size"], intermediate_size=config["intermediate_size"],
        num_heads=config["num_attention_heads"], n_kv_heads=config["num_key_value_heads"], num_layers=config["num_hidden_layers"],
        seq_length=LENGTH, theta=config["rope_theta"], **case.keys,
    )  # fmt: skip
    training.write_yaml(yaml, model, batch_size=BATCH, arch=case.arch or "LlamaForCausalLM")
    if case.arch:
        tools.run("mf-translate", "--import-mindformers", yaml, "-o", mlir)
    else:
        path = tools.path(name + ".config.json")
        with open(path, "w") as file:
            json.dump(config, file)
        tools.run("mf-translate", "--import-hf", "--batch-size=%d" % BATCH, path, "-o", mlir)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, mlir, "-o", step)
    return mlir, step


# A parameter that is tied to the embedding has a gradient of its own, which belongs to it. Layers that predict more tokens
# come with copies of the model's own embedding and head.
TIED = {
    "lm_head.weight": "model.tok_embeddings.embedding_weight",
    "mtp.embeddings.0.word_embeddings.weight": "embedding.word_embeddings.weight",
}
COPIES = (".embed_tokens.weight", ".shared_head.head.weight")


def list_tied(case):
    tied = ["lm_head.weight"] if case.config.get("tie_word_embeddings") else []
    if case.config.get("num_nextn_predict_layers"):
        tied.append("mtp.embeddings.0.word_embeddings.weight")
    return tied


def compare(name, tools, data):
    case = CASES[name]
    mlir, step = build_model(name, case, tools)
    folder = tools.path(name + ".hf")
    weights, exported, imported, gradients, exported_gradients = (
        tools.path("%s.%s.safetensors" % (name, what))
        for what in ("weights", "exported", "imported", "gradients", "exported-gradients")
    )
    shapes = tools.parameters(mlir)
    safetensors.save(weights, training.random_parameters({key: shape for key, shape in shapes.items() if key not in list_tied(case)}))

    def convert(way, source, target):
        tools.run("mf-translate", way, mlir, "--weights", source, "-o", target)

    convert("--export-hf", weights, exported)
    values = safetensors.load(exported)
    write_checkpoint(folder, values, case.shards)
    convert("--import-hf-weights", folder, imported)
    same_bytes = safetensors.load_bytes(imported) == safetensors.load_bytes(weights)
    report = tools.train(step, data, parameters=imported, extra=["--dump-gradients", gradients])
    ours = safetensors.load(gradients)
    for key in list_tied(case):
        ours[TIED[key]] = ours[TIED[key]] + ours.pop(key)
    safetensors.save(gradients, ours)
    convert("--export-hf", gradients, exported_gradients)

    for key in [key for key in values if ".layers." in key and key.endswith(COPIES)]:
        table = values["lm_head.weight" if "head" in key else case.names["table"]]
        assert (values.pop(key) == table).all(), "%s is no copy" % key
    model = Decoder(case.names, case.reference, values)
    ((batch,),) = torch_cases.read_batches(data, LENGTH, 1, BATCH, 1)
    loss = torch_cases.accumulate(model, [batch])
    unread = [key for key, value in model.unique_parameters().items() if value.grad is None]
    assert not unread, "PyTorch has no use for %s" % unread
    loss_error = abs(report["losses"][0] - loss) / abs(loss)
    ours = safetensors.load(exported_gradients)
    gradient_error = max(training.get_difference(ours[key], p.grad.numpy()) for key, p in model.unique_parameters().items())
    print("%-20s loss %.6f, error %.1e, gradients %.1e, round trip %s"
          % (name, loss, loss_error, gradient_error, "same" if same_bytes else "DIFFERS"))  # fmt: skip
    return same_bytes and loss_error < LOSS_TOLERANCE and gradient_error < GRADIENT_TOLERANCE


def write_text(path):
    with open(path, "wb") as file:
        file.write(b"A checkpoint means the same under any of its names. " * 4)


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare, write_text)
