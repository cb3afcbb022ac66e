//===- ComparisonOperators.cpp - Comparisons and masks --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementPlaces.h"
#include "OperatorCall.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <cstring>

using namespace mf::hostcann;

std::optional<llvm::SmallVector<int64_t, 4>>
mf::hostcann::getRepeatedStrides(const aclTensor &from,
                                 llvm::ArrayRef<int64_t> dims) {
  if (from.dims.size() > dims.size())
    return std::nullopt;
  const size_t added = dims.size() - from.dims.size();
  llvm::SmallVector<int64_t, 4> strides(added, 0);
  for (const auto &[size, given, stride] :
       llvm::zip(dims.drop_front(added), from.dims, from.strides)) {
    if (given != size && given != 1)
      return std::nullopt;
    strides.push_back(given == 1 ? 0 : stride);
  }
  return strides;
}

namespace {

bool isNumber(aclDataType type) {
  return getKernelType(type).has_value() || type == ACL_BOOL;
}

using Comparison = bool (*)(double, double);

aclnnStatus makeComparison(OperatorCall &call, const aclTensor *self,
                           const aclScalar *other, const aclTensor *out,
                           Comparison compare) {
  call.require(isNumber(self->type) && out->type == ACL_BOOL &&
                   out->dims == self->dims,
               "out is not BOOL of the dimensions of self");
  return call.finish(0, [compare, type = self->type, value = other->value,
                         count = self->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint8_t *>(places[1])[i] =
          compare(readNumber(places[0], type, i), value) ? 1 : 0;
    return llvm::Error::success();
  });
}

/// Compares two tensors that are repeated to the dimensions of `out`.
aclnnStatus makeComparison(OperatorCall &call, const aclTensor *self,
                           const aclTensor *other, const aclTensor *out,
                           Comparison compare) {
  auto left = getRepeatedStrides(*self, out->dims);
  auto right = getRepeatedStrides(*other, out->dims);
  call.require(isNumber(self->type) && self->type == other->type &&
                   out->type == ACL_BOOL,
               "self and other differ in their types or out is not BOOL");
  call.require(left && right,
               "self or other cannot be repeated to the dimensions of out");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  return call.finish(0, [compare, left = *left, right = *right,
                         type = self->type, dims = out->dims](
                            llvm::ArrayRef<void *> places, void *) {
    std::vector<double> numbers;
    visitElements(dims, left, [&](int64_t, int64_t place) {
      numbers.push_back(readNumber(places[0], type, place));
    });
    visitElements(dims, right, [&](int64_t element, int64_t place) {
      static_cast<uint8_t *>(places[2])[element] =
          compare(numbers[element], readNumber(places[1], type, place)) ? 1 : 0;
    });
    return llvm::Error::success();
  });
}

} // namespace

#define MF_HOST_CANN_COMPARISON(MAKER, OTHER, OPERATOR)                        \
  aclnnStatus mf::hostcann::MAKER(OperatorCall &call, const aclTensor *self,   \
                                  const OTHER *other, aclTensor *out) {        \
    return makeComparison(                                                     \
        call, self, other, out,                                                \
        [](double left, double right) { return left OPERATOR right; });        \
  }

MF_HOST_CANN_COMPARISON(makeEqScalar, aclScalar, ==)
MF_HOST_CANN_COMPARISON(makeGeScalar, aclScalar, >=)
MF_HOST_CANN_COMPARISON(makeGtScalar, aclScalar, >)
MF_HOST_CANN_COMPARISON(makeLtScalar, aclScalar, <)
MF_HOST_CANN_COMPARISON(makeNeScalar, aclScalar, !=)
MF_HOST_CANN_COMPARISON(makeGeTensor, aclTensor, >=)
MF_HOST_CANN_COMPARISON(makeGtTensor, aclTensor, >)
MF_HOST_CANN_COMPARISON(makeLtTensor, aclTensor, <)

aclnnStatus mf::hostcann::makeLogicalNot(OperatorCall &call,
                                         const aclTensor *self,
                                         aclTensor *out) {
  call.require(self->type == ACL_BOOL && out->type == ACL_BOOL &&
                   out->dims == self->dims,
               "tensors other than BOOL of one shape are not in this host "
               "library");
  return call.finish(0, [count = self->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint8_t *>(places[1])[i] =
          static_cast<const uint8_t *>(places[0])[i] ? 0 : 1;
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeInplaceLogicalOr(OperatorCall &call,
                                               aclTensor *selfRef,
                                               const aclTensor *other) {
  auto strides = getRepeatedStrides(*other, selfRef->dims);
  call.require(selfRef->type == ACL_BOOL && other->type == ACL_BOOL,
               "tensors other than BOOL are not in this host library");
  call.require(strides.has_value(),
               "other cannot be repeated to the dimensions of selfRef");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  return call.finish(0, [strides = *strides, dims = selfRef->dims](
                            llvm::ArrayRef<void *> places, void *) {
    visitElements(dims, strides, [&](int64_t element, int64_t place) {
      if (static_cast<const uint8_t *>(places[1])[place])
        static_cast<uint8_t *>(places[0])[element] = 1;
    });
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeInplaceMaskedFillScalar(OperatorCall &call,
                                                      aclTensor *selfRef,
                                                      const aclTensor *mask,
                                                      const aclScalar *value) {
  auto strides = getRepeatedStrides(*mask, selfRef->dims);
  call.require(isNumber(selfRef->type) && mask->type == ACL_BOOL,
               "mask is not BOOL");
  call.require(strides.has_value(),
               "mask cannot be repeated to the dimensions of selfRef");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  std::array<char, 8> bits{};
  writeNumber(bits.data(), selfRef->type, 0, value->value);
  return call.finish(0, [strides = *strides, dims = selfRef->dims, bits,
                         bytes = getElementBytes(selfRef->type)](
                            llvm::ArrayRef<void *> places, void *) {
    visitElements(dims, strides, [&](int64_t element, int64_t place) {
      if (static_cast<const uint8_t *>(places[1])[place])
        std::memcpy(static_cast<char *>(places[0]) + element * bytes,
                    bits.data(), bytes);
    });
    return llvm::Error::success();
  });
}
