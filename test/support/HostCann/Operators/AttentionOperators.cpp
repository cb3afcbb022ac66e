//===- AttentionOperators.cpp - Flash attention ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AttentionMasks.h"
#include "OperatorCall.h"

using namespace mf::hostcann;

/// Adds a mask with one bit for each element of a tensor of these sizes.
/// Returns the number of the operand, and the mask's shape for kernels.
static std::pair<size_t, mf::TensorShape>
readBitMask(OperatorCall &call, const aclTensor *mask, llvm::StringRef operand,
            llvm::ArrayRef<int64_t> sizes) {
  mf::TensorShape bits{mf::DType::I1, {}};
  bits.dims.assign(sizes.begin(), sizes.end());
  const size_t number = call.read(mask, operand);
  if (!call.hasFailed())
    call.require(mask->type == ACL_UINT8 &&
                     mask->getNumElements() >= bits.getBytes(),
                 operand + " is not UINT8 with a bit for each element, in "
                           "units of 128");
  return {number, bits};
}

aclnnStatus mf::hostcann::makeDropoutDoMask(OperatorCall &call,
                                            const aclTensor *self,
                                            const aclTensor *mask, double prob,
                                            aclTensor *out) {
  call.requireThere(out, "out");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  mf::KernelSpec spec;
  spec.name = "aclnnDropoutDoMask";
  spec.inputs = {call.getShape(0),
                 readBitMask(call, mask, "mask", self->dims).second};
  call.write(out, "out");
  call.require(prob > 0 && prob < 1,
               "prob other than between 0 and 1 is not in this host library");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  spec.outputs = {call.getShape(2)};
  spec.attributes["rate"] = prob;
  return call.finishSpec(spec);
}

namespace {

/// The number of times that each row's maximum and sum are stored, one after
/// another.
constexpr int64_t copiesOfStatistics = 8;

/// The arguments that decide what attention computes, forward and backward.
struct AttentionArguments {
  const aclTensor *pse, *dropMask, *paddingMask;
  MaskArguments mask;
  const aclIntArray *prefix;
  double scale, keepProb;
  int64_t headNum;
  const char *layout;
  int64_t pseType;

  /// Reports what the kernels do not support.
  void check(OperatorCall &call, const aclTensor &query,
             const aclTensor &key) const {
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
    call.require(!pse || mask.attenMask,
                 "position shifts without a causal mask are not in this host "
                 "library");
  }
};

/// Adds the optional operands, in the kernel's order, and the attributes that
/// they stand for. Returns the numbers of these operands.
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

/// The kernel of attention, forward or backward, with its optional operands.
class MaskedAttention {
public:
  /// The call must have all required operands, and `spec` the first inputs and
  /// the outputs.
  MaskedAttention(OperatorCall &call, const AttentionArguments &arguments,
                  const aclTensor *query, const aclTensor *key,
                  mf::KernelSpec spec)
      : mask(call, arguments.mask, *query, *key) {
    const llvm::StringRef direction =
        llvm::StringRef(spec.name).ends_with("Grad") ? "Grad" : "";
    spec.attributes = {{"scale", arguments.scale}, {"causal", mask.isCausal()}};
    if (mask.isPart()) {
      spec.name = ("mfFlashAttentionPart" + direction).str();
      spec.inputs.push_back({mf::DType::I32, {1}});
    }
    optional = readOptional(call, arguments, query, key, spec);
    if (mask.hasDocuments())
      spec.inputs.push_back(mask.getStarts());
    if (!call.hasFailed())
      mask.read(call);
    kernel = call.makeKernel(spec);
  }

