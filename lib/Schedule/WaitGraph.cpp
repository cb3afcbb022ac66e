//===- WaitGraph.cpp - What waits for what --------------------------------===//

#include "WaitGraph.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::schedule {

void WaitGraph::index() {
  for (auto [first, second] : edges) {
    ++firstSuccessor[first + 1];
    ++numInputs[second];
  }
  for (int64_t node = 0; node < size(); ++node)
    firstSuccessor[node + 1] += firstSuccessor[node];
  std::vector<int64_t> next(firstSuccessor.begin(), firstSuccessor.end() - 1);
  successors.resize(edges.size());
  for (auto [first, second] : edges)
    successors[next[first]++] = second;
}

void WaitGraph::walk(llvm::function_ref<void(int64_t)> visit) const {
  std::vector<int32_t> waitsFor = numInputs;
  std::vector<int64_t> free;
  free.reserve(size());
  for (int64_t node = 0; node < size(); ++node)
    if (waitsFor[node] == 0)
      free.push_back(node);
  // `free` grows while it is walked.
  for (size_t position = 0; position < free.size(); ++position) {
    visit(free[position]);
    for (int64_t successor : getSuccessors(free[position]))
      if (--waitsFor[successor] == 0)
        free.push_back(successor);
  }
}

std::vector<int64_t> WaitGraph::findCycle() const {
  std::vector<bool> isLeft(size(), true);
  walk([&](int64_t node) { isLeft[node] = false; });
  // Every node that is left waits for one that is left: going back along these
  // ends in a cycle.
  std::vector<int64_t> blocker(size(), -1);
  for (auto [first, second] : edges)
    if (isLeft[first])
      blocker[second] = first;
  auto left = llvm::find(isLeft, true);
  if (left == isLeft.end())
    return {};
  int64_t node = left - isLeft.begin();
  for (int64_t step = 0; step < size(); ++step)
    node = blocker[node];
  std::vector<int64_t> cycle = {node};
  for (int64_t next = blocker[node]; next != node; next = blocker[next])
    cycle.push_back(next);
  return cycle;
}

} // namespace mf::schedule
