//===- RecomputeCut.cpp - Chooses operators of a layer to recompute -------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/RecomputeCut.h"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

using namespace mf;
using namespace mf::planner;

static constexpr size_t source = 0, sink = 1;

/// Capacities in seconds below this count as zero.
static constexpr double nothing = 1e-15;

namespace {

/// A directed graph with capacities, cut into the side of the source and that
/// of the sink (Dinic's algorithm).
class FlowGraph {
public:
  /// Makes a graph without edges. Node 0 is the source, node 1 the sink.
  explicit FlowGraph(size_t numNodes) : edgesOf(numNodes) {}

  void addEdge(size_t from, size_t to, double capacity) {
    edgesOf[from].push_back(edges.size());
    edges.push_back({to, capacity});
    edgesOf[to].push_back(edges.size());
    edges.push_back({from, 0});
  }

  /// Returns for each node whether it is on the source side of the minimum cut
  /// with the fewest nodes on that side.
  std::vector<bool> cut() {
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

  bool findLevels() {
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

  double push(size_t node, double amount) {
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
};

/// The nodes of the cut: two for each value, for its form in forward and in
/// backward, and one for each operator. Nodes on the sink side are computed in
/// backward. A value whose first node is on the source side is kept.
class CutNodes {
public:
  explicit CutNodes(const LayerGraph &graph) : graph(graph) {}

  size_t getMade(size_t value) const { return 2 + 2 * value; }
  size_t getThere(size_t value) const { return 3 + 2 * value; }
  size_t getOperator(size_t index) const {
    return 2 + 2 * graph.values.size() + index;
  }
  size_t getCount() const { return getOperator(graph.operators.size()); }

private:
  const LayerGraph &graph;
};

} // namespace

static constexpr double infinite = std::numeric_limits<double>::infinity();

/// Puts the operators of a module on one side of the cut.
static void bindModules(const LayerGraph &graph, const CutNodes &nodes,
                        FlowGraph &flow) {
  std::map<std::string, size_t> firstOf;
  for (size_t index = 0; index < graph.operators.size(); ++index) {
    const std::string &module = graph.operators[index].module;
    if (module.empty())
      continue;
    const size_t first = firstOf.try_emplace(module, index).first->second;
    if (first == index)
      continue;
    flow.addEdge(nodes.getOperator(first), nodes.getOperator(index), infinite);
    flow.addEdge(nodes.getOperator(index), nodes.getOperator(first), infinite);
  }
}

RecomputeChoice planner::chooseRecompute(const LayerGraph &graph,
                                         double secondsPerByte) {
  const CutNodes nodes(graph);
  FlowGraph flow(nodes.getCount());
  for (size_t index = 0; index < graph.values.size(); ++index) {
    const LayerGraph::Value &value = graph.values[index];
    if (value.isFree)
      continue;
    flow.addEdge(nodes.getMade(index), nodes.getThere(index),
                 secondsPerByte * static_cast<double>(value.bytes));
    if (value.producers.empty())
      flow.addEdge(0, nodes.getMade(index), infinite);
    for (const size_t producer : value.producers)
      flow.addEdge(nodes.getOperator(producer), nodes.getMade(index), infinite);
    if (value.isNeeded)
      flow.addEdge(nodes.getThere(index), 1, infinite);
  }
  for (size_t index = 0; index < graph.operators.size(); ++index) {
    const LayerGraph::Operator &op = graph.operators[index];
    flow.addEdge(0, nodes.getOperator(index),
                 op.mayRepeat ? op.seconds : infinite);
    for (const size_t input : op.inputs)
      if (!graph.values[input].isFree)
        flow.addEdge(nodes.getThere(input), nodes.getOperator(index), infinite);
  }
  bindModules(graph, nodes, flow);
  const std::vector<bool> isOfSource = flow.cut();
  RecomputeChoice choice;
  choice.secondsPerByte = secondsPerByte;
  for (size_t index = 0; index < graph.operators.size(); ++index) {
    const bool isRepeated = !isOfSource[nodes.getOperator(index)];
    choice.isRepeated.push_back(isRepeated);
    if (isRepeated)
      choice.seconds += graph.operators[index].seconds;
  }
  for (size_t index = 0; index < graph.values.size(); ++index)
    if (!graph.values[index].isFree && isOfSource[nodes.getMade(index)] &&
        !isOfSource[nodes.getThere(index)])
      choice.keptBytes += graph.values[index].bytes;
  return choice;
}

/// Spreads the choices evenly over kept bytes. If there are more than `count`,
/// those with the nearest neighbours are removed first. The first and the last
/// stay.
static void spread(std::vector<RecomputeChoice> &choices, size_t count) {
  while (choices.size() > std::max<size_t>(count, 2)) {
    size_t nearest = 1;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t index = 1; index + 1 < choices.size(); ++index) {
      const int64_t span =
          choices[index - 1].keptBytes - choices[index + 1].keptBytes;
      if (span < least) {
        least = span;
        nearest = index;
      }
    }
    choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(nearest));
  }
}

std::vector<RecomputeChoice> planner::findChoices(const LayerGraph &graph,
                                                  size_t count) {
  // The prices range from one at which nothing is worth recomputing to one at
  // which everything is: 1 s buys a PiB, and a MiB.
  constexpr int steps = 120;
  const double lowest = std::ldexp(1.0, -50), highest = std::ldexp(1.0, -20);
  const RecomputeChoice none = chooseRecompute(graph, lowest / 1024);
  const RecomputeChoice all = chooseRecompute(graph, highest * 1024);
  // A point that differs by less than this from its neighbour is not a separate
  // choice.
  const int64_t step = (none.keptBytes - all.keptBytes) / 50;
  std::vector<RecomputeChoice> choices;
  for (int index = 0; count > 0 && index <= steps; ++index) {
    const double price =
        lowest * std::pow(highest / lowest, double(index) / steps);
    RecomputeChoice choice = chooseRecompute(graph, price);
    const int64_t last =
        choices.empty() ? none.keptBytes : choices.back().keptBytes;
    // If little memory is left to save, full recompute is as good.
    if (choice.keptBytes >= last - step ||
        choice.keptBytes <= all.keptBytes + step)
      continue;
    choices.push_back(std::move(choice));
  }
  spread(choices, count);
  return choices;
}
