//===- KernelRunner.h - One kernel at a time on tensors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_KERNELRUNNER_H
#define MF_LIB_EXEC_INTERPRETER_KERNELRUNNER_H

#include "dialects/mf/MfDialect.h"
#include "mf/Exec/Interpreter/Tensor.h"
#include "mf/Exec/Kernels/Kernel.h"

namespace mf::interpreter {

/// Returns the shape of a ranked tensor type, or of such a tensor in host
/// memory.
mlir::FailureOr<TensorShape> getTensorShape(mlir::Operation *op,
                                            mlir::Type type);

/// Makes kernels and runs them immediately.
class KernelRunner {
public:
  explicit KernelRunner(int threads) : pool(threads) {}

  /// Runs the kernel `name`. Reports errors at `op`.
  mlir::LogicalResult launch(mlir::Operation *op, llvm::StringRef name,
                             llvm::ArrayRef<Tensor> inputs,
                             llvm::ArrayRef<Tensor> outputs,
                             mlir::DictionaryAttr attributes);

  /// Returns the results of an operator on `operands`: those of its kernel in
  /// new memory, or its view.
  mlir::LogicalResult compute(ir::ComputeOpInterface op,
                              llvm::ArrayRef<Tensor> operands,
                              llvm::SmallVectorImpl<Tensor> &results);

private:
  struct Prepared {
    std::unique_ptr<Kernel> kernel;
    int64_t workspaceBytes = 0;
  };

  mlir::FailureOr<Prepared> make(mlir::Operation *op, llvm::StringRef name,
                                 llvm::ArrayRef<Tensor> inputs,
                                 llvm::ArrayRef<Tensor> outputs,
                                 mlir::DictionaryAttr attributes);
  void run(const Prepared &prepared, llvm::ArrayRef<Tensor> inputs,
           llvm::ArrayRef<Tensor> outputs);

  ThreadPool pool;
  /// The kernels of operators, whose types never change.
  llvm::DenseMap<mlir::Operation *, Prepared> kernels;
};

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_KERNELRUNNER_H
