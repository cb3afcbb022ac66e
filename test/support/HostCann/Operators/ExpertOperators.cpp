//===- ExpertOperators.cpp - Rows of experts and their products -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"
#include <numeric>

using namespace mf::hostcann;

namespace {

/// The operands of a grouped product of one tensor of rows.
struct GroupedProduct {
  const aclTensor *x, *weight, *out;
  bool isWeightGradient = false, isTransposed = false;
  int64_t rows = 0, groups = 0;
};

/// Returns the only tensor of a list. Reports an error and returns null if the
/// list has several or none.
const aclTensor *takeOnly(OperatorCall &call, const aclTensorList *list,
                          llvm::StringRef operand) {
  call.requireThere(list, operand);
  call.require(!list || list->tensors.size() == 1,
               operand + " is a list of other than one tensor, which is not in "
                         "this host library");
  return call.hasFailed() ? nullptr : list->tensors.front();
}

/// Reports operands that do not fit each other. If strides transpose a weight,
/// or the x of a weight's gradient, its sizes are swapped already.
void checkProduct(OperatorCall &call, GroupedProduct &product) {
  const aclTensor &x = *product.x, &weight = *product.weight;
  call.require(x.type == weight.type && x.type == product.out->type &&
                   x.dims.size() == 2,
               "x is no matrix, or the operands differ in their types");
  call.require(product.isWeightGradient
                   ? weight.dims.size() == 2 && product.out->dims.size() == 3
                   : weight.dims.size() == 3 && product.out->dims.size() == 2,
               "weight and out do not have the dimensions of groupType");
  if (call.hasFailed())
    return;
  product.groups =
      product.isWeightGradient ? product.out->dims[0] : weight.dims[0];
  product.rows = x.dims[product.isWeightGradient ? 1 : 0];
  call.require(product.groups <= 1024, "there are more than 1024 groups");
  call.require(!product.isWeightGradient || x.isDenseTransposed(),
               "x is not transposed by strides");
  product.isTransposed = !product.isWeightGradient && !weight.isDense();
}

/// Returns the specification of the kernel of the emulated device, with all
/// groups on one rank.
mf::KernelSpec getSpec(OperatorCall &call, const GroupedProduct &product) {
  auto addRanks = [](mf::TensorShape shape, int64_t ranks) {
    shape.dims.insert(shape.dims.begin(), ranks, 1);
    return shape;
  };
  mf::TensorShape x = call.getShape(0), weight = call.getShape(1);
  mf::KernelSpec spec;
  const mf::TensorShape counts{mf::DType::F32, {1, 1, product.groups}};
  if (product.isWeightGradient) {
    spec.name = "mfGroupedMatmulWeightGrad";
    std::swap(x.dims[0], x.dims[1]);
    spec.inputs = {addRanks(x, 2), addRanks(weight, 2), counts};
    spec.outputs = {addRanks(call.getShape(3), 1)};
    return spec;
  }
  spec.name = "aclnnGroupedMatmul";
  if (product.isTransposed) {
    std::swap(weight.dims[1], weight.dims[2]);
    spec.attributes["transpose_weight"] = true;
  }
  spec.inputs = {addRanks(x, 2), addRanks(weight, 1), counts};
  spec.outputs = {addRanks(call.getShape(3), 2)};
  return spec;
}

aclnnStatus finishProduct(OperatorCall &call, const GroupedProduct &product) {
  if (call.hasFailed())
    return call.finish(0, nullptr);
  auto kernel = call.makeKernel(getSpec(call, product));
  return call.finish(
      0,
      [kernel, product](llvm::ArrayRef<void *> places, void *) -> llvm::Error {
        const std::vector<int32_t> counts =
            readIntegers(places[2], ACL_INT64, product.groups);
        const int64_t rows =
            std::accumulate(counts.begin(), counts.end(), int64_t{0});
        if (rows > product.rows)
          return llvm::createStringError("groupList has " + llvm::Twine(rows) +
                                         " rows, but x has " +
                                         llvm::Twine(product.rows));
        std::vector<float> numbers(counts.begin(), counts.end());
        kernel->run({places[0], places[1], numbers.data()}, {places[3]});
        return llvm::Error::success();
      });
}

} // namespace

