//===- ElementwiseOperators.cpp - Sums, products, copies ------------------===//

#include "IndexOperators.h"
#include "OperatorCall.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_clamp.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_fast_gelu.h"
#include "aclnnop/aclnn_fast_gelu_backward.h"
#include "aclnnop/aclnn_floor_divide.h"
#include "aclnnop/aclnn_gelu.h"
#include "aclnnop/aclnn_log.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_reciprocal.h"
#include "aclnnop/aclnn_remainder.h"
#include "aclnnop/aclnn_sigmoid.h"
#include "aclnnop/aclnn_sigmoid_backward.h"
#include "aclnnop/aclnn_silu.h"
#include "aclnnop/aclnn_silu_backward.h"
#include "aclnnop/aclnn_sqrt.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_zero.h"
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

aclnnStatus makeUnary(const char *name, const aclTensor *self,
                      const aclTensor *out, uint64_t *workspaceSize,
                      aclOpExecutor **executor) {
  OperatorCall call(name, workspaceSize, executor);
  call.read(self, "self");
  call.write(out, "out");
  requireSameType(call);
  return call.finishKernel(name);
}

/// With a number of the host, for the kernel of that name.
aclnnStatus makeScalar(const char *name, const char *kernel,
                       const aclTensor *self, const aclScalar *value,
                       const aclTensor *out, uint64_t *workspaceSize,
                       aclOpExecutor **executor) {
  OperatorCall call(name, workspaceSize, executor);
  call.requireThere(value, "the scalar");
  call.read(self, "self");
  call.write(out, "out");
  requireSameType(call);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  return call.finishKernel(kernel, {{"value", value->value}});
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

aclnnStatus makeBinary(const char *name, const aclTensor *self,
                       const aclTensor *other, const aclTensor *out,
                       uint64_t *workspaceSize, aclOpExecutor **executor,
                       const aclScalar *alpha, bool hasAlpha) {
  OperatorCall call(name, workspaceSize, executor);
  call.read(self, "self");
  call.read(other, "other");
  call.write(out, "out");
  requireSameType(call);
  if (hasAlpha && alpha && alpha->value != 1 &&
      llvm::StringRef(name) == "aclnnAdd")
    return makeSumWithFactor(call, *alpha);
  if (hasAlpha)
    requireOne(call, alpha);
  if (!call.hasFailed() && self->type == ACL_INT32 &&
      llvm::StringRef(name) == "aclnnSub")
    return makeIntegerDifference(call, *self, *other, *out);
  return call.finishKernel(name);
}

} // namespace

#define MF_HOST_CANN_UNARY(NAME)                                               \
  aclnnStatus NAME##GetWorkspaceSize(const aclTensor *self, aclTensor *out,    \
                                     uint64_t *workspaceSize,                  \
                                     aclOpExecutor **executor) {               \
    return makeUnary(#NAME, self, out, workspaceSize, executor);               \
  }                                                                            \
  MF_HOST_CANN_SECOND_PHASE(NAME)

MF_HOST_CANN_UNARY(aclnnExp)
MF_HOST_CANN_UNARY(aclnnLog)
MF_HOST_CANN_UNARY(aclnnSigmoid)
MF_HOST_CANN_UNARY(aclnnSilu)
MF_HOST_CANN_UNARY(aclnnGelu)
MF_HOST_CANN_UNARY(aclnnFastGelu)
MF_HOST_CANN_UNARY(aclnnNeg)
MF_HOST_CANN_UNARY(aclnnReciprocal)
MF_HOST_CANN_UNARY(aclnnSqrt)

#define MF_HOST_CANN_SCALAR(NAME)                                              \
  aclnnStatus NAME##GetWorkspaceSize(                                          \
      const aclTensor *self, const aclScalar *value, aclTensor *out,           \
      uint64_t *workspaceSize, aclOpExecutor **executor) {                     \
    return makeScalar(#NAME, #NAME, self, value, out, workspaceSize,           \
                      executor);                                               \
  }                                                                            \
  MF_HOST_CANN_SECOND_PHASE(NAME)

MF_HOST_CANN_SCALAR(aclnnMuls)
MF_HOST_CANN_SCALAR(aclnnRemainderTensorScalar)
MF_HOST_CANN_SCALAR(aclnnFloorDivides)
MF_HOST_CANN_SCALAR(aclnnClampMin)
MF_HOST_CANN_SCALAR(aclnnClampMax)

#define MF_HOST_CANN_SUM(NAME)                                                 \
  aclnnStatus NAME##GetWorkspaceSize(                                          \
      const aclTensor *self, const aclTensor *other, const aclScalar *alpha,   \
      aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor) {     \
    return makeBinary(#NAME, self, other, out, workspaceSize, executor, alpha, \
                      true);                                                   \
  }                                                                            \
  MF_HOST_CANN_SECOND_PHASE(NAME)

MF_HOST_CANN_SUM(aclnnAdd)
MF_HOST_CANN_SUM(aclnnSub)

