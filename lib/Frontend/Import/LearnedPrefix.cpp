//===- LearnedPrefix.cpp - Trained keys and values ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BodyLayer.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

/// The indices of the rows that each sample reads; the same for all samples.
static constexpr llvm::StringLiteral prefixTokens = "prefix_tokens";

static std::string getPrefixName(const ModelSpec &spec, StringRef leaf) {
  return spec.prefix->cell + "." + spec.prefix->parameterPrefix + "_" +
         leaf.str();
}

/// Elements of the keys and values of all layers at one position.
static int64_t getPrefixWidth(const ModelSpec &spec) {
  return 2 * spec.numLayers * spec.getKeyValueSize();
}

Type getPrefixType(MLIRContext *context, const ModelSpec &spec) {
  return RankedTensorType::get(
      {2, spec.microBatchSize, spec.prefix->length, spec.getKeyValueSize()},
      Float16Type::get(context));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Adds a linear layer in fp16, the type of all layers after the table.
static void addDenseParameters(OpBuilder &builder, ModelOp model,
                               const ModelSpec &spec, StringRef leaf,
                               int64_t numInputs, int64_t numOutputs) {
  const std::string name = getPrefixName(spec, leaf);
  Type element = Float16Type::get(model.getContext());
  ParameterTraits weightTraits, biasTraits;
  weightTraits.cuts = {{"mp"}, {}};
  weightTraits.mayStayWhole = true;
  biasTraits.parallelOptimizer = false;
  // HeUniform with a negative slope of sqrt(5), as nn.Dense has it.
  const double bound = 1 / std::sqrt(static_cast<double>(numInputs));
  auto init = InitAttr::get(model.getContext(), InitKind::Uniform, bound);
  createParameter(builder, model.getLoc(), name + ".weight",
                  RankedTensorType::get({numOutputs, numInputs}, element), init,
                  weightTraits);
  createParameter(builder, model.getLoc(), name + ".bias",
                  RankedTensorType::get({numOutputs}, element), init,
                  biasTraits);
}

void addPrefixParameters(ModelOp model, const ModelSpec &spec) {
  const PrefixSpec &prefix = *spec.prefix;
  MLIRContext *context = model.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&model.getBody().front());
  ParameterTraits tokens, table;
  tokens.frozen = true;
  tokens.cuts = {{"dp"}};
  createParameter(builder, model.getLoc(), prefixTokens,
                  RankedTensorType::get({spec.microBatchSize * prefix.length},
                                        builder.getI32Type()),
                  InitAttr::get(context, InitKind::Coordinate, 1.0), tokens);
  if (!spec.usesFlashAttention) {
    ParameterTraits mask;
    mask.frozen = true;
    createParameter(
        builder, model.getLoc(), learnedPrefixMaskTable,
        RankedTensorType::get({spec.sequenceLength, prefix.length},
                              getFloatType(context, spec.scalesHeads
                                                        ? spec.softmaxType
                                                        : spec.computeType)),
        InitAttr::get(context, InitKind::Constant, 0.0), mask);
  }
  table.parallelOptimizer = false;
  const int64_t width = getPrefixWidth(spec);
  createParameter(
      builder, model.getLoc(), getPrefixName(spec, "embedding.embedding_table"),
      RankedTensorType::get({prefix.length, width},
                            getFloatType(context, prefix.tableType)),
      InitAttr::get(context, InitKind::Normal, 0.01), table);
  if (prefix.middleSize == 0)
    return;
  addDenseParameters(builder, model, spec, "dense_in", width,
                     prefix.middleSize);
  addDenseParameters(builder, model, spec, "dense_out", prefix.middleSize,
                     width);
}

