//===- ModelBuilder.cpp - A model specification as IR ---------------------===//

#include "mf/Import/ModelBuilder.h"
#include "BodyLayer.h"
#include "ExpertLayer.h"
#include "mf/Import/CellNames.h"
#include <cmath>

using namespace mlir;
using namespace mf::ir;

namespace mf {
namespace {

class ModelBuilder {
public:
  ModelBuilder(MLIRContext *context, const ModelSpec &spec)
      : builder(context), loc(builder.getUnknownLoc()), spec(spec),
        names(getFamilyNames(spec.family)) {}

  OwningOpRef<ModuleOp> build() {
    OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
    builder.setInsertionPointToEnd(module->getBody());
    model = ModelOp::create(
        builder, loc, spec.name, spec.microBatchSize, spec.sequenceLength,
        spec.vocabSize, spec.padTokenId, spec.ignoreTokenId,
        builder.getStringAttr(getName(spec.family)), TrainingAttr());
    builder.setInsertionPointToEnd(&model.getBody().emplaceBlock());
    addTables();
    addCellTrees();
    addEmbedding();
    for (int64_t index = 0; index < spec.numLayers; ++index)
      addBody(index);
    addFinalNorm();
    addHead();
    return module;
  }

private:
  /// [batch, sequence, hidden] in the residual stream's type.
  Type getHiddenType() {
    return RankedTensorType::get(
        {spec.microBatchSize, spec.sequenceLength, spec.hiddenSize},
        getFloatType(builder.getContext(), spec.residualType));
  }

  RankedTensorType getIndexType(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }

  InitAttr getInit(InitKind kind, double value, double scale = 1.0) {
    return InitAttr::get(builder.getContext(), kind, value, scale);
  }

  InitAttr getRotaryInit(InitKind kind) {
    const RotarySpec &rotary = spec.rotary;
    ArrayAttr frequencies;
    if (!rotary.frequencies.empty())
      frequencies = builder.getF64ArrayAttr(rotary.frequencies);
    return InitAttr::get(builder.getContext(), kind, APFloat(rotary.base),
                         APFloat(rotary.positionScale), frequencies);
  }

  static SmallVector<StringRef, 2> getAxes(VocabularyCut cut) {
    switch (cut) {
    case VocabularyCut::None:
      return {};
    case VocabularyCut::Model:
      return {"mp"};
    case VocabularyCut::ContextAndModel:
      return {"cp", "mp"};
    case VocabularyCut::All:
      return {"dp", "cp", "mp"};
    }
    llvm_unreachable("unknown cut");
  }

  /// A parameter of the model that layers share.
  void addShared(StringRef symbol, ArrayRef<int64_t> shape, DType type,
                 InitAttr init, const ParameterTraits &traits) {
    Type tensor =
        RankedTensorType::get(shape, getFloatType(builder.getContext(), type));
    createParameter(builder, loc, symbol, tensor, init, traits);
  }

  void addTables() {
    int64_t length = spec.sequenceLength;
    auto addTable = [&](StringRef symbol, ArrayRef<int64_t> shape, DType type,
                        InitAttr init) {
      ParameterTraits traits;
      traits.frozen = true;
      addShared(symbol, shape, type, init, traits);
    };
    if (int64_t size = spec.rotary.size) {
      addTable(rotaryCosineTable, {length, size}, spec.rotaryType,
               getRotaryInit(InitKind::RotaryCos));
      addTable(rotarySineTable, {length, size}, spec.rotaryType,
               getRotaryInit(InitKind::RotarySin));
    }
    if (!spec.usesFlashAttention)
      addTable(causalMaskTable, {length, length}, spec.computeType,
               getInit(InitKind::CausalMask, -10000.0));
    if (spec.usesAlibi && spec.usesFlashAttention)
      addTable(alibiSlopes, {spec.numHeads}, DType::F32,
               getInit(InitKind::Alibi, 0.0));
    else if (spec.usesAlibi)
      addTable(alibiTable, {spec.numHeads, length, length}, spec.computeType,
               getInit(InitKind::Alibi, 0.0));
  }

  /// The tree of layers with experts, or without.
  static StringRef getCellTree(bool hasExperts) {
    return hasExperts ? "expert_cells" : "cells";
  }

  void addCellTrees() {
    for (bool hasExperts : {false, true}) {
      bool isUsed = false;
      for (int64_t i = 0; i < spec.numLayers; ++i)
        isUsed |= spec.hasExperts(i) == hasExperts;
      if (!isUsed)
        continue;
      SmallVector<Attribute> cells;
      for (const std::string &name : getCellNames(spec, hasExperts))
        cells.push_back(builder.getStringAttr(name));
      CellTreeOp::create(builder, loc, getCellTree(hasExperts),
                         builder.getArrayAttr(cells));
    }
  }

