//===- ChunkChoices.h - Choices for the layers of a chunk -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_CHUNKCHOICES_H
#define MF_LIB_PLAN_SOLVER_CHUNKCHOICES_H

#include "Ticks.h"
#include <functional>
#include <map>

namespace mf::solver {

/// One way to treat the layers of a chunk.
struct ChunkChoice {
  ChunkPlan plan;
  /// The costs, including those of the chunk in addition to its layers.
  TickCosts costs;
};

/// Makes the ways to treat the layers of a chunk that the rules allow and that
/// no other way dominates: in every task, in activations and in transient
/// memory, or in memory alone.
class ChunkChoices {
public:
  /// The quality by which choices are kept.
  enum class Aim : uint8_t { Times, Memory };
  /// `isOver` tells whether to stop; it may be empty.
  explicit ChunkChoices(const TickProblem &problem, Aim aim = Aim::Times,
                        std::function<bool()> isOver = {});

  /// Returns whether the search was stopped, so that choices are missing.
  bool isCutShort() const { return cutShort; }

  /// Returns the choices of a chunk, given the number of layers of each kind.
  /// The best choices of a chunk that occur in a forbidden stage exclude no
  /// others. References stay valid.
  const std::vector<ChunkChoice> &get(int64_t chunk,
                                      llvm::ArrayRef<int64_t> layers);

private:
  /// The choice for some of a chunk's layers.
  struct Part {
    ChunkPlan plan;
    TickCosts costs;
    /// The treatments of exclusive pairs that the part uses, as bits.
    uint64_t exclusive = 0;
    size_t lastTreatment = 0;
  };
  using Layers = std::vector<int64_t>;

  const std::vector<Part> &getParts(int64_t forbiddenGroup,
                                    const Layers &layers);
  std::vector<Part> makeParts(int64_t forbiddenGroup, const Layers &layers);
  bool isBetter(const Part &one, const Part &other) const;
  bool mayBecomeForbidden(int64_t forbiddenGroup, const ChunkPlan &plan) const;
  bool isAllowed(int64_t chunk, const Part &part) const;

  bool isNoWorse(const TickCosts &one, const TickCosts &other) const;

  void dropWorse(int64_t forbiddenGroup, std::vector<Part> &made) const;

  const TickProblem &problem;
  Aim aim;
  std::function<bool()> isOver;
  bool cutShort = false;
  /// True if the order of treatments determines which layers have them. This
  /// does not matter if all layers are of one kind.
  bool isOrderKept = false;
  bool hasCopies = false;
  /// For each treatment, whether some chunk may have it.
  std::vector<bool> isPossible;
  /// For each treatment, the bits of those that exclude it; 0 if there are
  /// none.
  std::vector<uint64_t> excludedBy;
  /// For each chunk, an index if it has forbidden plans, otherwise -1.
  std::vector<int64_t> forbiddenGroups;
  std::vector<std::vector<ChunkPlan>> forbiddenPlans;
  std::map<std::pair<int64_t, Layers>, std::vector<Part>> parts;
  std::map<std::pair<int64_t, Layers>, std::vector<ChunkChoice>> choices;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_CHUNKCHOICES_H
