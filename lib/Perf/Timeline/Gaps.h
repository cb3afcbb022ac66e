//===- Gaps.h - Times in which a stage does not compute ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_GAPS_H
#define MF_LIB_PERF_TIMELINE_GAPS_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include <vector>

namespace mf::timeline {

/// The activity of a stage while no kernel runs. If several causes apply, a gap
/// has the first of them.
enum class GapCause : uint8_t { Communication, Copy, Bubble };

/// A time in which no kernel of a stage runs, for a single cause.
struct Gap {
  double start = 0;
  double end = 0;
  GapCause cause = GapCause::Bubble;
};

/// Returns the gaps in order, within the step. Takes time linear in the stage's
/// spans.
std::vector<Gap> findGaps(const StepTimeline &timeline,
                          const StageTimeline &stage);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_GAPS_H