aclnnStatus mf::hostcann::makeGroupedMatmulV4(
    OperatorCall &call, const aclTensorList *x, const aclTensorList *weight,
    const aclTensorList *biasOptional, const aclTensorList *scaleOptional,
    const aclTensorList *offsetOptional,
    const aclTensorList *antiquantScaleOptional,
    const aclTensorList *antiquantOffsetOptional,
    const aclTensorList *perTokenScaleOptional,
    const aclTensor *groupListOptional,
    const aclTensorList *activationInputOptional,
    const aclTensorList *activationQuantScaleOptional,
    const aclTensorList *activationQuantOffsetOptional, int64_t splitItem,
    int64_t groupType, int64_t groupListType, int64_t actType,
    aclTensorList *out, aclTensorList *activationFeatureOutOptional,
    aclTensorList *dynQuantScaleOutOptional) {
  call.require(!biasOptional && !scaleOptional && !offsetOptional &&
                   !antiquantScaleOptional && !antiquantOffsetOptional &&
                   !perTokenScaleOptional && !activationInputOptional &&
                   !activationQuantScaleOptional &&
                   !activationQuantOffsetOptional && actType == 0 &&
                   !activationFeatureOutOptional && !dynQuantScaleOutOptional,
               "bias, quantization and activations are not in this host "
               "library");
  call.require(splitItem == 3 && groupListType == 1 &&
                   (groupType == 0 || groupType == 2),
               "splitItem 3, groupListType 1 and groupType 0 or 2 are in this "
               "host library");
  GroupedProduct product;
  product.isWeightGradient = groupType == 2;
  product.x = takeOnly(call, x, "x");
  product.weight = takeOnly(call, weight, "weight");
  product.out = takeOnly(call, out, "out");
  using Layout = OperatorCall::Layout;
  call.read(product.x, "x", Layout::DenseOrTransposed);
  call.read(product.weight, "weight", Layout::DenseOrTransposed);
  call.read(groupListOptional, "groupList");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  // Rows behind those of all groups are not changed.
  call.update(product.out, "out");
  checkProduct(call, product);
  call.require(call.hasFailed() ||
                   (groupListOptional->type == ACL_INT64 &&
                    groupListOptional->getNumElements() == product.groups),
               "groupList is not INT64 with a number for each group");
  return finishProduct(call, product);
}

aclnnStatus mf::hostcann::makeMoeTokenPermute(
    OperatorCall &call, const aclTensor *tokens, const aclTensor *indices,
    int64_t numOutTokens, bool paddedMode, aclTensor *permuteTokensOut,
    aclTensor *sortedIndicesOut) {
  call.require(numOutTokens == 0 && !paddedMode,
               "numOutTokens and padding are not in this host library");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  const int64_t count = indices->getNumElements();
  call.require(
      (indices->type == ACL_INT32 || indices->type == ACL_INT64) &&
          sortedIndicesOut->type == ACL_INT32 && tokens->dims.size() == 2 &&
          tokens->dims[0] == count &&
          sortedIndicesOut->getNumElements() == count,
      "expected INT32 or INT64 indices, one for each row of the tokens, and as "
      "many sorted ones of INT32; several are not in this host library");
  mf::KernelSpec spec;
  spec.name = "aclnnMoeTokenPermute";
  spec.inputs = {call.getShape(0), {mf::DType::F32, {count}}};
  spec.outputs = {call.getShape(2), {mf::DType::I32, {count}}};
  auto kernel = call.makeKernel(spec);
  return call.finish(0, [kernel, type = indices->type,
                         count](llvm::ArrayRef<void *> places, void *) {
    const std::vector<int32_t> experts = readIntegers(places[1], type, count);
    std::vector<float> numbers(experts.begin(), experts.end());
    kernel->run({places[0], numbers.data()}, {places[2], places[3]});
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeMoeTokenUnpermute(
    OperatorCall &call, const aclTensor *permutedTokens,
    const aclTensor *sortedIndices, const aclTensor *probsOptional,
    bool paddedMode, const aclIntArray *restoreShapeOptional, aclTensor *out) {
  call.require(!probsOptional && !paddedMode && !restoreShapeOptional,
               "probabilities, padding and other shapes are not in this host "
               "library");
  return call.finishKernel("aclnnMoeTokenUnpermute");
}
