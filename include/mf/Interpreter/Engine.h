//===- Engine.h - Steps of a module at any level ---------------*- C++ -*-===//
//
// A model is interpreted, planned programs run on emulated devices. Whoever
// compares the two sees the same here.
//
//===----------------------------------------------------------------------===//

#ifndef MF_INTERPRETER_ENGINE_H
#define MF_INTERPRETER_ENGINE_H

#include "mf/Interpreter/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"

namespace mf::interpreter {

/// The sizes of a step's data.
struct DataSizes {
  int64_t microBatches = 1;
  int64_t microBatchSize = 1;
  int64_t sequenceLength = 1;
  int64_t vocabSize = 1;
  /// Negative if there is none.
  int64_t padTokenId = -1;
  int64_t ignoreIndex = -100;
};

using ranks::TensorValue;
using ranks::TensorValues;

/// Runs steps of one module, which must not change meanwhile.
class Engine {
public:
  /// Reports what cannot be run at its operation.
  static mlir::FailureOr<std::unique_ptr<Engine>>
  create(mlir::ModuleOp module, const InterpreterOptions &options);
  virtual ~Engine() = default;

  virtual DataSizes getDataSizes() const = 0;
  /// Whether the module says itself how many micro-batches a step has.
  virtual bool knowsMicroBatches() const = 0;
  virtual float getLossScale() const = 0;
  virtual bool hasBackward() const = 0;
  virtual bool hasUpdate() const = 0;
  virtual mlir::FailureOr<ranks::StepOutput>
  runStep(const ranks::StepInput &input) = 0;
  /// Of the last step, as backward left them.
  virtual llvm::Expected<TensorValues> getGradients() const = 0;
  /// Trained parameters, of tied ones the owner.
  virtual llvm::Expected<TensorValues> getParameters() const = 0;

  /// Reports an error, if it is one, where it belongs in the module.
  virtual mlir::LogicalResult report(llvm::Error error) const = 0;
};

} // namespace mf::interpreter

#endif // MF_INTERPRETER_ENGINE_H
