//===- StageProblem.h - Problem of a stage's memory -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Makes the planner's problems from the decoded program of a stage: one for
// device memory and one for pinned host memory. Each part of a problem has the
// id of the operation that declares it, to which its place is written
// (ApplyPlan.h).
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_PLAN_MEMORY_STAGEPROBLEM_H
#define MF_PASSES_PLAN_MEMORY_STAGEPROBLEM_H

#include "mf/Decode/Decoder.h"
#include "mf/Program/Liveness.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::passes {

/// The problems of a stage. The id of a part (memory::PartId) is an index into
/// getOperations(). The id of a residual is the index of its slot in the
/// layout.
class StageProblem {
public:
  /// With `slack`, each device buffer is followed by the bytes that CANN
  /// requires if a block of memory is divided.
  explicit StageProblem(const program::UnplannedStage &decoded,
                        bool slack = false);

  const memory::StepProblem &getDevice() const { return device; }
  const memory::StepProblem &getHost() const { return host; }

  llvm::ArrayRef<mlir::Operation *> getOperations() const {
    return decoded.operations;
  }

  /// A slot that is not written by one routine and read by a later one.
  struct BrokenSlot {
    ascend::FrameLayoutOp layout;
    uint32_t slot = 0;
  };
  std::optional<BrokenSlot> getBrokenSlot() const { return brokenSlot; }

  /// Returns the operator that runs at a moment, for messages.
  std::string describe(memory::StepMoment moment) const;

  /// Returns the category of a live buffer: a static's role, "message",
  /// "residual" or "temporary".
  std::string getCategory(const memory::LiveBuffer &buffer) const;

private:
  void addSlack();
  bool comesInStep(uint32_t number) const;
  void addStatics();
  void addRoutines();
  void addTasks();
  bool isOpen(uint32_t routine, size_t slot) const;
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
  std::optional<BrokenSlot> brokenSlot;
};

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_STAGEPROBLEM_H
