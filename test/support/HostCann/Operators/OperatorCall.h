//===- OperatorCall.h - The first phase of operators ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Checks an operator's arguments and makes its executor. Operators compute
// with the kernels of the emulated device wherever the two mean the same.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_SUPPORT_HOSTCANN_OPERATORS_OPERATORCALL_H
#define MF_TEST_SUPPORT_HOSTCANN_OPERATORS_OPERATORCALL_H

#include "HostCann/Objects/Objects.h"
#include "aclnnop/aclnn.inc"
#include "mf/Exec/Kernels/Kernel.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mf::hostcann {

/// Returns the element type of kernels, or none if they have no such type.
std::optional<DType> getKernelType(aclDataType type);

/// A kernel with its threads. Its operands may share memory.
class OperatorKernel {
public:
  static llvm::Expected<std::shared_ptr<OperatorKernel>>
  make(const KernelSpec &spec);

  size_t getWorkspaceBytes() const;
  /// Runs the kernel. Without a workspace it allocates one.
  void run(llvm::ArrayRef<void *> inputs, llvm::ArrayRef<void *> outputs,
           void *workspace = nullptr) const;

private:
  KernelSpec spec;
  std::unique_ptr<Kernel> kernel;
};

/// Reads integers of 32 or 64 bits in the form that kernels take.
std::vector<int32_t> readIntegers(const void *from, aclDataType type,
                                  int64_t count);

/// Read and write a floating-point element. They are for operators that no
/// kernel computes.
float readElement(const void *from, aclDataType type, int64_t index);
void writeElement(void *to, aclDataType type, int64_t index, float value);
/// Read and write an element of any type. 64-bit integers beyond 2^53 are
/// rounded.
double readNumber(const void *from, aclDataType type, int64_t index);
void writeNumber(void *to, aclDataType type, int64_t index, double value);

class OperatorCall {
public:
  /// The strides that an operand may have.
  enum class Layout : uint8_t { Dense, DenseOrTransposed, Any };

  OperatorCall(const char *name, uint64_t *workspaceSize,
               aclOpExecutor **executor);

  /// Add an operand and return its number.
  size_t read(const aclTensor *tensor, llvm::StringRef operand,
              Layout layout = Layout::Dense);
  size_t write(const aclTensor *tensor, llvm::StringRef operand,
               Layout layout = Layout::Dense);
  size_t update(const aclTensor *tensor, llvm::StringRef operand);

  /// Fails the call with error 161001 if an argument is null.
  void requireThere(const void *argument, llvm::StringRef operand);
  /// Fails the call with error 161002 unless `holds`.
  void require(bool holds, const llvm::Twine &text);
  /// Fails the call unless `dim` is the last dimension of `tensor`, which may
  /// be null.
  void requireLastDimension(const aclTensor *tensor, int64_t dim);
  bool hasFailed() const { return code != ACLNN_SUCCESS; }
  llvm::StringRef getName() const { return name; }

  const aclTensor &getTensor(size_t operand) const {
    return operands[operand].tensor;
  }
  TensorShape getShape(size_t operand) const;

  /// Returns the kernel. Fails the call and returns null if the kernel does not
  /// take the operands.
  std::shared_ptr<OperatorKernel> makeKernel(const KernelSpec &spec);

  /// Ends the first phase. The second phase calls `body` with the addresses of
  /// the operands and the workspace.
  aclnnStatus
  finish(uint64_t workspaceBytes,
         std::function<llvm::Error(llvm::ArrayRef<void *>, void *)> body);
  /// Ends the first phase with a kernel, whose inputs are the operands that are
  /// read, and whose outputs are the others.
  aclnnStatus finishKernel(llvm::StringRef kernel,
                           AttributeMap attributes = {});
  aclnnStatus finishSpec(const KernelSpec &spec);

private:
  size_t add(const aclTensor *tensor, llvm::StringRef operand, bool isRead,
             bool isWritten, Layout layout);

  const char *name;
  uint64_t *workspaceSize;
  aclOpExecutor **executor;
  std::vector<BoundTensor> operands;
  int code = ACLNN_SUCCESS;
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_OPERATORS_OPERATORCALL_H
