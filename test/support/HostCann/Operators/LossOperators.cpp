//===- LossOperators.cpp - Embedding and cross entropy --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::hostcann;

namespace {

constexpr mf::DType f32 = mf::DType::F32;

void requireIndices(OperatorCall &call, size_t operand) {
  call.require(call.hasFailed() || call.getTensor(operand).type == ACL_INT32 ||
                   call.getTensor(operand).type == ACL_INT64,
               "indices are INT32 or INT64");
}

/// The arguments of a loss in both directions. There is a label for each row;
/// rows whose label is the ignored one do not count.
struct LossCall {
  int64_t rows = 0, ignoreIndex = 0;
  bool isMean = false;
  aclDataType labelType = ACL_INT64;

  /// Checks the arguments.
  LossCall(OperatorCall &call, const aclTensor *logits, const aclTensor *target,
           const aclTensor *weight, const char *reduction, int64_t ignoreIndex,
           double smoothing)
      : ignoreIndex(ignoreIndex) {
    call.require(!weight && smoothing == 0,
                 "weights and label smoothing are not in this host library");
    if (call.hasFailed())
      return;
    isMean = llvm::StringRef(reduction) == "mean";
    call.require(isMean || llvm::StringRef(reduction) == "sum",
                 "reduction is \"mean\" or \"sum\" in this host library");
    call.require(logits->dims.size() == 2 && target->dims.size() == 1 &&
                     logits->dims[0] == target->dims[0],
                 "expected a matrix of logits and a label of each row");
    call.require(target->type == ACL_INT64 || target->type == ACL_INT32,
                 "target is not INT64");
    rows = target->getNumElements();
    labelType = target->type;
  }

  float count(llvm::ArrayRef<int32_t> labels) const {
    return isMean ? static_cast<float>(llvm::count_if(
                        labels, [&](int32_t l) { return l != ignoreIndex; }))
                  : 1;
  }
};

} // namespace

