//===- PeakAdvice.h - Advice on lowering a step's peak ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For a step that does not fit, computes how many bytes each layer would free
// at the peak if it were recomputed or swapped, and how many layers are enough.
//
// The result is an estimate from the data of the problem: residuals with their
// layers and lifetimes. It ignores
// - memory that a layer keeps other than as residuals (a stage's input lives in
//   a message and stays),
// - values that cannot be swapped for another reason, such as those that are
//   read by an operator which the model itself recomputes (in bf16 the sums
//   around the norms), so the savings of swap are an upper bound,
// - the prefetch distance of swap: a swapped value counts as back on the device
//   shortly before its last reader, as if the distance were 1 and it had one
//   reader,
// - how long forward reads a value, which counts as a few instructions,
// - gaps of the plan: only live bytes are counted.
// A recomputed layer keeps its input, and all of its values are live again
// while its own backward runs. Both are counted.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_PEAKADVICE_H
#define MF_PROGRAM_MEMORY_PEAKADVICE_H

#include "mf/Program/Memory/StepProblem.h"
#include <optional>

namespace mf::memory {

/// Consecutive layers that free the same number of bytes at the peak.
struct LayerSavings {
  int64_t firstLayer = 0;
  int64_t lastLayer = 0;
  /// The bytes that each of these layers saves.
  int64_t recomputeBytes = 0;
  int64_t swapBytes = 0;

  int64_t getNumLayers() const { return lastLayer - firstLayer + 1; }
};

/// The effect of applying one treatment to layers.
struct AdviceResult {
  /// The smallest number of layers, taken in order of savings, with which the
  /// step fits. Empty if the step does not fit even with all layers.
  std::optional<int64_t> numLayers;
  /// The bytes that are live at the peak with that many layers, or with all of
  /// them.
  int64_t bytes = 0;
};

/// The treatments that lower the peak of a step.
struct PeakAdvice {
  /// The bytes that live through the whole step: parameters, gradients and
  /// optimizer state. If they exceed the limit, no treatment of activations
  /// helps.
  int64_t persistentBytes = 0;
  /// The layers in descending order of savings.
  std::vector<LayerSavings> savings;
  AdviceResult recompute, swap;
};

/// Proposes treatments that lower the peak of a well-formed problem to at most
/// `limit` bytes.
PeakAdvice adviseOnPeak(const StepProblem &problem, int64_t limit);

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_PEAKADVICE_H
