# SPDX-License-Identifier: Apache-2.0
"""Compares losses and gradients of DeepSeek without experts with PyTorch's.

usage: latent_attention_matches_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER [CASE...]

Both layouts of parameters of the mcore graph and the legacy one, with and without flash
attention and YaRN, with layers that predict later tokens; on one stage, on two, and on
ranks over which heads and sequences are cut.
"""

import torch_cases
import training
from torch_decoder import LLAMA, MCORE, Decoder, yarn_growth

STEPS = 2

COMMON = {
    "seq_length": 16,
    "hidden_size": 32,
    "vocab_size": 128,
    "intermediate_size": 48,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 8,
    "v_head_dim": 12,
    "rms_norm_eps": "1.0e-5",
    "use_flash_attention": True,
    "pad_token_id": -1,
    "initializer_range": 0.02,
    "compute_dtype": "float32",
    "rotary_dtype": "float32",
}
LEGACY = dict(
    COMMON,
    num_layers=2,
    num_heads=4,
    theta="10000.0",
    extend_method="None",
    layernorm_compute_type="float32",
    softmax_compute_type="float32",
    param_init_type="float32",
    mtp_depth=0,
    mtp_loss_factor=0.3,
)
MCORE_MODEL = dict(
    COMMON,
    num_hidden_layers=2,
    num_attention_heads=4,
    params_dtype="float32",
    mtp_num_layers=0,
    mtp_loss_scaling_factor=0.2,
)
YARN = {
    "type": "yarn",
    "factor": 4.0,
    "original_max_position_embeddings": 8,
    "beta_fast": 2.0,
    "beta_slow": 0.25,
    "mscale": 1.0,
    "mscale_all_dim": 0.7,
}
YARN_TEXT = "{%s}" % ", ".join("%s: %s" % item for item in YARN.items() if item[0] != "type")
SHARPNESS = yarn_growth(4.0, 0.7) ** 2
MCORE_SHARPNESS = yarn_growth(40.0, 0.707) ** 2
MCORE_YARN = dict(
    position_embedding_type="yarn",
    rotary_scaling_factor=4.0,
    max_position_embeddings=8,
    beta_fast=2.0,
    beta_slow=0.25,
    mscale=1.0,
    mscale_all_dim=0.7,
)
SHARED = {"model_parallel": 2, "use_seq_parallel": "True"}


def legacy(stages=1, ranks=None, yarn=None, scale=1.0, step=None, **changes):
    return LLAMA, dict(LEGACY, **changes), {"rope_scaling": yarn, "sharpness": scale}, stages, ranks, step


def mcore(layout="together", stages=1, ranks=None, yarn=None, scale=MCORE_SHARPNESS, step=None, **changes):
    changes["mla_qkv_concat"] = layout == "together"
    return MCORE, dict(MCORE_MODEL, **changes), {"rope_scaling": yarn, "sharpness": scale}, stages, ranks, step


# name: names, model_config, what is said of it to the reference beside, stages, ranks, more of training.write_yaml
CASES = {
    "legacy": legacy(),
    "legacy-scores": legacy(use_flash_attention=False, v_head_dim=20),
    "legacy-ragged": legacy(enable_fa_var_len=True, v_head_dim=8),
    "legacy-yarn": legacy(
        yarn=YARN, scale=SHARPNESS, extend_method="YARN", scaling_factor=YARN_TEXT
    ),
    "legacy-sharp": legacy(scale=SHARPNESS, scaling_factor=YARN_TEXT),
    "legacy-next-token": legacy(mtp_depth=1),
    "legacy-next-tokens": legacy(mtp_depth=2),
    "legacy-2-stages": legacy(stages=2, mtp_depth=2),
    "legacy-4-stages": legacy(stages=4, mtp_depth=2),
    "legacy-mp": legacy(ranks=SHARED, mtp_depth=1),
    "legacy-mp-2-stages": legacy(stages=2, ranks=SHARED, mtp_depth=2),
    "legacy-recompute": legacy(stages=2, mtp_depth=1, step={"recompute": {"recompute": "True"}}),
    "legacy-pieces": legacy(
        stages=2, ranks={"seq_split_num": 4}, mtp_depth=2, step={"scheduler": "seqpipe"}
    ),
    "legacy-mp-dp": legacy(ranks=dict(SHARED, data_parallel=2), mtp_depth=1),
    "mcore": mcore(),
    "mcore-apart": mcore("apart"),
    "mcore-no-rank": mcore(q_lora_rank=None),
    "mcore-apart-no-rank": mcore("apart", q_lora_rank=None),
    "mcore-no-norms": mcore(qk_layernorm=False),
    "mcore-scores": mcore(use_flash_attention=False, hidden_act="swiglu"),
    "mcore-yarn": mcore(
        yarn=YARN, scale=yarn_growth(4.0, 1.0) ** 2, **MCORE_YARN
    ),
    "mcore-next-token": mcore(mtp_num_layers=1),
    "mcore-3-stages": mcore("apart", stages=3, mtp_num_layers=1),
    # The offset counts the layers without the last one.
    "mcore-left-out": mcore("apart", stages=2, mtp_num_layers=1, step={"offset": "0"}),
    "mcore-left-out-recompute": mcore(
        stages=2, mtp_num_layers=1, step={"offset": "0", "recompute": {"recompute": "[0, 1]"}}
    ),
    "mcore-mp": mcore(ranks=SHARED, mtp_num_layers=1),
    "mcore-pieces": mcore(
        stages=3, ranks={"seq_split_num": 2}, mtp_num_layers=1, step={"scheduler": "seqpipe"}
    ),
    "mcore-apart-mp": mcore("apart", stages=3, ranks=SHARED, mtp_num_layers=1),
    "mcore-no-rank-mp": mcore(ranks=SHARED, q_lora_rank=None),
}


def get_offset(config, stages):
    layers = config.get("num_layers") or config["num_hidden_layers"]
    layers += config.get("mtp_depth") or config.get("mtp_num_layers") or 0
    rest = layers % stages
    return str([1 if stage < rest else 0 for stage in range(stages)]) if rest else "0"


def compare(name, tools, data):
    names, config, reference, stages, ranks, more = CASES[name]
    ranks = dict(ranks or {})
    text = {key: "null" if value is None else value for key, value in config.items()}
    mlir, step = tools.lower(
        name, text, stages=stages, micro_batches=torch_cases.MICRO_BATCHES, ranks=ranks,
        batch_size=torch_cases.BATCH // ranks.get("data_parallel", 1), model_type="DeepseekV3Config",
        arch="DeepseekV3ForCausalLM" if names is LLAMA else "deepseek_v3",
        **dict({"offset": get_offset(config, stages)}, **(more or {})),
    )  # fmt: skip
    shapes = tools.parameters(mlir)
    tied = [n for n in shapes if "mtp_embeddings" in n or "mtp.embeddings" in n]
    parameters = training.random_parameters({n: s for n, s in shapes.items() if n not in tied})
    # Values far from their initial ones show more errors.
    parameters = {n: v * (1 if "norm" in n else 4) for n, v in parameters.items()}
    ours = torch_cases.run_steps(tools, name, step, data, STEPS, parameters)
    model = Decoder(names, dict(config, **reference), parameters)
    expected = torch_cases.train(model, torch_cases.read_batches(data, config["seq_length"], STEPS))
    # An update moves parameters by rounding, too.
    return torch_cases.compare_steps(name, ours, expected, tied, names["table"], gradient=1e-5, later=1e-4)


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare, lambda path: training.start_drawing(path, 1))
