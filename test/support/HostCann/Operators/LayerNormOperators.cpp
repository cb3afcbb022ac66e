//===- LayerNormOperators.cpp - Layer norm and its gradients --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::hostcann;

namespace {

/// Requires a normalisation of rows of the last dimension, with a weight and a
/// bias.
void requireRows(OperatorCall &call, const aclTensor *input,
                 const aclIntArray *normalizedShape, const aclTensor *weight,
                 const aclTensor *bias) {
  call.requireThere(input, "input");
  if (call.hasFailed())
    return;
  call.require(!input->dims.empty() &&
                   llvm::ArrayRef<int64_t>(normalizedShape->values) ==
                       llvm::ArrayRef<int64_t>(input->dims.back()),
               "normalizedShape other than the last dimension of input is not "
               "in this host library");
  call.require(weight && bias,
               "a norm without weight and bias is not in this host library");
  if (!call.hasFailed())
    call.require(weight->type == bias->type && weight->dims == bias->dims,
                 "weight and bias differ in their types or dimensions");
}

/// Returns the shape of a mean or deviation for the kernel, which lacks the
/// last dimension.
mf::TensorShape getStatistic(OperatorCall &call, size_t operand,
                             const aclTensor &input) {
  const aclTensor &tensor = call.getTensor(operand);
  llvm::SmallVector<int64_t, 4> dims = input.dims;
  dims.back() = 1;
  call.require(tensor.type == ACL_FLOAT && tensor.dims == dims,
               "mean or rstd is not FLOAT, or not of input's dimensions with 1 "
               "for the last");
  dims.pop_back();
  mf::TensorShape shape{mf::DType::F32, {}};
  shape.dims.assign(dims.begin(), dims.end());
  return shape;
}

} // namespace

aclnnStatus mf::hostcann::makeLayerNorm(
    OperatorCall &call, const aclTensor *input,
    const aclIntArray *normalizedShape, const aclTensor *weightOptional,
    const aclTensor *biasOptional, double eps, aclTensor *out,
    aclTensor *meanOutOptional, aclTensor *rstdOutOptional) {
  requireRows(call, input, normalizedShape, weightOptional, biasOptional);
  call.read(input, "input");
  call.read(weightOptional, "weight");
  call.read(biasOptional, "bias");
  call.write(out, "out");
  call.write(meanOutOptional, "meanOut");
  call.write(rstdOutOptional, "rstdOut");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  mf::KernelSpec spec;
  spec.name = "aclnnLayerNorm";
  spec.inputs = {call.getShape(0), call.getShape(1), call.getShape(2)};
  spec.outputs = {call.getShape(3), getStatistic(call, 4, *input),
                  getStatistic(call, 5, *input)};
  spec.attributes["eps"] = eps;
  return call.finishSpec(spec);
}

aclnnStatus mf::hostcann::makeLayerNormBackward(
    OperatorCall &call, const aclTensor *gradOut, const aclTensor *input,
    const aclIntArray *normalizedShape, const aclTensor *mean,
    const aclTensor *rstd, const aclTensor *weightOptional,
    const aclTensor *biasOptional, const aclBoolArray *outputMask,
    aclTensor *gradInputOut, aclTensor *gradWeightOut, aclTensor *gradBiasOut) {
  requireRows(call, input, normalizedShape, weightOptional, biasOptional);
  const bool hasFactors =
      !call.hasFailed() && outputMask->values == std::vector<bool>(3, true);
  if (!call.hasFailed() && !hasFactors)
    call.require(outputMask->values == std::vector<bool>{true, false, false},
                 "the gradient of weight or bias alone is not in this host "
                 "library");
  call.read(gradOut, "gradOut");
  call.read(input, "input");
  call.read(mean, "mean");
  call.read(rstd, "rstd");
  call.read(weightOptional, "weight");
  call.write(gradInputOut, "gradInputOut");
  if (hasFactors) {
    call.write(gradWeightOut, "gradWeightOut");
    call.write(gradBiasOut, "gradBiasOut");
  }
  if (call.hasFailed())
    return call.finish(0, nullptr);
  mf::KernelSpec spec;
  spec.name = "aclnnLayerNormBackward";
  spec.inputs = {call.getShape(0), call.getShape(1),
                 getStatistic(call, 2, *input), getStatistic(call, 3, *input),
                 call.getShape(4)};
  spec.outputs = {call.getShape(5)};
  if (hasFactors)
    spec.outputs.append({call.getShape(6), call.getShape(7)});
  return call.finishSpec(spec);
}
