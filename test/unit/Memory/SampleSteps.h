//===- SampleSteps.h - Steps that tests of the planner share ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Small steps for one property each, and random ones.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_MEMORY_SAMPLESTEPS_H
#define MF_TEST_UNIT_MEMORY_SAMPLESTEPS_H

#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// Forward and backward of one chunk; two micro-batches, at most two in flight.
StepProblem makeSmallStep();

/// One chunk whose weight gradients are apart: "first" dies where "kept" is
/// born, "through" lives through all phases.
StepProblem makeThreePhases();

/// A task buffer of 64 bytes from the second half of forward, where all of its
/// scratch is free, to the first instruction of backward.
StepProblem makeStepWithHole();

/// Forward keeps nothing: all values are copied out until its end, and come
/// back for backward as soon as they are out, while the next forward runs. The
/// values that are copied out last are still there when the first ones are
/// back.
StepProblem makeSwappedStep(int64_t layers, int64_t microBatches);

/// Up to two frames of one to three phases, and buffers of all kinds.
StepProblem makeRandomStep(unsigned seed);

/// Chunks of some layers whose weight gradients are apart, and of which several
/// are live. Their residuals have all pairs of phases, and few belong to no
/// layer.
StepProblem makeRandomPhases(unsigned seed);

/// One or two chunks whose temporaries are many and larger than all residuals,
/// as where layers are recomputed whole, and few micro-batches.
StepProblem makeRandomTemporaries(unsigned seed);

/// Expects that `plan` is legal for `step` by its own proof and by that of the
/// expanded step, and that its bound is the memory live at its moment.
void expectLegal(const StepProblem &step, const StepPlan &plan);

} // namespace mf::memory

#endif // MF_TEST_UNIT_MEMORY_SAMPLESTEPS_H
