//===- ExpertNameTable.cpp - Names of routers and experts -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MindSpore Transformers: MoEV2, whose experts have a fixed capacity, MoEV3,
// whose experts are grouped (modules/transformer/moe.py, moev3.py), and
// parallel_core/training_graph/transformer/moe; Hugging Face: Mixtral,
// Qwen2-MoE, Qwen3-MoE, DeepSeek-V2 and V3.
//
//===----------------------------------------------------------------------===//

#include "NameSchemeSets.h"
#include "ParameterNameTable.h"

using namespace llvm;

namespace mf {

namespace {

using Part = ParameterPart;

constexpr ParameterPattern stacked(uint32_t schemes, const char *name,
                                   PartList parts) {
  return {schemes, name, parts, RowOrder::Contiguous, TensorForm::Stacked};
}
constexpr ParameterPattern stackedTransposed(uint32_t schemes, const char *name,
                                             PartList parts) {
  return {schemes, name, parts, RowOrder::Contiguous,
          TensorForm::StackedTransposed};
}

constexpr uint32_t hfExperts =
    in(NameScheme::HuggingFace) | hfQwen2Moe | hfDeepSeek;
constexpr uint32_t shared = sharedExperts | groupedSharedExperts;

constexpr ParameterPattern expertPatterns[] = {
    // Names of experts with a fixed capacity.
    {experts | concatenatedExperts,
     "model.layers.#.feed_forward.router.dense.weight", Part::Router},
    {experts | concatenatedExperts,
     "model.layers.#.feed_forward.router.router.topk_bias", Part::RouterBias},
    stacked(experts, "model.layers.#.feed_forward.ffn.w1.weight",
            Part::ExpertGate),
    stacked(experts, "model.layers.#.feed_forward.ffn.w3.weight",
            Part::ExpertUp),
    {concatenatedExperts,
     "model.layers.#.feed_forward.ffn.w_gate_hidden.weight",
     {Part::ExpertGate, Part::ExpertUp},
     RowOrder::Grouped,
     TensorForm::Stacked},
    stacked(experts | concatenatedExperts,
            "model.layers.#.feed_forward.ffn.w2.weight", Part::ExpertDown),
    {sharedExperts,
     "model.layers.#.feed_forward.routed_experts.router.dense.weight",
     Part::Router},
    {sharedExperts,
     "model.layers.#.feed_forward.routed_experts.router.router.topk_bias",
     Part::RouterBias},
    stacked(sharedExperts,
            "model.layers.#.feed_forward.routed_experts.ffn.w1.weight",
            Part::ExpertGate),
    stacked(sharedExperts,
            "model.layers.#.feed_forward.routed_experts.ffn.w3.weight",
            Part::ExpertUp),
    stacked(sharedExperts,
            "model.layers.#.feed_forward.routed_experts.ffn.w2.weight",
            Part::ExpertDown),
    // Names of grouped experts.
    {groupedExperts, "model.layers.#.feed_forward.router_dense.weight",
     Part::Router},
    {groupedExperts, "model.layers.#.feed_forward.topk_bias", Part::RouterBias},
    stackedTransposed(groupedExperts, "model.layers.#.feed_forward.ffn.w1",
                      {Part::ExpertGate, Part::ExpertUp}),
    stackedTransposed(groupedExperts, "model.layers.#.feed_forward.ffn.w2",
                      Part::ExpertDown),
    {groupedSharedExperts,
     "model.layers.#.feed_forward.routed_experts.router_dense.weight",
     Part::Router},
    {groupedSharedExperts,
     "model.layers.#.feed_forward.routed_experts.topk_bias", Part::RouterBias},
    stackedTransposed(groupedSharedExperts,
                      "model.layers.#.feed_forward.routed_experts.ffn.w1",
                      {Part::ExpertGate, Part::ExpertUp}),
    stackedTransposed(groupedSharedExperts,
                      "model.layers.#.feed_forward.routed_experts.ffn.w2",
                      Part::ExpertDown),
    // Names of shared experts, beside either kind of experts.
    {shared, "model.layers.#.feed_forward.shared_experts.w1.weight",
     Part::SharedGate},
    {shared, "model.layers.#.feed_forward.shared_experts.w3.weight",
     Part::SharedUp},
    {shared, "model.layers.#.feed_forward.shared_experts.w2.weight",
     Part::SharedDown},
    {shared, "model.layers.#.feed_forward.shared_experts_gate.weight",
     Part::SharedRouter},
    // Names of the mcore training graph.
    {mcore, "decoder.layers.#.mlp.router.weight", Part::Router},
    {mcore, "decoder.layers.#.mlp.router.expert_bias", Part::RouterBias},
    stackedTransposed(mcore, "decoder.layers.#.mlp.experts.weight1",
                      {Part::ExpertGate, Part::ExpertUp}),
    stackedTransposed(mcore, "decoder.layers.#.mlp.experts.weight2",
                      Part::ExpertDown),
    {mcore,
     "decoder.layers.#.mlp.shared_experts.linear_fc1.weight",
     {Part::SharedGate, Part::SharedUp}},
    {mcore, "decoder.layers.#.mlp.shared_experts.linear_fc2.weight",
     Part::SharedDown},
    {mcore, "decoder.layers.#.mlp.shared_experts.shared_experts_gate.weight",
     Part::SharedRouter},
    // Names of Hugging Face's Mixtral.
    {hfMixtral, "model.layers.#.block_sparse_moe.gate.weight", Part::Router},
    {hfMixtral, "model.layers.#.block_sparse_moe.experts.@.w1.weight",
     Part::ExpertGate},
    {hfMixtral, "model.layers.#.block_sparse_moe.experts.@.w3.weight",
     Part::ExpertUp},
    {hfMixtral, "model.layers.#.block_sparse_moe.experts.@.w2.weight",
     Part::ExpertDown},
    // Names of Hugging Face's other models.
    {hfExperts, "model.layers.#.mlp.gate.weight", Part::Router},
    {hfExperts, "model.layers.#.mlp.experts.@.gate_proj.weight",
     Part::ExpertGate},
    {hfExperts, "model.layers.#.mlp.experts.@.up_proj.weight", Part::ExpertUp},
    {hfExperts, "model.layers.#.mlp.experts.@.down_proj.weight",
     Part::ExpertDown},
    {hfDeepSeek, "model.layers.#.mlp.gate.e_score_correction_bias",
     Part::RouterBias},
    {hfDeepSeek, "model.layers.#.mlp.shared_experts.gate_proj.weight",
     Part::SharedGate},
    {hfDeepSeek, "model.layers.#.mlp.shared_experts.up_proj.weight",
     Part::SharedUp},
    {hfDeepSeek, "model.layers.#.mlp.shared_experts.down_proj.weight",
     Part::SharedDown},
    {hfQwen2Moe, "model.layers.#.mlp.shared_expert.gate_proj.weight",
     Part::SharedGate},
    {hfQwen2Moe, "model.layers.#.mlp.shared_expert.up_proj.weight",
     Part::SharedUp},
    {hfQwen2Moe, "model.layers.#.mlp.shared_expert.down_proj.weight",
     Part::SharedDown},
    {hfQwen2Moe, "model.layers.#.mlp.shared_expert_gate.weight",
     Part::SharedRouter},
};

} // namespace

ArrayRef<ParameterPattern> getExpertPatterns() { return expertPatterns; }

} // namespace mf
