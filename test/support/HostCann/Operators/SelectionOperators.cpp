//===- SelectionOperators.cpp - Order, choice and running sums ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"
#include <cmath>

using namespace mf::hostcann;

namespace {

/// Ends the first phase with a kernel whose indices have 32 bits, whereas
/// CANN's have 64.
aclnnStatus finishWithIndices(OperatorCall &call, mf::KernelSpec spec) {
  call.require(call.hasFailed() || call.getTensor(2).type == ACL_INT64,
               "indicesOut is not INT64");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  spec.inputs = {call.getShape(0)};
  spec.outputs = {call.getShape(1), {mf::DType::I32, call.getTensor(2).dims}};
  auto kernel = call.makeKernel(spec);
  return call.finish(0, [kernel, count = call.getTensor(2).getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    std::vector<int32_t> indices(count);
    kernel->run({places[0]}, {places[1], indices.data()});
    std::copy(indices.begin(), indices.end(),
              static_cast<int64_t *>(places[2]));
    return llvm::Error::success();
  });
}

} // namespace

aclnnStatus mf::hostcann::makeTopk(OperatorCall &call, const aclTensor *self,
                                   int64_t k, int64_t dim, bool largest,
                                   bool sorted, aclTensor *valuesOut,
                                   aclTensor *indicesOut) {
  call.requireLastDimension(self, dim);
  call.require(largest && sorted, "the smallest elements, or those without an "
                                  "order, are not in this host library");
  mf::KernelSpec spec;
  spec.name = "aclnnTopk";
  spec.attributes["k"] = k;
  return finishWithIndices(call, spec);
}

aclnnStatus mf::hostcann::makeSort(OperatorCall &call, const aclTensor *self,
                                   bool, int64_t dim, bool descending,
                                   aclTensor *valuesOut,
                                   aclTensor *indicesOut) {
  call.requireLastDimension(self, dim);
  call.require(!descending, "descending order is not in this host library");
  mf::KernelSpec spec;
  spec.name = "aclnnSort";
  return finishWithIndices(call, spec);
}

aclnnStatus mf::hostcann::makeCumsum(OperatorCall &call, const aclTensor *self,
                                     int64_t dim, aclDataType dtype,
                                     aclTensor *out) {
  call.require(out->type == dtype, "out is not of the type dtype");
  return call.finishKernel("aclnnCumsum", {{"axis", dim}});
}

aclnnStatus mf::hostcann::makeInplaceFillScalar(OperatorCall &call,
                                                aclTensor *selfRef,
                                                const aclScalar *value) {
  call.require(getKernelType(selfRef->type).has_value() &&
                   selfRef->type != ACL_INT64,
               "tensors of this type are not in this host library");
  return call.finish(
      0, [type = selfRef->type, count = selfRef->getNumElements(),
          number = value->value](llvm::ArrayRef<void *> places, void *) {
        for (int64_t i = 0; i < count; ++i)
          writeNumber(places[0], type, i, number);
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeArange(OperatorCall &call, const aclScalar *start,
                                     const aclScalar *end,
                                     const aclScalar *step, aclTensor *out) {
  const double distance = step->value, first = start->value;
  call.require(distance != 0, "step is 0");
  call.require(call.hasFailed() ||
                   std::ceil((end->value - first) / distance) ==
                       static_cast<double>(out->getNumElements()),
               "out does not have as many elements as there are numbers");
  call.require(out->type == ACL_INT32,
               "numbers other than INT32 are not in this host library");
  return call.finish(0, [first, distance, count = out->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    for (int64_t i = 0; i < count; ++i)
      writeNumber(places[0], ACL_INT32, i,
                  first + static_cast<double>(i) * distance);
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeCummax(OperatorCall &call, const aclTensor *self,
                                     int64_t dim, aclTensor *valuesOut,
                                     aclTensor *indicesOut) {
  call.requireLastDimension(self, dim);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require(valuesOut->dims == self->dims && indicesOut->dims == self->dims,
               "valuesOut or indicesOut does not have the dimensions of self");
  call.require(self->type == ACL_INT32 && valuesOut->type == ACL_INT32 &&
                   indicesOut->type == ACL_INT32,
               "tensors other than INT32 are not in this host library");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  return call.finish(
      0, [size = self->dims.back(), count = self->getNumElements()](
             llvm::ArrayRef<void *> places, void *) {
        const auto *from = static_cast<const int32_t *>(places[0]);
        auto *values = static_cast<int32_t *>(places[1]);
        auto *indices = static_cast<int32_t *>(places[2]);
        for (int64_t i = 0; i < count; ++i) {
          const bool isFirst = i % size == 0;
          const bool isNew = isFirst || from[i] >= values[i - 1];
          indices[i] = isNew ? static_cast<int32_t>(i % size) : indices[i - 1];
          values[i] = isNew ? from[i] : values[i - 1];
        }
        return llvm::Error::success();
      });
}
