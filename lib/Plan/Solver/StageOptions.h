//===- StageOptions.h - Options of a stage ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An option of a stage has a choice for each of its chunks, fits into the
// stage's memory, and is not dominated in every task by another option with the
// same layers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_STAGEOPTIONS_H
#define MF_LIB_PLAN_SOLVER_STAGEOPTIONS_H

#include "ChunkChoices.h"
#include "StepGraph.h"
#include "Ticks.h"

namespace mf::solver {

/// A range of numbers of layers, with both ends included.
struct LayerRange {
  int64_t least = 0, most = 0;

  bool operator==(const LayerRange &other) const {
    return least == other.least && most == other.most;
  }
};

/// Returns all possible numbers of layers of each chunk.
std::vector<LayerRange> getAllRanges(const TickProblem &problem);
/// Returns the ranges, restricted to numbers at most `width` from the mean.
std::vector<LayerRange> getMeanRanges(const TickProblem &problem,
                                      int64_t width);

class KindLayouts {
public:
  /// Makes all layouts that are possible if chunks have numbers of layers in
  /// the given ranges.
  KindLayouts(const TickProblem &problem, std::vector<LayerRange> ranges);

  size_t size() const { return layouts.size(); }
  /// Returns whether there are too many layouts to store, so that some are
  /// missing.
  bool areTooMany() const { return isFull; }
  const LayerRange &getRange(int64_t chunk) const { return ranges[chunk]; }

  /// Returns whether a chunk may have these layers of each kind in a layout.
  bool allows(size_t layout, int64_t chunk,
              llvm::ArrayRef<int64_t> layers) const;
  /// Returns whether any layout allows these layers of a chunk.
  bool allows(int64_t chunk, llvm::ArrayRef<int64_t> layers) const;

private:
  /// The chunk with the last layer of each kind.
  using Layout = std::vector<int64_t>;
  bool isFull = false;
  void addLayouts(Layout &layout);

  std::vector<LayerRange> ranges;
  /// Kinds that have layers.
  std::vector<size_t> kinds;
  std::vector<int64_t> counts;
  std::vector<Layout> layouts;
};

/// Options with the same layers.
struct OptionComposition {
  /// The layers by chunk of the stage and kind.
  std::vector<std::vector<int64_t>> layers;
  /// The number of layers of each kind.
  std::vector<int64_t> totals;
  int32_t begin = 0, end = 0;

  int64_t getNumLayers() const;
};

/// The options of a stage.
struct StageOptions {
  int64_t stage = 0;
  std::vector<OptionComposition> compositions;
  /// The number of durations of a stage: one for each task of its chunks, one
  /// after the other, and one for its update.
  size_t numDurations = 0;
  /// The indices of the stage's durations among all durations.
  std::vector<int32_t> durationNumbers;
  /// Durations in whole numbers, ordered by option.
  std::vector<double> durations;
  std::vector<int32_t> compositionOf;
  /// The choices, ordered by option and then by chunk.
  std::vector<const ChunkChoice *> choices;

  int32_t size() const { return static_cast<int32_t>(compositionOf.size()); }
  llvm::ArrayRef<double> getDurations(int32_t option) const {
    return llvm::ArrayRef(durations).slice(option * numDurations, numDurations);
  }
  llvm::ArrayRef<const ChunkChoice *> getChoices(int32_t option) const {
    size_t chunks = choices.size() / compositionOf.size();
    return llvm::ArrayRef(choices).slice(option * chunks, chunks);
  }
};

/// A bound that options must stay below: `rest` plus the sum of the stage's
/// durations, each times its entry of `counts`.
struct OptionBound {
  double rest = 0;
  std::vector<double> counts;
  double limit = 0;
};

/// For each stage, returns the bound of a path through all its tasks, with the
/// least durations of the others.
std::vector<OptionBound> getStageBounds(const TickProblem &problem,
                                        StepGraph &graph,
                                        const KindLayouts &layouts,
                                        double limit);

/// Enumerates the options of stages.
class OptionMaker {
public:
  /// Makes options whose chunks have numbers of layers in the given ranges.
  OptionMaker(const TickProblem &problem, ChunkChoices &choices,
              const KindLayouts &layouts)
      : problem(problem), choices(choices), layouts(layouts) {}

  /// Returns all options of a stage that stay below the bound.
  StageOptions make(int64_t stage, const OptionBound &bound);

private:
  struct Partial;
  void addCompositions(StageOptions &options, const OptionBound &bound,
                       Partial &partial);
  bool addChunk(StageOptions &options, const OptionBound &bound,
                const std::vector<int64_t> &layers, Partial &partial);
  void addOptions(StageOptions &options, const OptionBound &bound,
                  const Partial &partial);

  const TickProblem &problem;
  ChunkChoices &choices;
  const KindLayouts &layouts;
  /// The possible numbers of layers of each kind, by the number of layers of a
  /// chunk.
  std::map<int64_t, std::vector<std::vector<int64_t>>> splits;
};

/// Returns the durations of a stage, in the order of its options.
std::vector<int32_t> getDurationNumbers(const TickProblem &problem,
                                        int64_t stage);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_STAGEOPTIONS_H
