//===- IssuePlan.cpp - Issue times of collectives on parameters -----------===//
// SPDX-License-Identifier: Apache-2.0

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
    countAhead();
  }

  IssuePlan run() {
    if (gathers.empty() || !operators[gathers.front()].unit)
      placeGathers(inFlight);
    size_t numReached = 0;
    for (int64_t index = 0; index < static_cast<int64_t>(operators.size());
         ++index) {
      if (isInTail[index])
        continue;
      if (operators[index].isGather)
        placeGathers(ahead[numReached++]);
      place(index);
      if (operators[index].isReduction)
        addReduction(index);
    }
    for (const Reduction &reduction : reductions)
      complete(reduction.index);
    return std::move(plan);
  }

private:
  /// Gathers of one unit follow one another.
  void countAhead() {
    const auto count = static_cast<int64_t>(gathers.size());
    ahead.resize(gathers.size());
    // The end of the unit of a gather, and the end of the unit after it.
    int64_t end = count, nextEnd = count;
    for (int64_t i = count; i-- > 0;) {
      const std::optional<int64_t> unit = operators[gathers[i]].unit;
      const bool endsRun =
          i + 1 < count && unit != operators[gathers[i + 1]].unit;
      if (endsRun) {
        nextEnd = end;
        end = i + 1;
      }
      if (unit && (i == 0 || unit != operators[gathers[i - 1]].unit))
        ++plan.numUnits;
      ahead[i] = unit && inFlight > 0 ? nextEnd : i + 1 + inFlight;
    }
  }

  /// Operators that produce its operands are placed first, if they are not
  /// placed yet.
  void place(int64_t index) {
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
      plan.items.push_back({PlannedItem::Kind::Operator, top});
    }
  }

  void placeGathers(int64_t count) {
    count = std::min(count, plan.numGathers);
    for (; numPlacedGathers < count; ++numPlacedGathers)
      place(gathers[numPlacedGathers]);
  }

  void complete(int64_t reduction) {
    plan.items.push_back({PlannedItem::Kind::Completion, reduction});
    for (int64_t member : operators[reduction].tail)
      place(member);
  }

  void addReduction(int64_t index) {
    const std::optional<int64_t> unit = operators[index].unit;
    if (!unit || unit != lastUnit)
      ++lastRun;
    lastUnit = unit;
    reductions.push_back({index, lastRun});
    // The reductions of the previous unit run while those of this unit are
    // issued.
    constexpr int64_t runsUnderWay = 2;
    auto mustEnd = [&](const Reduction &first) {
      return unit && inFlight > 0
                 ? first.run <= lastRun - runsUnderWay
                 : static_cast<int64_t>(reductions.size()) > inFlight;
    };
    while (!reductions.empty() && mustEnd(reductions.front())) {
      complete(reductions.front().index);
      reductions.pop_front();
    }
  }

  llvm::ArrayRef<PlannedOperator> operators;
  int64_t inFlight;
  std::vector<bool> isPlaced, isInTail;
  std::vector<int64_t> gathers;
  /// For each gather, the number of gathers that are issued when it is reached.
  std::vector<int64_t> ahead;
  int64_t numPlacedGathers = 0;
  struct Reduction {
    int64_t index = 0;
    /// The number of the unit's consecutive reductions to which it belongs.
    int64_t run = 0;
  };
  std::deque<Reduction> reductions;
  std::optional<int64_t> lastUnit;
  int64_t lastRun = 0;
  IssuePlan plan;
};

} // namespace

IssuePlan planIssue(llvm::ArrayRef<PlannedOperator> operators,
                    int64_t inFlight) {
  return IssuePlanner(operators, inFlight).run();
}

} // namespace mf::passes
