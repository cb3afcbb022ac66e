//===- RowOperators.cpp - Norms, gates and rotary embedding ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"

using namespace mf::hostcann;

namespace {

/// Returns the shape of statistics of rows for kernels: the last dimension has
/// one element.
mf::TensorShape getRowStatistics(OperatorCall &call, size_t operand,
                                 size_t rows) {
  mf::TensorShape shape = call.getShape(rows);
  if (shape.dims.empty())
    return shape;
  shape.type = mf::DType::F32;
  shape.dims.back() = 1;
  const aclTensor &tensor = call.getTensor(operand);
  call.require(tensor.type == ACL_FLOAT && tensor.dims == shape.dims,
               "rstd is not FLOAT, or not of x's dimensions with 1 for the "
               "last");
  shape.dims.pop_back();
  return shape;
}

aclnnStatus makeRotary(OperatorCall &call, const aclTensor *x,
                       const aclTensor *cos, const aclTensor *sin, int64_t mode,
                       const aclTensor *out) {
  call.read(x, "x");
  call.read(cos, "cos");
  call.read(sin, "sin");
  call.write(out, "out");
  call.require(mode == 0 || mode == 1,
               "mode other than 0 and 1 is not in this host library");
  if (!call.hasFailed()) {
    call.require(x->dims.size() == 4 && cos->dims.size() == 4,
                 "x and its tables have four dimensions each");
    call.require(x->type == cos->type, "the tables are not of x's type");
    call.require(x->dims.back() < 896, "the last dimension is 896 or more");
  }
  return call.finishKernel(call.getName(), {{"interleaved", mode == 1}});
}

} // namespace

aclnnStatus mf::hostcann::makeRmsNorm(OperatorCall &call, const aclTensor *x,
                                      const aclTensor *gamma, double epsilon,
                                      aclTensor *y, aclTensor *rstd) {
  mf::KernelSpec spec;
  spec.name = "aclnnRmsNorm";
  spec.inputs = {call.getShape(0), call.getShape(1)};
  spec.outputs = {call.getShape(2), getRowStatistics(call, 3, 0)};
  spec.attributes["epsilon"] = epsilon;
  return call.finishSpec(spec);
}

aclnnStatus mf::hostcann::makeRmsNormGrad(OperatorCall &call,
                                          const aclTensor *dy,
                                          const aclTensor *x,
                                          const aclTensor *rstd,
                                          const aclTensor *gamma, aclTensor *dx,
                                          aclTensor *dgamma) {
  call.require(dgamma->type == ACL_FLOAT, "dgamma is not FLOAT");
  mf::KernelSpec spec;
  spec.name = "aclnnRmsNormGrad";
  spec.inputs = {call.getShape(0), call.getShape(1),
                 getRowStatistics(call, 2, 1), call.getShape(3)};
  spec.outputs = {call.getShape(4), call.getShape(5)};
  // The kernel's dgamma has the type of gamma, so gamma is passed in fp32.
  spec.inputs[3].type = mf::DType::F32;
  std::shared_ptr<OperatorKernel> kernel = call.makeKernel(spec);
  if (!kernel)
    return call.finish(0, nullptr);
  return call.finish(
      kernel->getWorkspaceBytes(),
      [kernel, type = gamma->type, count = gamma->getNumElements()](
          llvm::ArrayRef<void *> places, void *workspace) {
        std::vector<float> wide(count);
        for (int64_t i = 0; i < count; ++i)
          wide[i] = readElement(places[3], type, i);
        kernel->run({places[0], places[1], places[2], wide.data()},
                    places.drop_front(4), workspace);
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeRotaryPositionEmbedding(
    OperatorCall &call, const aclTensor *x, const aclTensor *cos,
    const aclTensor *sin, int64_t mode, aclTensor *out) {
  return makeRotary(call, x, cos, sin, mode, out);
}

aclnnStatus mf::hostcann::makeRotaryPositionEmbeddingGrad(
    OperatorCall &call, const aclTensor *dy, const aclTensor *cos,
    const aclTensor *sin, const aclTensor *xOptional, int64_t mode,
    aclTensor *dx, aclTensor *, aclTensor *) {
  if (xOptional)
    return failOperator(ACLNN_ERR_PARAM_INVALID,
                        "aclnnRotaryPositionEmbeddingGrad",
                        "gradients of the tables are not in this host library: "
                        "pass no x");
  return makeRotary(call, dy, cos, sin, mode, dx);
}

aclnnStatus mf::hostcann::makeSwiGlu(OperatorCall &call, const aclTensor *x,
                                     int64_t dim, aclTensor *out) {
  call.requireLastDimension(x, dim);
  return call.finishKernel("aclnnSwiGlu");
}

aclnnStatus mf::hostcann::makeSwiGluGrad(OperatorCall &call,
                                         const aclTensor *yGrad,
                                         const aclTensor *x, int64_t dim,
                                         aclTensor *out) {
  call.requireLastDimension(x, dim);
  return call.finishKernel("aclnnSwiGluGrad");
}
