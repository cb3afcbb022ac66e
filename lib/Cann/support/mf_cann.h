//===- mf_cann.h - What programs of training steps share --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Errors, memory, streams and calls of operators. Uses the public API of
// AscendCL and aclnn only.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_SUPPORT_MF_CANN_H
#define MF_LIB_CANN_SUPPORT_MF_CANN_H

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "mf_dims.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mf_cann {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Throws an error with CANN's text for the code.
[[noreturn]] inline void fail(const std::string &what, int code) {
  const char *text = aclGetRecentErrMsg();
  throw std::runtime_error(what + ": error " + std::to_string(code) +
                           (text && *text ? ": " + std::string(text) : ""));
}

inline void check(int code, const char *what) {
  if (code != 0)
    fail(what, code);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// A list of floating-point numbers that a program has as a literal.
using Numbers = std::initializer_list<double>;

/// A tensor in device memory. It is dense if it has no strides. A tensor
/// without a type stands for an operand that is left out.
struct CannTensor {
  char *data = nullptr;
  aclDataType type = ACL_DT_UNDEFINED;
  Dims dims;
  Dims strides;

  bool isThere() const { return type != ACL_DT_UNDEFINED; }
};

inline int64_t count(const Dims &dims) {
  int64_t elements = 1;
  for (const int64_t size : dims)
    elements *= size;
  return elements;
}

inline int64_t getBytes(aclDataType type) {
  switch (type) {
  case ACL_DOUBLE:
  case ACL_INT64:
  case ACL_UINT64:
    return 8;
  case ACL_FLOAT:
  case ACL_INT32:
  case ACL_UINT32:
    return 4;
  case ACL_FLOAT16:
  case ACL_BF16:
  case ACL_INT16:
  case ACL_UINT16:
    return 2;
  default:
    return 1;
  }
}

/// Returns the name of the type in files of tensors, or null for a type that
/// they do not support.
inline const char *getTypeName(aclDataType type) {
  switch (type) {
  case ACL_FLOAT:
    return "f32";
  case ACL_BF16:
    return "bf16";
  case ACL_FLOAT16:
    return "f16";
  case ACL_INT32:
    return "i32";
  case ACL_INT64:
    return "i64";
  default:
    return nullptr;
  }
}

inline Dims getStrides(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Returns a tensor without elements, for an output that an operator does not
/// write.
inline CannTensor empty(aclDataType type) { return {nullptr, type, {0}, {}}; }

inline CannTensor flatten(CannTensor x) {
  x.dims = {count(x.dims)};
  return x;
}

/// Joins all dimensions but the last.
inline CannTensor makeMatrix(CannTensor x) {
  const int64_t columns = x.dims.back();
  x.dims = {columns ? count(x.dims) / columns : 0, columns};
  return x;
}

/// Swaps the last two dimensions by strides.
inline CannTensor transpose(CannTensor x) {
  x.strides = getStrides(x.dims);
  const size_t last = x.dims.size() - 1;
  std::swap(x.dims[last], x.dims[last - 1]);
  std::swap(x.strides[last], x.strides[last - 1]);
  return x;
}

/// Joins the last two dimensions.
inline CannTensor joinColumns(CannTensor x) {
  const int64_t columns = x.dims.back();
  x.dims.removeLast();
  x.dims.back() *= columns;
  return x;
}

/// Adds dimensions of size 1 in front, up to four dimensions.
inline CannTensor withFour(CannTensor x) {
  while (x.dims.size() < 4)
    x.dims.insert(0, 1);
  return x;
}

/// Adds a last dimension of size 1.
inline CannTensor withColumn(CannTensor x) {
  x.dims.append(1);
  return x;
}

/// Adds a dimension of size 1 before the last one, unless the tensor is left
/// out.
inline CannTensor withHead(CannTensor x) {
  if (x.isThere())
    x.dims.insert(x.dims.size() - 1, 1);
  return x;
}

/// Takes `number` samples, from `first` on, of a tensor of them. Of a single
/// sample it may take the first `rows` rows only. A tensor that is left out, or
/// has no memory, stays so.
inline CannTensor takeSamples(CannTensor x, int64_t first, int64_t number,
                              int64_t rows = -1) {
  if (!x.isThere())
    return x;
  if (x.data)
    x.data += first * (count(x.dims) / x.dims[0]) * getBytes(x.type);
  x.dims[0] = number;
  if (rows >= 0)
    x.dims[1] = rows;
  return x;
}

/// Takes `number` rows of the second of three dimensions, from `first` on, by
/// strides.
inline CannTensor takeRows(CannTensor x, int64_t first, int64_t number) {
  x.strides = getStrides(x.dims);
  x.data += first * x.strides[1] * getBytes(x.type);
  x.dims[1] = number;
  return x;
}

/// Takes index `number` of the third of four dimensions by strides.
inline CannTensor takeHead(CannTensor x, int64_t number) {
  const Dims strides = getStrides(x.dims);
  x.data += number * strides[2] * getBytes(x.type);
  x.dims = {x.dims[0], x.dims[1], x.dims[3]};
  x.strides = {strides[0], strides[1], strides[3]};
  return x;
}

/// Takes `number` elements of the last dimension, from `first` on, by strides.
inline CannTensor takeColumns(CannTensor x, int64_t first, int64_t number) {
  x.strides = getStrides(x.dims);
  x.data += first * getBytes(x.type);
  x.dims.back() = number;
  return x;
}

/// Takes the first element of the last dimension by strides.
inline CannTensor takeColumn(const CannTensor &x) {
  return takeColumns(x, 0, 1);
}

/// Returns a part of x: its last `numDims` dimensions, at index `number` of the
/// dimensions before, counted as one.
inline CannTensor takePart(const CannTensor &x, size_t numDims,
                           int64_t number) {
  const Dims dims(x.dims.end() - numDims, x.dims.end());
  return {x.data + number * count(dims) * getBytes(x.type), x.type, dims, {}};
}

/// Returns the number of parts that takePart can return.
inline int64_t countParts(const CannTensor &x, size_t numDims) {
  return count(Dims(x.dims.begin(), x.dims.end() - numDims));
}

/// Takes `number` elements of a tensor of one dimension, from `first` on.
inline CannTensor takeRange(CannTensor x, int64_t first, int64_t number) {
  x.data += first * getBytes(x.type);
  x.dims = {number};
  return x;
}

/// Returns the index of the last dimension.
inline int64_t getLastDim(const CannTensor &x) {
  return static_cast<int64_t>(x.dims.size()) - 1;
}

/// Returns the same elements with other dimensions.
inline CannTensor reshape(CannTensor x, const Dims &dims) {
  x.dims = dims;
  return x;
}

/// Returns a tensor of another type in the memory of x, `first` of its own
/// elements behind the begin.
inline CannTensor reuse(const CannTensor &x, int64_t first, aclDataType type,
                        const Dims &dims) {
  return {x.data ? x.data + first * getBytes(type) : nullptr, type, dims, {}};
}

/// Returns element `number` as a tensor of one element.
inline CannTensor takeElement(const CannTensor &x, int64_t number) {
  return {x.data + number * getBytes(x.type), x.type, {1}, {}};
}

inline Dims repeatDims(const CannTensor &x, int64_t times) {
  Dims dims = x.dims;
  dims.append(times);
  return dims;
}

inline Dims getSum(Dims a, const Dims &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] += b[i];
  return a;
}

inline Dims getAxes(const Dims &dims) {
  Dims axes;
  for (size_t i = 0; i < dims.size(); ++i)
    axes.append(static_cast<int64_t>(i));
  return axes;
}

inline Dims getOnes(const Dims &dims) { return Dims(dims.size(), 1); }

/// Returns the padding in aclnn's order, which begins with the last dimension.
inline std::vector<int64_t> getPadding(const Dims &low, const Dims &high) {
  std::vector<int64_t> padding;
  for (size_t i = low.size(); i-- > 0;) {
    padding.push_back(low[i]);
    padding.push_back(high[i]);
  }
  return padding;
}

/// As a limit on tokens before or behind a query, this number means all of
/// them.
constexpr int64_t allTokens = 2147483647;

/// The type of a mask whose last dimension counts bits. It is a type of
/// AscendCL that no operator takes.
constexpr auto packedBits = static_cast<aclDataType>(30);

/// Returns the same mask in bytes, with units of 128 bits.
inline CannTensor packBits(const CannTensor &x) {
  return {x.data, ACL_UINT8, {(count(x.dims) + 127) / 128 * 16}, {}};
}

/// The optional operands of attention. A launch has them one after another, and
/// their types distinguish them.
struct AttentionExtras {
  explicit AttentionExtras(std::initializer_list<CannTensor> given) {
    for (const CannTensor &x : given)
      if (x.isThere())
        (x.type == packedBits  ? dropMask
         : x.type == ACL_INT32 ? starts
                               : slopes) = x;
  }
  CannTensor slopes, dropMask, starts;
};

//===----------------------------------------------------------------------===//
// Arguments of operators
//===----------------------------------------------------------------------===//

/// An object of aclnn with the function that destroys it, which is null for
/// other arguments.
struct OwnedObject {
  const void *object = nullptr;
  void (*destroy)(const void *) = nullptr;
};

/// An object of aclnn that is destroyed after the call.
template <typename T, aclnnStatus (*Destroy)(const T *)> class CannArgument {
public:
  explicit CannArgument(T *created) : object(created) {}
  CannArgument(CannArgument &&other) noexcept : object(other.release()) {}
  CannArgument &operator=(CannArgument &&) = delete;
  ~CannArgument() {
    if (object)
      Destroy(object);
  }
  operator T *() const { return object; }
  T *release() {
    T *released = object;
    object = nullptr;
    return released;
  }
  /// Releases the object, which the caller must destroy.
  OwnedObject releaseOwned() {
    return {release(), [](const void *released) {
              Destroy(static_cast<const T *>(released));
            }};
  }

private:
  T *object;
};

template <typename T, aclnnStatus (*Destroy)(const T *)>
OwnedObject releaseObject(CannArgument<T, Destroy> &argument) {
  return argument.releaseOwned();
}
/// Returns nothing to destroy for numbers and texts.
template <typename Value> OwnedObject releaseObject(const Value &) {
  return {};
}

using TensorArgument = CannArgument<aclTensor, aclDestroyTensor>;
using ListArgument = CannArgument<aclTensorList, aclDestroyTensorList>;
using ScalarArgument = CannArgument<aclScalar, aclDestroyScalar>;
using IntsArgument = CannArgument<aclIntArray, aclDestroyIntArray>;
using FlagsArgument = CannArgument<aclBoolArray, aclDestroyBoolArray>;

/// Returns null for a tensor that is left out.
inline TensorArgument tensor(const CannTensor &x) {
  if (!x.isThere())
    return TensorArgument(nullptr);
  if (x.type == packedBits)
    return tensor(packBits(x));
  const Dims strides = x.strides.empty() ? getStrides(x.dims) : x.strides;
  int64_t extent = count(x.dims) == 0 ? 0 : 1;
  for (size_t i = 0; extent && i < x.dims.size(); ++i)
    extent += (x.dims[i] - 1) * strides[i];
  // CANN requires aligned addresses, so the rest is passed as the tensor's
  // offset.
  const auto past = reinterpret_cast<uintptr_t>(x.data) % 32;
  const int64_t offset = static_cast<int64_t>(past) / getBytes(x.type);
  const bool isWhole = x.strides.empty() && offset == 0;
  const Dims storage = isWhole ? x.dims : Dims{offset + extent};
  return TensorArgument(aclCreateTensor(
      x.dims.data(), x.dims.size(), x.type, strides.data(), offset,
      ACL_FORMAT_ND, storage.data(), storage.size(), x.data - past));
}

/// Returns a list, which owns its tensors.
inline ListArgument list(const std::vector<CannTensor> &tensors) {
  std::vector<const aclTensor *> objects;
  for (const CannTensor &x : tensors)
    objects.push_back(tensor(x).release());
  return ListArgument(aclCreateTensorList(objects.data(), objects.size()));
}

inline ScalarArgument scalar(double value) {
  auto single = static_cast<float>(value);
  return ScalarArgument(aclCreateScalar(&single, ACL_FLOAT));
}

/// Returns a scalar for tensors of integers.
inline ScalarArgument integer(int64_t value) {
  auto whole = static_cast<int32_t>(value);
  return ScalarArgument(aclCreateScalar(&whole, ACL_INT32));
}

template <typename Values = Dims> IntsArgument ints(const Values &values) {
  return IntsArgument(aclCreateIntArray(values.data(), values.size()));
}

inline FlagsArgument flags(std::initializer_list<bool> values) {
  return FlagsArgument(aclCreateBoolArray(values.begin(), values.size()));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Returns the bytes to allocate for a block, including the slack that CANN
/// requires.
inline size_t getRoom(size_t bytes) {
  return ((bytes + 31) / 32 * 32 + 32 + 63) / 64 * 64;
}

/// The memory of one call of a routine, and the events of the step that it
/// uses.
struct RoutineCall {
  std::vector<char *> arguments;
  std::vector<char *> frame;
  char *hostFrame = nullptr;
  char *scratch = nullptr;
  /// The events that the routine waits for, and the number of its own first
  /// event.
  std::vector<size_t> events;
  size_t firstEvent = 0;
  /// The events that are recorded after instructions of the routine, by
  /// instruction.
  std::vector<std::pair<int, size_t>> records;
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_CANN_H
