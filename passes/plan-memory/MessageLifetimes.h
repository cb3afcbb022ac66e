//===- MessageLifetimes.h - When messages are in memory --------*- C++ -*-===//

#ifndef MF_PASSES_PLAN_MEMORY_MESSAGELIFETIMES_H
#define MF_PASSES_PLAN_MEMORY_MESSAGELIFETIMES_H

#include "mf/Memory/StepProblem.h"
#include "passes/plan-memory/StreamClock.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

/// The buffer that `value` is a view of, or itself.
mlir::Value getRootBuffer(mlir::Value value);

/// The name of a program's compute stream.
llvm::StringRef getComputeStream(ascend::ProgramOp program);

/// What the lifetimes of messages depend on in the calls of a step.
struct CallTable {
  virtual ~CallTable() = default;
  /// Instructions of a call, at least one.
  virtual int64_t getLength(int64_t position) const = 0;
  /// The first instruction of a call that uses argument `index`, and one past
  /// the last.
  virtual std::pair<int64_t, int64_t> getUse(int64_t position,
                                             unsigned index) const = 0;
  /// The number of the instruction that is launch `launches` - 1.
  virtual int64_t getLaunch(int64_t position, int64_t launches) const = 0;
};

/// Finds the lifetimes of messages in one walk over a step: from the first
/// instruction of the compute stream that may run beside a message's first use
/// to the first call that an event orders behind its last.
class MessageLifetimes {
public:
  MessageLifetimes(ascend::ProgramOp program, const CallTable &calls,
                   int64_t numCalls);

  void run(ascend::StepOp step);

  llvm::MapVector<mlir::Value,
                  std::pair<memory::StepMoment, memory::StepMoment>>
      ranges;

private:
  void extend(mlir::Value message, memory::StepMoment begin,
              memory::StepMoment end);
  void visit(mlir::Operation &op);
  void visitCall(ascend::CallOp call);
  void visitTransfer(mlir::Operation &op, llvm::StringRef streamName);
  template <typename TransferOp> void visitTransfer(TransferOp op);
  /// Ends accesses that are over when call `position` starts.
  void settle(int64_t position);
  /// Drops accesses to what `call` is passed that it waits for itself: the
  /// message lives on to its use there.
  void settleArguments(ascend::CallOp call);
  memory::StepMoment getStart(unsigned stream) const;

  StreamClock clock;
  unsigned compute;
  const CallTable &calls;
  int64_t numCalls;
  int64_t position = 0;
  /// Instructions of the compute stream before each call.
  std::vector<int64_t> firstInstructions;
  /// Accesses by other streams that no call is known to come after yet.
  llvm::MapVector<unsigned, std::vector<std::pair<int64_t, mlir::Value>>>
      pending;
};

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_MESSAGELIFETIMES_H