  void addEmbedding() {
    ParameterTraits traits;
    traits.cuts = {getAxes(spec.tableCut), {}};
    traits.mayStayWhole = true;
    traits.parallelOptimizer = spec.parallelOptimizerTable;
    addShared(names.embeddingWeight, {spec.vocabSize, spec.hiddenSize},
              spec.embeddingType,
              getInit(InitKind::Normal, spec.initializerRange), traits);
    Type hidden = getHiddenType();
    CellBuilder cells(
        model, spec, "embedding", LayerKind::Embedding, "",
        TypeRange{getIndexType({spec.microBatchSize, spec.sequenceLength})},
        hidden);
    Value table = cells.getParameter(names.embeddingWeight);
    auto rows = RankedTensorType::get(
        getShape(cells.getArgument(0)),
        getFloatType(builder.getContext(), spec.embeddingType));
    SmallVector<int64_t> shape(rows.getShape());
    shape.push_back(spec.hiddenSize);
    Value result =
        cells
            .create<EmbeddingOp>(names.gather, rows.clone(shape),
                                 ValueRange{table, cells.getArgument(0)})
            .getResult();
    result = cells.cast(result, spec.residualType, "cast");
    cells.returnValue(result);
  }

  void addBody(int64_t index) {
    std::string number = std::to_string(index);
    Type hidden = getHiddenType();
    SmallVector<Type, 2> results = {hidden};
    const bool hasExperts = spec.hasExperts(index);
    if (hasExperts && hasExpertLoss(spec))
      results.push_back(RankedTensorType::get({}, builder.getF32Type()));
    CellBuilder cells(model, spec, "layers." + number, LayerKind::Body,
                      names.layers.str() + "." + number, TypeRange{hidden},
                      results);
    cells.setCellTree(getCellTree(hasExperts));
    cells.returnValues(addBodyLayer(cells, cells.getArgument(0), hasExperts));
  }

  void addFinalNorm() {
    Type hidden = getHiddenType();
    CellBuilder cells(model, spec, "norm_out", LayerKind::Head, names.finalNorm,
                      TypeRange{hidden}, hidden);
    cells.returnValue(cells.addNorm(cells.getArgument(0)));
  }

  /// The head's weight with rows of length 1: RMSNorm without its factor
  /// sqrt(hidden).
  Value normalizeRows(CellBuilder &cells, Value weight) {
    int64_t hidden = spec.hiddenSize;
    double width = static_cast<double>(hidden);
    ParameterTraits traits;
    traits.frozen = true;
    Value factor = cells.addParameter(
        "norm_scale", {hidden}, spec.paramType,
        cells.getInit(InitKind::Constant, 1.0 / std::sqrt(width)), traits);
    return cells.create<RmsNormOp>("real_div", weight, factor, 1e-5 / width)
        .getResult();
  }

  void addHead() {
    int64_t rows = spec.microBatchSize * spec.sequenceLength;
    Type loss = RankedTensorType::get({}, builder.getF32Type());
    CellBuilder cells(
        model, spec, "lm_head", LayerKind::Head, names.head,
        TypeRange{getHiddenType(),
                  getIndexType({spec.microBatchSize, spec.sequenceLength})},
        loss);
    ParameterTraits traits;
    traits.cuts = {getAxes(spec.headCut), {}};
    traits.mayStayWhole = true;
    if (spec.tiesWordEmbeddings) {
      traits.tiedTo = names.embeddingWeight;
      traits.parallelOptimizer = spec.parallelOptimizerTable;
    }
    Value weight = cells.addParameter(
        "weight", {spec.vocabSize, spec.hiddenSize},
        spec.tiesWordEmbeddings ? spec.embeddingType : spec.paramType,
        cells.getWeightInit(), traits);
    if (spec.normalizesHead)
      weight = normalizeRows(cells, weight);
    Value hidden = cells.cast(cells.getArgument(0), spec.computeType, "cast");
    weight = cells.cast(weight, spec.computeType, "cast");
    Value logits = cells.create<MatmulOp>("matmul", hidden, weight, false, true)
                       .getResult();
    logits = cells.cast(logits, DType::F32, "cast");
    logits = cells.reshape(logits, {rows, spec.vocabSize}, "reshape");
    Value labels = cells.reshape(cells.getArgument(1), {rows}, "reshape");
    auto crossEntropy = cells.create<CrossEntropyOp>("loss", logits, labels,
                                                     spec.ignoreTokenId);
    cells.returnValue(crossEntropy.getLoss());
  }

  OpBuilder builder;
  mlir::Location loc;
  const ModelSpec &spec;
  const FamilyNames &names;
  ModelOp model;
};

} // namespace

OwningOpRef<ModuleOp> buildModel(MLIRContext *context, const ModelSpec &spec) {
  return ModelBuilder(context, spec).build();
}

} // namespace mf
