//===- LaunchEmitter.h - What operators on state emit ----------*- C++ -*-===//
//
// The side of lowering that an `UpdateOpInterface` sees: buffers of a stage's
// state, kernel launches and collectives.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_LAUNCHEMITTER_H
#define MF_DIALECTS_MF_LAUNCHEMITTER_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mf::ir {

/// What a stage keeps per parameter from step to step.
enum class State { Parameter, Gradient, FirstMoment, SecondMoment };

/// A buffer as its emitter knows it. Operators only hand it on: lowering keeps
/// a value of the program in it, the interpreter a tensor.
class EmittedBuffer {
public:
  EmittedBuffer() = default;
  explicit EmittedBuffer(const void *handle) : handle(handle) {}
  explicit EmittedBuffer(mlir::Value value)
      : handle(value.getAsOpaquePointer()) {}

  const void *getHandle() const { return handle; }
  /// The value that it was made from.
  mlir::Value getValue() const {
    return mlir::Value::getFromOpaquePointer(handle);
  }

private:
  const void *handle = nullptr;
};

/// Emits launches on buffers, in order.
class LaunchEmitter {
public:
  virtual ~LaunchEmitter() = default;

  /// Ranks of the training step, one per stage.
  virtual int64_t getRanks() const = 0;
  /// The buffer of a tensor value that was emitted before.
  virtual EmittedBuffer getBuffer(mlir::Value tensor) = 0;
  /// A new buffer for a tensor value.
  virtual EmittedBuffer createBuffer(mlir::Value tensor) = 0;
  virtual EmittedBuffer getState(State state, llvm::StringRef parameter) = 0;
  /// A scalar that the host reads at the end of the step.
  virtual EmittedBuffer getReport(llvm::StringRef quantity) = 0;
  /// Part of a buffer, from `byteOffset` on.
  virtual EmittedBuffer getPart(EmittedBuffer buffer, int64_t byteOffset,
                                mlir::RankedTensorType type) = 0;
  virtual void launch(llvm::StringRef kernel,
                      llvm::ArrayRef<EmittedBuffer> inputs,
                      llvm::ArrayRef<EmittedBuffer> outputs,
                      mlir::DictionaryAttr attributes = {}) = 0;
  /// The sum over `ranks` in place, in their order. Calls with one `channel`
  /// happen in the same order on all of them.
  virtual void allReduce(EmittedBuffer buffer, llvm::ArrayRef<int64_t> ranks,
                         llvm::StringRef channel) = 0;
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_LAUNCHEMITTER_H
