//===- AttentionOperators.cpp - Flash attention ---------------------------===//

#include "DropoutOperators.h"
#include "OperatorCall.h"
#include "aclnnop/aclnn_flash_attention_score.h"
#include "aclnnop/aclnn_flash_attention_score_grad.h"
#include "llvm/ADT/STLExtras.h"
#include <atomic>

using namespace mf::hostcann;

namespace {

/// Each row's maximum and sum stand this often one after another.
constexpr int64_t copiesOfStatistics = 8;
constexpr int64_t maskSize = 2048;

/// The arguments that decide what attention computes, of both directions.
struct AttentionArguments {
  const aclTensor *pse, *dropMask, *paddingMask, *attenMask;
  const aclIntArray *prefix;
  double scale, keepProb;
  int64_t headNum;
  const char *layout;
  int64_t sparseMode, pseType;

  /// Refuses what kernels do not have, and tells whether the mask is causal.
  bool check(OperatorCall &call, const aclTensor &query,
             const aclTensor &key) const {
    call.requireThere(layout, "inputLayout");
    if (call.hasFailed())
      return false;
    call.require(llvm::StringRef(layout) == "BNSD" && query.dims.size() == 4 &&
                     key.dims.size() == 4,
                 "a layout other than BNSD is not in this host library");
    call.require(query.dims.size() > 1 && query.dims[1] == headNum,
                 "headNum is not the number of heads of query");
    call.require(!paddingMask && !prefix,
                 "padding masks and prefixes are not in this host library");
    call.require(dropMask ? keepProb > 0 && keepProb < 1 : keepProb == 1,
                 "keepProb is not between 0 and 1 with a mask of dropout, or "
                 "not 1 without one");
    call.require(!pse || (pseType == 2 && query.dims[2] == key.dims[2]),
                 "position shifts other than pseType 2 with as many keys as "
                 "queries are not in this host library");
    call.require(sparseMode == 0 || sparseMode == 2 || sparseMode == 3,
                 "sparseMode other than 0, 2 and 3 is not in this host "
                 "library");
    call.require(sparseMode != 0 || !attenMask,
                 "a mask with sparseMode 0 is not in this host library");
    if (sparseMode == 0 || call.hasFailed())
      return false;
    call.requireThere(attenMask, "attenMask");
    if (!call.hasFailed())
      call.require(
          (attenMask->type == ACL_BOOL || attenMask->type == ACL_UINT8) &&
              attenMask->getNumElements() == maskSize * maskSize,
          "attenMask is not 2048 x 2048 of BOOL or UINT8, which "
          "sparseMode 2 and 3 want");
    call.require(sparseMode == 3 || query.dims[2] == key.dims[2],
                 "sparseMode 2 with more keys than queries is not in this "
                 "host library: use 3");
    return true;
  }
};

/// Adds the operands that only some attention has, in the order of the kernel,
/// and what they mean to it. Returns their places among the operands.
std::vector<size_t> readOptional(OperatorCall &call,
                                 const AttentionArguments &arguments,
                                 const aclTensor *query, const aclTensor *key,
                                 mf::KernelSpec &spec) {
  std::vector<size_t> places;
  if (call.hasFailed())
    return places;
  if (arguments.pse) {
    places.push_back(call.read(arguments.pse, "realShift"));
    call.require(arguments.pse->type == ACL_FLOAT,
                 "the slopes of pseType 2 are not FLOAT");
    spec.inputs.push_back(call.getShape(places.back()));
  }
  if (arguments.dropMask) {
    const auto [place, bits] = readBitMask(
        call, arguments.dropMask, "dropMask",
        {query->dims[0], query->dims[1], query->dims[2], key->dims[2]});
    places.push_back(place);
    spec.inputs.push_back(bits);
    spec.attributes["rate"] = 1 - arguments.keepProb;
  }
  return places;
}

/// Whether a mask hides what lies behind the diagonal and nothing else.
bool isCausalMask(const void *mask) {
  const auto *bytes = static_cast<const uint8_t *>(mask);
  for (int64_t row = 0; row < maskSize; ++row)
    for (int64_t column = 0; column < maskSize; ++column)
      if ((bytes[row * maskSize + column] != 0) != (column > row))
        return false;
  return true;
}

/// Takes the mask, the last operand, of causal attention.
void readMask(OperatorCall &call, const AttentionArguments &arguments,
              bool causal) {
  if (causal)
    call.read(arguments.attenMask, "attenMask");
}

/// Returns the inputs of a kernel with the optional ones behind the others.
llvm::SmallVector<void *> addOptional(llvm::ArrayRef<void *> inputs,
                                      llvm::ArrayRef<void *> places,
                                      llvm::ArrayRef<size_t> optional) {
  llvm::SmallVector<void *> all(inputs);
  for (const size_t place : optional)
    all.push_back(places[place]);
  return all;
}

/// Ends the first phase of attention. The mask is checked in the first run:
/// reading it each time would take longer than small attention does.
aclnnStatus
finishWithMask(OperatorCall &call, bool causal,
               std::function<void(llvm::ArrayRef<void *>)> compute) {
  auto isChecked = std::make_shared<std::atomic<bool>>(!causal);
  return call.finish(
      0,
      [isChecked, compute = std::move(compute)](llvm::ArrayRef<void *> places,
                                                void *) -> llvm::Error {
        if (!isChecked->exchange(true) && !isCausalMask(places.back()))
          return llvm::createStringError(
              "attenMask does not hide the keys behind each query's own, as "
              "sparseMode 2 and 3 want");
        compute(places);
        return llvm::Error::success();
      });
}

bool isEmpty(const aclTensor *tensor) {
  return !tensor || tensor->getNumElements() == 0;
}

void requireStatistics(OperatorCall &call, size_t operand,
                       const mf::TensorShape &query) {
  if (call.hasFailed())
    return;
  const aclTensor &tensor = call.getTensor(operand);
  llvm::SmallVector<int64_t, 4> expected = query.dims;
  expected.back() = copiesOfStatistics;
  call.require(tensor.type == ACL_FLOAT && tensor.dims == expected,
               "softmaxMax and softmaxSum are not FLOAT of [batch, heads, "
               "queries, 8]");
}

mf::TensorShape getRows(const mf::TensorShape &query) {
  return {mf::DType::F32, {query.dims[0], query.dims[1], query.dims[2]}};
}

std::vector<float> takeEighth(const void *from, int64_t rows) {
  std::vector<float> values(rows);
  for (int64_t i = 0; i < rows; ++i)
    values[i] = static_cast<const float *>(from)[i * copiesOfStatistics];
  return values;
}

void repeatEightTimes(llvm::ArrayRef<float> values, void *to) {
  for (size_t i = 0; i < values.size(); ++i)
    std::fill_n(static_cast<float *>(to) + i * copiesOfStatistics,
                copiesOfStatistics, values[i]);
}

aclnnStatus makeForward(OperatorCall &call, const AttentionArguments &arguments,
                        const aclTensor *query, const aclTensor *key,
                        const aclTensor *value, const aclTensor *max,
                        const aclTensor *sum, const aclTensor *out) {
  call.read(query, "query");
  call.read(key, "key");
  call.read(value, "value");
  call.write(max, "softmaxMaxOut");
  call.write(sum, "softmaxSumOut");
  call.write(out, "attentionOutOut");
  const bool causal = !call.hasFailed() && arguments.check(call, *query, *key);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  requireStatistics(call, 3, call.getShape(0));
  requireStatistics(call, 4, call.getShape(0));
  mf::KernelSpec spec;
  spec.name = "aclnnFlashAttentionScore";
  spec.inputs = {call.getShape(0), call.getShape(1), call.getShape(2)};
  const mf::TensorShape rows = getRows(spec.inputs[0]);
  spec.outputs = {rows, rows, call.getShape(5)};
  spec.attributes = {{"scale", arguments.scale}, {"causal", causal}};
  std::vector<size_t> optional =
      readOptional(call, arguments, query, key, spec);
  readMask(call, arguments, causal);
  auto kernel = call.makeKernel(spec);
  return finishWithMask(
      call, causal,
      [kernel, optional,
       count = rows.getNumElements()](llvm::ArrayRef<void *> places) {
        std::vector<float> maxima(count), sums(count);
        kernel->run(addOptional(places.take_front(3), places, optional),
                    {maxima.data(), sums.data(), places[5]});
        repeatEightTimes(maxima, places[3]);
        repeatEightTimes(sums, places[4]);
      });
}

struct AttentionGradTensors {
  const aclTensor *query, *key, *value, *dy, *max, *sum, *attention;
  const aclTensor *dq, *dk, *dv;
};

aclnnStatus makeBackward(OperatorCall &call,
                         const AttentionArguments &arguments,
                         const AttentionGradTensors &tensors) {
  call.read(tensors.query, "query");
  call.read(tensors.key, "key");
  call.read(tensors.value, "value");
  call.read(tensors.dy, "dy");
  call.read(tensors.max, "softmaxMax");
  call.read(tensors.sum, "softmaxSum");
  call.read(tensors.attention, "attentionIn");
  call.write(tensors.dq, "dqOut");
  call.write(tensors.dk, "dkOut");
  call.write(tensors.dv, "dvOut");
  const bool causal =
      !call.hasFailed() && arguments.check(call, *tensors.query, *tensors.key);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  requireStatistics(call, 4, call.getShape(0));
  requireStatistics(call, 5, call.getShape(0));
  mf::KernelSpec spec;
  spec.name = "aclnnFlashAttentionScoreGrad";
  for (size_t operand : {0, 1, 2, 3})
    spec.inputs.push_back(call.getShape(operand));
  const mf::TensorShape rows = getRows(spec.inputs[0]);
  spec.inputs.append({rows, rows, call.getShape(6)});
  spec.outputs = {call.getShape(7), call.getShape(8), call.getShape(9)};
  spec.attributes = {{"scale", arguments.scale}, {"causal", causal}};
  std::vector<size_t> optional =
      readOptional(call, arguments, tensors.query, tensors.key, spec);
  readMask(call, arguments, causal);
  auto kernel = call.makeKernel(spec);
  return finishWithMask(
      call, causal,
      [kernel, optional,
       count = rows.getNumElements()](llvm::ArrayRef<void *> places) {
        std::vector<float> maxima = takeEighth(places[4], count);
        std::vector<float> sums = takeEighth(places[5], count);
        kernel->run(addOptional({places[0], places[1], places[2], places[3],
                                 maxima.data(), sums.data(), places[6]},
                                places, optional),
                    places.slice(7, 3));
      });
}

} // namespace

