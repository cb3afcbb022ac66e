//===- StrategyProblem.h - Strategies of nodes within a limit --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The problem of the ASPLOS 2025 contest on intra-operator parallelism
// (google/iopddl). Each node chooses one of its strategies. Nodes and edges
// have costs, and a node uses memory during an interval. The sum of the costs
// is minimized such that the memory in use never exceeds the limit.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SOLVER_STRATEGYPROBLEM_H
#define MF_PLAN_SOLVER_STRATEGYPROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::solver {

/// The cost of a combination that may not be chosen.
inline constexpr int64_t forbiddenCost = 1'000'000'000'000'000'000;

/// A node, which chooses one strategy.
struct StrategyNode {
  /// Memory is used at times [begin, end). It is never used if they are equal.
  int64_t begin = 0;
  int64_t end = 0;
  /// The cost and the memory usage of each strategy.
  std::vector<int64_t> costs, usages;
};

/// An edge, whose cost depends on the choices of both nodes.
struct StrategyEdge {
  size_t from = 0;
  size_t to = 0;
  /// The costs of all pairs of strategies, of `from` first and of `to` second.
  std::vector<int64_t> costs;
};

/// A problem of the contest.
struct StrategyProblem {
  std::string name;
  std::vector<StrategyNode> nodes;
  /// Two nodes may have several edges.
  std::vector<StrategyEdge> edges;
  int64_t usageLimit = 0;
};

/// Reads a problem of the contest. The error names the file, the place in it
/// and what was expected there.
llvm::Expected<StrategyProblem> readStrategyProblem(llvm::StringRef text,
                                                    llvm::StringRef fileName);

/// Returns the cost of choosing strategy choices[i] for node i, computed from
/// the problem alone. The error names what is wrong: a strategy that does not
/// exist, a forbidden pair, or a time at which too much memory is used.
llvm::Expected<int64_t> checkStrategies(const StrategyProblem &problem,
                                        llvm::ArrayRef<int64_t> choices);

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_STRATEGYPROBLEM_H
