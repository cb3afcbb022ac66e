# SPDX-License-Identifier: Apache-2.0
"""A measured row as a training YAML, and its model as Megatron-LM computes it.

Sizes are those of the public config.json of the model that a row names. Layers,
sequence, ranks and micro-batches are those of the row. Nothing else depends on a
row.
"""

import re

# The public config.json of each model, as far as a step's cost depends on it.
MODELS = {
    "llama3-8b": dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8,
                      vocab_size=128256, rope_theta=500000.0, rms_norm_eps=1e-5),
    "llama3-70b": dict(hidden_size=8192, intermediate_size=28672, num_attention_heads=64, num_key_value_heads=8,
                       vocab_size=128256, rope_theta=500000.0, rms_norm_eps=1e-5),
    "llama3-405b": dict(hidden_size=16384, intermediate_size=53248, num_attention_heads=128, num_key_value_heads=8,
                        vocab_size=128256, rope_theta=500000.0, rms_norm_eps=1e-5),
    "mixtral-8x7b": dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8,
                         vocab_size=32000, rope_theta=1e6, rms_norm_eps=1e-5, n_routed_experts=8,
                         num_experts_per_tok=2, moe_intermediate_size=14336, first_k_dense_replace=0,
                         scoring_func="softmax"),
    "deepseekv2": dict(hidden_size=5120, intermediate_size=12288, num_attention_heads=128, vocab_size=102400,
                       rope_theta=10000.0, rms_norm_eps=1e-6, q_lora_rank=1536, kv_lora_rank=512,
                       qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, n_routed_experts=160,
                       num_experts_per_tok=6, n_shared_experts=2, moe_intermediate_size=1536,
                       first_k_dense_replace=1, scoring_func="softmax"),
    "deepseekv3": dict(hidden_size=7168, intermediate_size=18432, num_attention_heads=128, vocab_size=129280,
                       rope_theta=10000.0, rms_norm_eps=1e-6, q_lora_rank=1536, kv_lora_rank=512,
                       qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, n_routed_experts=256,
                       num_experts_per_tok=8, n_shared_experts=1, moe_intermediate_size=2048,
                       first_k_dense_replace=1, scoring_func="sigmoid"),
}  # fmt: skip

TRANSPOSE = r"self_attention\.core_attention\.fa_out_transpose"

GATHERS = [
    r"input_layernorm\.norm",
    r"pre_mlp_layernorm\.norm",
    r"self_attention\.core_attention\.flash_attention",
]

TEMPLATE = """\
use_parallel: True
run_mode: 'train'
trainer: {{type: CausalLanguageModelingTrainer, model_name: '{model}'}}
runner_config: {{epochs: 1, batch_size: {mbs}, gradient_accumulation_steps: {accumulation}}}
optimizer: {{type: AdamW, betas: [0.9, 0.95], eps: 1.e-8, weight_decay: 0.1}}
lr_schedule: {{type: ConstantWarmUpLR, learning_rate: 1.e-6, warmup_ratio: 0, total_steps: -1}}
runner_wrapper: {{type: MFTrainOneStepCell, scale_sense: 1.0, use_clip_grad: True, max_grad_norm: 1.0}}
context: {{device_target: "Ascend", max_device_memory: "1024GB"}}
parallel:
  parallel_mode: 1
  full_batch: True
  gradients_mean: False
  enable_parallel_optimizer: True
  parallel_optimizer_config: {{parallel_optimizer_threshold: 0}}
parallel_config:
  data_parallel: {data_parallel}
  model_parallel: {tp}
  context_parallel: {cp}
  expert_parallel: {ep}
  pipeline_stage: {pp}
  micro_batch_num: {micro_batches}
  use_seq_parallel: {sequence_parallel}
recompute_config:
  recompute: False
  # Flash attention of the other framework reads and writes any order of heads
  # and rows, so only its output is kept.
  select_recompute: ['{transpose}']
  # Gathers in front of linear layers, and of keys and values, run again in backward.
  select_comm_recompute: [{gathers}]
model:
  model_config:
    model_type: "telechat3"
    architectures: ["TeleChat3ForCausalLM"]
    seq_length: {seq}
    num_hidden_layers: {layers}
    hidden_act: '{activation}'
    params_dtype: "float32"
    compute_dtype: "bfloat16"
    layernorm_compute_dtype: "bfloat16"
    softmax_compute_dtype: "bfloat16"
    rotary_dtype: "{rotary}"
    apply_rope_fusion: True
    pad_token_id: -1
{sizes}"""

