//===- StrategyProblem.cpp - Reads and checks choices of strategies -------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/StrategyProblem.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <map>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace mf::solver {

namespace {

/// Reads the members of a problem. Keeps the first mistake, after which all
/// members read as their defaults.
class StrategyReader {
public:
  Expected<StrategyProblem> read(const llvm::json::Value &root,
                                 StringRef fileName);

private:
  using Array = llvm::json::Array;

  void complain(const Twine &text) {
    if (mistake.empty())
      mistake = text.str();
  }
  const Array &getArray(const llvm::json::Object *object, StringRef name);
  const llvm::json::Object *getObject(const llvm::json::Object *object,
                                      StringRef name);
  std::vector<int64_t> readNumbers(const llvm::json::Value &value,
                                   const Twine &place, int64_t most);
  void readNodes(const llvm::json::Object *nodes);
  void readEdges(const llvm::json::Object *edges);

  std::string mistake;
  StrategyProblem problem;
  const Array none;
};

} // namespace

/// Numbers up to this one have sums over a problem that fit into 64 bits, and
/// into doubles up to an error of about one.
static constexpr int64_t mostNumber = int64_t{1} << 53;

const llvm::json::Array &
StrategyReader::getArray(const llvm::json::Object *object, StringRef name) {
  const Array *array = object ? object->getArray(name) : nullptr;
  if (array)
    return *array;
  complain("expected a list '" + name + "'");
  return none;
}

const llvm::json::Object *
StrategyReader::getObject(const llvm::json::Object *object, StringRef name) {
  const llvm::json::Object *member = object ? object->getObject(name) : nullptr;
  if (!member)
    complain("expected an object '" + name + "'");
  return member;
}

std::vector<int64_t> StrategyReader::readNumbers(const llvm::json::Value &value,
                                                 const Twine &place,
                                                 int64_t most) {
  const Array *array = value.getAsArray();
  std::vector<int64_t> numbers;
  if (!array)
    complain(place + ": expected a list of numbers");
  else
    for (const llvm::json::Value &element : *array) {
      const std::optional<int64_t> number = element.getAsInteger();
      if (!number || *number < 0 || *number > most)
        complain(place +
                 llvm::formatv(": expected whole numbers from 0 to {0}", most)
                     .str());
      numbers.push_back(number.value_or(0));
    }
  return numbers;
}

void StrategyReader::readNodes(const llvm::json::Object *nodes) {
  const Array &intervals = getArray(nodes, "intervals"),
              &costs = getArray(nodes, "costs"),
              &usages = getArray(nodes, "usages");
  if (intervals.size() != costs.size() || usages.size() != costs.size())
    return complain("'intervals', 'costs' and 'usages' of nodes are of "
                    "different lengths, expected an entry for each node");
  for (size_t index = 0; index < costs.size(); ++index) {
    const std::string place = llvm::formatv("[{0}] of nodes", index).str();
    const std::vector<int64_t> interval =
        readNumbers(intervals[index], "intervals" + place, mostNumber);
    StrategyNode node;
    node.costs = readNumbers(costs[index], "costs" + place, forbiddenCost);
    node.usages = readNumbers(usages[index], "usages" + place, mostNumber);
    if (interval.size() != 2 || interval[0] > interval[1])
      return complain("intervals" + place +
                      ": expected a begin and an end that is not before it");
    if (node.costs.empty() || node.usages.size() != node.costs.size())
      return complain("usages" + place +
                      ": expected one for each of its costs, and at least one");
    node.begin = interval[0];
    node.end = interval[1];
    problem.nodes.push_back(std::move(node));
  }
}

