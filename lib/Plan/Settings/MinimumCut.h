//===- MinimumCut.h - Minimum cuts of small graphs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_MINIMUMCUT_H
#define MF_LIB_PLAN_SETTINGS_MINIMUMCUT_H

#include <cstddef>
#include <vector>

namespace mf::planner {

/// A directed graph with capacities, cut into the side of the source and that
/// of the sink (Dinic's algorithm).
class FlowGraph {
public:
  /// Makes a graph without edges. Node 0 is the source, node 1 the sink.
  explicit FlowGraph(size_t numNodes) : edgesOf(numNodes) {}

  void addEdge(size_t from, size_t to, double capacity);

  /// Returns for each node whether it is on the source side of the minimum cut
  /// with the fewest nodes on that side.
  std::vector<bool> cut();

private:
  struct Edge {
    size_t to = 0;
    double capacity = 0;
  };
  /// Each edge is followed by its reverse.
  std::vector<Edge> edges;
  std::vector<std::vector<size_t>> edgesOf;
  std::vector<int> levels;
  std::vector<size_t> next;

  bool findLevels();
  double push(size_t node, double amount);
};

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_MINIMUMCUT_H
