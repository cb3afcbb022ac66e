//===- PlannerTesting.h - Pipelines that tests share ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PLANNER_PLANNERTESTING_H
#define MF_TEST_UNIT_PLANNER_PLANNERTESTING_H

#include "lib/Plan/Settings/Composition.h"

namespace mf::planner {

/// A context of layers of these kinds on 1F1B, interleaved if stages have more
/// than one chunk; nothing is said of treatments.
PlanContext makeContext(const std::vector<size_t> &kinds, int64_t stages,
                        int64_t chunksPerStage = 1);

/// Treatments for `numKinds` kinds, from their first to their last number:
/// swap, full recompute, a selection and none.
std::vector<LayerTreatment> makeFourTreatments(size_t numKinds);

} // namespace mf::planner

#endif // MF_TEST_UNIT_PLANNER_PLANNERTESTING_H