void StrategyReader::readEdges(const llvm::json::Object *edges) {
  const Array &nodes = getArray(edges, "nodes"),
              &costs = getArray(edges, "costs");
  if (nodes.size() != costs.size())
    return complain("'nodes' and 'costs' of edges are of different lengths, "
                    "expected an entry for each edge");
  const auto numNodes = static_cast<int64_t>(problem.nodes.size());
  for (size_t index = 0; index < costs.size(); ++index) {
    const std::string place = llvm::formatv("[{0}] of edges", index).str();
    const std::vector<int64_t> ends =
        readNumbers(nodes[index], "nodes" + place, numNodes - 1);
    if (ends.size() != 2 || ends[0] == ends[1])
      return complain("nodes" + place + ": expected two different nodes");
    StrategyEdge edge{
        static_cast<size_t>(ends[0]), static_cast<size_t>(ends[1]),
        readNumbers(costs[index], "costs" + place, forbiddenCost)};
    const size_t pairs = problem.nodes[edge.from].costs.size() *
                         problem.nodes[edge.to].costs.size();
    if (edge.costs.size() != pairs)
      return complain(
          llvm::formatv("costs{0}: expected {1} numbers, one for each pair of "
                        "strategies, found {2}",
                        place, pairs, edge.costs.size())
              .str());
    problem.edges.push_back(std::move(edge));
  }
}

Expected<StrategyProblem> StrategyReader::read(const llvm::json::Value &root,
                                               StringRef fileName) {
  const llvm::json::Object *object = getObject(root.getAsObject(), "problem");
  problem.name = object ? object->getString("name").value_or("").str() : "";
  if (object)
    readNodes(getObject(object, "nodes"));
  if (mistake.empty())
    readEdges(getObject(object, "edges"));
  const std::optional<int64_t> limit =
      object ? object->getInteger("usage_limit") : std::nullopt;
  if (!limit || *limit < 0)
    complain("expected a whole number 'usage_limit', not below 0");
  problem.usageLimit = limit.value_or(0);
  if (!mistake.empty())
    return llvm::createStringError(fileName + ": " + mistake);
  return std::move(problem);
}

Expected<StrategyProblem> readStrategyProblem(StringRef text,
                                              StringRef fileName) {
  constexpr unsigned deepest = 8;
  Expected<llvm::json::Value> root = parseStrictJson(text, deepest);
  if (!root)
    return llvm::createStringError(fileName + ": " +
                                   toString(root.takeError()));
  return StrategyReader().read(*root, fileName);
}

//===----------------------------------------------------------------------===//
// Proof
//===----------------------------------------------------------------------===//

/// Checks the memory at each moment, by visiting all begins and ends in order
/// of time.
static Error checkUsages(const StrategyProblem &problem,
                         llvm::ArrayRef<int64_t> choices) {
  std::map<int64_t, int64_t> changes;
  for (const auto &[node, choice] : llvm::zip(problem.nodes, choices)) {
    if (node.begin == node.end)
      continue;
    changes[node.begin] += node.usages[choice];
    changes[node.end] -= node.usages[choice];
  }
  int64_t usage = 0;
  for (const auto &[time, change] : changes) {
    usage += change;
    if (usage > problem.usageLimit)
      return llvm::createStringError(
          llvm::formatv("{0} is used at time {1}, more than the limit of {2}",
                        usage, time, problem.usageLimit));
  }
  return Error::success();
}

Expected<int64_t> checkStrategies(const StrategyProblem &problem,
                                  llvm::ArrayRef<int64_t> choices) {
  if (choices.size() != problem.nodes.size())
    return llvm::createStringError(llvm::formatv(
        "{0} choices for {1} nodes", choices.size(), problem.nodes.size()));
  int64_t cost = 0;
  auto add = [&](int64_t more) {
    cost = more >= forbiddenCost - cost ? forbiddenCost : cost + more;
  };
  for (const auto &[index, node] : llvm::enumerate(problem.nodes)) {
    if (choices[index] < 0 ||
        choices[index] >= static_cast<int64_t>(node.costs.size()))
      return llvm::createStringError(
          llvm::formatv("node {0} has no strategy {1}", index, choices[index]));
    add(node.costs[choices[index]]);
  }
  for (const StrategyEdge &edge : problem.edges)
    add(edge.costs[choices[edge.from] *
                       static_cast<int64_t>(
                           problem.nodes[edge.to].costs.size()) +
                   choices[edge.to]]);
  if (cost >= forbiddenCost)
    return llvm::createStringError(
        "strategies are chosen together that may not be");
  if (Error error = checkUsages(problem, choices))
    return std::move(error);
  return cost;
}

} // namespace mf::solver
