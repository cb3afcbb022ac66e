//===- MatrixOperators.cpp - Products, permutations, sums -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"

using namespace mf::hostcann;

namespace {

/// Returns the shape in which a matrix is stored. The kernel has an attribute
/// for strides that swap the last two dimensions.
mf::TensorShape getStored(const OperatorCall &call, size_t operand,
                          const char *attribute, mf::AttributeMap &attributes) {
  mf::TensorShape shape = call.getShape(operand);
  const bool transposed = !call.getTensor(operand).isDense();
  if (transposed)
    std::swap(shape.dims.back(), shape.dims[shape.dims.size() - 2]);
  attributes[attribute] = transposed;
  return shape;
}

aclnnStatus makeProduct(OperatorCall &call, size_t rank, const aclTensor *self,
                        const aclTensor *mat2, const aclTensor *out,
                        int8_t cubeMathType) {
  call.require(cubeMathType == 0,
               "cubeMathType other than 0 is not in this host library");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require(self->type == mat2->type && self->type == out->type,
               "the tensors differ in their element types");
  for (const aclTensor *tensor : {self, mat2, out})
    call.require(rank ? tensor->dims.size() == rank : tensor->dims.size() >= 2,
                 "a tensor has another number of dimensions than expected");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  mf::KernelSpec spec;
  spec.name = "aclnnMatmul";
  spec.inputs.push_back(getStored(call, 0, "transpose_a", spec.attributes));
  spec.inputs.push_back(getStored(call, 1, "transpose_b", spec.attributes));
  spec.outputs.push_back(call.getShape(2));
  return call.finishSpec(spec);
}

} // namespace

#define MF_HOST_CANN_PRODUCT(MAKER, RANK)                                      \
  aclnnStatus mf::hostcann::MAKER(OperatorCall &call, const aclTensor *self,   \
                                  const aclTensor *mat2, aclTensor *out,       \
                                  int8_t cubeMathType) {                       \
    return makeProduct(call, RANK, self, mat2, out, cubeMathType);             \
  }

MF_HOST_CANN_PRODUCT(makeMm, 2)
MF_HOST_CANN_PRODUCT(makeMatmul, 0)
MF_HOST_CANN_PRODUCT(makeBatchMatMul, 3)

aclnnStatus mf::hostcann::makePermute(OperatorCall &call, const aclTensor *self,
                                      const aclIntArray *dims, aclTensor *out) {
  return call.finishKernel("aclnnPermute", {{"perm", dims->values}});
}

aclnnStatus mf::hostcann::makeReduceSum(OperatorCall &call,
                                        const aclTensor *self,
                                        const aclIntArray *dims, bool keepDims,
                                        aclDataType dtype, aclTensor *out) {
  call.require(out->type == dtype, "out is not of the type dtype");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  return call.finishKernel("aclnnReduceSum",
                           {{"axes", dims->values}, {"keep_dims", keepDims}});
}
