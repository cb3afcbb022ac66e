//===- ProgramProperties.h - Properties of a program in timelines -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Computes the parts of a timeline that are the same for simulations and
// executions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_SIMULATOR_PROGRAMPROPERTIES_H
#define MF_PERF_SIMULATOR_PROGRAMPROPERTIES_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/StepTasks.h"
#include <array>

namespace mf::simulator {

/// Adds the tasks of a stage without times, with the index of their layout as
/// the chunk. addStepProperties replaces it by the chunk once all stages are
/// there.
void addTasks(llvm::ArrayRef<program::StepTask> tasks,
              timeline::StageTimeline &timeline);

/// Adds the sizes of memory and FLOPs. `tasks` must be those of `stage`.
void addStageProperties(const program::Program &program,
                        const program::StageProgram &stage,
                        llvm::ArrayRef<program::StepTask> tasks,
                        timeline::StageTimeline &timeline);

/// Adds the contents of the arena at its peak.
void addPeakContents(const program::StageProgram &stage,
                     timeline::StageTimeline &timeline);

/// Matches the sends of messages with their receives.
class MessageTable {
public:
  explicit MessageTable(const program::Program &program) : program(program) {}

  /// Records the span of an exchange if it is a message between stages. The
  /// messages of a channel must be added in order.
  void add(const program::Exchange &exchange, timeline::SpanId span);

  std::vector<timeline::Flow> getFlows() const;

private:
  const program::Program &program;
  /// For each channel, the spans of its sends and of its receives, in order.
  std::map<uint32_t, std::array<std::vector<timeline::SpanId>, 2>> spans;
};

/// Adds the numbers of ranks, micro-batches and tokens. Replaces the layouts in
/// tasks by chunks, which are numbered in the order in which their first
/// forwards start.
void addStepProperties(const program::Program &program,
                       timeline::StepTimeline &timeline);

} // namespace mf::simulator

#endif // MF_PERF_SIMULATOR_PROGRAMPROPERTIES_H
