//===- PlannerTesting.cpp - Pipelines that tests share --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlannerTesting.h"
#include "mf/Pipeline/Policy.h"

namespace mf::planner {

PlanContext makeContext(const std::vector<size_t> &kinds, int64_t stages,
                        int64_t chunksPerStage) {
  constexpr int64_t microBatches = 8;
  PlanContext context;
  const schedule::Policy &policy = *llvm::cantFail(
      schedule::findPolicy(chunksPerStage > 1 ? "interleaved" : "1f1b"));
  context.schedule = llvm::cantFail(schedule::buildSchedule(
      policy, policy.place(stages, chunksPerStage, microBatches)));
  for (size_t layer = 0; layer < kinds.size(); ++layer)
    context.layers.push_back({"layers." + std::to_string(layer), kinds[layer]});
  return context;
}

std::vector<LayerTreatment> makeFourTreatments(size_t numKinds) {
  LayerTreatment swap = makeNoTreatment(numKinds);
  swap.name = "swap";
  swap.prefetch = 3;
  LayerTreatment full = makeNoTreatment(numKinds);
  full.name = "full";
  full.isFull = true;
  LayerTreatment select = makeNoTreatment(numKinds);
  select.name = "select";
  for (size_t kind = 0; kind < numKinds; ++kind) {
    select.operators[kind] = {"feed_forward.mul", "feed_forward.silu",
                              "ffn_norm"};
    select.communication[kind] = {"attention.wo.matmul"};
  }
  return {swap, full, select, makeNoTreatment(numKinds)};
}

} // namespace mf::planner
