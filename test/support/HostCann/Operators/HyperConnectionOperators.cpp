//===- HyperConnectionOperators.cpp - Sites of residual streams -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"

using namespace mf;
using namespace mf::hostcann;

namespace {

/// The number of streams, and the iterations, that the operators support.
constexpr int64_t numStreams = 4, numIterations = 20;

/// Returns the shape of streams, operand `index`, [batch, sequence, streams,
/// width], as kernels have it.
TensorShape joinStreams(OperatorCall &call, size_t index) {
  TensorShape shape = call.getShape(index);
  call.require(shape.dims.size() == 4 && shape.dims[2] == numStreams &&
                   shape.dims[3] % 128 == 0 &&
                   (shape.type == DType::BF16 || shape.type == DType::F16),
               "streams are not 4 of 16 bits, each a multiple of 128 wide");
  if (call.hasFailed())
    return shape;
  shape.dims[2] *= shape.dims[3];
  shape.dims.pop_back();
  return shape;
}

/// Returns a shape without its last dimension, which has to be 1.
TensorShape dropColumn(OperatorCall &call, size_t index) {
  TensorShape shape = call.getShape(index);
  call.require(!shape.dims.empty() && shape.dims.back() == 1,
               "the last dimension of invRms is not 1");
  if (!call.hasFailed())
    shape.dims.pop_back();
  return shape;
}

} // namespace

aclnnStatus mf::hostcann::makeMhcPreSinkhorn(
    OperatorCall &call, const aclTensor *x, const aclTensor *phi,
    const aclTensor *alpha, const aclTensor *bias, int64_t hcMult,
    int64_t numIters, double hcEps, double normEps, bool needGrad,
    aclTensor *hin, aclTensor *hPost, aclTensor *hRes, aclTensor *hPre,
    aclTensor *hcBeforeNorm, aclTensor *invRms, aclTensor *sumOut,
    aclTensor *normOut) {
  call.require(hcMult == numStreams, "hcMult is not 4");
  call.require(numIters == numIterations, "numIters is not 20");
  call.require(needGrad, "this library supports needGrad true only");
  KernelSpec spec;
  spec.name = "aclnnMhcPreSinkhorn";
  spec.inputs = {joinStreams(call, 0), call.getShape(1), call.getShape(2),
                 call.getShape(3)};
  TensorShape matrices = call.getShape(6);
  call.require(matrices.dims.size() == 3 &&
                   matrices.dims[2] == numStreams * numStreams,
               "hRes is not [batch, sequence, 16]");
  const TensorShape rows = dropColumn(call, 9);
  if (!call.hasFailed()) {
    matrices.dims.back() = numStreams;
    matrices.dims.push_back(numStreams);
  }
  spec.outputs = {call.getShape(4),  call.getShape(5), matrices,
                  call.getShape(7),  call.getShape(8), rows,
                  call.getShape(10), call.getShape(11)};
  spec.attributes = {{"count", hcMult},
                     {"iterations", numIters},
                     {"least", hcEps},
                     {"epsilon", normEps}};
  return call.finishSpec(spec);
}

aclnnStatus mf::hostcann::makeMhcPreSinkhornBackward(
    OperatorCall &call, const aclTensor *gradHin, const aclTensor *gradHPost,
    const aclTensor *gradHRes, const aclTensor *x, const aclTensor *phi,
    const aclTensor *alpha, const aclTensor *bias, const aclTensor *hPre,
    const aclTensor *hcBeforeNorm, const aclTensor *invRms,
    const aclTensor *sumOut, const aclTensor *normOut, double hcEps,
    aclTensor *gradX, aclTensor *gradPhi, aclTensor *gradAlpha,
    aclTensor *gradBias) {
  KernelSpec spec;
  spec.name = "aclnnMhcPreSinkhornBackward";
  for (size_t i = 0; i < 12; ++i)
    spec.inputs.push_back(i == 3   ? joinStreams(call, i)
                          : i == 9 ? dropColumn(call, i)
                                   : call.getShape(i));
  const TensorShape sums = call.getShape(10);
  call.require(!sums.dims.empty() && sums.dims[0] == 2 * numIterations,
               "sumOut is not of 20 iterations");
  spec.outputs = {joinStreams(call, 12), call.getShape(13), call.getShape(14),
                  call.getShape(15)};
  spec.attributes = {{"least", hcEps}};
  return call.finishSpec(spec);
}

aclnnStatus mf::hostcann::makeMhcPost(OperatorCall &call, const aclTensor *x,
                                      const aclTensor *hRes,
                                      const aclTensor *hOut,
                                      const aclTensor *hPost, aclTensor *out) {
  KernelSpec spec;
  spec.name = "aclnnMhcPost";
  spec.inputs = {joinStreams(call, 0), call.getShape(1), call.getShape(2),
                 call.getShape(3)};
  spec.outputs = {joinStreams(call, 4)};
  return call.finishSpec(spec);
}

aclnnStatus mf::hostcann::makeMhcPostBackward(
    OperatorCall &call, const aclTensor *gradOutput, const aclTensor *x,
    const aclTensor *hRes, const aclTensor *hOut, const aclTensor *hPost,
    aclTensor *gradX, aclTensor *gradHres, aclTensor *gradHout,
    aclTensor *gradHpost) {
  KernelSpec spec;
  spec.name = "aclnnMhcPostBackward";
  spec.inputs = {joinStreams(call, 0), joinStreams(call, 1), call.getShape(2),
                 call.getShape(3), call.getShape(4)};
  spec.outputs = {joinStreams(call, 5), call.getShape(6), call.getShape(7),
                  call.getShape(8)};
  return call.finishSpec(spec);
}
