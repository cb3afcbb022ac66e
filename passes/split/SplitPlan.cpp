//===- SplitPlan.cpp - Chooses the half of backward -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/split/SplitPlan.h"

namespace mf::passes {

namespace {

/// Tracks where an operator's results lead to: nowhere, to a single result of
/// the chunk, or to a reason to keep the operator in the first half.
class Reach {
public:
  void add(int64_t result, bool isHidden) {
    isNeededFirst |= isHidden || (hasResult && result != single);
    single = result;
    hasResult = true;
  }
  void add(const Reach &user) {
    if (user.hasResult)
      add(user.single, user.isNeededFirst);
  }
  bool mayWait() const { return !isNeededFirst; }

private:
  int64_t single = 0;
  bool hasResult = false, isNeededFirst = false;
};

} // namespace

std::vector<bool> planWeightHalf(llvm::ArrayRef<BackwardOperator> operators,
                                 int64_t numHiddenInputs) {
  std::vector<Reach> reaches(operators.size());
  std::vector<bool> waits(operators.size());
  for (size_t index = operators.size(); index-- > 0;) {
    Reach &reach = reaches[index];
    // Gradients of parameters are only distinguished in a chunk without hidden
    // inputs.
    for (int64_t result : operators[index].returned)
      reach.add(numHiddenInputs > 0 ? 0 : result, result < numHiddenInputs);
    waits[index] = reach.mayWait();
    for (int64_t producer : operators[index].producers)
      reaches[producer].add(reach);
  }
  return waits;
}

} // namespace mf::passes
