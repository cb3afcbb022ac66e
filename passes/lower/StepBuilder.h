//===- StepBuilder.h - Schedules to steps ----------------------*- C++ -*-===//

#ifndef MF_PASSES_LOWER_STEPBUILDER_H
#define MF_PASSES_LOWER_STEPBUILDER_H

#include "passes/lower/ProgramBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

/// Lowers one schedule to an `ascend.step`.
///
/// Routines run on the compute stream. A transfer of a value into a call (load,
/// receive) is issued on a separate stream `ahead` calls earlier, after an
/// event of the call before that one, so its buffer is not needed earlier. A
/// value that a call sends must have left before the call that is `behind`
/// calls later, where its buffer becomes free. With 1 and 2, a transfer
/// overlaps one whole call on either side, at the cost of one more message in
/// memory. A value that a call passes to a later call of the stage stays in one
/// message.
class StepBuilder {
public:
  StepBuilder(ProgramBuilder &program, ir::ScheduleOp schedule);

  mlir::LogicalResult build();

private:
  /// One call of a routine and its exchanges.
  struct Call {
    std::string routine;
    mlir::Location loc;
    llvm::SmallVector<mlir::Operation *, 2> incoming = {}, outgoing = {};
    llvm::SmallVector<mlir::Value, 4> buffers = {};
    mlir::Value frame = {};
    mlir::IntegerAttr microBatch = {};
    /// True if it reads the values that change with every step.
    bool isUpdate = false;
    /// Events of copies that must end before the routine reads their buffers.
    llvm::SmallVector<mlir::Value> events = {};
    /// It shares a slot with the next call.
    bool isPaired = false;
    /// The call of the next part of a routine in parts, which waits for what
    /// this one leaves going on: for the streams of that.
    std::optional<size_t> next = {};
    llvm::SmallVector<llvm::StringRef, 2> streams = {};
  };
  /// The copy of a swapped value for call `reader`. It records `events[event]`
  /// of that call.
  struct EarlyCopy {
    int64_t kernel;
    size_t reader, event;
    mlir::Value buffer;
    int64_t slot;
  };

  /// A sum over ranks that starts after some launches of a call.
  struct StepReduction {
    int64_t launches;
    ir::ReduceGradientOp op;
  };

  mlir::LogicalResult collect();
  mlir::LogicalResult collectTask(mlir::Operation *task);
  void collectForward(ir::RunForwardOp run);
  /// Collects a backward, one of its halves, or the recompute task for it.
  void collectBackward(llvm::StringRef routine, mlir::Operation *run,
                       mlir::IntegerAttr microBatch, mlir::Value frame,
                       mlir::ValueRange arguments);
  void collectUpdate(ir::RunUpdateOp run);
  /// The certificate of the stage's update; null if it has none.
  mlir::DictionaryAttr getCertificate();
  void addLossGradient(ir::LossGradientOp loss);
  /// Passes a buffer that a call reads: that of the call which made `input`, or
  /// a message for a received value.
  void addInput(Call &call, mlir::Value input);
  /// Passes new messages that a call writes.
  void addMessages(Call &call, mlir::ValueRange tensors);

  mlir::LogicalResult placeTransfers();
  // Parts of calls that take turns (StepParts.cpp).
  void cutCalls();
  std::vector<Call> cutCall(const Call &call);
  void emit();
  ascend::CallOp emitCall(size_t index, mlir::ValueRange after);

  // Copies of swapped values for later calls (StepPrefetch.cpp).
  void placeEarlyCopies();
  void emitEarlyCopiesBefore(size_t index);
  void emitEarlyCopiesIn(size_t index, mlir::ValueRange started);
  void emitEarlyCopy(const EarlyCopy &copy, mlir::Value started);
  /// Returns the kernels of a call before which early copies start, ascending.
  llvm::SmallVector<int64_t> getEarlyKernels(size_t index) const;

  // Sums of gradients concurrent with the last backward (StepReductions.cpp).
  void placeReductions();
  void placeReduction(ir::ReduceGradientOp op);
  void emitReductionsIn(size_t index, mlir::ValueRange recorded);
  void emitReduction(ir::ReduceGradientOp reduction, mlir::Value ready);
  /// Returns the launches of a call after which it records an event, ascending.
  llvm::SmallVector<int64_t> getRecords(size_t index) const;

  ascend::PeerAttr getPeer(int64_t stage);
  void emitIncoming(mlir::Operation *task, mlir::Value after);
  /// These functions return the event of the transfer's end.
  mlir::Value emitOutgoing(ir::SendOp send, mlir::Value after);
  mlir::Value emitLoad(ir::LoadOp load, mlir::ValueRange after);
  mlir::Value emitInputCopy(mlir::Value buffer, ascend::Role role);
  void emitReports();
  mlir::Value createMessage(mlir::Type tensor);
  mlir::Value record(llvm::StringRef stream);
  void wait(llvm::StringRef stream, mlir::Value event);
  mlir::Value getGlobal(ascend::StaticOp buffer);

  ProgramBuilder &program;
  ir::ScheduleOp schedule;
  mlir::OpBuilder builder;
  mlir::Location loc;
  std::vector<Call> calls;
  /// For each call, the loads and receives that are issued right before it.
  std::vector<llvm::SmallVector<mlir::Operation *, 2>> issuedBefore;
  /// By send: the call before which the message has left; none if that is the
  /// end of the step.
  llvm::DenseMap<mlir::Operation *, size_t> sentBefore;
  /// For each call, the copies for later calls that start while it runs, by
  /// kernel.
  std::vector<std::vector<EarlyCopy>> earlyCopies;
  /// For each call, its reductions in the order of launches.
  std::vector<std::vector<StepReduction>> reductions;
  /// For each stream, the event of its last sum over ranks.
  llvm::MapVector<llvm::StringRef, mlir::Value> reduced;
  bool hasLoss = false;
  /// The factor on the loss scale for backward. Null if this stage has no
  /// scaled loss.
  mlir::FloatAttr scaledGradient;
  /// The buffers of the schedule's tensors, and the frames of its frames.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// The events of the arrivals of tensors.
  llvm::DenseMap<mlir::Value, mlir::Value> arrivals;
  llvm::StringMap<mlir::Value> globals;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPBUILDER_H
