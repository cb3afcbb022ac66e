//===- OptimizerOperators.cpp - Norms of gradients and AdamW --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdio>
#include <cstdlib>

using namespace mf::hostcann;

namespace {

constexpr mf::DType numberType = mf::DType::F32;

/// Returns the shortest decimal number that reads as the given float. The
/// settings of an optimizer are such numbers, and the kernel computes with them
/// in double.
double widen(float value) {
  for (int digits = 1; digits < 9; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits,
                  static_cast<double>(value));
    if (std::strtof(text, nullptr) == value)
      return std::strtod(text, nullptr);
  }
  return static_cast<double>(value);
}

std::vector<std::shared_ptr<OperatorKernel>>
makeKernels(OperatorCall &call, mf::KernelSpec spec, const aclTensorList &list,
            bool isInput) {
  std::vector<std::shared_ptr<OperatorKernel>> kernels;
  for (const aclTensor *tensor : list.tensors) {
    if (call.hasFailed())
      break;
    const auto type = getKernelType(tensor->type);
    call.require(type.has_value(), "a tensor of x is no floating-point one");
    (isInput ? spec.inputs[0] : spec.outputs[0]) = {type.value_or(numberType),
                                                    tensor->dims};
    kernels.push_back(call.makeKernel(spec));
  }
  return kernels;
}

} // namespace

aclnnStatus mf::hostcann::makeForeachNorm(OperatorCall &call,
                                          const aclTensorList *x,
                                          const aclScalar *scalar,
                                          aclTensorList *out) {
  call.require(scalar->value == 2,
               "norms other than the Euclidean are not in this host library");
  call.require(x->tensors.size() == out->tensors.size(),
               "x and out are lists of different lengths");
  std::vector<aclDataType> types;
  for (const aclTensor *tensor : x->tensors) {
    call.read(tensor, "x");
    types.push_back(tensor ? tensor->type : ACL_FLOAT);
  }
  for (auto [index, tensor] : llvm::enumerate(out->tensors)) {
    call.write(tensor, "out");
    if (!call.hasFailed())
      call.require(tensor->getNumElements() == 1 && index < types.size() &&
                       tensor->type == types[index],
                   "a tensor of out is not one element of x's type");
  }
  mf::KernelSpec spec;
  spec.name = "aclnnForeachNorm";
  spec.inputs.resize(1);
  spec.outputs = {{numberType, {}}};
  auto kernels = makeKernels(call, spec, *x, /*isInput=*/true);
  return call.finish(
      0, [kernels, types](llvm::ArrayRef<void *> places, void *) {
        for (size_t i = 0; i < kernels.size(); ++i) {
          float norm = 0;
          kernels[i]->run({places[i]}, {&norm});
          writeElement(places[kernels.size() + i], types[i], 0, norm);
        }
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeForeachMulScalar(OperatorCall &call,
                                               const aclTensorList *x,
                                               const aclTensor *scalar,
                                               aclTensorList *out) {
  call.require(scalar->type == ACL_FLOAT && scalar->getNumElements() == 1,
               "scalar is not one element of FLOAT");
  call.require(x->tensors.size() == out->tensors.size(),
               "x and out are lists of different lengths");
  for (size_t i = 0; i < out->tensors.size() && !call.hasFailed(); ++i) {
    call.update(out->tensors[i], "x");
    call.require(x->tensors[i]->getFirst() == out->tensors[i]->getFirst(),
                 "out other than x is not in this host library");
  }
  mf::KernelSpec spec;
  spec.name = "aclnnForeachMulScalar";
  spec.inputs = {{numberType, {}}};
  spec.outputs.resize(1);
  auto kernels = makeKernels(call, spec, *x, /*isInput=*/false);
  return call.finish(0, [kernels](llvm::ArrayRef<void *> places, void *) {
    for (size_t i = 0; i < kernels.size(); ++i)
      kernels[i]->run({places[0]}, {places[i + 1]});
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeForeachNonFiniteCheckAndUnscale(
    OperatorCall &call, const aclTensorList *scaledGrads,
    const aclTensor *foundInf, const aclTensor *invScale) {
  call.update(foundInf, "foundInf");
  call.read(invScale, "invScale");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  for (const aclTensor *tensor : {foundInf, invScale})
    call.require(tensor->type == ACL_FLOAT && tensor->getNumElements() == 1,
                 "foundInf and invScale are one element of FLOAT each");
  for (const aclTensor *tensor : scaledGrads->tensors)
    call.update(tensor, "scaledGrads");
  mf::KernelSpec check, scale;
  check.name = "mfNonFiniteCheck";
  check.inputs.resize(1);
  check.outputs = {{numberType, {}}};
  scale.name = "aclnnForeachMulScalar";
  scale.inputs = {{numberType, {}}};
  scale.outputs.resize(1);
  auto checks = makeKernels(call, check, *scaledGrads, /*isInput=*/true);
  auto scales = makeKernels(call, scale, *scaledGrads, /*isInput=*/false);
  return call.finish(0,
                     [checks, scales](llvm::ArrayRef<void *> places, void *) {
                       for (size_t i = 0; i < checks.size(); ++i) {
                         checks[i]->run({places[i + 2]}, {places[0]});
                         scales[i]->run({places[1]}, {places[i + 2]});
                       }
                       return llvm::Error::success();
                     });
}

aclnnStatus mf::hostcann::makeApplyAdamWV2(
    OperatorCall &call, aclTensor *varRef, aclTensor *mRef, aclTensor *vRef,
    aclTensor *maxGradNormOptionalRef, const aclTensor *grad,
    const aclTensor *step, float lr, float beta1, float beta2,
    float weightDecay, float eps, bool amsgrad, bool maximize) {
  call.require(!maxGradNormOptionalRef && !amsgrad && !maximize,
               "amsgrad and maximize are not in this host library");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require((step->type == ACL_FLOAT || step->type == ACL_INT64) &&
                   step->getNumElements() == 1,
               "step is not one element of FLOAT or INT64");
  mf::KernelSpec spec;
  spec.name = "aclnnApplyAdamWV2";
  spec.inputs = {call.getShape(3), {numberType, {}}, {numberType, {}}};
  spec.outputs = {call.getShape(0), call.getShape(1), call.getShape(2)};
  spec.attributes = {{"beta1", widen(beta1)},
                     {"beta2", widen(beta2)},
                     {"eps", widen(eps)},
                     {"weight_decay", widen(weightDecay)},
                     {"bias_correction", true}};
  auto kernel = call.makeKernel(spec);
  return call.finish(0, [kernel, lr, isFloat = step->type == ACL_FLOAT](
                            llvm::ArrayRef<void *> places, void *) {
    // The operator counts steps from 0 and the kernel from 1.
    float next = 1 + (isFloat ? *static_cast<const float *>(places[4])
                              : static_cast<float>(
                                    *static_cast<const int64_t *>(places[4])));
    float rate = lr;
    kernel->run({places[3], &next, &rate}, places.take_front(3));
    return llvm::Error::success();
  });
}
