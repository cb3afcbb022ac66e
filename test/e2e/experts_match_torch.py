# SPDX-License-Identifier: Apache-2.0
"""Compares loss and gradients of models with experts with PyTorch's, over
several steps.

usage: experts_match_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER [CASE...]
"""

import numpy
import torch_cases
import torch_decoder
import torch_moe
import training

STEPS, BATCH, MICRO_BATCHES = 3, 2, 2

ROUTER = {"routing_policy": "TopkRouterV2", "router_dense_type": '"float32"'}
MIXTRAL = dict(ROUTER, expert_num=8, num_experts_chosen=2, capacity_factor=1.1)
QWEN2 = dict(
    ROUTER,
    expert_num=8,
    num_experts_chosen=3,
    capacity_factor=1.1,
    enable_sdrop=True,
    shared_expert_num=2.0,
    use_shared_expert_gating=True,
    norm_topk_prob=False,
)
TELECHAT = dict(
    ROUTER,
    expert_num=8,
    num_experts_chosen=3,
    capacity_factor=1.2,
    aux_loss_types='["expert"]',
    aux_loss_factors="[0.01]",
)
DEEPSEEK2 = dict(
    ROUTER,
    expert_num=8,
    num_experts_chosen=3,
    capacity_factor=2.0,
    enable_sdrop=True,
    topk_method="group_limited_greedy",
    n_group=4,
    topk_group=2,
    norm_topk_prob=False,
    routed_scaling_factor=16.0,
    expert_group_size=4,
    aux_loss_types='["expert", "device", "comm"]',
    aux_loss_factors="[0.003, 0.005, 0.002]",
    z_loss_factor=0.01,
)
DEEPSEEK3 = dict(
    ROUTER,
    expert_num=8,
    num_experts_chosen=3,
    use_gmm=True,
    use_gating_sigmoid=True,
    routed_scaling_factor=2.5,
    shared_expert_num=1,
    balance_via_topk_bias=True,
)
# Fast enough to change choices in a few steps.
BALANCE = {
    "TopkBiasBalanceCallback": {
        "balance_via_topk_bias": True,
        "topk_bias_update_rate": 0.02,
        "expert_num": 8,
        "gradient_accumulation_steps": MICRO_BATCHES,
    }
}
QWEN3 = {
    "model_type": "qwen3_moe",
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "seq_length": 32,
    "rms_norm_eps": "1.0e-5",
    "rope_theta": "10000.0",
    "use_flash_attention": True,
    "params_dtype": '"float32"',
    "compute_dtype": '"float32"',
    "pad_token_id": -1,
    "moe_grouped_gemm": True,
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 40,
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.5,
}
QWEN3_LOSS = dict(
    QWEN3,
    moe_router_load_balancing_type="sub_seq_aux_loss",
    moe_aux_loss_coeff=0.01,
)
# DeepSeek-V3 of the mcore graph with grouped heads instead of latent attention.
STANDARD = dict(
    {key: value for key, value in QWEN3.items() if key not in ("num_experts", "head_dim")},
    model_type="deepseek_v3",
    multi_latent_attention=False,
    n_routed_experts=8,
    num_nextn_predict_layers=0,
    n_shared_experts=1,
    first_k_dense_replace=0,
    scoring_func="sigmoid",
)


class Case:
    """`experts` are keys of moe_config, `settings` those of torch_moe's layers that do not follow from them;
    `model` changes keys of model_config. With `skew` one expert is what most
    tokens want, with `alone` what all do. `release` is that of the layers."""

    def __init__(self, experts, settings=(), model=None, skew=0.0, alone=False, release=None, **options):
        self.experts, self.options, self.release = experts, options, release
        self.skew, self.alone = skew, alone
        self.model = dict(model or {})
        keys = experts or self.model
        kind = "grouped" if keys.get("use_gmm") else "capacity"
        self.settings = {**torch_moe.read_settings(keys), "experts": 8, "kind": kind, **dict(settings)}

    def is_mcore(self):
        return self.settings["kind"] == "mcore"


def llama(experts, settings=(), **options):
    """Whose auxiliary losses never enter the loss."""
    return Case(experts, dict(settings, adds_losses=False), **options)


def telechat(experts, settings, **options):
    return Case(experts, settings, arch="TelechatForCausalLM", model_type="TelechatConfig", **options)


def mcore(model, arch="Qwen3MoeForCausalLM", **settings):
    return Case(None, dict(settings, kind="mcore"), model=model, arch=arch)


TELECHAT_LOSSES = {"losses": (("expert", 0.01),)}
DEEPSEEK2_LOSSES = {
    "losses": (("expert", 0.003), ("device", 0.005), ("comm", 0.002)), "loss_groups": {"device": 4, "comm": 1},
}  # fmt: skip
BALANCED = {"update_rate": 0.02, "target": MICRO_BATCHES / 8}
NOAUX = {"topk_method": "noaux_tc", "n_group": 4, "topk_group": 2}
GROUPED = dict(MIXTRAL, use_gmm=True)
# Layers that do not scale gates, and divide them by the sum of those that found a place.
SCALED, KEPT = dict(MIXTRAL, routed_scaling_factor=3.0), {"scale": 1.0, "normalizes_kept": True}

