//===- RecomputePlan.cpp - Operators that backward runs again -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/recompute/RecomputePlan.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

/// Finds the values that are read by backward, or by an operator that runs
/// again there. Users follow producers, so a single walk from the end sees
/// every use before the producer.
static std::vector<bool> findNeeded(llvm::ArrayRef<ForwardOperator> operators) {
  std::vector<bool> needed(operators.size());
  for (int64_t index = static_cast<int64_t>(operators.size()) - 1; index >= 0;
       --index) {
    const ForwardOperator &op = operators[index];
    needed[index] = needed[index] || op.isReadByBackward;
    if (needed[index] && !op.savedBytes && (op.isMarked || op.isFree))
      for (int64_t producer : op.producers)
        needed[producer] = true;
  }
  return needed;
}

RecomputePlan planRecompute(llvm::ArrayRef<ForwardOperator> operators) {
  std::vector<bool> needed = findNeeded(operators);
  std::vector<bool> cloned(operators.size()), read(operators.size());
  RecomputePlan plan;
  for (size_t index = 0; index < operators.size(); ++index) {
    const ForwardOperator &op = operators[index];
    // A free operator is cloned if one of its producers is.
    cloned[index] =
        needed[index] &&
        (op.isFree
             ? llvm::any_of(op.producers, [&](int64_t p) { return cloned[p]; })
             : op.isMarked);
    if (!cloned[index])
      continue;
    plan.clones.push_back(static_cast<int64_t>(index));
    if (op.savedBytes) {
      plan.droppedBytes += op.readBytes;
      continue;
    }
    for (int64_t producer : op.producers)
      read[producer] = true;
    if (op.isFree)
      continue;
    plan.flops += op.flops;
    plan.droppedBytes += op.readBytes;
  }
  for (size_t index = 0; index < operators.size(); ++index)
    if (read[index] && !cloned[index] && !operators[index].isFree)
      plan.kept.push_back(static_cast<int64_t>(index));
  return plan;
}

void RecomputePlan::print(llvm::ArrayRef<ForwardOperator> operators,
                          llvm::raw_ostream &os) const {
  os << "recompute plan: " << clones.size() << " operators run again, "
     << droppedBytes << " bytes not kept, " << flops << " flops more\n";
  for (int64_t index : clones)
    if (std::optional<int64_t> bytes = operators[index].savedBytes)
      os << "  keep " << *bytes << " bytes of " << operators[index].name
         << "\n";
    else
      os << "  clone " << operators[index].name << "\n";
  for (int64_t index : kept)
    os << "  keep " << operators[index].name << "\n";
}

} // namespace mf::passes