aclnnStatus mf::hostcann::makeEmbedding(OperatorCall &call,
                                        const aclTensor *weight,
                                        const aclTensor *indices,
                                        aclTensor *out) {
  requireIndices(call, 1);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  mf::KernelSpec spec;
  spec.name = "aclnnEmbedding";
  spec.inputs = {call.getShape(0), {mf::DType::I32, indices->dims}};
  spec.outputs = {call.getShape(2)};
  auto kernel = call.makeKernel(spec);
  return call.finish(
      0,
      [kernel, type = indices->type, count = indices->getNumElements(),
       rows = weight->dims.empty() ? 0 : weight->dims[0]](
          llvm::ArrayRef<void *> places, void *) -> llvm::Error {
        std::vector<int32_t> rowsOf = readIntegers(places[1], type, count);
        for (int32_t row : rowsOf)
          if (row < 0 || row >= rows)
            return llvm::createStringError(
                "index " + llvm::Twine(row) + " is outside of the table of " +
                llvm::Twine(rows) + " rows, where a device reads garbage");
        kernel->run({places[0], rowsOf.data()}, {places[2]});
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeEmbeddingDenseBackward(
    OperatorCall &call, const aclTensor *grad, const aclTensor *indices,
    uint64_t numWeights, uint64_t paddingIdx, bool scaleGradByFreq,
    aclTensor *out) {
  requireIndices(call, 1);
  call.require(paddingIdx >= numWeights && !scaleGradByFreq,
               "a padding index and scaling by frequency are not in this host "
               "library: pass an index beyond the table");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require(!out->dims.empty() &&
                   out->dims[0] == static_cast<int64_t>(numWeights),
               "out does not have numWeights rows");
  mf::KernelSpec spec;
  spec.name = "aclnnEmbeddingDenseBackward";
  spec.inputs = {call.getShape(0), {mf::DType::I32, indices->dims}};
  spec.outputs = {call.getShape(2)};
  auto kernel = call.makeKernel(spec);
  return call.finish(
      0, [kernel, type = indices->type, count = indices->getNumElements()](
             llvm::ArrayRef<void *> places, void *) {
        std::vector<int32_t> rowsOf = readIntegers(places[1], type, count);
        kernel->run({places[0], rowsOf.data()}, {places[2]});
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeCrossEntropyLoss(
    OperatorCall &call, const aclTensor *input, const aclTensor *target,
    const aclTensor *weightOptional, char *reduction, int64_t ignoreIndex,
    double labelSmoothing, double, bool returnZloss, aclTensor *lossOut,
    aclTensor *logProbOut, aclTensor *, aclTensor *) {
  call.require(!returnZloss, "returnZloss is not supported");
  LossCall loss(call, input, target, weightOptional, reduction, ignoreIndex,
                labelSmoothing);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require(lossOut->type == input->type && lossOut->getNumElements() == 1,
               "lossOut is not one element of the input's type");
  call.require(logProbOut->type == input->type &&
                   logProbOut->dims == input->dims,
               "logProbOut is not as the input");
  mf::KernelSpec spec;
  spec.name = "mfCrossEntropySum";
  spec.inputs = {call.getShape(0), {mf::DType::I32, target->dims}};
  spec.outputs = {{f32, {2}}, {f32, target->dims}};
  spec.attributes["ignore_index"] = ignoreIndex;
  auto kernel = call.makeKernel(spec);
  return call.finish(0, [kernel, loss, type = input->type,
                         columns = input->dims[1]](
                            llvm::ArrayRef<void *> places, void *) {
    std::vector<int32_t> labels =
        readIntegers(places[1], loss.labelType, loss.rows);
    float sums[2];
    std::vector<float> logSumExp(loss.rows);
    kernel->run({places[0], labels.data()}, {sums, logSumExp.data()});
    writeElement(places[2], type, 0, sums[0] / loss.count(labels));
    for (int64_t i = 0; i < loss.rows * columns; ++i)
      writeElement(places[3], type, i,
                   readElement(places[0], type, i) - logSumExp[i / columns]);
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeCrossEntropyLossGrad(
    OperatorCall &call, const aclTensor *gradLoss, const aclTensor *logProb,
    const aclTensor *target, const aclTensor *weightOptional,
    const aclTensor *gradZlossOptional, const aclTensor *, char *reduction,
    int64_t ignoreIndex, double labelSmoothing, double, aclTensor *out) {
  call.require(!gradZlossOptional, "gradZloss is not supported");
  LossCall loss(call, logProb, target, weightOptional, reduction, ignoreIndex,
                labelSmoothing);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  call.require(target->type == ACL_INT64, "target is not INT64");
  call.require(gradLoss->getNumElements() == 1 &&
                   gradLoss->type == logProb->type,
               "gradLoss is not one element of logProb's type");
  mf::KernelSpec spec;
  spec.name = "aclnnCrossEntropyLossGrad";
  spec.inputs = {{f32, {}},
                 call.getShape(1),
                 {mf::DType::I32, target->dims},
                 {f32, target->dims},
                 {f32, {}}};
  spec.outputs = {call.getShape(3)};
  spec.attributes["ignore_index"] = ignoreIndex;
  auto kernel = call.makeKernel(spec);
  return call.finish(0, [kernel, loss, type = logProb->type](
                            llvm::ArrayRef<void *> places, void *) {
    std::vector<int32_t> labels =
        readIntegers(places[2], loss.labelType, loss.rows);
    // The kernel takes logits and the logarithm of each row's sum of
    // exponentials, which is 0 if the logits are logarithms of probabilities.
    std::vector<float> logSumExp(loss.rows, 0);
    float gradient = readElement(places[0], type, 0);
    float count = loss.count(labels);
    kernel->run({&gradient, places[1], labels.data(), logSumExp.data(), &count},
                {places[3]});
    return llvm::Error::success();
  });
}
