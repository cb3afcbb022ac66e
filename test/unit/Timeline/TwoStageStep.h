//===- TwoStageStep.h - A small step in time ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_TIMELINE_TWOSTAGESTEP_H
#define MF_TEST_UNIT_TIMELINE_TWOSTAGESTEP_H

#include "mf/Perf/Timeline/StepTimeline.h"

namespace mf::timeline {

/// Two ranks on each of two stages.
program::Mesh makeTwoStageMesh();

/// Two micro-batches on them, made by hand, in microseconds:
///
///   stage 0, rank 0: F0 [0,60], F1 [60,115], B0 [185,245], B1 [285,345],
///                    update [360,380]
///   stage 1, rank 2: F0 [68,110], B0 [110,175], F1 [175,217], B1 [217,275],
///                    update [360,380]
///
/// A gather over mp runs in F0 of stage 0 from 25 to 40, and holds the device
/// up from 30 to 35. Stage 0 copies to the host in [60,80] and back in
/// [120,140].
StepTimeline makeTwoStageStep();

} // namespace mf::timeline

#endif // MF_TEST_UNIT_TIMELINE_TWOSTAGESTEP_H
