//===- Objects.cpp - Tensors, numbers and lists of aclnn ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Objects/Objects.h"
#include "HostCann/Objects/LiveObjects.h"
#include "HostCann/Runtime/Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace mf::hostcann;

namespace {

template <typename Number> double readAs(const void *value) {
  Number number;
  std::memcpy(&number, value, sizeof number);
  return static_cast<double>(number);
}

bool isDenseFor(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> strides) {
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0; expected *= dims[i])
    if (dims[i] != 1 && strides[i] != expected)
      return false;
  return true;
}

constexpr const char *getKind(const aclTensor *) { return "aclTensor"; }
constexpr const char *getKind(const aclScalar *) { return "aclScalar"; }
constexpr const char *getKind(const aclIntArray *) { return "aclIntArray"; }
constexpr const char *getKind(const aclFloatArray *) { return "aclFloatArray"; }
constexpr const char *getKind(const aclBoolArray *) { return "aclBoolArray"; }
constexpr const char *getKind(const aclTensorList *) { return "aclTensorList"; }
constexpr const char *getKind(const aclScalarList *) { return "aclScalarList"; }

template <typename Object> Object *keep(Object *object) {
  LiveObjects::get().add(object, getKind(object));
  return object;
}

/// Destroys an object, which may be null.
template <typename Object> aclnnStatus destroy(const Object *object) {
  if (object && !LiveObjects::get().remove(object, getKind(object)))
    return fail(ACLNN_ERR_PARAM_INVALID,
                llvm::Twine("there is no such ") + getKind(object) +
                    " to destroy; it may be destroyed already");
  delete object;
  return ACLNN_SUCCESS;
}

/// Destroys a list with its elements, which it owns.
template <typename List, typename Element>
aclnnStatus destroyList(const List *list,
                        std::vector<const Element *> List::*elements) {
  std::vector<const Element *> owned;
  if (list && LiveObjects::get().has(list, getKind(list)))
    owned = list->*elements;
  aclnnStatus status = destroy(list);
  for (const Element *element : owned)
    if (aclnnStatus failed = destroy(element))
      status = failed;
  return status;
}

} // namespace

bool mf::hostcann::isAlive(const aclTensor *tensor) {
  return LiveObjects::get().has(tensor, getKind(tensor));
}

int64_t mf::hostcann::getElementBytes(aclDataType type) {
  switch (type) {
  case ACL_INT8:
  case ACL_UINT8:
  case ACL_BOOL:
    return 1;
  case ACL_FLOAT16:
  case ACL_BF16:
  case ACL_INT16:
  case ACL_UINT16:
    return 2;
  case ACL_FLOAT:
  case ACL_INT32:
  case ACL_UINT32:
    return 4;
  case ACL_INT64:
  case ACL_UINT64:
  case ACL_DOUBLE:
    return 8;
  case ACL_DT_UNDEFINED:
    break;
  }
  return 0;
}

int64_t aclTensor::getNumElements() const {
  int64_t elements = 1;
  for (int64_t size : dims)
    elements *= size;
  return elements;
}

bool aclTensor::isDense() const {
  return getNumElements() == 0 || isDenseFor(dims, strides);
}

bool aclTensor::isDenseTransposed() const {
  if (dims.size() < 2)
    return false;
  llvm::SmallVector<int64_t, 4> swapped = dims, steps = strides;
  std::swap(swapped.back(), swapped[dims.size() - 2]);
  std::swap(steps.back(), steps[dims.size() - 2]);
  return isDenseFor(swapped, steps);
}

int64_t aclTensor::getSpanBytes() const {
  if (getNumElements() == 0)
    return 0;
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    last += (dims[i] - 1) * strides[i];
  return (last + 1) * getElementBytes(type);
}

bool aclTensor::fitsStorage() const {
  int64_t room = 1;
  for (int64_t size : storage)
    room *= size;
  const int64_t span = getSpanBytes() / getElementBytes(type);
  return span == 0 || (offset >= 0 && offset + span <= room);
}

void *aclTensor::getFirst() const {
  return static_cast<char *>(data) + offset * getElementBytes(type);
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum,
                           aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format,
                           const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData) {
  if ((viewDimsNum && !viewDims) || (storageDimsNum && !storageDims) ||
      getElementBytes(dataType) == 0)
    return nullptr;
  auto *tensor = new aclTensor;
  tensor->dims.assign(viewDims, viewDims + viewDimsNum);
  tensor->storage.assign(storageDims, storageDims + storageDimsNum);
  tensor->strides.assign(viewDimsNum, 1);
  for (size_t i = viewDimsNum; i-- > 1;)
    tensor->strides[i - 1] = tensor->strides[i] * tensor->dims[i];
  if (stride)
    tensor->strides.assign(stride, stride + viewDimsNum);
  tensor->offset = offset;
  tensor->type = dataType;
  tensor->format = format;
  tensor->data = tensorData;
  return keep(tensor);
}

aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
  if (!value)
    return nullptr;
  switch (dataType) {
  case ACL_FLOAT:
    return keep(new aclScalar{dataType, readAs<float>(value)});
  case ACL_DOUBLE:
    return keep(new aclScalar{dataType, readAs<double>(value)});
  case ACL_INT32:
    return keep(new aclScalar{dataType, readAs<int32_t>(value)});
  case ACL_INT64:
    return keep(new aclScalar{dataType, readAs<int64_t>(value)});
  case ACL_BOOL:
    return keep(new aclScalar{dataType, readAs<bool>(value)});
  default:
    return nullptr;
  }
}

aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size) {
  return keep(new aclIntArray{{value, value + size}});
}
aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size) {
  return keep(new aclFloatArray{{value, value + size}});
}
aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size) {
  return keep(new aclBoolArray{std::vector<bool>(value, value + size)});
}
aclTensorList *aclCreateTensorList(const aclTensor *const *value,
                                   uint64_t size) {
  return keep(new aclTensorList{{value, value + size}});
}
aclScalarList *aclCreateScalarList(const aclScalar *const *value,
                                   uint64_t size) {
  return keep(new aclScalarList{{value, value + size}});
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
  return destroy(tensor);
}
aclnnStatus aclDestroyScalar(const aclScalar *scalar) {
  return destroy(scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray *array) {
  return destroy(array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray *array) {
  return destroy(array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray *array) {
  return destroy(array);
}
aclnnStatus aclDestroyTensorList(const aclTensorList *list) {
  return destroyList(list, &aclTensorList::tensors);
}
aclnnStatus aclDestroyScalarList(const aclScalarList *list) {
  return destroyList(list, &aclScalarList::scalars);
}
