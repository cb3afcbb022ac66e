//===- PipelinePrint.h - Pictures of schedules in time --------*- C++ -*-===//

#ifndef MF_SIM_PIPELINEPRINT_H
#define MF_SIM_PIPELINEPRINT_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::sim {

/// A line per stage: each task by its name at its start, `-` as long as it
/// takes, `.` where the stage runs none. A column is the time of the shortest
/// task, or a thousandth of the whole if that is more.
void printTimeline(const schedule::Pipeline &pipeline,
                   const PipelineTimeline &timeline, llvm::raw_ostream &os);

} // namespace mf::sim

#endif // MF_SIM_PIPELINEPRINT_H
