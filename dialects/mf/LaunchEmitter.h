//===- LaunchEmitter.h - Interface for emitting launches --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The interface through which operators are lowered: buffers of tensors and of
// a stage's state, kernel launches and collectives.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_LAUNCHEMITTER_H
#define MF_DIALECTS_MF_LAUNCHEMITTER_H

#include "mf/Program/Signatures/Collective.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mf::ir {

class ParamOp;

/// The statics that a stage keeps for each parameter.
enum class State {
  Parameter,
  /// The gradient of the step, reduced over ranks, which the optimizer reads.
  Gradient,
  FirstMoment,
  SecondMoment,
  /// The running mean or sum of the parameter for PmaAdamW.
  Average,
  /// The means over the rows and columns of a moment, which Came keeps instead
  /// of the moment: of squares of the gradient, and of squares of the
  /// difference between an update and the first moment.
  SquareRows,
  SquareColumns,
  InstabilityRows,
  InstabilityColumns,
  /// The buffer to which backward adds gradients. It shares the memory of
  /// `Gradient`, unless the sum is sharded over ranks.
  Accumulated,
  /// The parameter as layers read it. It shares the memory of `Parameter`,
  /// unless the parameter is stored in shards and gathered once in a step.
  Gathered
};

/// A handle to a buffer. Operators only pass it on. Lowering stores a value of
/// the program in it, the interpreter a tensor.
class EmittedBuffer {
public:
  EmittedBuffer() = default;
  explicit EmittedBuffer(const void *handle) : handle(handle) {}
  explicit EmittedBuffer(mlir::Value value)
      : handle(value.getAsOpaquePointer()) {}

  explicit operator bool() const { return handle; }
  const void *getHandle() const { return handle; }
  /// Returns the value that the handle was made from.
  mlir::Value getValue() const {
    return mlir::Value::getFromOpaquePointer(handle);
  }

private:
  const void *handle = nullptr;
};

/// A collective of the ranks that differ only in the coordinates on `axes` and,
/// if `stages` is not empty, are on these stages. All of its ranks issue the
/// collectives of one `channel` in the same order.
struct EmittedCollective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  EmittedBuffer input, output;
  /// The counts of an all_to_all_v in fp32: the rows for each expert of each
  /// member, and the rows that each member sends for each expert of this rank.
  EmittedBuffer send, receive;
  /// The value that fills the output of an all_to_all_v after the last row that
  /// arrives.
  double fill = 0;
  llvm::SmallVector<llvm::StringRef, 2> axes;
  llvm::SmallVector<int64_t, 4> stages;
  std::string channel;
};

/// Emits launches and collectives on buffers, in order.
class LaunchEmitter {
public:
  virtual ~LaunchEmitter() = default;

  /// Returns the buffer of a tensor value that was emitted before.
  virtual EmittedBuffer getBuffer(mlir::Value tensor) = 0;
  /// Creates a buffer for a tensor value.
  virtual EmittedBuffer createBuffer(mlir::Value tensor) = 0;
  /// Creates a buffer without a value, through which the launches of one
  /// operator pass results to each other.
  virtual EmittedBuffer createTemporary(mlir::RankedTensorType type) = 0;
  /// Returns a tensor<1xi32> with this rank's index in the group of ranks that
  /// differ only in their coordinates on `axes`.
  virtual EmittedBuffer getCoordinate(mlir::ArrayAttr axes) = 0;
  virtual EmittedBuffer getState(State state, llvm::StringRef parameter) = 0;
  /// Returns the declaration of a parameter of the model.
  virtual ParamOp getParam(llvm::StringRef parameter) = 0;
  /// Returns a tensor that the host reads at the end of the step.
  virtual EmittedBuffer getReport(llvm::StringRef quantity,
                                  mlir::RankedTensorType type) = 0;
  /// Returns the part of a buffer that begins at `byteOffset`.
  virtual EmittedBuffer getPart(EmittedBuffer buffer, int64_t byteOffset,
                                mlir::RankedTensorType type) = 0;
  virtual void launch(llvm::StringRef kernel,
                      llvm::ArrayRef<EmittedBuffer> inputs,
                      llvm::ArrayRef<EmittedBuffer> outputs,
                      mlir::DictionaryAttr attributes = {}) = 0;
  /// Emits this rank's part of a collective. It runs concurrently with the
  /// launches that follow, up to the first that reads its output or writes one
  /// of its buffers.
  virtual void communicate(const EmittedCollective &collective) = 0;
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_LAUNCHEMITTER_H