EXPERTS = dict(
    gated_linear_unit=True, routed_scaling_factor=1.0, norm_topk_prob=False, moe_grouped_gemm=True,
    moe_permute_fusion=True, moe_token_dispatcher_type="alltoall", router_dense_type="bfloat16",
)  # fmt: skip


def get_sizes(row):
    """The model's part of the YAML."""
    if row["model"] not in MODELS:
        raise ValueError("no sizes of model %r of row %r; add them to MODELS" % (row["model"], row["case"]))
    sizes = dict(MODELS[row["model"]])
    # Megatron pads the table to a multiple of 128 rows for each tensor-parallel rank.
    multiple = 128 * row["tp"]
    sizes["vocab_size"] = -(-sizes["vocab_size"] // multiple) * multiple
    sizes["max_position_embeddings"] = row["seq"]
    if "kv_lora_rank" in sizes:
        sizes.update(multi_latent_attention=True, mla_qkv_concat=False, qk_layernorm=True,
                     rotary_scaling_factor=1, mscale=1, mscale_all_dim=1)  # fmt: skip
    if "n_routed_experts" in sizes:
        sizes.update(EXPERTS)
    return sizes


def write_yaml(row):
    """The text of the YAML that lays `row` out."""
    is_latent = "kv_lora_rank" in MODELS[row["model"]]
    sizes = get_sizes(row)
    return TEMPLATE.format(
        accumulation=row["mbc"] if row["pp"] == 1 else 1,
        micro_batches=row["mbc"] if row["pp"] > 1 else 1,
        sequence_parallel=row["tp"] > 1,
        data_parallel=row["gpus"] // (row["tp"] * row["cp"] * row["pp"]),
        transpose=TRANSPOSE,
        gathers=", ".join("'%s'" % name for name in GATHERS),
        rotary="bfloat16",
        activation="fusedswiglu",
        sizes="".join("    %s: %s\n" % (key, "%r" % value) for key, value in sorted(sizes.items())),
        **{key: row[key] for key in ("model", "mbs", "tp", "cp", "ep", "pp", "seq", "layers")},
    )


def replace_once(pattern, build, text):
    """`text` with the only match of `pattern` replaced by what `build` makes of it."""
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise ValueError("expected %r once in the model, but found it %d times" % (pattern, len(found)))
    match = found[0]
    return text[: match.start()] + build(match) + text[match.end() :]


def convert_table(model):
    """Rows of the table in bf16: Megatron's parameters are, MindSpore's are converted behind the gather."""
    pattern = (
        r"(%\w+) = mf\.embedding (%\w+), (%\w+) (\{.*\}) : "
        r"\(tensor<([0-9x]+)xf32>, (\S+)\) -> tensor<([0-9x]+)xf32>"
        r"\s+(%\w+) = mf\.cast \1 .*"
    )

    def build(match):
        _, table, tokens, attributes, shape, indices, rows, result = match.groups()
        return (
            '%%table = mf.cast %s {name = "cast"} : (tensor<%sxf32>) -> tensor<%sxbf16>\n      '
            "%s = mf.embedding %%table, %s %s : (tensor<%sxbf16>, %s) -> tensor<%sxbf16>"
        ) % (table, shape, shape, result, tokens, attributes, shape, indices, rows)

    return replace_once(pattern, build, model)


def fuse_cross_entropy(model):
    """The loss of bf16 logits ("cef"): no copy of them in fp32."""
    pattern = (
        r'(%\w+) = mf\.cast (%\w+) \{name = "cast"\} : .*xf32>'
        r"\s+(%\w+) = mf\.reshape \1 (.*\n(?:.*\n)*.*mf\.cross_entropy \3, .*)"
    )

    def build(match):
        _, logits, reshaped, rest = match.groups()
        lines = "%s = mf.reshape %s %s" % (reshaped, logits, rest)
        first, middle, last = lines.partition("\n")[0], lines.split("\n")[1:-1], lines.split("\n")[-1]
        first = first.replace("xf32>", "xbf16>")
        last = re.sub(r": \(tensor<([0-9x]+)xf32>", r": (tensor<\1xbf16>", last, count=1)
        return "\n".join([first, *middle, last])

    return replace_once(pattern, build, model)


def as_megatron(model):
    """The imported model with what Megatron-LM computes in bf16 where MindSpore Transformers takes fp32."""
    return fuse_cross_entropy(convert_table(model))