CASES = {
    "mixtral": llama(MIXTRAL),
    "mixtral-by-token": llama(dict(MIXTRAL, enable_sdrop=True), skew=2.0),
    "mixtral-one-expert": llama(dict(MIXTRAL, num_experts_chosen=1), skew=0.3, alone=True),
    "mixtral-fused": llama(dict(MIXTRAL, use_fused_ops_topkrouter=True), skew=2.0),
    "mixtral-1.4": llama(SCALED, KEPT, skew=2.0, release="1.4"),
    "mixtral-1.4-fused": llama(dict(SCALED, use_fused_ops_topkrouter=True), {"scale": 1.0}, skew=2.0, release="1.4"),
    "mixtral-own": llama(SCALED, KEPT, model={"qkv_concat": True}, skew=2.0, arch="MixtralForCausalLM"),
    "deepseek2-1.4": telechat(DEEPSEEK2, DEEPSEEK2_LOSSES, release="1.4"),
    "mixtral-grouped": llama(GROUPED),
    "grouped-one-expert": llama(dict(GROUPED, num_experts_chosen=1), skew=0.3, alone=True),
    "grouped-safe-tokens": llama(dict(GROUPED, enable_gmm_safe_tokens=True), skew=2.0),
    "qwen2-57b": llama(QWEN2, model={"qkv_has_bias": True}),
    "telechat2": telechat(TELECHAT, TELECHAT_LOSSES),
    "telechat2-skewed": telechat(TELECHAT, TELECHAT_LOSSES, skew=2.0),
    "deepseek2": telechat(DEEPSEEK2, DEEPSEEK2_LOSSES),
    "deepseek3": llama(DEEPSEEK3, BALANCED, callbacks=BALANCE),
    "deepseek3-capacity": llama(dict(DEEPSEEK3, use_gmm=False, capacity_factor=1.0, **NOAUX), BALANCED, callbacks=BALANCE),
    "telechat2-rows": telechat(TELECHAT, dict(TELECHAT_LOSSES, rows=4), skew=2.0),
    "deepseek2-rows": telechat(DEEPSEEK2, dict(DEEPSEEK2_LOSSES, rows=2), skew=2.0),
    "grouped-rows": llama(GROUPED, {"rows": 4}),
    "qwen3": mcore(QWEN3),
    "qwen3-loss": mcore(QWEN3_LOSS, losses=(("expert", 0.01),)),
    "deepseek3-standard": mcore(STANDARD, "deepseek_v3", sigmoid=True),
}  # fmt: skip


def skew_parameters(case, values):
    """Makes one expert of each layer what most tokens want, if the case says so;
    biases are of the size of the scores' differences."""
    for name, value in values.items():
        if "topk_bias" in name or "expert_bias" in name:
            value[:] = numpy.linspace(-0.02, 0.02, value.size)
        elif name.endswith(("router.dense.weight", "router_dense.weight", "router.weight")):
            value *= 0.1 if case.alone else 1.0
            value[0, 0] += case.skew
        elif case.alone and name.endswith(("wo.weight", "ffn.w2.weight", "ffn.w2")):
            # So that layers add little to what tokens share.
            value *= 0.1
        elif "embedding" in name and case.skew:
            # A skewed router then sees this part in every token.
            value[:, 0] += (12 if case.alone else 4) * value.std()
    return values


def get_model(case):
    """The keys of model_config."""
    return case.model if case.is_mcore() else dict(training.MODEL, num_layers=2, **case.model)


def get_importing(case):
    """Options of the importer for the case's rows and release."""
    options = ["--router-rows=%d" % case.settings["rows"]] if "rows" in case.settings else []
    if case.release:
        options.append("--mindformers-release=" + case.release)
    return options


def compare(name, tools, data):
    case = CASES[name]
    model = get_model(case)
    mlir, step = tools.lower(
        name, model, importing=get_importing(case), micro_batches=MICRO_BATCHES, batch_size=BATCH, experts=case.experts,
        **case.options,
    )  # fmt: skip
    parameters = training.random_parameters(tools.parameters(mlir))
    # Routers that tell experts apart.
    parameters = skew_parameters(case, {name: value * (4 if "router" in name else 1) for name, value in parameters.items()})
    names = torch_decoder.MCORE if case.is_mcore() else torch_decoder.LLAMA
    reference = torch_decoder.Decoder(names, dict(model, experts=case.settings), parameters)
    # Biases of routers have no gradient.
    ours = (
        (loss, {key: value for key, value in gradients.items() if reference.params[key].requires_grad})
        for loss, gradients in torch_cases.run_steps(tools, name, step, data, STEPS, parameters)
    )
    expected = torch_cases.train(reference, torch_cases.read_batches(data, model["seq_length"], STEPS, BATCH, MICRO_BATCHES))
    # AdamW divides small gradients by their size, and their rounding errors with them: parameters of later steps are as far
    # apart as a few of their gradients.
    is_within = torch_cases.compare_steps(name, ours, expected, loss=1e-6, gradient=1e-5, later=1e-4)
    if case.alone:
        loads = [layer.last_load.max() for layer in reference.experts.values()]
        assert min(loads) == 1, "not all tokens go to one expert: %s" % loads
    return is_within


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare)