#define MF_HOST_CANN_BINARY(NAME)                                              \
  aclnnStatus NAME##GetWorkspaceSize(                                          \
      const aclTensor *self, const aclTensor *other, aclTensor *out,           \
      uint64_t *workspaceSize, aclOpExecutor **executor) {                     \
    return makeBinary(#NAME, self, other, out, workspaceSize, executor,        \
                      nullptr, false);                                         \
  }                                                                            \
  MF_HOST_CANN_SECOND_PHASE(NAME)

MF_HOST_CANN_BINARY(aclnnMul)
MF_HOST_CANN_BINARY(aclnnDiv)

aclnnStatus aclnnAddsGetWorkspaceSize(const aclTensor *self,
                                      const aclScalar *other,
                                      const aclScalar *alpha, aclTensor *out,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor) {
  if (!alpha || alpha->value != 1)
    return failOperator(ACLNN_ERR_PARAM_INVALID, "aclnnAdds",
                        "alpha other than 1 is not in this host library");
  return makeScalar("aclnnAdds", "aclnnAdds", self, other, out, workspaceSize,
                    executor);
}
MF_HOST_CANN_SECOND_PHASE(aclnnAdds)

aclnnStatus aclnnDivsGetWorkspaceSize(const aclTensor *self,
                                      const aclScalar *other, aclTensor *out,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor) {
  OperatorCall call("aclnnDivs", workspaceSize, executor);
  call.requireThere(other, "other");
  call.read(self, "self");
  call.write(out, "out");
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
MF_HOST_CANN_SECOND_PHASE(aclnnDivs)

aclnnStatus aclnnInplaceMulsGetWorkspaceSize(aclTensor *selfRef,
                                             const aclScalar *other,
                                             uint64_t *workspaceSize,
                                             aclOpExecutor **executor) {
  return makeScalar("aclnnInplaceMuls", "aclnnMuls", selfRef, other, selfRef,
                    workspaceSize, executor);
}
MF_HOST_CANN_SECOND_PHASE(aclnnInplaceMuls)

aclnnStatus aclnnInplaceAddGetWorkspaceSize(aclTensor *selfRef,
                                            const aclTensor *other,
                                            const aclScalar *alpha,
                                            uint64_t *workspaceSize,
                                            aclOpExecutor **executor) {
  OperatorCall call("aclnnInplaceAdd", workspaceSize, executor);
  call.read(other, "other");
  call.update(selfRef, "selfRef");
  requireOne(call, alpha);
  return call.finishKernel("aclnnInplaceAdd");
}
MF_HOST_CANN_SECOND_PHASE(aclnnInplaceAdd)

aclnnStatus aclnnSiluBackwardGetWorkspaceSize(const aclTensor *gradOutput,
                                              const aclTensor *self,
                                              aclTensor *gradInput,
                                              uint64_t *workspaceSize,
                                              aclOpExecutor **executor) {
  return makeBinary("aclnnSiluBackward", gradOutput, self, gradInput,
                    workspaceSize, executor, nullptr, false);
}
MF_HOST_CANN_SECOND_PHASE(aclnnSiluBackward)

aclnnStatus aclnnFastGeluBackwardGetWorkspaceSize(const aclTensor *gradOutput,
                                                  const aclTensor *self,
                                                  aclTensor *gradInput,
                                                  uint64_t *workspaceSize,
                                                  aclOpExecutor **executor) {
  return makeBinary("aclnnFastGeluBackward", gradOutput, self, gradInput,
                    workspaceSize, executor, nullptr, false);
}
MF_HOST_CANN_SECOND_PHASE(aclnnFastGeluBackward)

aclnnStatus aclnnSigmoidBackwardGetWorkspaceSize(const aclTensor *gradOutput,
                                                 const aclTensor *output,
                                                 aclTensor *gradInput,
                                                 uint64_t *workspaceSize,
                                                 aclOpExecutor **executor) {
  return makeBinary("aclnnSigmoidBackward", gradOutput, output, gradInput,
                    workspaceSize, executor, nullptr, false);
}
MF_HOST_CANN_SECOND_PHASE(aclnnSigmoidBackward)

aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor *self, aclDataType dtype,
                                      aclTensor *out, uint64_t *workspaceSize,
                                      aclOpExecutor **executor) {
  OperatorCall call("aclnnCast", workspaceSize, executor);
  call.read(self, "self");
  call.write(out, "out");
  call.require(!out || out->type == dtype, "out is not of the type dtype");
  if (call.hasFailed() || self->type != ACL_BOOL)
    return call.finishKernel("aclnnCast");
  // The kernels have no truth values of a byte each.
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
MF_HOST_CANN_SECOND_PHASE(aclnnCast)

aclnnStatus aclnnInplaceZeroGetWorkspaceSize(aclTensor *selfRef,
                                             uint64_t *workspaceSize,
                                             aclOpExecutor **executor) {
  OperatorCall call("aclnnInplaceZero", workspaceSize, executor);
  call.write(selfRef, "selfRef");
  return call.finishKernel("aclnnInplaceZero");
}
MF_HOST_CANN_SECOND_PHASE(aclnnInplaceZero)
