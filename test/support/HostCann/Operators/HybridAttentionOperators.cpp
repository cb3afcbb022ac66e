//===- HybridAttentionOperators.cpp - Window, entries, indexer ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The limits are those of CANN 9.1 on Atlas A2 and A3. The kernels of the
// emulated device take the position of the first query; here the last query is
// that of the last key.
//
//===----------------------------------------------------------------------===//

#include "HostCann/Runtime/Runtime.h"
#include "OperatorCall.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <limits>

using namespace mf;
using namespace mf::hostcann;

namespace {

/// The numbers of aclnnSparseFlashMlaMetadata that aclnnSparseFlashMla has as
/// well. The operator only compares the two: it has no cores to give work to.
struct Division {
  static constexpr size_t places = 1024;

  int64_t heads = 0, width = 0, batch = 0, queries = 0, keys = 0, entries = 0,
          chosen = 0, ratio = 0;

  /// Returns the position of the first query.
  int32_t getFirst() const { return static_cast<int32_t>(keys - queries); }
  std::vector<int32_t> getValues() const {
    std::vector<int32_t> values;
    for (const int64_t number :
         {heads, width, batch, queries, keys, entries, chosen, ratio})
      values.push_back(static_cast<int32_t>(number));
    values.resize(places);
    return values;
  }
  void check(OperatorCall &call) const {
    call.require(llvm::isPowerOf2_64(static_cast<uint64_t>(heads)) &&
                     heads <= 128,
                 "the heads of queries are not a power of two up to 128");
    call.require(width == 512, "heads are not 512 wide");
    call.require(entries > 0 || (ratio == 1 && chosen == 0),
                 "cmpRatio is not 1, or there are indices, without cmpKv");
    call.require(entries == 0 || ratio == (chosen > 0 ? 4 : 128),
                 "cmpRatio is not 4 with indices, or not 128 without");
    call.require(chosen == 0 || chosen == 512 || chosen == 1024,
                 "the indices of a query are not 512 or 1024");
  }
};

/// The arguments that forward and backward have in common.
struct HybridArguments {
  const aclTensor *query, *keys, *entries, *indices, *residual, *sink;
  /// Arguments that have to be null.
  std::vector<const aclTensor *> unsupported;
  int64_t ratio, keyMask, entryMask, left, right;
  const char *queryLayout, *keyLayout;

  bool hasEntries() const { return entries != nullptr; }

  void check(OperatorCall &call) const {
    call.require(llvm::all_of(unsupported,
                              [](const aclTensor *given) { return !given; }),
                 "indices of oriKv, lengths, block tables and numbers of "
                 "indices are not in this host library");
    call.require(llvm::StringRef(queryLayout) == "BSND" &&
                     llvm::StringRef(keyLayout) == "BSND",
                 "layouts other than BSND are not in this host library");
    call.require(keyMask == 4 && entryMask == 3,
                 "oriMaskMode is not 4, or cmpMaskMode is not 3");
    call.require(left == 127 && right == 0,
                 "oriWinLeft is not 127, or oriWinRight is not 0");
    call.requireThere(query, "q");
    call.requireThere(keys, "oriKv");
    call.requireThere(sink, "sinks");
    call.require(hasEntries() == (residual != nullptr),
                 "cmpResidualKv is not there exactly if cmpKv is");
    call.require(hasEntries() || !indices, "there are indices without cmpKv");
  }
  Division getDivision() const {
    const auto &dims = query->dims;
    return {dims[2],
            dims[3],
            dims[0],
            dims[1],
            keys->dims[1],
            hasEntries() ? entries->dims[1] : 0,
            indices ? indices->dims[3] : 0,
            ratio};
  }
  AttributeMap getAttributes(double scale) const {
    return {{"window", left + 1},
            {"ratio", hasEntries() ? ratio : int64_t{0}},
            {"scale", scale}};
  }
};

/// Returns a shape without its dimension `dim`, which has to be 1.
TensorShape drop(OperatorCall &call, size_t operand, size_t dim) {
  TensorShape shape = call.getShape(operand);
  call.require(shape.dims.size() == 4 && shape.dims[dim] == 1,
               "a tensor is not [batch, rows, 1, columns], or lse not "
               "[batch, 1, queries, heads]");
  if (!call.hasFailed())
    shape.dims.erase(shape.dims.begin() + static_cast<int64_t>(dim));
  return shape;
}

void requireType(OperatorCall &call, size_t operand, aclDataType type,
                 llvm::StringRef what) {
  call.require(call.hasFailed() || call.getTensor(operand).type == type,
               what + " has another element type than expected");
}

/// Checks the tokens behind the last entry, one number for each sample.
llvm::Error checkResidual(const void *residual, int64_t batch,
                          int64_t expected) {
  for (int64_t i = 0; i < batch; ++i)
    if (static_cast<const int32_t *>(residual)[i] != expected)
      return llvm::createStringError(
          "the residual is not the number of tokens behind the last entry");
  return llvm::Error::success();
}

/// Adds the operands that forward and backward read, and returns the places of
/// entries, indices and residual among the operands.
struct OptionalPlaces {
  size_t entries = 0, indices = 0, residual = 0;
};
OptionalPlaces readOptional(OperatorCall &call, const HybridArguments &given,
                            KernelSpec &spec) {
  OptionalPlaces places;
  if (!given.hasEntries())
    return places;
  places.entries = call.read(given.entries, "cmpKv");
  spec.inputs.push_back(drop(call, places.entries, 2));
  places.residual = call.read(given.residual, "cmpResidualKv");
  requireType(call, places.residual, ACL_INT32, "cmpResidualKv");
  if (given.indices) {
    places.indices = call.read(given.indices, "cmpSparseIndices");
    requireType(call, places.indices, ACL_INT32, "cmpSparseIndices");
    spec.inputs.push_back(drop(call, places.indices, 2));
  }
  return places;
}

void require16Bits(OperatorCall &call, const aclTensor &query) {
  call.require(query.type == ACL_BF16 || query.type == ACL_FLOAT16,
               "q is not BFLOAT16 or FLOAT16");
  call.require(query.dims.size() == 4,
               "q is not [batch, queries, heads, width]");
}

} // namespace

