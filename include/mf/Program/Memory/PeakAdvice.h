//===- PeakAdvice.h - Advice on lowering a step's peak ----------*- C++ -*-===//
//
// For a step that does not fit: the bytes at its peak that each layer would
// give back if it were recomputed or swapped, and how many layers are enough.
//
// It is an estimate, made of what the problem knows: residuals by layer and
// lifetime. Left out are
//  - what a layer keeps in other ways than as residuals (a stage's input lives
//    in a message and stays),
//  - values that cannot be swapped for another reason, such as those that an
//    operator reads which the model itself recomputes (in bf16 the sums around
//    the norms): what swap saves is an upper bound,
//  - the prefetch distance of swap: a swapped value counts as back on the
//    device shortly before its last reader, as if the distance were 1 and it
//    had one reader,
//  - how long forward reads a value: it counts for a few instructions,
//  - gaps of the plan: it is about bytes alive.
// A recomputed layer keeps its input, and all of its values come back while its
// own backward runs; both are counted.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_PEAKADVICE_H
#define MF_MEMORY_PEAKADVICE_H

#include "mf/Program/Memory/StepProblem.h"
#include <optional>

namespace mf::memory {

/// Consecutive layers that give back equally much at the peak.
struct LayerSavings {
  int64_t firstLayer = 0;
  int64_t lastLayer = 0;
  /// Bytes that each of them saves.
  int64_t recomputeBytes = 0;
  int64_t swapBytes = 0;

  int64_t getNumLayers() const { return lastLayer - firstLayer + 1; }
};

/// The effect of one kind of advice.
struct AdviceResult {
  /// The fewest layers with which the step fits, those that save most first;
  /// nothing if all of them are not enough.
  std::optional<int64_t> numLayers;
  /// Bytes alive at the peak with that many layers, or with all.
  int64_t bytes = 0;
};

struct PeakAdvice {
  /// Bytes that live through the whole step: parameters, gradients, optimizer
  /// state. Where they exceed the limit, activations cannot help.
  int64_t persistentBytes = 0;
  /// Layers, with those that save most first.
  std::vector<LayerSavings> savings;
  AdviceResult recompute, swap;
};

/// Proposes treatments that lower the peak of a well-formed problem to at most
/// `limit` bytes.
PeakAdvice adviseOnPeak(const StepProblem &problem, int64_t limit);

} // namespace mf::memory

#endif // MF_MEMORY_PEAKADVICE_H
