//===- IssuePlan.cpp - Issue times of collectives on parameters -----------===//

#include "passes/lower/IssuePlan.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <deque>

namespace mf::passes {

namespace {

class IssuePlanner {
public:
  IssuePlanner(llvm::ArrayRef<PlannedOperator> operators, int64_t inFlight)
      : operators(operators), inFlight(inFlight), isPlaced(operators.size()),
        isInTail(operators.size()) {
    for (auto [index, op] : llvm::enumerate(operators)) {
      if (op.isGather)
        gathers.push_back(static_cast<int64_t>(index));
      plan.numReductions += op.isReduction;
      for (int64_t member : op.tail)
        isInTail[member] = true;
    }
    plan.numGathers = static_cast<int64_t>(gathers.size());
  }

  IssuePlan run();

private:
  void place(int64_t index);
  void placeGathers(int64_t count);
  void complete(int64_t reduction);

  llvm::ArrayRef<PlannedOperator> operators;
  int64_t inFlight;
  std::vector<bool> isPlaced, isInTail;
  std::vector<int64_t> gathers;
  int64_t numPlacedGathers = 0;
  std::deque<int64_t> reductions;
  IssuePlan plan;
};

} // namespace

/// Operators that produce its operands are placed first, if they are not placed
/// yet.
void IssuePlanner::place(int64_t index) {
  llvm::SmallVector<int64_t> stack = {index};
  while (!stack.empty()) {
    const int64_t top = stack.back();
    const size_t before = stack.size();
    if (!isPlaced[top])
      for (int64_t producer : operators[top].producers)
        if (!isPlaced[producer])
          stack.push_back(producer);
    if (stack.size() > before)
      continue;
    stack.pop_back();
    if (isPlaced[top])
      continue;
    isPlaced[top] = true;
    plan.steps.push_back({PlannedStep::Kind::Operator, top});
  }
}

void IssuePlanner::placeGathers(int64_t count) {
  count = std::min(count, plan.numGathers);
  for (; numPlacedGathers < count; ++numPlacedGathers)
    place(gathers[numPlacedGathers]);
}

void IssuePlanner::complete(int64_t reduction) {
  plan.steps.push_back({PlannedStep::Kind::Completion, reduction});
  for (int64_t member : operators[reduction].tail)
    place(member);
}

IssuePlan IssuePlanner::run() {
  placeGathers(inFlight);
  int64_t numReached = 0;
  for (int64_t index = 0; index < static_cast<int64_t>(operators.size());
       ++index) {
    if (isInTail[index])
      continue;
    if (operators[index].isGather)
      placeGathers(++numReached + inFlight);
    place(index);
    if (!operators[index].isReduction)
      continue;
    reductions.push_back(index);
    if (static_cast<int64_t>(reductions.size()) > inFlight) {
      complete(reductions.front());
      reductions.pop_front();
    }
  }
  for (int64_t reduction : reductions)
    complete(reduction);
  return std::move(plan);
}

IssuePlan planIssue(llvm::ArrayRef<PlannedOperator> operators,
                    int64_t inFlight) {
  return IssuePlanner(operators, inFlight).run();
}

void IssuePlan::print(llvm::raw_ostream &os) const {
  for (const PlannedStep &step : steps)
    os << (step.kind == PlannedStep::Kind::Operator ? "operator "
                                                    : "completion of ")
       << step.index << '\n';
}

} // namespace mf::passes