aclnnStatus mf::hostcann::makeSparseFlashMlaMetadata(
    OperatorCall &call, const aclTensor *cuSeqlensQ,
    const aclTensor *cuSeqlensOriKv, const aclTensor *cuSeqlensCmpKv,
    const aclTensor *sequsedQ, const aclTensor *sequsedOriKv,
    const aclTensor *sequsedCmpKv, const aclTensor *cmpResidualKv,
    const aclTensor *oriTopkLength, const aclTensor *cmpTopkLength,
    int64_t numHeadsQ, int64_t numHeadsKv, int64_t headDim, int64_t batchSize,
    int64_t maxSeqlenQ, int64_t maxSeqlenOriKv, int64_t maxSeqlenCmpKv,
    int64_t oriTopk, int64_t cmpTopk, int64_t cmpRatio, int64_t oriMaskMode,
    int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight,
    const char *layoutQ, const char *layoutKv, bool hasOriKv, bool hasCmpKv,
    aclTensor *metaData) {
  const Division division = {numHeadsQ,  headDim,        batchSize,
                             maxSeqlenQ, maxSeqlenOriKv, maxSeqlenCmpKv,
                             cmpTopk,    cmpRatio};
  division.check(call);
  call.require(!cuSeqlensQ && !cuSeqlensOriKv && !cuSeqlensCmpKv && !sequsedQ &&
                   !sequsedOriKv && !sequsedCmpKv && !oriTopkLength &&
                   !cmpTopkLength && llvm::StringRef(layoutQ) == "BSND" &&
                   llvm::StringRef(layoutKv) == "BSND",
               "lengths and layouts other than BSND are not in this host "
               "library");
  call.require(numHeadsKv == 1 && oriTopk == 0 && oriMaskMode == 4 &&
                   cmpMaskMode == 3 && oriWinLeft == 127 && oriWinRight == 0,
               "numHeadsKv is not 1, oriTopk not 0, a mask not 4 or 3, or the "
               "window not 127 and 0");
  call.require(hasOriKv && hasCmpKv == (maxSeqlenCmpKv > 0) &&
                   hasCmpKv == (cmpResidualKv != nullptr),
               "hasOriKv is false, or hasCmpKv does not say whether there are "
               "entries and a residual");
  if (hasCmpKv)
    call.read(cmpResidualKv, "cmpResidualKv");
  const size_t made = call.write(metaData, "metaData");
  requireType(call, made, ACL_INT32, "metaData");
  call.require(call.hasFailed() || call.getTensor(made).getNumElements() ==
                                       static_cast<int64_t>(Division::places),
               "metaData does not have 1024 numbers");
  return call.finish(0, [hasCmpKv, division](llvm::ArrayRef<void *> places,
                                             void *) {
    const std::vector<int32_t> values = division.getValues();
    std::memcpy(places.back(), values.data(), values.size() * sizeof(int32_t));
    return hasCmpKv ? checkResidual(places[0], division.batch,
                                    division.keys -
                                        division.entries * division.ratio)
                    : llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeSparseFlashMla(
    OperatorCall &call, const aclTensor *q, const aclTensor *oriKv,
    const aclTensor *cmpKv, const aclTensor *oriSparseIndices,
    const aclTensor *cmpSparseIndices, const aclTensor *oriBlockTable,
    const aclTensor *cmpBlockTable, const aclTensor *cuSeqlensQ,
    const aclTensor *cuSeqlensOriKv, const aclTensor *cuSeqlensCmpKv,
    const aclTensor *sequsedQ, const aclTensor *sequsedOriKv,
    const aclTensor *sequsedCmpKv, const aclTensor *cmpResidualKv,
    const aclTensor *oriTopkLength, const aclTensor *cmpTopkLength,
    const aclTensor *sinks, const aclTensor *metadata, double softmaxScale,
    int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode,
    int64_t oriWinLeft, int64_t oriWinRight, char *layoutQ, char *layoutKv,
    int64_t topkValueMode, bool returnSoftmaxLse, aclTensor *attnOut,
    aclTensor *softmaxLse) {
  const HybridArguments given = {q,
                                 oriKv,
                                 cmpKv,
                                 cmpSparseIndices,
                                 cmpResidualKv,
                                 sinks,
                                 {oriSparseIndices, oriBlockTable,
                                  cmpBlockTable, cuSeqlensQ, cuSeqlensOriKv,
                                  cuSeqlensCmpKv, sequsedQ, sequsedOriKv,
                                  sequsedCmpKv, oriTopkLength, cmpTopkLength},
                                 cmpRatio,
                                 oriMaskMode,
                                 cmpMaskMode,
                                 oriWinLeft,
                                 oriWinRight,
                                 layoutQ,
                                 layoutKv};
  given.check(call);
  call.requireThere(metadata, "metadata");
  call.require(topkValueMode == 1, "topkValueMode is not 1");
  call.require(returnSoftmaxLse,
               "a call without lse is not in this host library");
  call.read(q, "q");
  call.read(oriKv, "oriKv");
  call.read(sinks, "sinks");
  const size_t metadataPlace = call.read(metadata, "metadata");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  require16Bits(call, *q);
  requireType(call, metadataPlace, ACL_INT32, "metadata");
  KernelSpec spec;
  spec.name = "mfHybridAttentionPart";
  spec.inputs = {
      call.getShape(0), drop(call, 1, 2), call.getShape(2), {DType::I32, {1}}};
  const OptionalPlaces optional = readOptional(call, given, spec);
  const size_t out = call.write(attnOut, "attnOut"),
               lse = call.write(softmaxLse, "softmaxLse");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  const Division division = given.getDivision();
  division.check(call);
  spec.outputs = {call.getShape(out), drop(call, lse, 1)};
  spec.attributes = given.getAttributes(softmaxScale);
  std::shared_ptr<OperatorKernel> kernel = call.makeKernel(spec);
  return call.finish(
      0, [=](llvm::ArrayRef<void *> places, void *) -> llvm::Error {
        const std::vector<int32_t> expected = division.getValues();
        if (std::memcmp(places[metadataPlace], expected.data(),
                        expected.size() * sizeof(int32_t)) != 0)
          return llvm::createStringError(
              "the metadata are not those of this call");
        int32_t first = division.getFirst();
        llvm::SmallVector<void *> inputs = {places[0], places[1], places[2],
                                            &first};
        if (optional.entries) {
          inputs.push_back(places[optional.entries]);
          if (llvm::Error error = checkResidual(
                  places[optional.residual], division.batch,
                  division.keys - division.entries * division.ratio))
            return error;
        }
        if (optional.indices)
          inputs.push_back(places[optional.indices]);
        kernel->run(inputs, {places[out], places[lse]});
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeSparseFlashMlaGrad(
    OperatorCall &call, const aclTensor *query, const aclTensor *dOut,
    const aclTensor *out, const aclTensor *lse, const aclTensor *oriKv,
    const aclTensor *cmpKv, const aclTensor *oriSparseIndices,
    const aclTensor *cmpSparseIndices, const aclTensor *cuSeqlensQ,
    const aclTensor *cuSeqlensOriKv, const aclTensor *cuSeqlensCmpKv,
    const aclTensor *sequsedQ, const aclTensor *sequsedOriKv,
    const aclTensor *sequsedCmpKv, const aclTensor *cmpResidualKv,
    const aclTensor *oriTopkLength, const aclTensor *cmpTopkLength,
    const aclTensor *sinks, const aclTensor *metadata, double scaleValue,
    int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode,
    int64_t oriWinLeft, int64_t oriWinRight, char *layoutQ, char *layoutKv,
    aclTensor *dQuery, aclTensor *dOriKv, aclTensor *dCmpKv, aclTensor *dSinks,
    aclTensor *oriSoftmaxL1Norm, aclTensor *cmpSoftmaxL1Norm) {
  call.require(!Runtime::get().isDeterministic(),
               "the operator has no deterministic mode on this device");
  const HybridArguments given = {
      query,
      oriKv,
      cmpKv,
      cmpSparseIndices,
      cmpResidualKv,
      sinks,
      {oriSparseIndices, cuSeqlensQ, cuSeqlensOriKv, cuSeqlensCmpKv, sequsedQ,
       sequsedOriKv, sequsedCmpKv, oriTopkLength, cmpTopkLength, metadata},
      cmpRatio,
      oriMaskMode,
      cmpMaskMode,
      oriWinLeft,
      oriWinRight,
      layoutQ,
      layoutKv};
  given.check(call);
  call.require(!oriSoftmaxL1Norm, "oriSoftmaxL1Norm is there without indices");
  call.require((cmpSoftmaxL1Norm != nullptr) == (cmpSparseIndices != nullptr),
               "cmpSoftmaxL1Norm is not there exactly if there are indices");
  call.require((dCmpKv != nullptr) == given.hasEntries(),
               "dCmpKv is not there exactly if cmpKv is");
  for (const auto &[operand, name] :
       {std::pair<const aclTensor *, const char *>(dOut, "dOut"),
        {query, "query"},
        {oriKv, "oriKv"},
        {sinks, "sinks"},
        {out, "out"},
        {lse, "lse"}})
    call.read(operand, name);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  require16Bits(call, *query);
  KernelSpec spec;
  spec.name = "mfHybridAttentionPartGrad";
  spec.inputs = {call.getShape(0), call.getShape(1), drop(call, 2, 2),
                 call.getShape(3), call.getShape(4), drop(call, 5, 1),
                 {DType::I32, {1}}};
  const OptionalPlaces optional = readOptional(call, given, spec);
  const size_t first = call.write(dQuery, "dQuery");
  call.write(dOriKv, "dOriKv");
  call.write(dSinks, "dSinks");
  if (given.hasEntries())
    call.write(dCmpKv, "dCmpKv");
  const size_t means =
      cmpSparseIndices ? call.write(cmpSoftmaxL1Norm, "cmpSoftmaxL1Norm") : 0;
  if (call.hasFailed())
    return call.finish(0, nullptr);
  const Division division = given.getDivision();
  division.check(call);
  spec.outputs = {call.getShape(first), drop(call, first + 1, 2),
                  call.getShape(first + 2)};
  if (given.hasEntries())
    spec.outputs.push_back(drop(call, first + 3, 2));
  spec.attributes = given.getAttributes(scaleValue);
  std::shared_ptr<OperatorKernel> kernel = call.makeKernel(spec), shares;
  if (means) {
    KernelSpec ofShares;
    ofShares.name = "mfEntryShares";
    ofShares.inputs = {spec.inputs[1], spec.inputs[7], spec.inputs[8],
                       spec.inputs[5]};
    ofShares.outputs = {drop(call, means, 2)};
    ofShares.attributes = {{"scale", scaleValue}};
    shares = call.makeKernel(ofShares);
  }
  return call.finish(
      kernel ? kernel->getWorkspaceBytes() : 0,
      [=](llvm::ArrayRef<void *> places, void *workspace) -> llvm::Error {
        int32_t position = division.getFirst();
        llvm::SmallVector<void *> inputs(places.take_front(6));
        inputs.push_back(&position);
        llvm::SmallVector<void *> outputs(places.slice(first, 3));
        if (optional.entries) {
          inputs.push_back(places[optional.entries]);
          outputs.push_back(places[first + 3]);
          if (llvm::Error error = checkResidual(
                  places[optional.residual], division.batch,
                  division.keys - division.entries * division.ratio))
            return error;
        }
        if (optional.indices)
          inputs.push_back(places[optional.indices]);
        kernel->run(inputs, outputs, workspace);
        if (means)
          shares->run({places[1], places[optional.entries],
                       places[optional.indices], places[5]},
                      {places[means]});
        return llvm::Error::success();
      });
}

/// Returns an operand in fp32, to which 16 bits are converted exactly.
static std::vector<float> widen(const void *from, const aclTensor &tensor) {
  std::vector<float> wide(tensor.getNumElements());
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = readElement(from, tensor.type, static_cast<int64_t>(i));
  return wide;
}

aclnnStatus mf::hostcann::makeLightningIndexerV2(
    OperatorCall &call, const aclTensor *q, const aclTensor *k,
    const aclTensor *w, const aclTensor *cuSeqlensQ,
    const aclTensor *cuSeqlensK, const aclTensor *sequsedQ,
    const aclTensor *sequsedK, const aclTensor *cmpResidualK,
    const aclTensor *blockTable, const aclTensor *outputIdxOffset,
    const aclTensor *metadata, int64_t topk, int64_t maxSeqlenQ, char *layoutQ,
    char *layoutK, int64_t maskMode, int64_t cmpRatio, int64_t returnValue,
    aclTensor *sparseIndices, aclTensor *sparseValues) {
  call.require(!cuSeqlensQ && !cuSeqlensK && !blockTable &&
                   llvm::StringRef(layoutQ) == "BSND" &&
                   llvm::StringRef(layoutK) == "BSND",
               "layouts other than BSND are not in this host library");
  call.require(
      !sequsedQ && !sequsedK && !outputIdxOffset && !metadata &&
          maxSeqlenQ == -1,
      "lengths, offsets and metadata are not supported on this device");
  call.require(maskMode == 3 && returnValue == 1,
               "maskMode other than 3, and calls without values, are not in "
               "this host library");
  call.require((topk >= 1 && topk <= 2048) ||
                   (topk <= 8192 && topk % 1024 == 0),
               "topk is neither up to 2048 nor a multiple of 1024 up to 8192");
  call.read(q, "q");
  call.read(k, "k");
  call.read(w, "w");
  call.read(cmpResidualK, "cmpResidualK");
  call.write(sparseValues, "sparseValues");
  call.write(sparseIndices, "sparseIndices");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  require16Bits(call, *q);
  call.require(k->type == q->type, "k has another element type than q");
  requireType(call, 2, ACL_FLOAT, "w");
  requireType(call, 3, ACL_INT32, "cmpResidualK");
  requireType(call, 4, ACL_FLOAT, "sparseValues");
  requireType(call, 5, ACL_INT32, "sparseIndices");
  KernelSpec spec;
  spec.name = "mfLightningIndexerPart";
  spec.inputs = {
      call.getShape(0), drop(call, 1, 2), call.getShape(2), {DType::I32, {1}}};
  spec.outputs = {drop(call, 4, 2), drop(call, 5, 2)};
  if (call.hasFailed())
    return call.finish(0, nullptr);
  const int64_t batch = q->dims[0], queries = q->dims[1], entries = k->dims[1];
  call.require(q->dims[2] <= 64 && q->dims[3] == 128,
               "q does not have up to 64 heads of 128");
  // The kernel has one element type.
  spec.inputs[0].type = spec.inputs[1].type = DType::F32;
  // CANN's operator chooses all entries if there are fewer than topk.
  const int64_t found = std::min(topk, entries);
  for (TensorShape &output : spec.outputs)
    output.dims.back() = found;
  spec.attributes = {{"ratio", cmpRatio},
                     {"k", found},
                     {"unseen", -std::numeric_limits<double>::infinity()}};
  std::shared_ptr<OperatorKernel> kernel = call.makeKernel(spec);
  return call.finish(
      0,
      [kernel, batch, queries, entries, cmpRatio, topk, found, asQuery = *q,
       asKey = *k](llvm::ArrayRef<void *> places, void *) -> llvm::Error {
        const int32_t residual = static_cast<const int32_t *>(places[3])[0];
        if (residual < 0 || residual >= cmpRatio)
          return llvm::createStringError(
              "the residual is not from 0 to below cmpRatio");
        if (llvm::Error error = checkResidual(places[3], batch, residual))
          return error;
        auto first =
            static_cast<int32_t>(entries * cmpRatio + residual - queries);
        std::vector<float> wideQuery = widen(places[0], asQuery),
                           wideKey = widen(places[1], asKey);
        std::vector<float> values(batch * queries * found);
        std::vector<int32_t> indices(values.size());
        kernel->run({wideQuery.data(), wideKey.data(), places[2], &first},
                    {values.data(), indices.data()});
        auto *allValues = static_cast<float *>(places[4]);
        auto *allIndices = static_cast<int32_t *>(places[5]);
        for (int64_t i = 0; i < batch * queries * topk; ++i) {
          const int64_t row = i / topk, place = i % topk;
          const bool isFound = place < found;
          allValues[i] = isFound ? values[row * found + place]
                                 : -std::numeric_limits<float>::infinity();
          allIndices[i] = isFound ? indices[row * found + place] : -1;
        }
        return llvm::Error::success();
      });
}
