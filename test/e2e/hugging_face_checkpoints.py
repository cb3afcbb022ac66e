# SPDX-License-Identifier: Apache-2.0
"""Converts checkpoints from Hugging Face's names and back, family by family.

usage: hugging_face_checkpoints.py BIN_FOLDER WORK_FOLDER [CASE...]

For each family random weights are written as Hugging Face stores them, imported,
trained with for one step, and exported. Loss and gradients of the step (which are
exported too) must be PyTorch's, the exported weights the bytes of the first file.
"""

import json
import os
import sys

import numpy
import safetensors
import torch
import torch_hugging_face_deepseek
import torch_hugging_face as reference
import training
from hugging_face_shapes import list_shapes

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
    alibi=True,
    normalizes_head=True,
    num_attention_heads=6,
    num_key_value_heads=6,
    head_dim=8,
    hidden_size=48,
)


class Case:
    """`changes` are those of CONFIG. With `yaml`, the architecture and keys of a
    model_config, the model comes from a training YAML, otherwise from the
    config.json. `biases` are the layers' parts that have one."""

    def __init__(
        self, names, changes, yaml=None, biases=(), shards=False, decoder=reference.Decoder
    ):
        self.names, self.yaml, self.biases, self.shards = names, yaml, biases, shards
        self.decoder = decoder
        self.config = dict(CONFIG, **changes)


MIXTRAL = {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
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
QKV = ("q_proj", "k_proj", "v_proj")
CASES = {
    "llama": Case(reference.LLAMA, {"model_type": "llama"}, shards=True),
    "llama3.1": Case(
        reference.LLAMA, {"model_type": "llama", "rope_scaling": LLAMA3}
    ),
    "mistral": Case(reference.LLAMA, {"model_type": "mistral", "rope_theta": 1e6}),
    "qwen2-tied": Case(
        reference.LLAMA,
        {"model_type": "qwen2", "tie_word_embeddings": True},
        biases=QKV,
    ),
    "qwen3": Case(
        reference.LLAMA, {"model_type": "qwen3", "head_dim": 32, "rope_theta": 1e6}
    ),
    "mixtral": Case(reference.MIXTRAL, MIXTRAL, shards=True),
    "qwen2-moe": Case(reference.QWEN_MOE, QWEN2_MOE, biases=QKV),
    "qwen3-moe": Case(reference.QWEN_MOE, QWEN3_MOE),
    "deepseek2": Case(torch_hugging_face_deepseek.NAMES, DEEPSEEK2, decoder=torch_hugging_face_deepseek.Decoder),
    "deepseek3": Case(
        torch_hugging_face_deepseek.NAMES, DEEPSEEK3, shards=True, decoder=torch_hugging_face_deepseek.Decoder
    ),
    "qwen2-concatenated": Case(
        reference.LLAMA,
        {},
        ("LlamaForCausalLM", {"qkv_concat": True, "qkv_has_bias": True}),
        biases=QKV,
    ),
    "qwen1": Case(
        reference.QWEN1,
        ALL_HEADS,
        ("QwenForCausalLM", {"qkv_has_bias": True}),
        biases=("c_attn",),
    ),
    "telechat": Case(
        reference.TELECHAT,
        {},
        ("TelechatForCausalLM", {}),
        biases=("dense", "mlp.down_proj"),
    ),
    "baichuan-7b": Case(
        reference.BAICHUAN,
        dict(ALL_HEADS, normalizes_head=True),
        ("Baichuan7BV2ForCausalLM", {}),
    ),
    "baichuan-13b": Case(
        reference.BAICHUAN, BAICHUAN_13B, ("Baichuan13BV2ForCausalLM", {})
    ),
    "baichuan-13b-scores": Case(
        reference.BAICHUAN,
        BAICHUAN_13B,
        ("Baichuan13BV2ForCausalLM", {"use_flash_attention": False}),
    ),
}


def add_copies(case, weights):
    """The layers that predict more tokens come with the model's own embedding and
    head."""
    if case.config.get("num_nextn_predict_layers"):
        layer = case.names["layer"] % case.config["num_hidden_layers"]
        weights[layer + "embed_tokens.weight"] = weights[case.names["embedding"]]
        weights[layer + "shared_head.head.weight"] = weights["lm_head.weight"]
    return weights


def random_weights(shapes):
    random = numpy.random.RandomState(0)
    values = {}
    for name in sorted(shapes):
        values[name] = 0.05 * random.standard_normal(shapes[name])
        if "norm" in name or "ln_" in name:
            values[name] += 1
        values[name] = values[name].astype(numpy.float32)
    return values


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
        safetensors.save(
            os.path.join(folder, file), {name: weights[name] for name in names}
        )
        index["weight_map"].update({name: file for name in names})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump(index, file)


def get_model_config(case):
    """The keys of MindSpore Transformers' model_config for a config.json's."""
    config = case.config
    return dict(
        training.MODEL,
        hidden_size=config["hidden_size"],
        intermediate_size=config["intermediate_size"],
        num_heads=config["num_attention_heads"],
        n_kv_heads=config["num_key_value_heads"],
        num_layers=config["num_hidden_layers"],
        seq_length=LENGTH,
        theta=config["rope_theta"],
        **{key: config[key] for key in ("tie_word_embeddings",) if key in config},
    )


def build_model(name, case, tools):
    """The model's file and its step's."""
    yaml, mlir, step = (tools.path(name + end) for end in (".yaml", ".mlir", ".step.mlir"))
    arch, keys = case.yaml or ("LlamaForCausalLM", {})
    model = dict(get_model_config(case), **keys)
    training.write_yaml(yaml, model, batch_size=BATCH, arch=arch)
    if case.yaml:
        tools.run("mf-translate", "--import-mindformers", yaml, "-o", mlir)
    else:
        config = tools.path(name + ".config.json")
        with open(config, "w") as file:
            json.dump(case.config, file)
        size = "--batch-size=%d" % BATCH
        tools.run("mf-translate", "--import-hf", size, config, "-o", mlir)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, mlir, "-o", step)
    return mlir, step


