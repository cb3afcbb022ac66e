//===- LaunchEmitter.h - Interface for emitting launches --------*- C++ -*-===//
//
// The side of lowering that operators see: buffers of tensors and of a stage's
// state, kernel launches and collectives.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_LAUNCHEMITTER_H
#define MF_DIALECTS_MF_LAUNCHEMITTER_H

#include "mf/Program/Signatures/Collective.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mf::ir {

/// The statics that a stage keeps per parameter from step to step.
enum class State {
  Parameter,
  /// The gradient of the step, reduced over ranks, as the optimizer takes it.
  Gradient,
  FirstMoment,
  SecondMoment,
  /// The running mean or sum of the parameter that PmaAdamW keeps.
  Average,
  /// Means of the rows and of the columns of a moment, which Came keeps in
  /// place of it: of squares of the gradient, and of squares of the difference
  /// between an update and the first moment.
  SquareRows,
  SquareColumns,
  InstabilityRows,
  InstabilityColumns,
  /// The buffer to which backward adds gradients. It is the memory of
  /// `Gradient`, unless ranks share the sum out.
  Accumulated,
  /// The parameter as layers read it. It is the memory of `Parameter`, unless
  /// ranks share its storage out and gather it once in a step.
  Gathered
};

/// A buffer as its emitter knows it. Operators only hand it on: lowering keeps
/// a value of the program in it, the interpreter a tensor.
class EmittedBuffer {
public:
  EmittedBuffer() = default;
  explicit EmittedBuffer(const void *handle) : handle(handle) {}
  explicit EmittedBuffer(mlir::Value value)
      : handle(value.getAsOpaquePointer()) {}

  explicit operator bool() const { return handle; }
  const void *getHandle() const { return handle; }
  /// The value that it was made from.
  mlir::Value getValue() const {
    return mlir::Value::getFromOpaquePointer(handle);
  }

private:
  const void *handle = nullptr;
};

/// A collective of the ranks that differ in the coordinates on `axes` alone
/// and, if `stages` are given, are of these. Collectives of one `channel`
/// happen in the same order on all of them.
struct EmittedCollective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  EmittedBuffer input, output;
  /// Counts of an all_to_all_v, in fp32: the rows for each expert of each
  /// member, and those that each member sends for each expert of this rank.
  EmittedBuffer send, receive;
  /// The value that an all_to_all_v puts behind the last row that arrives.
  double fill = 0;
  llvm::SmallVector<llvm::StringRef, 2> axes;
  llvm::SmallVector<int64_t, 4> stages;
  std::string channel;
};

/// Emits launches and collectives on buffers, in order.
class LaunchEmitter {
public:
  virtual ~LaunchEmitter() = default;

  /// The buffer of a tensor value that was emitted before.
  virtual EmittedBuffer getBuffer(mlir::Value tensor) = 0;
  /// A new buffer for a tensor value.
  virtual EmittedBuffer createBuffer(mlir::Value tensor) = 0;
  /// A new buffer that no value stands for, in which the launches of one
  /// operator pass results to each other.
  virtual EmittedBuffer createTemporary(mlir::RankedTensorType type) = 0;
  /// This rank's number in the group of ranks that differ in their coordinates
  /// on `axes` alone, a tensor<1xi32>.
  virtual EmittedBuffer getCoordinate(mlir::ArrayAttr axes) = 0;
  virtual EmittedBuffer getState(State state, llvm::StringRef parameter) = 0;
  /// A tensor that the host reads at the end of the step.
  virtual EmittedBuffer getReport(llvm::StringRef quantity,
                                  mlir::RankedTensorType type) = 0;
  /// Part of a buffer, from `byteOffset` on.
  virtual EmittedBuffer getPart(EmittedBuffer buffer, int64_t byteOffset,
                                mlir::RankedTensorType type) = 0;
  virtual void launch(llvm::StringRef kernel,
                      llvm::ArrayRef<EmittedBuffer> inputs,
                      llvm::ArrayRef<EmittedBuffer> outputs,
                      mlir::DictionaryAttr attributes = {}) = 0;
  /// Emits this rank's part in a collective. It runs beside the launches that
  /// follow, up to the first that reads its output or writes one of its
  /// buffers.
  virtual void communicate(const EmittedCollective &collective) = 0;
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_LAUNCHEMITTER_H
