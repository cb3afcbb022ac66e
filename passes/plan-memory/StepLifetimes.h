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

namespace mf::passes {

/// The memory problem of one program. Every vector of operations is in the
/// order of the problem's own.
class StepLifetimes {
public:
  explicit StepLifetimes(ascend::ProgramOp program) : program(program) {}

  /// Finds all lifetimes. Across streams a message lives from the first call
  /// of the compute stream that may run beside its first use to the first one
  /// that an event orders behind its last.
  mlir::LogicalResult analyze();

  const memory::StepProblem &getProblem() const { return problem; }

  /// Bytes of all host buffers, each on a multiple of 64.
  int64_t getHostBytes() const { return hostBytes; }

  /// Writes the offsets of a plan into the program.
  void apply(const memory::StepPlan &plan);

  /// The operator that runs at a moment, for messages.
  std::string describe(memory::Moment moment) const;

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
    std::vector<mlir::Operation *> instructions;
    llvm::SmallVector<Range> arguments;
    llvm::DenseMap<int64_t, Range> slots;
  };

  void collectStatics();
  void collectRoutine(ascend::RoutineOp routine);
  mlir::LogicalResult collectCalls(ascend::StepOp step);
  mlir::LogicalResult collectFrames();
  void collectMessages(ascend::StepOp step);

  ascend::ProgramOp program;
  memory::StepProblem problem;
  int64_t hostBytes = 0;
  std::vector<ascend::StaticOp> persistent;
  std::vector<std::pair<ascend::StaticOp, int64_t>> hostOffsets;
  llvm::StringMap<RoutineInfo> routines;
  std::vector<RoutineInfo *> routineOrder;
  std::vector<ascend::CallOp> calls;
  std::vector<ascend::FrameLayoutOp> layouts;
  std::vector<ascend::MessageOp> messages;
};

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_STEPLIFETIMES_H
