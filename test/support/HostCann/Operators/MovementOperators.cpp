//===- MovementOperators.cpp - Copies of parts, limits and checks ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementPlaces.h"
#include "OperatorCall.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mf::hostcann;

namespace {

bool isFloatingPoint(const aclTensor &tensor) {
  return tensor.type == ACL_FLOAT || tensor.type == ACL_FLOAT16 ||
         tensor.type == ACL_BF16;
}

} // namespace

aclnnStatus mf::hostcann::makeInplaceCopy(OperatorCall &call,
                                          aclTensor *selfRef,
                                          const aclTensor *src) {
  call.read(src, "src", OperatorCall::Layout::Any);
  call.write(selfRef, "selfRef", OperatorCall::Layout::Any);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  if (src->isDense() && selfRef->isDense() && src->dims == selfRef->dims)
    return call.finishKernel(src->type == selfRef->type ? "aclnnInplaceCopy"
                                                        : "aclnnCast");
  call.require(src->type == selfRef->type,
               "a copy that changes strides and the element type is not in "
               "this host library");
  auto strides = getRepeatedStrides(*src, selfRef->dims);
  call.require(strides.has_value(), "src does not have selfRef's dimensions");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  return call.finish(0, [dims = selfRef->dims, strides = *strides,
                         ownStrides = selfRef->strides,
                         size = getElementBytes(src->type)](
                            llvm::ArrayRef<void *> places, void *) {
    const char *from = static_cast<const char *>(places[0]);
    char *to = static_cast<char *>(places[1]);
    visitElements(dims, strides, [&](int64_t element, int64_t place) {
      int64_t rest = element, own = 0;
      for (size_t i = dims.size(); i-- > 0; rest /= dims[i])
        own += rest % dims[i] * ownStrides[i];
      std::memcpy(to + own * size, from + place * size, size);
    });
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeCat(OperatorCall &call,
                                  const aclTensorList *tensors, int64_t dim,
                                  aclTensor *out) {
  for (const aclTensor *tensor : tensors->tensors)
    call.read(tensor, "tensors");
  call.write(out, "out");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  const int64_t axis =
      dim < 0 ? dim + static_cast<int64_t>(out->dims.size()) : dim;
  return call.finishKernel("aclnnCat", {{"axis", axis}});
}

aclnnStatus mf::hostcann::makeSliceV2(OperatorCall &call, const aclTensor *self,
                                      const aclIntArray *starts,
                                      const aclIntArray *ends,
                                      const aclIntArray *axes,
                                      const aclIntArray *steps,
                                      aclTensor *out) {
  std::vector<int64_t> begins(self->dims.size(), 0);
  std::vector<int64_t> sizes(self->dims.begin(), self->dims.end());
  call.require(starts->values.size() == axes->values.size() &&
                   ends->values.size() == axes->values.size() &&
                   steps->values.size() == axes->values.size(),
               "starts, ends, axes and steps differ in their lengths");
  for (size_t i = 0; i < axes->values.size() && !call.hasFailed(); ++i) {
    const int64_t axis = axes->values[i];
    call.require(axis >= 0 && axis < static_cast<int64_t>(sizes.size()) &&
                     steps->values[i] == 1,
                 "negative axes and steps other than 1 are not in this host "
                 "library");
    if (call.hasFailed())
      break;
    begins[axis] = starts->values[i];
    sizes[axis] = std::min(ends->values[i], sizes[axis]) - begins[axis];
  }
  return call.finishKernel("aclnnSliceV2",
                           {{"starts", begins}, {"sizes", sizes}});
}

aclnnStatus mf::hostcann::makeConstantPadNd(OperatorCall &call,
                                            const aclTensor *self,
                                            const aclIntArray *pad,
                                            const aclScalar *value,
                                            aclTensor *out) {
  const size_t rank = self->dims.size();
  call.require(pad->values.size() % 2 == 0 && pad->values.size() <= 2 * rank,
               "pad does not have two numbers for each of the last dimensions");
  call.require(std::trunc(value->value) == value->value,
               "a value that is no integer is not in this host library");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  std::vector<int64_t> low(rank, 0), high(rank, 0);
  for (size_t i = 0; 2 * i < pad->values.size(); ++i) {
    low[rank - 1 - i] = pad->values[2 * i];
    high[rank - 1 - i] = pad->values[2 * i + 1];
  }
  return call.finishKernel("aclnnConstantPadNd",
                           {{"low", low},
                            {"high", high},
                            {"value", static_cast<int64_t>(value->value)}});
}

aclnnStatus mf::hostcann::makeRepeatInterleaveIntWithDim(
    OperatorCall &call, const aclTensor *self, int64_t repeats, int64_t dim,
    int64_t outputSize, aclTensor *out) {
  call.require(dim >= 0 && dim < static_cast<int64_t>(self->dims.size()) &&
                   outputSize == self->dims[dim] * repeats,
               "outputSize is not repeats times the size of dim");
  return call.finishKernel("aclnnRepeatInterleaveIntWithDim",
                           {{"axis", dim}, {"repeats", repeats}});
}

aclnnStatus mf::hostcann::makeIsFinite(OperatorCall &call,
                                       const aclTensor *self, aclTensor *out) {
  call.require(isFloatingPoint(*self) && out->type == ACL_BOOL &&
                   out->dims == self->dims,
               "out is not BOOL of the dimensions of self");
  return call.finish(0, [type = self->type, count = self->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint8_t *>(places[1])[i] =
          std::isfinite(readElement(places[0], type, i));
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeMaximum(OperatorCall &call, const aclTensor *self,
                                      const aclTensor *other, aclTensor *out) {
  call.require(isFloatingPoint(*self) && self->type == other->type &&
                   self->type == out->type && self->dims == other->dims &&
                   self->dims == out->dims,
               "the tensors differ in their types or dimensions, or are of "
               "integers");
  return call.finish(0, [type = self->type, count = self->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    for (int64_t i = 0; i < count; ++i) {
      const float a = readElement(places[0], type, i);
      const float b = readElement(places[1], type, i);
      writeElement(places[2], type, i, std::isnan(a) || a > b ? a : b);
    }
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeAmax(OperatorCall &call, const aclTensor *self,
                                   const aclIntArray *dim, bool keepDim,
                                   aclTensor *out) {
  call.require((isFloatingPoint(*self) || self->type == ACL_BOOL) &&
                   self->type == out->type,
               "the tensors differ in their types, or are of integers");
  // Each element of self has a place in out. Reduced dimensions have a stride
  // of 0.
  llvm::SmallVector<int64_t, 4> strides(self->dims.size(), 0), expected;
  int64_t stride = 1;
  for (size_t i = self->dims.size(); i-- > 0;) {
    const bool reduces =
        dim->values.empty() || llvm::any_of(dim->values, [&](int64_t axis) {
          return axis == static_cast<int64_t>(i) ||
                 axis + self->dims.size() == i;
        });
    if (!reduces) {
      strides[i] = stride;
      stride *= self->dims[i];
    }
    if (!reduces || keepDim)
      expected.insert(expected.begin(), reduces ? 1 : self->dims[i]);
  }
  call.require(out->dims == expected,
               "out does not have the dimensions that stay");
  return call.finish(0, [strides, dims = self->dims, type = self->type,
                         count = out->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    const bool isBool = type == ACL_BOOL;
    std::vector<float> largest(count, -std::numeric_limits<float>::infinity());
    visitElements(dims, strides, [&](int64_t element, int64_t place) {
      const float value =
          isBool ? static_cast<float>(
                       static_cast<const uint8_t *>(places[0])[element])
                 : readElement(places[0], type, element);
      if (!(value <= largest[place]) && !std::isnan(largest[place]))
        largest[place] = value;
    });
    for (int64_t i = 0; i < count; ++i)
      if (isBool)
        static_cast<uint8_t *>(places[1])[i] = largest[i] > 0;
      else
        writeElement(places[1], type, i, largest[i]);
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeSoftmax(OperatorCall &call, const aclTensor *self,
                                      int64_t dim, aclTensor *out) {
  call.requireLastDimension(self, dim);
  return call.finishKernel("aclnnSoftmax");
}

aclnnStatus mf::hostcann::makeSoftmaxBackward(OperatorCall &call,
                                              const aclTensor *gradOutput,
                                              const aclTensor *output,
                                              int64_t dim,
                                              aclTensor *gradInput) {
  call.requireLastDimension(output, dim);
  return call.finishKernel("aclnnSoftmaxBackward");
}

aclnnStatus mf::hostcann::makeGeluBackwardV2(OperatorCall &call,
                                             const aclTensor *gradOutput,
                                             const aclTensor *self,
                                             char *approximate,
                                             aclTensor *gradInput) {
  call.require(llvm::StringRef(approximate) == "tanh",
               "approximate other than \"tanh\" is not in this host library");
  return call.finishKernel("aclnnGeluBackward");
}
