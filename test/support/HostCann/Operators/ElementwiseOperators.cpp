//===- ElementwiseOperators.cpp - Sums, products, copies ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "IndexOperators.h"
#include "OperatorCall.h"
#include <cmath>

using namespace mf::hostcann;

namespace {

void requireOne(OperatorCall &call, const aclScalar *alpha) {
  call.requireThere(alpha, "alpha");
  call.require(!alpha || alpha->value == 1,
               "alpha other than 1 is not in this host library");
}

void requireSameType(OperatorCall &call) {
  call.require(call.hasFailed() ||
                   call.getTensor(0).type == call.getTensor(1).type,
               "the tensors differ in their element types");
}

/// Ends the first phase of out = self with a number of the host, by a kernel.
aclnnStatus finishWithScalar(OperatorCall &call, llvm::StringRef kernel,
                             const aclScalar &value) {
  requireSameType(call);
  return call.finishKernel(kernel, {{"value", value.value}});
}

/// Ends the first phase of out = self + alpha * other, which is rounded once.
aclnnStatus makeSumWithFactor(OperatorCall &call, const aclScalar &alpha) {
  if (call.hasFailed())
    return call.finish(0, nullptr);
  const aclTensor &self = call.getTensor(0);
  call.require(self.type == ACL_FLOAT && self.dims == call.getTensor(1).dims &&
                   self.dims == call.getTensor(2).dims,
               "alpha other than 1 for other tensors than FLOAT of one shape "
               "is not in this host library");
  return call.finish(0, [factor = static_cast<float>(alpha.value),
                         count = self.getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    const auto *added = static_cast<const float *>(places[0]);
    const auto *scaled = static_cast<const float *>(places[1]);
    for (int64_t i = 0; i < count; ++i)
      static_cast<float *>(places[2])[i] =
          std::fma(factor, scaled[i], added[i]);
    return llvm::Error::success();
  });
}

} // namespace

aclnnStatus mf::hostcann::makeUnary(OperatorCall &call, const aclTensor *self,
                                    aclTensor *out) {
  requireSameType(call);
  return call.finishKernel(call.getName());
}

aclnnStatus mf::hostcann::makeSoftplus(OperatorCall &call,
                                       const aclTensor *self,
                                       const aclScalar *beta,
                                       const aclScalar *threshold,
                                       aclTensor *out) {
  requireSameType(call);
  call.require(call.hasFailed() || (beta->value == 1 && threshold->value == 20),
               "beta other than 1, or a threshold other than 20, is not in "
               "this host library");
  return call.finishKernel("aclnnSoftplus");
}

aclnnStatus mf::hostcann::makeScalar(OperatorCall &call, const aclTensor *self,
                                     const aclScalar *value, aclTensor *out) {
  return finishWithScalar(call, call.getName(), *value);
}

aclnnStatus mf::hostcann::makeSum(OperatorCall &call, const aclTensor *self,
                                  const aclTensor *other,
                                  const aclScalar *alpha, aclTensor *out) {
  requireSameType(call);
  const bool isDifference = call.getName() == "aclnnSub";
  if (alpha && alpha->value != 1 && !isDifference)
    return makeSumWithFactor(call, *alpha);
  requireOne(call, alpha);
  if (!call.hasFailed() && self->type == ACL_INT32 && isDifference)
    return makeIntegerDifference(call, *self, *other, *out);
  return call.finishKernel(call.getName());
}

aclnnStatus mf::hostcann::makeBinary(OperatorCall &call, const aclTensor *self,
                                     const aclTensor *other, aclTensor *out) {
  requireSameType(call);
  return call.finishKernel(call.getName());
}

aclnnStatus mf::hostcann::makeAdds(OperatorCall &call, const aclTensor *self,
                                   const aclScalar *other,
                                   const aclScalar *alpha, aclTensor *out) {
  if (!alpha || alpha->value != 1)
    return failOperator(ACLNN_ERR_PARAM_INVALID, "aclnnAdds",
                        "alpha other than 1 is not in this host library");
  return finishWithScalar(call, "aclnnAdds", *other);
}

aclnnStatus mf::hostcann::makeDivs(OperatorCall &call, const aclTensor *self,
                                   const aclScalar *other, aclTensor *out) {
  requireSameType(call);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require(getKernelType(self->type).has_value() &&
                   self->type != ACL_INT32 && out->dims == self->dims,
               "tensors of integers, or of two shapes, are not in this host "
               "library");
  return call.finish(0, [type = self->type, count = self->getNumElements(),
                         divisor = static_cast<float>(other->value)](
                            llvm::ArrayRef<void *> places, void *) {
    for (int64_t i = 0; i < count; ++i)
      writeElement(places[1], type, i,
                   readElement(places[0], type, i) / divisor);
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeInplaceMuls(OperatorCall &call,
                                          aclTensor *selfRef,
                                          const aclScalar *other) {
  call.read(selfRef, "self");
  call.write(selfRef, "out");
  return finishWithScalar(call, "aclnnMuls", *other);
}

aclnnStatus mf::hostcann::makeInplaceAdd(OperatorCall &call, aclTensor *selfRef,
                                         const aclTensor *other,
                                         const aclScalar *alpha) {
  call.read(other, "other");
  call.update(selfRef, "selfRef");
  requireOne(call, alpha);
  return call.finishKernel("aclnnInplaceAdd");
}

aclnnStatus mf::hostcann::makeCast(OperatorCall &call, const aclTensor *self,
                                   aclDataType dtype, aclTensor *out) {
  call.require(out->type == dtype, "out is not of the type dtype");
  if (call.hasFailed() || self->type != ACL_BOOL)
    return call.finishKernel("aclnnCast");
  // Kernels have no type for truth values of one byte each.
  call.require(
      self->dims == out->dims &&
          (dtype == ACL_FLOAT || dtype == ACL_BF16 || dtype == ACL_FLOAT16),
      "BOOL is cast to floating-point types of the same dimensions in "
      "this host library");
  return call.finish(0, [dtype, count = self->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    for (int64_t i = 0; i < count; ++i)
      writeElement(places[1], dtype, i,
                   static_cast<const uint8_t *>(places[0])[i] ? 1.0F : 0.0F);
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeInplaceZero(OperatorCall &call,
                                          aclTensor *selfRef) {
  return call.finishKernel("aclnnInplaceZero");
}
