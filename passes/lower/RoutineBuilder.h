//===- RoutineBuilder.h - Tensor operators to launches ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_ROUTINEBUILDER_H
#define MF_PASSES_LOWER_ROUTINEBUILDER_H

#include "passes/lower/IssuePlan.h"
#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// Places the copies between device and host among a routine's launches, with
/// the events that order them. A copy that must start before the routine
/// becomes an argument, and is recorded in the program as an early prefetch.
class RoutineSwap {
public:
  RoutineSwap(ProgramBuilder &program, ascend::RoutineOp routine,
              mlir::OpBuilder &builder)
      : program(program), routine(routine), builder(builder),
        numBufferArguments(routine.getArgumentTypes().size()) {}

  /// Must be called before each launch is made. Waits for copies out whose
  /// memory is released here.
  void beforeLaunch();
  /// Must be called with each launch that is made.
  void addLaunch(mlir::Operation *launch) { launches.push_back(launch); }

  /// Starts to copy `buffer` to `host` at this point.
  void copyOut(mlir::Location loc, mlir::Value buffer, mlir::Value host,
               int64_t distance);

  /// Returns a device buffer for `tensor`. Slot `slot` is copied to it before
  /// the next launch, which is the first to read it.
  mlir::Value copyBack(mlir::Location loc, int64_t slot, mlir::Type tensor,
                       int64_t distance);

  /// Waits for the copies that are not complete yet, and sets the routine's
  /// final type.
  void finish();

private:
  mlir::Value startCopy(mlir::Location loc, llvm::StringRef stream,
                        ascend::StreamKind kind, mlir::Value source,
                        mlir::Value target);
  void wait(mlir::Location loc, mlir::Value event);

  struct Release {
    int64_t kernel;
    mlir::Location loc;
    mlir::Value event;
  };

  ProgramBuilder &program;
  ascend::RoutineOp routine;
  mlir::OpBuilder &builder;
  unsigned numBufferArguments;
  llvm::SmallVector<mlir::Operation *> launches;
  llvm::SmallVector<Release> releases;
};

/// Places collectives among a routine's launches, each on the stream of its
/// communicator. A collective starts after the launches before it. The compute
/// stream waits for it before it first reads the collective's output, or writes
/// a buffer that the collective uses.
class RoutineExchanges {
public:
  RoutineExchanges(ProgramBuilder &program, mlir::OpBuilder &builder)
      : program(program), builder(builder) {}

  void communicate(mlir::Location loc, const ir::EmittedCollective &collective,
                   llvm::StringRef cell);

  /// Must be called before the compute stream, or work that it starts, reads
  /// and writes these buffers.
  void waitFor(mlir::ValueRange read, mlir::ValueRange written);

  /// Must be called at the end of the routine.
  void waitForAll();

private:
  /// A collective for which the compute stream has not waited yet.
  struct Pending {
    /// The buffers that it reads, and the buffer that it writes.
    llvm::SmallVector<mlir::Value, 3> inputs;
    mlir::Value output, done;
    mlir::Location loc;
  };
  void wait(const Pending &exchange);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  llvm::SmallVector<Pending> pending;
};

/// Fills one routine with the launches of a function's operators. If the memory
/// of a value is determined before its operator is reached (an output, a
/// residual, a gradient), `setStorage` sets it. All other values get their own
/// buffer.
class RoutineBuilder {
public:
  RoutineBuilder(ProgramBuilder &program, ascend::RoutineOp routine);

  /// Binds a tensor value that exists before the routine runs to a buffer.
  void bind(mlir::Value tensor, mlir::Value buffer) {
    buffers[tensor] = buffer;
  }
  /// Sets the buffer to which the result `root` of an operator is written.
  /// Returns false if it is already set.
  bool setStorage(mlir::Value root, mlir::Value buffer);
  /// Calls `action` after the operator that makes `value` has been lowered.
  void callAfter(mlir::Value value, std::function<void()> action);

  /// Skips an operator whose results have no readers.
  void skip(mlir::Operation *op) { skipped.insert(op); }

  /// Sets the slot that holds a tensor in host memory.
  void setHostSlot(mlir::Value host, int64_t index) { hostSlots[host] = index; }

  /// Lowers all operators of a function body except its return. `gradients` are
  /// the gradients of parameters that the function returns.
  mlir::LogicalResult lower(mlir::Block &body,
                            llvm::ArrayRef<mlir::Value> gradients = {});
  /// Lowers some operators of a body.
  mlir::LogicalResult lower(llvm::ArrayRef<mlir::Operation *> operators,
                            llvm::ArrayRef<mlir::Value> gradients = {});

  /// Converts a rank's part of a parameter to the type in which ranks keep it.
  void round(ir::ParamOp param);
  /// Gathers a parameter that ranks store in shards.
  void gather(ir::ParamOp param);
  /// Completes a routine whose operators were not lowered by `lower`.
  void finish();

  /// Returns the number of launches of the routine so far.
  int64_t getNumLaunches() const { return numLaunches; }
  llvm::StringRef getName() { return routine.getSymName(); }

  mlir::Value getSlot(int64_t index, mlir::Type tensor);
  mlir::Value getGlobal(ascend::StaticOp buffer);
  /// Returns `buffer` with another shape of the same size.
  mlir::Value getReshaped(mlir::Value buffer, mlir::Type tensor);

  mlir::Value getBuffer(mlir::Value tensor);
  mlir::Value createBuffer(mlir::Value tensor);
  /// Returns a buffer for the launches that are emitted next.
  mlir::Value createTemporary(mlir::Type tensor);
  mlir::Value getCoordinate(mlir::ArrayAttr axes);
  mlir::Value getState(ir::State state, llvm::StringRef parameter);
  ir::ParamOp getParam(llvm::StringRef parameter) const {
    return program.getParam(parameter);
  }
  mlir::Value getReport(llvm::StringRef quantity, mlir::RankedTensorType type);
  mlir::Value getPart(mlir::Value buffer, int64_t byteOffset,
                      mlir::RankedTensorType type);
  void launch(llvm::StringRef kernel, mlir::ValueRange inputs,
              mlir::ValueRange outputs, mlir::DictionaryAttr attributes = {});
  void communicate(const ir::EmittedCollective &collective);

private:
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  ascend::StaticOp findRounded(mlir::Operation *op);
  void lowerRead(ir::GetParamOp read);
  void runActions(mlir::Operation *op);
  void emitRemark(const IssuePlan &plan);
  mlir::LogicalResult lowerCompute(ir::ComputeOpInterface op);
  bool isReadOnce(mlir::Value value);
  mlir::Value findLastRead(mlir::Value result);
  void addWorkspace(ascend::LaunchOp op);
  void lowerOffload(ir::OffloadOp op);
  void lowerPrefetch(ir::PrefetchOp op);

  ProgramBuilder &program;
  ascend::RoutineOp routine;
  mlir::OpBuilder builder;
  mlir::Location loc;
  RoutineSwap swap;
  RoutineExchanges exchanges;
  int64_t numLaunches = 0;
  /// The name of the operator that is being lowered.
  llvm::StringRef cell;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> storage;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::function<void()>>>
      actions;
  llvm::DenseSet<mlir::Operation *> skipped;
  llvm::StringMap<mlir::Value> globals;
  llvm::DenseMap<int64_t, mlir::Value> slots;
  llvm::DenseMap<mlir::Value, int64_t> hostSlots;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_ROUTINEBUILDER_H
