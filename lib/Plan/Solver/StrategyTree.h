//===- StrategyTree.h - Depth-first search for strategies ------*- C++ -*-===//

#ifndef MF_LIB_PLAN_STRATEGYTREE_H
#define MF_LIB_PLAN_STRATEGYTREE_H

#include "lib/Plan/Solver/StrategyDual.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace mf::plan {

/// Searches choices of some nodes while the others keep theirs.
class StrategyTree {
public:
  /// With `dual` all costs are its; else those of the problem.
  StrategyTree(const StrategyProblem &problem, const StrategyDual &links,
               bool usesDual);

  struct Outcome {
    /// All choices that could be better were looked at.
    bool isComplete = false;
    /// Something better was found; it is in `choices`.
    bool isBetter = false;
  };

  /// Searches choices of `order`, in this order, where the first node may not
  /// take `banned`, until `work` nodes were
  /// entered or `isOver`. `isKept` says of complete choices, which fit, whether
  /// they are better than what is known, and then changes `threshold`: sums of
  /// costs that reach it are not looked at.
  Outcome search(llvm::ArrayRef<size_t> order, std::vector<int64_t> &choices,
                 std::optional<int64_t> banned, int64_t work, double &threshold,
                 llvm::function_ref<bool(double sum)> isKept,
                 llvm::function_ref<bool()> isOver);

  /// The choices that are looked at now, for `isKept`.
  llvm::ArrayRef<int64_t> getCurrent() const { return current; }

private:
  /// A node whose choices are tried in the order of their costs.
  struct Level {
    std::vector<std::pair<double, int64_t>> options;
    size_t next = 0;
    double sum = 0;
  };

  void begin(llvm::ArrayRef<size_t> order, llvm::ArrayRef<int64_t> choices);
  double getNodeCost(size_t node, int64_t choice) const;
  double getPairCost(const StrategyLink &link, int64_t own,
                     int64_t other) const;
  /// Whether a link is paid for at this node: the other one is chosen before.
  bool isPaid(size_t node, const StrategyLink &link) const {
    return places[link.other] < places[node];
  }
  void findRests(llvm::ArrayRef<size_t> order);
  void open(size_t node, double sum, double limit, Level &level);
  bool tryUsage(size_t node, int64_t choice);
  void removeUsage(size_t node, int64_t choice);
  void addUsage(size_t node, int64_t usage);
  /// Takes back the choices of the first places.
  void leave(llvm::ArrayRef<size_t> chosen);

  const StrategyProblem &problem;
  const StrategyDual &dual;
  const bool usesDual;
  std::vector<int64_t> leastUsages;
  std::vector<int64_t> current;
  /// Memory by section: of nodes that are chosen, and the least of the others.
  std::vector<int64_t> usages;
  /// By node: what `usages` has of it before anything is chosen.
  std::vector<int64_t> held;
  /// By node: -1 if it is not searched, else its place in the order.
  std::vector<int64_t> places;
  /// By place: the least that nodes from there on cost.
  std::vector<double> rests;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_STRATEGYTREE_H
