//===- StepLifetimes.h - What a step keeps in memory, and when -*- C++ -*-===//
//
// From an `ascend.program` to the planner's problem, and back from its plan to
// offsets in the IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_PLAN_MEMORY_STEPLIFETIMES_H
#define MF_PASSES_PLAN_MEMORY_STEPLIFETIMES_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Memory/StepPlan.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

/// The memory problem of one program. Every vector of operations is in the
/// order of the problem's own.
class StepLifetimes {
public:
  explicit StepLifetimes(ascend::ProgramOp program) : program(program) {}

  /// Finds all lifetimes. What a copy uses inside a routine lives until the
  /// compute stream has waited for it.
  mlir::LogicalResult analyze();

  const memory::StepProblem &getProblem() const { return problem; }

  /// The problem of pinned host memory: inputs, reports and what is swapped.
  const memory::StepProblem &getHostProblem() const { return hostProblem; }

  /// Writes the offsets of both plans into the program.
  void apply(const memory::StepPlan &plan, const memory::StepPlan &host);

  /// The operator that runs at a moment, for messages.
  std::string describe(memory::StepMoment moment) const;

  /// What a persistent buffer is for: its role's name.
  llvm::StringRef getRole(llvm::StringRef persistentBuffer) const;

private:
  /// First and last instruction that use something, half-open.
  struct Range {
    int64_t begin = -1, end = -1;
    void add(int64_t instruction) {
      if (begin < 0)
        begin = instruction;
      end = instruction + 1;
    }
  };
  struct RoutineInfo {
    ascend::RoutineOp op;
    int64_t index = 0;
    std::vector<ascend::AllocOp> allocs;
    llvm::MapVector<mlir::Operation *, Range> allocRanges;
    std::vector<mlir::Operation *> instructions;
    /// The instructions that are launches.
    std::vector<int64_t> launches;
    llvm::SmallVector<Range> arguments;
    llvm::DenseMap<int64_t, Range> slots;
  };

  void collectStatics();
  struct Calls;

  void collectRoutine(ascend::RoutineOp routine);
  void collectUses(RoutineInfo &info);
  static void addUse(RoutineInfo &info, mlir::Value root, int64_t number);
  mlir::LogicalResult collectCalls(ascend::StepOp step);
  mlir::LogicalResult collectFrames(ascend::StepOp step);
  mlir::LogicalResult
  collectFrame(ascend::FrameLayoutOp layout,
               llvm::ArrayRef<RoutineInfo *> infos,
               llvm::function_ref<bool(int64_t)> isReadByStep);
  void collectMessages(ascend::StepOp step);
  void applyHost(const memory::StepPlan &plan);

  ascend::ProgramOp program;
  memory::StepProblem problem, hostProblem;
  std::vector<ascend::StaticOp> persistent;
  std::vector<ascend::StaticOp> hostStatics;
  llvm::StringMap<RoutineInfo> routines;
  std::vector<RoutineInfo *> routineOrder;
  std::vector<ascend::CallOp> calls;
  std::vector<ascend::FrameLayoutOp> layouts;
  std::vector<ascend::MessageOp> messages;
};

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_STEPLIFETIMES_H
