//===- WaitGraph.h - What waits for what ----------------------*- C++ -*-===//

#ifndef MF_LIB_SCHEDULE_WAITGRAPH_H
#define MF_LIB_SCHEDULE_WAITGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace mf::schedule {

/// A graph of nodes 0 to N-1, where an edge says that its second node waits for
/// its first.
class WaitGraph {
public:
  explicit WaitGraph(int64_t numNodes)
      : firstSuccessor(numNodes + 1, 0), numInputs(numNodes, 0) {}

  int64_t size() const { return numInputs.size(); }
  void addEdge(int64_t first, int64_t second) {
    edges.emplace_back(first, second);
  }

  /// Call it once all edges are there, before what follows.
  void index();
  llvm::ArrayRef<int64_t> getSuccessors(int64_t node) const {
    return llvm::ArrayRef(successors)
        .slice(firstSuccessor[node],
               firstSuccessor[node + 1] - firstSuccessor[node]);
  }
  /// For how many edges each node waits.
  llvm::ArrayRef<int32_t> getNumInputs() const { return numInputs; }
  /// Calls `visit` with every node behind those that it waits for, except the
  /// nodes that wait for a cycle.
  void walk(llvm::function_ref<void(int64_t)> visit) const;
  /// Nodes of a cycle, each of which waits for the next and the last for the
  /// first; empty if there is none.
  std::vector<int64_t> findCycle() const;

private:
  std::vector<std::pair<int64_t, int64_t>> edges;
  /// By node: where its successors start among `successors`.
  std::vector<int64_t> firstSuccessor;
  std::vector<int64_t> successors;
  std::vector<int32_t> numInputs;
};

} // namespace mf::schedule

#endif // MF_LIB_SCHEDULE_WAITGRAPH_H
