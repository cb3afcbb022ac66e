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
#include "mlir/IR/ValueRange.h"

namespace mf::ir {

/// What a stage keeps per parameter from step to step.
enum class State { Parameter, Gradient, FirstMoment, SecondMoment };

/// Emits launches on buffers, in order. Buffers are opaque values.
class LaunchEmitter {
public:
  virtual ~LaunchEmitter() = default;

  /// Ranks of the training step, one per stage.
  virtual int64_t getRanks() const = 0;
  /// The buffer of a tensor value that was emitted before.
  virtual mlir::Value getBuffer(mlir::Value tensor) = 0;
  /// A new buffer for a tensor value.
  virtual mlir::Value createBuffer(mlir::Value tensor) = 0;
  virtual mlir::Value getState(State state, llvm::StringRef parameter) = 0;
  /// A scalar that the host reads at the end of the step.
  virtual mlir::Value getReport(llvm::StringRef quantity) = 0;
  /// Part of a buffer, from `byteOffset` on.
  virtual mlir::Value getPart(mlir::Value buffer, int64_t byteOffset,
                              mlir::RankedTensorType type) = 0;
  virtual void launch(llvm::StringRef kernel, mlir::ValueRange inputs,
                      mlir::ValueRange outputs,
                      mlir::DictionaryAttr attributes = {}) = 0;
  /// The sum over `ranks` in place, in their order. Calls with one `channel`
  /// happen in the same order on all of them.
  virtual void allReduce(mlir::Value buffer, llvm::ArrayRef<int64_t> ranks,
                         llvm::StringRef channel) = 0;
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_LAUNCHEMITTER_H
