//===- OperatorCall.h - The first phase of operators ------------*- C++ -*-===//
//
// Checks an operator's arguments and makes its executor. Operators compute
// with the kernels of the emulated device wherever the two mean the same.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_OPERATORS_OPERATORCALL_H
#define MF_LIB_HOSTCANN_OPERATORS_OPERATORCALL_H

#include "aclnnop/aclnn.inc"
#include "mf/Exec/Kernels/Kernel.h"
#include "mf/HostCann/Objects/Objects.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mf::hostcann {

/// The element type of kernels, or none.
std::optional<DType> getKernelType(aclDataType type);

/// A kernel with its threads, for memory that may be that of several operands.
class OperatorKernel {
public:
  static llvm::Expected<std::shared_ptr<OperatorKernel>>
  make(const KernelSpec &spec);

  size_t getWorkspaceBytes() const;
  /// Without a workspace it has one of its own.
  void run(llvm::ArrayRef<void *> inputs, llvm::ArrayRef<void *> outputs,
           void *workspace = nullptr) const;

private:
  KernelSpec spec;
  std::unique_ptr<Kernel> kernel;
};

/// Integers of either size as the kernels want them.
std::vector<int32_t> readIntegers(const void *from, aclDataType type,
                                  int64_t count);

/// A floating-point number in memory, for what is no loop of a kernel.
float readElement(const void *from, aclDataType type, int64_t index);
void writeElement(void *to, aclDataType type, int64_t index, float value);
/// Any number that there is a type of; 64-bit integers beyond 2^53 are rounded.
double readNumber(const void *from, aclDataType type, int64_t index);
void writeNumber(void *to, aclDataType type, int64_t index, double value);

class OperatorCall {
public:
  /// How dense an operand has to be.
  enum class Layout : uint8_t { Dense, DenseOrTransposed, Any };

  OperatorCall(const char *name, uint64_t *workspaceSize,
               aclOpExecutor **executor);

  /// These add an operand and return its number.
  size_t read(const aclTensor *tensor, llvm::StringRef operand,
              Layout layout = Layout::Dense);
  size_t write(const aclTensor *tensor, llvm::StringRef operand);
  size_t update(const aclTensor *tensor, llvm::StringRef operand);

  /// Refuses the call with 161001.
  void requireThere(const void *argument, llvm::StringRef operand);
  /// Refuses the call with 161002.
  void require(bool holds, const llvm::Twine &text);
  /// Refuses a dimension of `tensor`, which may be null, other than the last.
  void requireLastDimension(const aclTensor *tensor, int64_t dim);
  bool hasFailed() const { return code != ACLNN_SUCCESS; }
  llvm::StringRef getName() const { return name; }

  const aclTensor &getTensor(size_t operand) const {
    return operands[operand].tensor;
  }
  TensorShape getShape(size_t operand) const;

  /// The kernel, unless it does not take the operands.
  std::shared_ptr<OperatorKernel> makeKernel(const KernelSpec &spec);

  /// Ends the first phase.
  aclnnStatus
  finish(uint64_t workspaceBytes,
         std::function<llvm::Error(llvm::ArrayRef<void *>, void *)> body);
  /// Ends it with a kernel that takes the operands that are read, then writes
  /// the others.
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

#endif // MF_LIB_HOSTCANN_OPERATORS_OPERATORCALL_H
