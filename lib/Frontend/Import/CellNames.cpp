//===- CellNames.cpp - Names that a layer's Cells register ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Import/CellNames.h"

namespace mf {

FactSet getFacts(const ModelSpec &spec, bool hasExperts) {
  FactSet facts = getFamily(spec.family).facts;
  facts.set(Fact::Heads, !spec.latent && !spec.hybrid);
  facts.set(Fact::Hybrid, spec.hybrid.has_value());
  facts.set(Fact::FusedHybrid, spec.hybrid && spec.hybrid->isFused);
  facts.set(Fact::QueryKeyValue,
            spec.projections == ProjectionLayout::QueryKeyValue);
  facts.set(Fact::QueryKeyValueBias, spec.queryKeyValueBias);
  facts.set(Fact::OutputBias, spec.attentionOutputBias);
  facts.set(Fact::HeadNorms, spec.normalizesQueryKey);
  facts.set(Fact::Alibi, spec.usesAlibi);
  facts.set(Fact::Rotary, spec.rotary.size != 0);
  facts.set(Fact::FusedRotary, spec.fusions.rotary.isOn);
  facts.set(Fact::Flash, spec.usesFlashAttention);
  facts.set(Fact::DownBias, spec.feedForwardOutputBias);
  facts.set(Fact::FastGelu, spec.activation == Activation::FastGelu);
  facts.set(Fact::Streams, spec.streams.has_value());
  facts.set(Fact::FusedStreams, spec.streams && spec.streams->isFused);
  if (spec.latent) {
    facts.set(Fact::Latent, true);
    facts.set(Fact::LatentQuery, spec.latent->queryRank.has_value());
    facts.set(Fact::LatentNorms, spec.latent->hasNorms);
    facts.set(Fact::DownTogether,
              spec.latent->layout == LatentLayout::DownTogether);
  }
  if (!hasExperts) {
    facts.set(Fact::GateUp, spec.concatenatesFeedForward);
    facts.set(Fact::FusedSwiglu, spec.fusions.swiglu.isOn);
    facts.set(Fact::ActivationMultiplies, spec.activationMultiplies);
    return facts;
  }
  const ExpertSpec &experts = *spec.experts;
  facts.set(Fact::Experts, true);
  facts.set(Fact::Dropless, experts.dropless.has_value());
  facts.set(Fact::Shared, experts.sharedWidth > 0);
  facts.set(Fact::SharedGate, experts.gatesShared);
  facts.set(Fact::RouterBias, experts.router.bias || experts.router.groups);
  facts.set(Fact::SafeTokens, experts.dropless && experts.dropless->safeTokens);
  facts.set(Fact::GateUp,
            experts.capacity && experts.capacity->gateUpBlocks > 0);
  facts.set(Fact::FusedSwiglu, experts.fusions.swiglu);
  facts.set(Fact::ActivationMultiplies, experts.fusions.swiglu);
  return facts;
}

std::vector<std::string> getCellNames(const ModelSpec &spec, bool hasExperts) {
  return listCellNames(getFamily(spec.family).cells.layer,
                       getFacts(spec, hasExperts));
}

/// Returns the names in the Cell that joins hidden states and embeddings: a
/// layer of its own, or the outer Cell of the layer that follows.
std::vector<std::string> getNextTokenCellNames(const ModelSpec &spec) {
  FactSet facts = getFacts(spec, spec.hasExperts(spec.numLayers - 1));
  facts.set(Fact::JoinsNext, getFamily(spec.family).joinsAfterNorm);
  return listCellNames(getFamily(spec.family).cells.join, facts);
}

} // namespace mf
