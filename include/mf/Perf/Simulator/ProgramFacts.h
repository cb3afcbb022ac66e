//===- ProgramFacts.h - Facts of a program for its timeline -----*- C++ -*-===//
//
// The parts of a timeline that do not depend on whether it was simulated or
// executed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIMULATOR_PROGRAMFACTS_H
#define MF_SIMULATOR_PROGRAMFACTS_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/StepTasks.h"
#include <array>

namespace mf::simulator {

/// The tasks of a stage, without times yet, and with their layout as the chunk.
void addTasks(llvm::ArrayRef<program::StepTask> tasks,
              timeline::StageTimeline &timeline);

/// Adds sizes of memory, its contents at the peak, and FLOPs. `tasks` are the
/// stage's.
void addStageFacts(const program::Program &program,
                   const program::StageProgram &stage,
                   llvm::ArrayRef<program::StepTask> tasks,
                   timeline::StageTimeline &timeline);

/// Pairs where messages are sent with where they are received.
class MessageTable {
public:
  explicit MessageTable(const program::Program &program) : program(program) {}

  /// Notes the span of an exchange if it is between stages. The messages of a
  /// channel come in order.
  void add(const program::Exchange &exchange, timeline::SpanId span);

  std::vector<timeline::Flow> getFlows() const;

private:
  const program::Program &program;
  /// By channel: where messages are sent and received, in order.
  std::map<uint32_t, std::array<std::vector<timeline::SpanId>, 2>> spans;
};

/// Ranks, micro-batches and tokens; numbers the chunks of tasks, which are
/// layouts so far, in the order in which their first forwards start.
void addStepFacts(const program::Program &program,
                  timeline::StepTimeline &timeline);

} // namespace mf::simulator

#endif // MF_SIMULATOR_PROGRAMFACTS_H
