//===- MinimumCut.cpp - Minimum cuts of small graphs ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/MinimumCut.h"
#include <algorithm>
#include <limits>

using namespace mf::planner;

static constexpr size_t source = 0, sink = 1;
/// Capacities in seconds below this count as zero.
static constexpr double nothing = 1e-15;

void FlowGraph::addEdge(size_t from, size_t to, double capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

bool FlowGraph::findLevels() {
  levels.assign(edgesOf.size(), -1);
  levels[source] = 0;
  std::vector<size_t> waiting = {source};
  for (size_t index = 0; index < waiting.size(); ++index) {
    const size_t node = waiting[index];
    for (const size_t edge : edgesOf[node]) {
      const Edge &to = edges[edge];
      if (to.capacity <= nothing || levels[to.to] >= 0)
        continue;
      levels[to.to] = levels[node] + 1;
      waiting.push_back(to.to);
    }
  }
  return levels[sink] >= 0;
}

double FlowGraph::push(size_t node, double amount) {
  if (node == sink)
    return amount;
  for (size_t &index = next[node]; index < edgesOf[node].size(); ++index) {
    const size_t number = edgesOf[node][index];
    const Edge edge = edges[number];
    if (edge.capacity <= nothing || levels[edge.to] != levels[node] + 1)
      continue;
    const double pushed = push(edge.to, std::min(amount, edge.capacity));
    if (pushed <= 0)
      continue;
    edges[number].capacity -= pushed;
    edges[number ^ 1].capacity += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> FlowGraph::cut() {
  while (findLevels()) {
    next.assign(edgesOf.size(), 0);
    while (push(source, std::numeric_limits<double>::infinity()) > 0) {
    }
  }
  std::vector<bool> isOfSource(edgesOf.size());
  for (size_t node = 0; node < isOfSource.size(); ++node)
    isOfSource[node] = levels[node] >= 0;
  return isOfSource;
}
