//===- StepBuilder.h - Schedules to steps ----------------------*- C++ -*-===//

#ifndef MF_PASSES_LOWER_STEPBUILDER_H
#define MF_PASSES_LOWER_STEPBUILDER_H

#include "passes/lower/ProgramBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

/// Lowers one schedule to an `ascend.step`.
///
/// Routines run on the compute stream. A value that a call takes from elsewhere
/// (loads, receives) is issued `ahead` calls before it, on a stream of its own,
/// behind an event of the call before that: its buffer is taken no earlier. A
/// value that a call sends must be gone before the call `behind` calls after
/// it: its buffer is free from there. With 1 and 2 a transfer overlaps one
/// whole call on either side, at the price of one more message in memory. A
/// value that a call hands to a later one of the stage lies in one message all
/// the time.
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
    /// It takes what changes with every step.
    bool isUpdate = false;
    /// Copies that end before the routine reads them.
    llvm::SmallVector<mlir::Value> events = {};
  };
  /// The copy of a swapped value for call `reader`, `events[event]` of which it
  /// records.
  struct EarlyCopy {
    int64_t kernel;
    size_t reader, event;
    mlir::Value buffer;
    int64_t slot;
  };

  /// A sum over ranks that starts behind some launches of a call.
  struct StepReduction {
    int64_t launches;
    ir::ReduceGradientOp op;
  };

  mlir::LogicalResult collect();
  mlir::LogicalResult collectTask(mlir::Operation *task);
  void collectForward(ir::RunForwardOp run);
  /// Collects a backward, one of its halves or what recomputes for it.
  void collectBackward(llvm::StringRef routine, mlir::Operation *run,
                       mlir::IntegerAttr microBatch, mlir::Value frame,
                       mlir::ValueRange arguments);
  void collectUpdate(ir::RunUpdateOp run);
  void addLossGradient(ir::LossGradientOp loss);
  /// Gives a call a buffer that it reads: that of the call that made `input`,
  /// or a message for what arrives.
  void addInput(Call &call, mlir::Value input);
  /// Gives a call new messages that it writes.
  void addMessages(Call &call, mlir::ValueRange tensors);

  mlir::LogicalResult placeTransfers();
  void emit();
  ascend::CallOp emitCall(size_t index, mlir::ValueRange after);

  // Copies of swapped values for later calls (StepPrefetch.cpp).
  void placeEarlyCopies();
  void emitEarlyCopiesBefore(size_t index);
  void emitEarlyCopiesIn(size_t index, mlir::ValueRange started);
  void emitEarlyCopy(const EarlyCopy &copy, mlir::Value started);
  /// The kernels of a call, rising, before which early copies start.
  llvm::SmallVector<int64_t> getEarlyKernels(size_t index) const;

  // Sums of gradients beside the last backward (StepReductions.cpp).
  void placeReductions();
  void placeReduction(ir::ReduceGradientOp op);
  void emitReductionsIn(size_t index, mlir::ValueRange recorded);
  void emitReduction(ir::ReduceGradientOp reduction, mlir::Value ready);
  /// Launches of a call, rising, behind which it records an event.
  llvm::SmallVector<int64_t> getRecords(size_t index) const;

  ascend::PeerAttr getPeer(int64_t stage);
  void emitIncoming(mlir::Operation *task, mlir::Value after);
  /// These return the event of the transfer's end.
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
  /// By call: the loads and receives that are issued right before it.
  std::vector<llvm::SmallVector<mlir::Operation *, 2>> issuedBefore;
  /// For each call, the copies for later calls that start while it runs, by
  /// kernel.
  std::vector<std::vector<EarlyCopy>> earlyCopies;
  /// Reductions by call, in the order of launches.
  std::vector<std::vector<StepReduction>> reductions;
  /// By stream, the event of the last sum over ranks.
  llvm::MapVector<llvm::StringRef, mlir::Value> reduced;
  bool hasLoss = false;
  /// The factor on the loss scale for backward; null if this stage has no
  /// scaled loss.
  mlir::FloatAttr scaledGradient;
  /// Buffers of the schedule's tensors, frames of its frames.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Events that say that a tensor has arrived.
  llvm::DenseMap<mlir::Value, mlir::Value> arrivals;
  llvm::StringMap<mlir::Value> globals;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPBUILDER_H