  /// Runs the kernel. `inputs` are the required ones, as the call has them or
  /// converted.
  llvm::Error run(llvm::ArrayRef<void *> inputs, llvm::ArrayRef<void *> outputs,
                  llvm::ArrayRef<void *> places) const {
    auto values = mask.getValues(places);
    if (!values)
      return values.takeError();
    llvm::SmallVector<void *> all(inputs);
    if (mask.isPart())
      all.push_back(&values->first);
    for (const size_t place : optional)
      all.push_back(places[place]);
    if (mask.hasDocuments())
      all.push_back(values->starts.data());
    kernel->run(all, outputs);
    return llvm::Error::success();
  }

private:
  AttentionMask mask;
  std::vector<size_t> optional;
  std::shared_ptr<OperatorKernel> kernel;
};

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
  if (!call.hasFailed())
    arguments.check(call, *query, *key);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  requireStatistics(call, 3, call.getShape(0));
  requireStatistics(call, 4, call.getShape(0));
  mf::KernelSpec spec;
  spec.name = "aclnnFlashAttentionScore";
  spec.inputs = {call.getShape(0), call.getShape(1), call.getShape(2)};
  const mf::TensorShape rows = getRows(spec.inputs[0]);
  spec.outputs = {rows, rows, call.getShape(5)};
  const MaskedAttention attention(call, arguments, query, key, spec);
  return call.finish(0, [attention, count = rows.getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    std::vector<float> maxima(count), sums(count);
    llvm::Error error = attention.run(
        places.take_front(3), {maxima.data(), sums.data(), places[5]}, places);
    repeatEightTimes(maxima, places[3]);
    repeatEightTimes(sums, places[4]);
    return error;
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
  if (!call.hasFailed())
    arguments.check(call, *tensors.query, *tensors.key);
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
  const MaskedAttention attention(call, arguments, tensors.query, tensors.key,
                                  spec);
  return call.finish(0, [attention, count = rows.getNumElements()](
                            llvm::ArrayRef<void *> places, void *) {
    std::vector<float> maxima = takeEighth(places[4], count);
    std::vector<float> sums = takeEighth(places[5], count);
    return attention.run({places[0], places[1], places[2], places[3],
                          maxima.data(), sums.data(), places[6]},
                         places.slice(7, 3), places);
  });
}

} // namespace

aclnnStatus mf::hostcann::makeFlashAttentionScoreV2(
    OperatorCall &call, const aclTensor *query, const aclTensor *key,
    const aclTensor *value, const aclTensor *realShift,
    const aclTensor *dropMask, const aclTensor *paddingMask,
    const aclTensor *attenMask, const aclIntArray *prefix, const aclIntArray *,
    const aclIntArray *, double scale, double keepProb, int64_t preTokens,
    int64_t nextTokens, int64_t headNum, char *layout, int64_t,
    int64_t sparseMode, int64_t pseType, aclTensor *maxOut, aclTensor *sumOut,
    aclTensor *softmaxOut, aclTensor *out) {
  call.require(isEmpty(softmaxOut), "softmaxOut is not an empty tensor");
  return makeForward(call,
                     {realShift,
                      dropMask,
                      paddingMask,
                      {attenMask, sparseMode, preTokens, nextTokens},
                      prefix,
                      scale,
                      keepProb,
                      headNum,
                      layout,
                      pseType},
                     query, key, value, maxOut, sumOut, out);
}

aclnnStatus mf::hostcann::makeFlashAttentionScoreGradV2(
    OperatorCall &call, const aclTensor *query, const aclTensor *key,
    const aclTensor *value, const aclTensor *dy, const aclTensor *pseShift,
    const aclTensor *dropMask, const aclTensor *paddingMask,
    const aclTensor *attenMask, const aclTensor *softmaxMax,
    const aclTensor *softmaxSum, const aclTensor *softmaxIn,
    const aclTensor *attentionIn, const aclIntArray *prefix,
    const aclIntArray *, const aclIntArray *, double scale, double keepProb,
    int64_t preTokens, int64_t nextTokens, int64_t headNum, char *layout,
    int64_t, int64_t sparseMode, int64_t pseType, aclTensor *dqOut,
    aclTensor *dkOut, aclTensor *dvOut, aclTensor *dpseOut) {
  call.require(isEmpty(softmaxIn) && isEmpty(dpseOut),
               "softmaxIn and dpseOut are not empty");
  return makeBackward(call,
                      {pseShift,
                       dropMask,
                       paddingMask,
                       {attenMask, sparseMode, preTokens, nextTokens},
                       prefix,
                       scale,
                       keepProb,
                       headNum,
                       layout,
                       pseType},
                      {query, key, value, dy, softmaxMax, softmaxSum,
                       attentionIn, dqOut, dkOut, dvOut});
}
