//===- Objects.h - Tensors, numbers and executors of aclnn ------*- C++ -*-===//

#ifndef MF_HOSTCANN_OBJECTS_H
#define MF_HOSTCANN_OBJECTS_H

#include "aclnn/acl_meta.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>
#include <vector>

struct aclTensor {
  llvm::SmallVector<int64_t, 4> dims, strides, storage;
  int64_t offset = 0;
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  void *data = nullptr;

  int64_t getNumElements() const;
  /// Elements lie behind each other in the order of the dimensions.
  bool isDense() const;
  /// The same for dimensions of which the last two are swapped.
  bool isDenseTransposed() const;
  void *getFirst() const;
  /// From the first element to the end of the last one.
  int64_t getSpanBytes() const;
  /// No element lies outside of the storage.
  bool fitsStorage() const;
};

struct aclScalar {
  aclDataType type = ACL_DT_UNDEFINED;
  double value = 0;
};

struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<bool> values;
};
struct aclTensorList {
  std::vector<const aclTensor *> tensors;
};
struct aclScalarList {
  std::vector<const aclScalar *> scalars;
};

namespace mf::hostcann {

/// The bytes of an element; 0 for a type that there is not.
int64_t getElementBytes(aclDataType type);

/// False once it is destroyed.
bool isAlive(const aclTensor *tensor);

/// A tensor that an executor was made for.
struct BoundTensor {
  aclTensor tensor;
  bool isRead = false, isWritten = false;
  std::string name;
  /// The program's own, which may be gone.
  const aclTensor *object = nullptr;
};

/// Makes an executor refuse what went wrong in the first phase.
int failOperator(int code, const char *name, const llvm::Twine &text);

} // namespace mf::hostcann

struct aclOpExecutor {
  /// The function of the second phase.
  const char *name = nullptr;
  std::vector<mf::hostcann::BoundTensor> operands;
  uint64_t workspaceBytes = 0;
  bool isRepeatable = false;
  /// Gets the first element of each operand, and the workspace.
  std::function<llvm::Error(llvm::ArrayRef<void *>, void *)> body;
};

namespace mf::hostcann {

/// Executors live until they are run or destroyed.
void registerExecutor(aclOpExecutor *executor);

/// The second phase of the operator `name`.
aclnnStatus runExecutor(const char *name, void *workspace, uint64_t bytes,
                        aclOpExecutor *executor, aclrtStream stream);

} // namespace mf::hostcann

#endif // MF_HOSTCANN_OBJECTS_H
