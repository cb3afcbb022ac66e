//===- GPipe.cpp - All forwards, then all backwards -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Huang et al., GPipe, 2018. Backwards run in ascending order of micro-batches
// here, as in all schedules, so that gradients add up in one order.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::schedule {

namespace {

class GPipe : public Policy {
public:
  llvm::StringRef getName() const override { return "gpipe"; }
  llvm::StringRef getSummary() const override {
    return "all forwards, then all backwards";
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    std::vector<Task> tasks;
    for (int32_t chunk : rules.getChunks())
      append(tasks, Phase::Forward, chunk, 0,
             static_cast<int32_t>(pipeline.microBatches));
    for (int32_t chunk : llvm::reverse(rules.getChunks()))
      append(tasks, Phase::Backward, chunk, 0,
             static_cast<int32_t>(pipeline.microBatches));
    rules.addOrder(tasks);
  }
};

} // namespace

const Policy *getGPipe() {
  static const GPipe policy;
  return &policy;
}

} // namespace mf::schedule
