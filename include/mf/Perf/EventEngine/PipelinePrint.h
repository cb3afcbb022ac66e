//===- PipelinePrint.h - Pictures of schedules in time --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_EVENTENGINE_PIPELINEPRINT_H
#define MF_PERF_EVENTENGINE_PIPELINEPRINT_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::events {

/// Prints a line per stage: the name of each task at its start, `-` for the
/// rest of its duration, and `.` where the stage is idle. A column is the time
/// of the shortest task, or a thousandth of the whole time if that is longer.
void printTimeline(const schedule::Pipeline &pipeline,
                   const PipelineTimeline &timeline, llvm::raw_ostream &os);

} // namespace mf::events

#endif // MF_PERF_EVENTENGINE_PIPELINEPRINT_H
