//===- ChunkChoices.h - Choices for the layers of a chunk -------*- C++ -*-===//
//-*-===//

#ifndef MF_LIB_PLAN_CHUNKCHOICES_H
#define MF_LIB_PLAN_CHUNKCHOICES_H

#include "Ticks.h"
#include <functional>
#include <map>

namespace mf::plan {

/// One way to treat the layers of a chunk.
struct ChunkChoice {
  ChunkPlan plan;
  /// Costs, including those of the chunk beside its layers.
  TickCosts costs;
};

/// Makes the ways to treat the layers of a chunk that the rules allow and of
/// which none is as good as another in every task, in activations and in
/// transient memory; or in memory alone.
class ChunkChoices {
public:
  /// The quality by which choices are kept.
  enum class Aim : uint8_t { Times, Memory };
  /// `isOver` tells whether to stop; it may be empty.
  explicit ChunkChoices(const TickProblem &problem, Aim aim = Aim::Times,
                        std::function<bool()> isOver = {});

  /// Whether it was stopped: then choices are missing.
  bool isCutShort() const { return cutShort; }

  /// By the numbers of layers of each kind. The best choices of a chunk that
  /// appear in a forbidden stage keep nothing else out. Stays where it is.
  const std::vector<ChunkChoice> &get(int64_t chunk,
                                      llvm::ArrayRef<int64_t> layers);

private:
  /// Some layers of a chunk.
  struct Part {
    ChunkPlan plan;
    TickCosts costs;
    /// Treatments of exclusive pairs that it uses.
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
  /// Whether the order of treatments says which layers have them. This does not
  /// matter if all layers are of one kind.
  bool isOrderKept = false;
  bool hasCopies = false;
  /// By treatment: whether some chunk may have it.
  std::vector<bool> isPossible;
  /// By treatment: those that exclude it, as bits; 0 if none.
  std::vector<uint64_t> excludedBy;
  /// By chunk: a number for each chunk with forbidden plans, -1 for others.
  std::vector<int64_t> forbiddenGroups;
  std::vector<std::vector<ChunkPlan>> forbiddenPlans;
  std::map<std::pair<int64_t, Layers>, std::vector<Part>> parts;
  std::map<std::pair<int64_t, Layers>, std::vector<ChunkChoice>> choices;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_CHUNKCHOICES_H
