//===- ExpertKeyTrials.h - Keys of experts and what they change -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Trials of KnownKeysTest for moe_config, which matters to models with experts
// alone.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_PASSES_EXPERTKEYTRIALS_H
#define MF_TEST_UNIT_PASSES_EXPERTKEYTRIALS_H

#define TELECHAT                                                               \
  "model: {arch: {type: TelechatForCausalLM}, model_config: {type: "           \
  "TelechatConfig, seq_length: 16, hidden_size: 32, num_layers: 1, "           \
  "num_heads: 4, vocab_size: 64, use_flash_attention: True}}\n"
#define EXPERTS "moe_config: {expert_num: 4, num_experts_chosen: 2, "
#define CAPACITY EXPERTS "routing_policy: TopkRouterV2, "
#define DROPLESS EXPERTS "use_gmm: True, "
#define LOSSES TELECHAT CAPACITY "aux_loss_types: [expert], "

const Trial expertTrials[] = {
    {moeSection, "expert_num", "4", "8",
     "moe_config: {use_gmm: True, num_experts_chosen: 2, expert_num: %}"},
    {moeSection, "num_experts_chosen", "2", "3",
     "moe_config: {use_gmm: True, expert_num: 4, num_experts_chosen: %}"},
    {moeSection, "capacity_factor", "1.0", "2.0",
     CAPACITY "capacity_factor: %}"},
    {moeSection, "aux_loss_factor", "0.05", "0.1",
     CAPACITY "aux_loss_factor: %}"},
    {moeSection, "aux_loss_factors", "[0.1]", "[0.2]",
     LOSSES "aux_loss_factors: %}"},
    {moeSection, "aux_loss_types", "[expert]", "[comm]",
     TELECHAT CAPACITY "aux_loss_factors: [0.1], aux_loss_types: %}"},
    {moeSection, "z_loss_factor", "0.1", "0.2",
     TELECHAT CAPACITY "z_loss_factor: %}"},
    {moeSection, "routing_policy", "TopkRouterV2", "TopkRouterV1",
     EXPERTS "routing_policy: %}"},
    {moeSection, "enable_sdrop", "True", "False", CAPACITY "enable_sdrop: %}"},
    {moeSection, "use_fused_ops_topkrouter", "True", "False",
     CAPACITY "max_router_load: 1, use_fused_ops_topkrouter: %}"},
    {moeSection, "use_fused_ops_permute", "True", "False",
     CAPACITY "use_fused_ops_permute: %}"},
    {moeSection, "shared_expert_num", "1", "2",
     CAPACITY "shared_expert_num: %}"},
    {moeSection, "use_shared_expert_gating", "True", "False",
     CAPACITY "shared_expert_num: 1, use_shared_expert_gating: %}"},
    {moeSection, "router_dense_type", "float32", "bfloat16",
     CAPACITY "router_dense_type: %}"},
    {moeSection, "norm_topk_prob", "True", "False",
     CAPACITY "norm_topk_prob: %}"},
    {moeSection, "first_k_dense_replace", "True", "2",
     CAPACITY "first_k_dense_replace: %}"},
    {moeSection, "moe_intermediate_size", "1407", "2048",
     CAPACITY "moe_intermediate_size: %}"},
    {moeSection, "routed_scaling_factor", "1.5", "2.5",
     CAPACITY "routed_scaling_factor: %}"},
    {moeSection, "n_group", "2", "4",
     CAPACITY "topk_method: group_limited_greedy, topk_group: 1, n_group: %}"},
    {moeSection, "topk_group", "1", "2",
     CAPACITY "topk_method: group_limited_greedy, n_group: 2, topk_group: %}"},
    {moeSection, "topk_method", "noaux_tc", "greedy",
     CAPACITY "n_group: 2, topk_group: 1, topk_method: %}"},
    {moeSection, "balance_via_topk_bias", "True", "False",
     CAPACITY "balance_via_topk_bias: %}"},
    {moeSection, "topk_bias_update_rate", "0.0", "0.1",
     CAPACITY "topk_bias_update_rate: %}"},
    {moeSection, "expert_group_size", "2", "4",
     TELECHAT CAPACITY "aux_loss_types: [device], aux_loss_factors: [0.1], "
                       "expert_group_size: %}"},
    {moeSection, "expert_model_parallel", "1", "2",
     "parallel_config: {model_parallel: 2, use_seq_parallel: True}\n" CAPACITY
     "expert_model_parallel: %}"},
    {moeSection, "use_gmm", "True", "False", CAPACITY "use_gmm: %}"},
    {moeSection, "use_gating_sigmoid", "True", "False",
     CAPACITY "use_gating_sigmoid: %}"},
    {moeSection, "enable_gmm_safe_tokens", "True", "False",
     DROPLESS "enable_gmm_safe_tokens: %}"},
    {moeSection, "callback_moe_droprate", "True", "False",
     LOSSES "aux_loss_factors: [0.1], callback_moe_droprate: %}"},
    {moeSection, "comp_comm_parallel", "True", "False",
     CAPACITY "comp_comm_parallel_degree: 3, comp_comm_parallel: %}"},
    {moeSection, "comp_comm_parallel_degree", "3", "5",
     CAPACITY "comp_comm_parallel: True, comp_comm_parallel_degree: %}"},
    {moeSection, "ep_extend_tp", "True", "False", CAPACITY "ep_extend_tp: %}"},
    {moeSection, "max_router_load", "8", "64", CAPACITY "max_router_load: %}"},
    {moeSection, "enable_deredundency", "True", "False",
     DROPLESS "enable_deredundency: %}"},
    {moeSection, "npu_nums_per_device", "1", "8",
     CAPACITY "npu_nums_per_device: %}"},
};

#undef TELECHAT
#undef EXPERTS
#undef CAPACITY
#undef DROPLESS
#undef LOSSES

#endif // MF_TEST_UNIT_PASSES_EXPERTKEYTRIALS_H
