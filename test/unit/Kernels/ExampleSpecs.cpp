//===- ExampleSpecs.cpp - Specifications of every kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleSpecs.h"

namespace mf::testing {
namespace {

using Ints = std::vector<int64_t>;

TensorShape wide(std::initializer_list<int64_t> dims) {
  return {DType::F32, dims};
}

TensorShape narrow(std::initializer_list<int64_t> dims) {
  return {DType::BF16, dims};
}

TensorShape indices(std::initializer_list<int64_t> dims) {
  return {DType::I32, dims};
}

void addElementwise(std::vector<KernelSpec> &specs) {
  for (const TensorShape &x : {wide({9, 4001}), narrow({35})}) {
    for (const char *name :
         {"aclnnNeg", "aclnnReciprocal", "aclnnSqrt", "aclnnSilu", "aclnnGelu"})
      specs.push_back({name, {x}, {x}, {}});
    specs.push_back({"aclnnFastGelu", {x}, {x}, {}});
    for (const char *name :
         {"aclnnAdds", "aclnnMuls", "aclnnClampMax", "aclnnClampMin"})
      specs.push_back({name, {x}, {x}, {{"value", 0.4}}});
    for (const char *name :
         {"aclnnAdd", "aclnnSub", "aclnnMul", "aclnnSiluBackward",
          "aclnnGeluBackward", "aclnnFastGeluBackward"})
      specs.push_back({name, {x, x}, {x}, {}});
  }
  for (const char *name : {"aclnnAdd", "aclnnSub", "aclnnMul"}) {
    specs.push_back({name, {wide({5, 7}), wide({7})}, {wide({5, 7})}, {}});
    specs.push_back({name, {wide({5, 1}), wide({7})}, {wide({5, 7})}, {}});
  }
  specs.push_back({"aclnnCast", {narrow({33})}, {wide({33})}, {}});
  specs.push_back({"aclnnCast", {wide({40000})}, {narrow({40000})}, {}});
}

/// A chain with rows that become longer and shorter, and one that may work in
/// place.
void addChains(std::vector<KernelSpec> &specs) {
  const TensorShape x = narrow({3, 40, 6}), whole = wide({3, 40, 6}),
                    half = wide({3, 40, 3});
  const Ints sizes = {3, 40, 3};
  specs.push_back(
      {"mfChain",
       {x, wide({40, 6})},
       {x},
       {{"steps", std::vector<KernelStep>{
                      {"aclnnCast", {0}, whole, {}},
                      {"aclnnSliceV2",
                       {~0},
                       half,
                       {{"starts", Ints{0, 0, 3}}, {"sizes", sizes}}},
                      {"aclnnSliceV2",
                       {~0},
                       half,
                       {{"starts", Ints{0, 0, 0}}, {"sizes", sizes}}},
                      {"aclnnNeg", {~1}, half, {}},
                      {"aclnnCat", {~3, ~2}, whole, {{"axis", int64_t{2}}}},
                      {"aclnnMul", {~4, 1}, whole, {}},
                      {"aclnnAdd", {~5, ~0}, whole, {}},
                      {"aclnnCast", {~6}, x, {}}}}}});
  const TensorShape y = wide({9, 4001});
  specs.push_back(
      {"mfChain",
       {y, y},
       {y},
       {{"steps", std::vector<KernelStep>{{"aclnnSilu", {0}, y, {}},
                                          {"aclnnMul", {~0, 1}, y, {}}}}}});
}

void addMovement(std::vector<KernelSpec> &specs) {
  const TensorShape x = wide({4, 5, 6});
  const int64_t axis = 1;
  specs.push_back({"aclnnCat",
                   {x, wide({4, 2, 6}), x},
                   {wide({4, 12, 6})},
                   {{"axis", axis}}});
  specs.push_back({"aclnnConstantPadNd",
                   {x},
                   {wide({4, 8, 7})},
                   {{"low", Ints{0, 1, 1}}, {"high", Ints{0, 2, 0}}}});
  specs.push_back(
      {"aclnnConstantPadNd",
       {indices({4, 5})},
       {indices({4, 6})},
       {{"low", Ints{0, 0}}, {"high", Ints{0, 1}}, {"value", int64_t{-100}}}});
  specs.push_back({"aclnnInplaceCopy", {x}, {x}, {}});
  specs.push_back({"aclnnInplaceZero", {}, {x}, {}});
  specs.push_back(
      {"aclnnPermute", {x}, {wide({6, 4, 5})}, {{"perm", Ints{2, 0, 1}}}});
  specs.push_back(
      {"aclnnPermute", {wide({8, 8})}, {wide({8, 8})}, {{"perm", Ints{1, 0}}}});
  specs.push_back({"mfOwnPart", {x, indices({1})}, {wide({4, 6})}, {}});
  specs.push_back({"aclnnRepeatInterleaveIntWithDim",
                   {x},
                   {wide({4, 15, 6})},
                   {{"axis", axis}, {"repeats", int64_t{3}}}});
  specs.push_back({"aclnnSliceV2",
                   {x},
                   {wide({4, 3, 2})},
                   {{"starts", Ints{0, 1, 4}}, {"sizes", Ints{4, 3, 2}}}});
}

void addProducts(std::vector<KernelSpec> &specs) {
  specs.push_back({"mfDocumentStarts",
                   {indices({6, 9})},
                   {indices({6, 9})},
                   {{"end", int64_t{2}}}});
  specs.push_back({"mfDocumentMask",
                   {indices({6, 9})},
                   {narrow({6, 1, 9, 5})},
                   {{"value", -4.0}}});
  specs.push_back({"mfPrefixPositions",
                   {indices({6, 9})},
                   {indices({6, 9}), indices({6, 9})},
                   {{"begin", int64_t{2}}}});
  specs.push_back({"mfPrefixMask",
                   {indices({6, 9})},
                   {narrow({6, 1, 9, 9})},
                   {{"value", -4.0}}});
  specs.push_back(
      {"aclnnMatmul", {wide({70, 65}), wide({65, 80})}, {wide({70, 80})}, {}});
  specs.push_back({"aclnnMatmul",
                   {narrow({2, 9, 8}), narrow({2, 9, 12})},
                   {narrow({8, 12})},
                   {{"transpose_a", true}, {"contract_batch", true}}});
  // Eight heads of keys are swept once, fewer twice.
  for (int64_t keyHeads : {2, 8}) {
    const TensorShape q = wide({1, 8, 70, 8}), k = wide({1, keyHeads, 530, 8});
    const TensorShape rows = wide({1, 8, 70}), slopes = wide({8});
    const AttributeMap attributes = {{"scale", 0.3}};
    specs.push_back(
        {"aclnnFlashAttentionScore", {q, k, k}, {rows, rows, q}, attributes});
    specs.push_back({"aclnnFlashAttentionScore",
                     {q, k, k, slopes},
                     {rows, rows, q},
                     attributes});
    specs.push_back({"aclnnFlashAttentionScoreGrad",
                     {q, k, k, q, rows, rows, q},
                     {q, k, k},
                     attributes});
    specs.push_back({"aclnnFlashAttentionScoreGrad",
                     {q, k, k, q, rows, rows, q, slopes},
                     {q, k, k},
                     attributes});
    const TensorShape mask{DType::I1, {1, 8, 70, 530}};
    specs.push_back({"aclnnFlashAttentionScore",
                     {q, k, k, mask},
                     {rows, rows, q},
                     {{"scale", 0.3}, {"rate", 0.1}}});
    specs.push_back({"aclnnFlashAttentionScoreGrad",
                     {q, k, k, q, rows, rows, q, slopes, mask},
                     {q, k, k},
                     {{"scale", 0.3}, {"rate", 0.1}}});
    const TensorShape starts = indices({1, 70});
    specs.push_back({"aclnnFlashAttentionScore",
                     {q, k, k, slopes, starts},
                     {rows, rows, q},
                     attributes});
    specs.push_back({"aclnnFlashAttentionScoreGrad",
                     {q, k, k, q, rows, rows, q, starts},
                     {q, k, k},
                     attributes});
    specs.push_back({"mfFlashAttentionPartGrad",
                     {q, k, k, q, rows, rows, q, indices({1}), starts},
                     {q, k, k},
                     attributes});
    specs.push_back({"mfFlashAttentionPart",
                     {q, k, k, indices({1})},
                     {rows, rows, q},
                     attributes});
    specs.push_back({"mfFlashAttentionPart",
                     {q, k, k, indices({1}), slopes},
                     {rows, rows, q},
                     attributes});
    specs.push_back({"mfFlashAttentionPartGrad",
                     {q, k, k, q, rows, rows, q, indices({1})},
                     {q, k, k},
                     attributes});
    specs.push_back({"mfFlashAttentionPartGrad",
                     {q, k, k, q, rows, rows, q, indices({1}), slopes},
                     {q, k, k},
                     attributes});
  }
}

void addRows(std::vector<KernelSpec> &specs) {
  for (const TensorShape &gamma : {wide({24}), narrow({24})}) {
    const TensorShape x = wide({50, 24}), rows = wide({50});
    specs.push_back(
        {"aclnnRmsNorm", {x, gamma}, {x, rows}, {{"epsilon", 1e-5}}});
    specs.push_back({"aclnnRmsNormGrad", {x, x, rows, gamma}, {x, gamma}, {}});
    specs.push_back({"aclnnLayerNorm",
                     {x, gamma, gamma},
                     {x, rows, rows},
                     {{"eps", 1e-5}}});
    specs.push_back({"aclnnLayerNormBackward",
                     {x, x, rows, rows, gamma},
                     {x, gamma, gamma},
                     {}});
    specs.push_back(
        {"aclnnLayerNormBackward", {x, x, rows, rows, gamma}, {x}, {}});
  }
  const TensorShape x = narrow({30, 18}), half = narrow({30, 9});
  specs.push_back({"aclnnSoftmax", {x}, {x}, {}});
  specs.push_back({"aclnnSoftmaxBackward", {x, x}, {x}, {}});
  const TensorShape matrices = wide({5, 7, 4, 4});
  const AttributeMap rounds = {{"iterations", int64_t{3}}, {"epsilon", 1e-6}};
  specs.push_back({"mfSinkhorn", {matrices}, {matrices}, rounds});
  specs.push_back(
      {"mfSinkhornBackward", {matrices, matrices}, {matrices}, rounds});
  specs.push_back({"aclnnSwiGlu", {x}, {half}, {}});
  specs.push_back({"aclnnSwiGluGrad", {half, x}, {x}, {}});
  const TensorShape rows = narrow({6, 2, 9}), result = narrow({6, 9});
  specs.push_back({"aclnnSwiGlu", {rows}, {result}, {}});
  specs.push_back({"aclnnSwiGluGrad", {result, rows}, {rows}, {}});
  const TensorShape heads = wide({2, 3, 5, 8});
  for (const TensorShape &table : {wide({5, 8}), wide({2, 1, 5, 8})})
    for (const char *name :
         {"aclnnRotaryPositionEmbedding", "aclnnRotaryPositionEmbeddingGrad"})
      specs.push_back({name, {heads, table, table}, {heads}, {}});
  for (const Ints &axes : {Ints{0}, Ints{1}, Ints{0, 1}})
    specs.push_back({"aclnnReduceSum",
                     {wide({4096, 64})},
                     {axes.size() == 2 ? wide({})
                      : axes[0] == 0   ? wide({64})
                                       : wide({4096})},
                     {{"axes", axes}}});
  for (const TensorShape &x : {wide({3, 4, 70}), narrow({3, 4, 70})})
    specs.push_back(
        {"aclnnAmax", {x}, {{x.type, {4}}}, {{"axes", Ints{0, 2}}}});
}

void addLosses(std::vector<KernelSpec> &specs) {
  const TensorShape table = wide({4, 6}), rows = wide({9}), scalar = wide({});
  specs.push_back(
      {"aclnnEmbedding", {table, indices({9})}, {wide({9, 6})}, {}});
  for (const TensorShape &gradient : {table, narrow({4, 6})})
    specs.push_back({"aclnnEmbeddingDenseBackward",
                     {{gradient.type, {9, 6}}, indices({9})},
                     {gradient},
                     {}});
  const TensorShape logits = wide({9, 6});
  specs.push_back({"aclnnCrossEntropyLoss",
                   {logits, indices({9})},
                   {scalar, rows, scalar},
                   {{"ignore_index", int64_t{2}}}});
  specs.push_back({"aclnnCrossEntropyLossGrad",
                   {scalar, logits, indices({9}), rows, scalar},
                   {logits},
                   {{"ignore_index", int64_t{2}}}});
}

void addLossesOfParts(std::vector<KernelSpec> &specs) {
  const TensorShape table = wide({4, 6}), rows = wide({9}), scalar = wide({});
  const TensorShape first = indices({1}), sums = wide({2});
  specs.push_back(
      {"mfEmbeddingPart", {table, indices({9}), first}, {wide({9, 6})}, {}});
  for (const TensorShape &gradient : {table, narrow({4, 6})})
    specs.push_back({"mfEmbeddingPartBackward",
                     {{gradient.type, {9, 6}}, indices({9}), first},
                     {gradient},
                     {}});
  const AttributeMap attributes = {{"ignore_index", int64_t{2}},
                                   {"classes", int64_t{8}}};
  for (const TensorShape &logits : {wide({9, 6}), narrow({9, 6})}) {
    specs.push_back({"mfRowMax", {logits}, {rows}, {}});
    specs.push_back({"mfRowExponentialSum", {logits, rows}, {rows}, {}});
    specs.push_back({"mfPickLogit", {logits, indices({9}), first}, {rows}, {}});
    specs.push_back({"mfCrossEntropySum",
                     {logits, indices({9})},
                     {sums, rows},
                     {{"ignore_index", int64_t{2}}}});
    specs.push_back({"mfCrossEntropyPartGrad",
                     {scalar, logits, indices({9}), rows, scalar, first},
                     {logits},
                     attributes});
  }
  specs.push_back({"mfCrossEntropyRows",
                   {indices({9}), rows, rows, rows},
                   {sums, rows},
                   attributes});
  specs.push_back({"mfCountLabels", {indices({18})}, {sums}, attributes});
  specs.push_back({"mfMeanLoss", {sums}, {scalar, scalar}, {}});
  specs.push_back({"mfMeanLoss",
                   {wide({1, 2})},
                   {scalar, wide({1})},
                   {{"ranks", int64_t(3)}}});
}

void addScores(std::vector<KernelSpec> &specs) {
  for (const TensorShape &x : {wide({9, 4001}), narrow({35})}) {
    for (const char *name : {"aclnnSigmoid", "aclnnExp", "aclnnLog",
                             "aclnnSoftplus", "mfSqrtSoftplus"})
      specs.push_back({name, {x}, {x}, {}});
    for (const char *name :
         {"aclnnGtScalar", "aclnnGeScalar", "aclnnLtScalar", "aclnnNeScalar",
          "aclnnRemainderTensorScalar", "aclnnFloorDivides"})
      specs.push_back({name, {x}, {x}, {{"value", 0.4}}});
    for (const char *name :
         {"aclnnDiv", "aclnnGeTensor", "aclnnSigmoidBackward",
          "mfSqrtSoftplusBackward", "aclnnMaximum"})
      specs.push_back({name, {x, x}, {x}, {}});
  }
  for (const char *name : {"aclnnDiv", "aclnnGeTensor"})
    for (const TensorShape &other : {wide({5, 1}), wide({1, 7}), wide({7})})
      specs.push_back({name, {wide({5, 7}), other}, {wide({5, 7})}, {}});
}

void addRouters(std::vector<KernelSpec> &specs) {
  for (DType type : {DType::F32, DType::BF16}) {
    const TensorShape scores{type, {4, 40, 16}}, chosen{type, {4, 40, 4}};
    const TensorShape choices = indices({4, 40, 4});
    specs.push_back(
        {"aclnnTopk", {scores}, {chosen, choices}, {{"k", int64_t{4}}}});
    specs.push_back({"aclnnGather", {scores, choices}, {chosen}, {}});
    specs.push_back({"mfScatterElements", {chosen, choices}, {scores}, {}});
    specs.push_back({"aclnnOneHot", {indices({4, 40})}, {scores}, {}});
    specs.push_back(
        {"aclnnSort", {scores}, {scores, indices({4, 40, 16})}, {}});
    const TensorShape row{type, {2, 3000}};
    specs.push_back({"aclnnSort", {row}, {row, indices({2, 3000})}, {}});
    for (int64_t axis : {0, 1, -1})
      specs.push_back({"aclnnCumsum", {scores}, {scores}, {{"axis", axis}}});
  }
  for (bool kMajor : {false, true})
    specs.push_back({"mfTopKRouter",
                     {indices({4, 40, 2})},
                     {indices({4, 5, 7}), indices({4, 40, 2})},
                     {{"k_major", kMajor}}});
  specs.push_back({"mfUpdateExpertBias",
                   {wide({16})},
                   {wide({16})},
                   {{"rate", 0.125}, {"target", 0.0625}}});
}

void addUpdates(std::vector<KernelSpec> &specs) {
  const TensorShape x = wide({70000}), scalar = wide({});
  specs.push_back({"aclnnInplaceAdd", {narrow({70000})}, {x}, {}});
  specs.push_back({"aclnnForeachMulScalar", {scalar}, {x}, {}});
  specs.push_back({"aclnnForeachNorm", {x}, {scalar}, {}});
  specs.push_back({"aclnnForeachNorm", {x, scalar, scalar}, {scalar}, {}});
  specs.push_back({"mfNonFiniteCheck", {x}, {scalar}, {}});
  const AttributeMap attributes = {
      {"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}};
  specs.push_back(
      {"aclnnApplyAdamWV2", {x, scalar, scalar}, {x, x, x}, attributes});
  specs.push_back({"aclnnApplyAdamWV2",
                   {x, scalar, scalar, scalar},
                   {x, x, x},
                   attributes});
  specs.push_back({"aclnnApplyAdamWV2",
                   {x, scalar, scalar, scalar, scalar, scalar},
                   {x, x, x},
                   attributes});
  const AttributeMap momentum = {{"momentum", 0.9}, {"nesterov", true}};
  specs.push_back({"mfMomentum", {x, scalar}, {x, narrow({70000})}, momentum});
  specs.push_back(
      {"mfMomentum", {x, scalar, scalar, scalar}, {x, x}, momentum});
  specs.push_back({"mfTakeStep",
                   {narrow({70000}), scalar, scalar},
                   {x},
                   {{"scale", 0.5}, {"weight_decay", 0.1}}});
  for (int64_t rest : {0, 3})
    specs.push_back({"mfLogitFactors",
                     {wide({4}), scalar},
                     {wide({20 + rest})},
                     {{"threshold", 0.4},
                      {"sizes", Ints{3, 2}},
                      {"roots", Ints{1, 2}},
                      {"rest", rest}}});
  for (const TensorShape &weight : {wide({20, 7}), narrow({20, 7})})
    specs.push_back({"mfScaleRows", {wide({20})}, {weight}, {}});
  specs.push_back({"mfTakeGradient", {narrow({70000}), scalar}, {x}, {}});
  specs.push_back({"mfUpdateAverage",
                   {x, scalar, scalar},
                   {narrow({70000}), x},
                   {{"decay", 0.8}, {"grows", true}}});
  specs.push_back({"mfAverageWeight",
                   {scalar, scalar},
                   {x, x},
                   {{"interval", int64_t(1)},
                    {"fused", int64_t(1)},
                    {"share", 0.2},
                    {"sums", false}}});
}

void addExperts(std::vector<KernelSpec> &specs) {
  for (const TensorShape &x : {wide({2, 2, 9, 6}), narrow({2, 2, 9, 6})}) {
    auto shape = [&](std::initializer_list<int64_t> dims) {
      return TensorShape{x.type, dims};
    };
    const TensorShape counts = wide({2, 2, 3});
    for (const char *name : {"mfExpertMatmul", "aclnnGroupedMatmul"}) {
      specs.push_back(
          {name, {x, shape({2, 3, 6, 5}), counts}, {shape({2, 2, 9, 5})}, {}});
      specs.push_back({name,
                       {x, shape({2, 3, 5, 6}), counts},
                       {shape({2, 2, 9, 5})},
                       {{"transpose_weight", true}}});
    }
    for (const char *name :
         {"mfExpertMatmulWeightGrad", "mfGroupedMatmulWeightGrad"})
      specs.push_back(
          {name, {x, shape({2, 2, 9, 5}), counts}, {shape({2, 3, 6, 5})}, {}});
    specs.push_back(
        {"mfGatherRows", {x, indices({2, 2, 4})}, {shape({2, 2, 4, 6})}, {}});
    specs.push_back({"mfGatherRowsBackward",
                     {shape({2, 2, 4, 6}), indices({2, 2, 4})},
                     {x},
                     {}});
    specs.push_back({"aclnnMoeTokenPermute",
                     {x, wide({2, 2, 9})},
                     {x, indices({2, 2, 9})},
                     {}});
    specs.push_back(
        {"aclnnMoeTokenUnpermute", {x, indices({2, 2, 9})}, {x}, {}});
    for (double fill : {0.0, 0.5})
      specs.push_back({"mfExchangeTokens",
                       {x, wide({2, 2, 2, 2}), wide({2, 2, 2, 2})},
                       {shape({2, 2, 10, 6})},
                       {{"fill", fill}}});
  }
}

void addDropout(std::vector<KernelSpec> &specs) {
  const auto bits = [](std::initializer_list<int64_t> dims) {
    return TensorShape{DType::I1, dims};
  };
  const TensorShape draw = {DType::I64, {3}};
  for (const Ints &cuts : {Ints{}, Ints{0, 2}}) {
    KernelSpec spec{"aclnnDropoutGenMask", {draw}, {bits({4, 6, 70})}, {}};
    spec.inputs.resize(1 + cuts.size(), indices({1}));
    spec.attributes = {{"rate", 0.3},
                       {"key", int64_t{-7}},
                       {"shape", Ints{4, 8, 70}},
                       {"starts", Ints{0, 2, 0}},
                       {"cut_dims", cuts}};
    specs.push_back(std::move(spec));
  }
  for (const TensorShape &x : {wide({9, 401}), narrow({35})})
    specs.push_back({"aclnnDropoutDoMask",
                     {x, {DType::I1, x.dims}},
                     {x},
                     {{"rate", 0.25}}});
}

} // namespace

std::vector<KernelSpec> getExampleSpecs() {
  std::vector<KernelSpec> specs;
  addElementwise(specs);
  addChains(specs);
  addMovement(specs);
  addProducts(specs);
  addRows(specs);
  addLosses(specs);
  addLossesOfParts(specs);
  addScores(specs);
  addRouters(specs);
  addUpdates(specs);
  addExperts(specs);
  addDropout(specs);
  return specs;
}

} // namespace mf::testing
