//===- TransformerStep.h - Steps like those of a transformer --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Generates the memory problem of one pipeline stage of a Llama-like model, by
// the same construction as the compiler's: forward operators, backward by
// reverse differentiation, recomputed layers cloned into backward, a pipeline
// schedule, and clipping and the optimizer at the end.
//
//===----------------------------------------------------------------------===//

#ifndef MF_BENCHMARKS_MEMORY_TRANSFORMERSTEP_H
#define MF_BENCHMARKS_MEMORY_TRANSFORMERSTEP_H

#include "mf/Program/Memory/StepProblem.h"

namespace mf::memory {

/// Shape of the model, and how it is run.
struct TransformerStepOptions {
  int64_t layers = 32;
  int64_t hidden = 4096;
  int64_t ffn = 11008;
  int64_t kvHidden = 1024;
  int64_t heads = 32;
  int64_t vocab = 32000;
  int64_t sequence = 4096;
  int64_t tensorParallel = 1;
  /// Attention as matmul, softmax, matmul: keeps sequence^2 values per head.
  bool unfusedAttention = false;

  int64_t stages = 1;
  int64_t chunksPerStage = 1;
  int64_t stage = 0;
  int64_t microBatches = 8;

  /// In each chunk, this many layers (from the first) are recomputed in full.
  int64_t fullRecomputeLayers = 0;
  /// In the other layers, norms, activations and rotations are recomputed.
  bool selectiveRecompute = false;
};

/// The problem; well-formed for any positive shape and stage < stages.
StepProblem makeTransformerStep(const TransformerStepOptions &options);

} // namespace mf::memory

#endif // MF_BENCHMARKS_MEMORY_TRANSFORMERSTEP_H
