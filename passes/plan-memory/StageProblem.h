//===- StageMemory.h - Problem of a stage's memory --------------*- C++ -*-===//
//
// From the decoded program of a stage to the planner's problems, one for device
// memory and one for pinned host memory. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_PLAN_MEMORY_STAGEPROBLEM_H
#define MF_PASSES_PLAN_MEMORY_STAGEPROBLEM_H

#include "mf/Program/Decoder.h"
#include "mf/Program/Liveness.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::passes {

/// The problems of a stage. Their routines, frames (those of `layouts`) and
/// tasks are in the order of the program's routines, layouts and calls, behind
/// which there may be more; temporaries in the order of the routine's.
class StageProblem {
public:
  explicit StageProblem(const program::UnplannedStage &decoded);

  const memory::StepProblem &getDevice() const { return device; }
  const memory::StepProblem &getHost() const { return host; }

  /// Statics by their numbers, in the order of a problem's persistent buffers.
  llvm::ArrayRef<uint32_t> getStatics(program::Space space) const {
    return space == program::Space::Device ? deviceStatics : hostStatics;
  }
  /// Messages by their numbers, in the order of the problem's first task
  /// buffers.
  llvm::ArrayRef<uint32_t> getMessages() const { return messages; }
  /// Statics that are of the step, in the order of the task buffers behind.
  llvm::ArrayRef<uint32_t> getStepStatics() const { return stepStatics; }

  /// A slot that is not written by one routine and read by a later one.
  struct BrokenSlot {
    uint32_t layout = 0;
    uint32_t slot = 0;
  };
  std::optional<BrokenSlot> getBrokenSlot() const { return brokenSlot; }

  /// Whether the frames of a routine have a part in host memory.
  bool hasHostFrame(int64_t routine) const {
    std::optional<uint32_t> layout = stage.routines[routine].layout;
    return layout && !host.frames[*layout].residuals.empty();
  }

  /// The operator that runs at a moment, for messages.
  std::string describe(memory::StepMoment moment) const;

  /// The category of a live buffer: a static's role, "message", "residual" or
  /// "temporary".
  std::string getCategory(const memory::LiveBuffer &buffer) const;

private:
  bool comesInStep(uint32_t number) const;
  void addStatics();
  void addRoutines();
  void addTasks();
  void addFrames();
  void addFrame(uint32_t layout, llvm::ArrayRef<uint32_t> phases);
  void addMessages();
  void addStepStatics();
  std::string getOperator(const program::Routine &routine,
                          uint32_t instruction) const;

  const program::UnplannedStage &decoded;
  const program::StageProgram &stage;
  const program::StepLiveness liveness;
  memory::StepProblem device, host;
  std::vector<uint32_t> deviceStatics, hostStatics, messages, stepStatics;
  std::optional<BrokenSlot> brokenSlot;
};

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_STAGEPROBLEM_H