void freezeBesidePrefix(ModelOp model, const ModelSpec &spec) {
  const std::string own = getPrefixName(spec, "");
  for (auto param : model.getBody().getOps<ParamOp>())
    if (!param.getFrozen() && !param.getUpdateRule())
      param.setUntrained(!param.getSymName().starts_with(own));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static Value addDense(CellBuilder &cells, StringRef leaf, Value input) {
  const std::string name = getPrefixName(cells.spec, leaf);
  const std::string cell =
      cells.spec.prefix->parameterPrefix + "_" + leaf.str();
  CellBuilder::Cell open(cells, cell);
  Value product =
      cells
          .create<MatmulOp>("matmul", input,
                            cells.getParameter(name + ".weight"), false, true)
          .getResult();
  return cells.add(product, cells.getParameter(name + ".bias"), "bias_add");
}

/// Computes tanh(x) as 2 sigmoid(2 x) - 1 in fp32, as the difference loses
/// digits in fp16.
static Value addTanh(CellBuilder &cells, Value input) {
  const std::string leaf = cells.spec.prefix->parameterPrefix + "_tanh.tanh";
  Value wide = cells.cast(input, DType::F32, leaf);
  wide = cells.scale(wide, 2.0, leaf);
  wide = cells.create<SigmoidOp>(leaf, wide.getType(), wide).getResult();
  wide = cells.addScalar(cells.scale(wide, 2.0, leaf), -1.0, leaf);
  return cells.create<CastOp>(leaf, input.getType(), wide).getResult();
}

/// Returns the indices of the rows, [batch, prefix]: from 0 to the length of
/// the prefix, for each sample.
static Value addRowNumbers(CellBuilder &cells) {
  const PrefixSpec &prefix = *cells.spec.prefix;
  Value numbers =
      cells.cast(cells.getParameter(prefixTokens), DType::F32, "tile");
  numbers = cells.reshape(numbers, {cells.spec.microBatchSize, prefix.length},
                          "tile");
  return cells.castToIndex(cells.remainder(numbers, prefix.length, "tile"),
                           "tile");
}

SmallVector<Value> addPrefix(CellBuilder &cells) {
  const ModelSpec &spec = cells.spec;
  const PrefixSpec &prefix = *spec.prefix;
  CellBuilder::Cell cell(cells, prefix.cell);
  const int64_t batch = spec.microBatchSize, width = getPrefixWidth(spec);
  Value table =
      cells.getParameter(getPrefixName(spec, "embedding.embedding_table"));
  Value value =
      cells
          .create<EmbeddingOp>(
              prefix.parameterPrefix + "_embedding.gather",
              cast<RankedTensorType>(table.getType())
                  .clone(ArrayRef<int64_t>{batch, prefix.length, width}),
              ValueRange{table, addRowNumbers(cells)})
          .getResult();
  if (prefix.middleSize > 0) {
    value = cells.cast(value, DType::F16, "cast");
    value = addDense(cells, "dense_in", value);
    value = addDense(cells, "dense_out", addTanh(cells, value));
  }
  value = cells.cast(value, DType::F16, "cast");
  value = cells.reshape(
      value, {batch, prefix.length, 2 * spec.numLayers, spec.getKeyValueSize()},
      "reshape");
  value = cells.drop(value, prefix.dropout, "dropout.dropout");
  value = cells.transpose(value, {2, 0, 1, 3}, "transpose");
  Type part = getPrefixType(value.getContext(), spec);
  part = cast<RankedTensorType>(part).clone(
      cast<RankedTensorType>(value.getType()).getElementType());
  SmallVector<Type> parts(spec.numLayers, part);
  Builder builder(value.getContext());
  auto split = cells.create<SplitOp>("spilt_layers", parts, value,
                                     builder.getI64IntegerAttr(0), StringAttr(),
                                     RecomputeKindAttr(), SwapAttr());
  return SmallVector<Value>(split.getParts());
}

void joinPrefix(CellBuilder &cells, Value prefix, AttentionHeads &heads) {
  const ModelSpec &spec = cells.spec;
  const AttentionNames &names = cells.names.attention;
  auto join = [&](int64_t index, Value tokens) {
    Value part = cells.slice(prefix, 0, index, 1, "stridedslice");
    part = cells.reshape(part,
                         {spec.microBatchSize, spec.prefix->length,
                          spec.numKeyValueHeads, spec.headSize},
                         names.splitHeads);
    part = cells.transpose(part, {0, 2, 1, 3}, names.transposeHeads);
    part =
        cells
            .create<CastOp>("cast",
                            cast<RankedTensorType>(part.getType())
                                .clone(getElementTypeOrSelf(tokens.getType())),
                            part)
            .getResult();
    return cells
        .create<ConcatOp>("concat", ValueRange{part, tokens}, /*axis=*/2)
        .getResult();
  };
  heads.key = join(0, heads.key);
  heads.value = join(1, heads.value);
}

} // namespace mf
