//===- OverlapPlan.cpp - Order of operators around collectives ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/overlap/OverlapPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mf::passes {

namespace {

class CopyScheduler {
public:
  explicit CopyScheduler(ArrayRef<OrderedOperator> operators)
      : operators(operators), position(operators.size(), -1),
        isPending(operators.size(), false) {}

  OverlapPlan run();

private:
  bool isDone(int64_t op) const { return position[op] >= 0; }
  bool isReady(int64_t op) const;
  /// Returns the last pending collective that `op` reads; -1 for none.
  int64_t findAwaited(int64_t op) const;
  int64_t choose() const;
  void schedule(int64_t op);
  void awaitUpTo(int64_t collective);

  ArrayRef<OrderedOperator> operators;
  /// The position of an operator in the new order; -1 if it has none yet.
  std::vector<int64_t> position;
  std::vector<bool> isPending;
  /// Pending collectives in the order in which they began.
  std::vector<int64_t> pending;
  /// All operators before this index are done.
  int64_t head = 0;
  OverlapPlan plan;
};

} // namespace

/// An operator that depends on parameters alone is scheduled together with its
/// reader.
bool CopyScheduler::isReady(int64_t op) const {
  return all_of(operators[op].producers, [&](int64_t producer) {
    return isDone(producer) || operators[producer].isConstant;
  });
}

int64_t CopyScheduler::findAwaited(int64_t op) const {
  int64_t last = -1;
  for (int64_t producer : operators[op].producers)
    if (isPending[producer] &&
        (last < 0 || position[producer] > position[last]))
      last = producer;
  return last;
}

int64_t CopyScheduler::choose() const {
  int64_t best = -1, bestAwaited = -1;
  for (int64_t op = head; op < static_cast<int64_t>(operators.size()); ++op) {
    if (isDone(op) || operators[op].isConstant || !isReady(op))
      continue;
    int64_t awaited = findAwaited(op);
    if (awaited < 0)
      return op;
    if (best < 0 || position[awaited] < position[bestAwaited]) {
      best = op;
      bestAwaited = awaited;
    }
  }
  return best;
}

/// Marks a collective as complete, with all that started before it.
void CopyScheduler::awaitUpTo(int64_t collective) {
  while (isPending[collective]) {
    isPending[pending.front()] = false;
    plan.distance +=
        static_cast<int64_t>(plan.order.size()) - position[pending.front()] - 1;
    pending.erase(pending.begin());
  }
}

void CopyScheduler::schedule(int64_t op) {
  for (int64_t producer : operators[op].producers)
    if (!isDone(producer))
      schedule(producer);
  int64_t awaited = findAwaited(op);
  if (awaited >= 0)
    awaitUpTo(awaited);
  position[op] = static_cast<int64_t>(plan.order.size());
  plan.order.push_back(op);
  // A collective on constants is not pending, because all copies read it.
  if (operators[op].communicates && !operators[op].isConstant) {
    isPending[op] = true;
    pending.push_back(op);
  }
}

OverlapPlan CopyScheduler::run() {
  auto count = static_cast<int64_t>(operators.size());
  while (true) {
    // Operators on parameters stay with the operator that follows them.
    for (; head < count && (isDone(head) || operators[head].isConstant); ++head)
      if (!isDone(head))
        schedule(head);
    if (head == count)
      return std::move(plan);
    schedule(choose());
  }
}

OverlapPlan planOverlap(ArrayRef<OrderedOperator> operators) {
  return CopyScheduler(operators).run();
}

void OverlapPlan::print(ArrayRef<OrderedOperator> operators,
                        raw_ostream &os) const {
  for (int64_t op : order) {
    os << "  " << operators[op].name;
    if (operators[op].communicates)
      os << " communicates";
    os << '\n';
  }
}

} // namespace mf::passes
