//===- SelectionOperators.cpp - Order, choice and running sums ------------===//

#include "OperatorCall.h"
#include "aclnnop/aclnn_cumsum.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_ge_tensor.h"
#include "aclnnop/aclnn_sort.h"
#include "aclnnop/aclnn_topk.h"

using namespace mf::hostcann;

namespace {

/// The kernel's indices have 32 bits, CANN's 64.
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

aclnnStatus aclnnTopkGetWorkspaceSize(const aclTensor *self, int64_t k,
                                      int64_t dim, bool largest, bool sorted,
                                      aclTensor *valuesOut,
                                      aclTensor *indicesOut,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor) {
  OperatorCall call("aclnnTopk", workspaceSize, executor);
  call.read(self, "self");
  call.write(valuesOut, "valuesOut");
  call.write(indicesOut, "indicesOut");
  call.requireLastDimension(self, dim);
  call.require(largest && sorted, "the smallest elements, or those without an "
                                  "order, are not in this host library");
  mf::KernelSpec spec;
  spec.name = "aclnnTopk";
  spec.attributes["k"] = k;
  return finishWithIndices(call, spec);
}
MF_HOST_CANN_SECOND_PHASE(aclnnTopk)

aclnnStatus aclnnSortGetWorkspaceSize(const aclTensor *self, bool, int64_t dim,
                                      bool descending, aclTensor *valuesOut,
                                      aclTensor *indicesOut,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor) {
  OperatorCall call("aclnnSort", workspaceSize, executor);
  call.read(self, "self");
  call.write(valuesOut, "valuesOut");
  call.write(indicesOut, "indicesOut");
  call.requireLastDimension(self, dim);
  call.require(!descending, "descending order is not in this host library");
  mf::KernelSpec spec;
  spec.name = "aclnnSort";
  return finishWithIndices(call, spec);
}
MF_HOST_CANN_SECOND_PHASE(aclnnSort)

aclnnStatus aclnnCumsumGetWorkspaceSize(const aclTensor *self, int64_t dim,
                                        aclDataType dtype, aclTensor *out,
                                        uint64_t *workspaceSize,
                                        aclOpExecutor **executor) {
  OperatorCall call("aclnnCumsum", workspaceSize, executor);
  call.read(self, "self");
  call.write(out, "out");
  call.require(!out || out->type == dtype, "out is not of the type dtype");
  return call.finishKernel("aclnnCumsum", {{"axis", dim}});
}
MF_HOST_CANN_SECOND_PHASE(aclnnCumsum)

aclnnStatus aclnnInplaceFillScalarGetWorkspaceSize(aclTensor *selfRef,
                                                   const aclScalar *value,
                                                   uint64_t *workspaceSize,
                                                   aclOpExecutor **executor) {
  OperatorCall call("aclnnInplaceFillScalar", workspaceSize, executor);
  call.requireThere(value, "value");
  call.write(selfRef, "selfRef");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require(selfRef->type == ACL_FLOAT || selfRef->type == ACL_FLOAT16 ||
                   selfRef->type == ACL_BF16,
               "tensors of integers are not in this host library");
  return call.finish(0,
                     [type = selfRef->type, count = selfRef->getNumElements(),
                      number = static_cast<float>(value->value)](
                         llvm::ArrayRef<void *> places, void *) {
                       for (int64_t i = 0; i < count; ++i)
                         writeElement(places[0], type, i, number);
                       return llvm::Error::success();
                     });
}
MF_HOST_CANN_SECOND_PHASE(aclnnInplaceFillScalar)

aclnnStatus aclnnGeTensorGetWorkspaceSize(const aclTensor *self,
                                          const aclTensor *other,
                                          aclTensor *out,
                                          uint64_t *workspaceSize,
                                          aclOpExecutor **executor) {
  OperatorCall call("aclnnGeTensor", workspaceSize, executor);
  call.read(self, "self");
  call.read(other, "other");
  call.write(out, "out");
  call.require(call.hasFailed() ||
                   (self->type == ACL_FLOAT && other->type == ACL_FLOAT &&
                    out->type == ACL_BOOL),
               "self and other are not FLOAT or out is not BOOL");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  // The kernel tells by 1 and 0 in fp32.
  mf::KernelSpec spec;
  spec.name = "aclnnGeTensor";
  spec.inputs = {call.getShape(0), call.getShape(1)};
  spec.outputs = {{mf::DType::F32, out->dims}};
  auto kernel = call.makeKernel(spec);
  return call.finish(0, [kernel, count = out->getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    std::vector<float> holds(count);
    kernel->run({places[0], places[1]}, {holds.data()});
    std::copy(holds.begin(), holds.end(), static_cast<uint8_t *>(places[2]));
    return llvm::Error::success();
  });
}
MF_HOST_CANN_SECOND_PHASE(aclnnGeTensor)