aclnnStatus aclnnFlashAttentionScoreV2GetWorkspaceSize(
    const aclTensor *query, const aclTensor *key, const aclTensor *value,
    const aclTensor *realShift, const aclTensor *dropMask,
    const aclTensor *paddingMask, const aclTensor *attenMask,
    const aclIntArray *prefix, const aclIntArray *, const aclIntArray *,
    double scale, double keepProb, int64_t, int64_t, int64_t headNum,
    char *layout, int64_t, int64_t sparseMode, int64_t pseType,
    aclTensor *maxOut, aclTensor *sumOut, aclTensor *softmaxOut, aclTensor *out,
    uint64_t *workspaceSize, aclOpExecutor **executor) {
  OperatorCall call("aclnnFlashAttentionScoreV2", workspaceSize, executor);
  call.require(isEmpty(softmaxOut), "softmaxOut is not an empty tensor");
  return makeForward(call,
                     {realShift, dropMask, paddingMask, attenMask, prefix,
                      scale, keepProb, headNum, layout, sparseMode, pseType},
                     query, key, value, maxOut, sumOut, out);
}
MF_HOST_CANN_SECOND_PHASE(aclnnFlashAttentionScoreV2)

aclnnStatus aclnnFlashAttentionScoreGradV2GetWorkspaceSize(
    const aclTensor *query, const aclTensor *key, const aclTensor *value,
    const aclTensor *dy, const aclTensor *pseShift, const aclTensor *dropMask,
    const aclTensor *paddingMask, const aclTensor *attenMask,
    const aclTensor *softmaxMax, const aclTensor *softmaxSum,
    const aclTensor *softmaxIn, const aclTensor *attentionIn,
    const aclIntArray *prefix, const aclIntArray *, const aclIntArray *,
    double scale, double keepProb, int64_t, int64_t, int64_t headNum,
    char *layout, int64_t, int64_t sparseMode, int64_t pseType,
    aclTensor *dqOut, aclTensor *dkOut, aclTensor *dvOut, aclTensor *dpseOut,
    uint64_t *workspaceSize, aclOpExecutor **executor) {
  OperatorCall call("aclnnFlashAttentionScoreGradV2", workspaceSize, executor);
  call.require(isEmpty(softmaxIn) && isEmpty(dpseOut),
               "softmaxIn and dpseOut are not empty");
  return makeBackward(call,
                      {pseShift, dropMask, paddingMask, attenMask, prefix,
                       scale, keepProb, headNum, layout, sparseMode, pseType},
                      {query, key, value, dy, softmaxMax, softmaxSum,
                       attentionIn, dqOut, dkOut, dvOut});
}
MF_HOST_CANN_SECOND_PHASE(aclnnFlashAttentionScoreGradV2)
