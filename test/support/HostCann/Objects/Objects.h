//===- Objects.h - Tensors, numbers and executors of aclnn ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_OBJECTS_OBJECTS_H
#define MF_TEST_SUPPORT_HOSTCANN_OBJECTS_OBJECTS_H

#include "aclnn/acl_meta.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>
#include <vector>

/// A tensor of a program. Its sizes and its offset are in elements.
struct aclTensor {
  llvm::SmallVector<int64_t, 4> dims, strides, storage;
  int64_t offset = 0;
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  void *data = nullptr;

  int64_t getNumElements() const;
  /// Returns whether the elements are contiguous in the order of the
  /// dimensions.
  bool isDense() const;
  /// Returns the same for a tensor whose last two dimensions are swapped.
  bool isDenseTransposed() const;
  void *getFirst() const;
  /// Returns the distance in bytes from the first element to the end of the
  /// last one.
  int64_t getSpanBytes() const;
  /// Returns whether all elements lie within the storage.
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

/// Returns the bytes of an element; 0 for an unknown type.
int64_t getElementBytes(aclDataType type);

/// Returns false if the tensor has been destroyed.
bool isAlive(const aclTensor *tensor);

/// A tensor that is an operand of an executor.
struct BoundTensor {
  aclTensor tensor;
  bool isRead = false, isWritten = false;
  std::string name;
  /// The program's own object, which may have been destroyed since.
  const aclTensor *object = nullptr;
};

/// Records the error `text` of operator `name` and returns `code`.
int failOperator(int code, const char *name, const llvm::Twine &text);

} // namespace mf::hostcann

/// A prepared call of an operator, which its second phase runs.
struct aclOpExecutor {
  /// The function of the second phase.
  const char *name = nullptr;
  std::vector<mf::hostcann::BoundTensor> operands;
  uint64_t workspaceBytes = 0;
  bool isRepeatable = false;
  /// Runs the operator on the first element of each operand and the workspace.
  std::function<llvm::Error(llvm::ArrayRef<void *>, void *)> body;
};

namespace mf::hostcann {

/// Registers an executor. It exists until it is run or destroyed.
void registerExecutor(aclOpExecutor *executor);

/// Runs the second phase of the operator `name`.
aclnnStatus runExecutor(const char *name, void *workspace, uint64_t bytes,
                        aclOpExecutor *executor, aclrtStream stream);

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_OBJECTS_OBJECTS_H