def run_torch(case, weights, data):
    tokens = numpy.frombuffer(open(data, "rb").read(), numpy.uint8).astype(numpy.int64)
    rows = [tokens[row * LENGTH :][: LENGTH + 1] for row in range(BATCH)]
    block = torch.tensor(numpy.stack(rows))
    model = case.decoder(case.names, case.config, weights)
    loss = model.loss(block[:, :-1], block[:, 1:])
    loss.backward()
    gradients = {name: p.grad.numpy() for name, p in model.params.items() if p.grad is not None}
    return loss.item(), gradients


# A parameter that is tied to the embedding has a gradient of its own, which belongs
# to it.
TIED = {
    "lm_head.weight": "model.tok_embeddings.embedding_weight",
    "mtp.embeddings.0.word_embeddings.weight": "embedding.word_embeddings.weight",
}


def merge_tied_gradients(path, names):
    gradients = safetensors.load(path)
    for name in names:
        gradients[TIED[name]] = gradients[TIED[name]] + gradients.pop(name)
    safetensors.save(path, gradients)


def list_tied(case):
    tied = ["lm_head.weight"] if case.config.get("tie_word_embeddings") else []
    if case.config.get("num_nextn_predict_layers"):
        tied.append("mtp.embeddings.0.word_embeddings.weight")
    return tied


def compare(name, tools, data):
    case = CASES[name]
    weights = add_copies(case, random_weights(list_shapes(case)))
    folder = tools.path(name + ".hf")
    write_checkpoint(folder, weights, case.shards)
    mlir, step = build_model(name, case, tools)
    imported, exported, gradients, exported_gradients = (
        tools.path("%s.%s.safetensors" % (name, what))
        for what in ("imported", "exported", "gradients", "exported-gradients")
    )

    def convert(way, source, target):
        tools.run("mf-translate", way, mlir, "--weights", source, "-o", target)

    convert("--import-hf-weights", folder, imported)
    dump = ("--dump-gradients", gradients)
    report = tools.train(step, data, parameters=imported, extra=dump)
    convert("--export-hf", imported, exported)
    merge_tied_gradients(gradients, list_tied(case))
    convert("--export-hf", gradients, exported_gradients)

    expected = {key: value.tobytes() for key, value in weights.items()}
    same_bytes = safetensors.load_bytes(exported) == expected
    loss, torch_gradients = run_torch(case, weights, data)
    loss_error = abs(report["losses"][0] - loss) / abs(loss)
    ours = safetensors.load(exported_gradients)
    gradient_error = max(
        numpy.linalg.norm(ours[key] - value) / max(numpy.linalg.norm(value), 1e-12)
        for key, value in torch_gradients.items()
    )
    print(
        "%-20s loss %.6f, error %.1e, gradients %.1e, round trip %s"
        % (name, loss, loss_error, gradient_error, "same" if same_bytes else "DIFFERS")
    )
    return (
        same_bytes
        and loss_error < LOSS_TOLERANCE
        and gradient_error < GRADIENT_TOLERANCE
    )


def main():
    tools = training.Tools(*sys.argv[1:3])
    data = tools.path("data")
    text = b"A checkpoint means the same under any of its names. " * 4
    with open(data, "wb") as file:
        file.write(text)
    names = sys.argv[3:] or list(CASES)
    wrong = [name for name in names if not compare(name, tools, data)]
    if wrong:
        sys.exit("different: " + ", ".join(wrong))


main()
