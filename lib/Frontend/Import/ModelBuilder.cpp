//===- ModelBuilder.cpp - A model specification as IR ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Import/ModelBuilder.h"
#include "BodyLayer.h"
#include "HyperConnections.h"
#include "NextTokenLayers.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/Format.h"
#include "mf/Frontend/Import/CellNames.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

/// Returns the type that `read` is converted to, or its own.
static Type getUsedType(Operation *user, GetParamOp read) {
  auto conversion = dyn_cast<CastOp>(user);
  return getElementTypeOrSelf(conversion ? conversion.getType()
                                         : read.getType());
}

/// Marks each weight whose readers all convert it to the same narrower type as
/// kept in that type. Weights that are marked already stay as they are.
static void keepReadTypes(ModelOp model) {
  const SymbolTable symbols(model);
  // Tied weights are one, and have the type in which all layers read them.
  llvm::MapVector<StringRef, SmallVector<ParamOp>> groups;
  llvm::StringMap<llvm::SmallDenseSet<Type>> types;
  for (auto param : model.getBody().getOps<ParamOp>())
    groups[param.getTied().value_or(param.getSymName())].push_back(param);
  model.walk([&](GetParamOp read) {
    auto param = symbols.lookup<ParamOp>(read.getParam());
    for (Operation *user : read->getUsers())
      types[param.getTied().value_or(param.getSymName())].insert(
          getUsedType(user, read));
  });
  for (const auto &[owner, params] : groups) {
    const auto &used = types[owner];
    for (ParamOp param : params) {
      Type own = param.getTensorType().getElementType();
      if (!param.getFrozen() && !KeptType::find(param) && used.size() == 1 &&
          *used.begin() != own)
        KeptType::setOn(param, *used.begin());
    }
  }
}

namespace {

class ModelBuilder {
public:
  ModelBuilder(MLIRContext *context, const ModelSpec &spec)
      : builder(context), loc(builder.getUnknownLoc()), spec(spec),
        family(getFamily(spec.family)) {}

  OwningOpRef<ModuleOp> build() {
    OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
    setFormat(*module);
    builder.setInsertionPointToEnd(module->getBody());
    addSource(*module);
    model = ModelOp::create(builder, loc, spec.name, spec.microBatchSize,
                            spec.sequenceLength, spec.vocabSize,
                            spec.padTokenId, spec.ignoreTokenId,
                            builder.getStringAttr(getName(spec.family)),
                            spec.compressesMask, ArrayAttr(), TrainingAttr(),
                            spec.lora ? getLora(*spec.lora) : LoraAttr());
    builder.setInsertionPointToEnd(&model.getBody().emplaceBlock());
    addTables();
    addCellTrees();
    if (spec.nextTokens.depth > 0)
      addCellTree(nextTokenCells, getNextTokenCellNames(spec));
    addEmbedding();
    for (int64_t index = 0; index < spec.numLayers; ++index)
      addBody(index);
    addBehindBody();
    if (spec.prefix)
      freezeBesidePrefix(model, spec);
    if (spec.keepsReadType)
      keepReadTypes(model);
    return module;
  }

private:
  void addSource(ModuleOp module) {
    SmallVector<NamedAttribute> keys;
    for (const auto &[key, value] : spec.madeFrom)
      keys.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
    if (!keys.empty())
      module->setAttr(ModelSource::attributeName,
                      builder.getDictionaryAttr(keys));
  }

  /// Returns [batch, sequence, width] in the residual stream's type.
  Type getResidualType(int64_t width) {
    return RankedTensorType::get(
        {spec.microBatchSize, spec.sequenceLength, width},
        getFloatType(builder.getContext(), spec.residualType));
  }
  /// Returns the type of what layers behind the body hand on.
  Type getHiddenType() { return getResidualType(spec.hiddenSize); }

  RankedTensorType getIndexType(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }

  LoraAttr getLora(const LoraSpec &lora) {
    auto getType = [&](std::optional<DType> type) {
      return type ? Type(getFloatType(builder.getContext(), *type)) : Type();
    };
    auto getNames = [&](const std::vector<std::string> &names) {
      SmallVector<StringRef> references(names.begin(), names.end());
      return names.empty() ? ArrayAttr() : builder.getStrArrayAttr(references);
    };
    auto getNormal = [&](std::optional<double> deviation) {
      if (!deviation)
        return InitAttr();
      return *deviation > 0 ? getInit(InitKind::Normal, *deviation)
                            : getInit(InitKind::Zeros, 0.0);
    };
    const Location &place = lora.location;
    LocationAttr location;
    if (place.isKnown())
      location = FileLineColLoc::get(builder.getContext(), place.file,
                                     place.line, place.column);
    return LoraAttr::get(
        builder.getContext(), lora.rank, llvm::APFloat(lora.alpha),
        llvm::APFloat(lora.dropout), builder.getStringAttr(lora.target),
        builder.getStringAttr(lora.nameA), builder.getStringAttr(lora.nameB),
        getNormal(lora.deviationA), getNormal(lora.deviationB),
        getType(lora.paramType), getType(lora.computeType),
        getNames(lora.exclude), getNames(lora.freezeInclude),
        getNames(lora.freezeExclude), lora.matchesPaths, lora.trainsOthers,
        /*inserted=*/false, location);
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
                         APFloat(rotary.positionScale),
                         APFloat(rotary.amplitude), frequencies);
  }

  /// Adds a parameter of the model that layers share.
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
    if (!spec.usesFlashAttention && !spec.prefixEnd)
      addTable(causalMaskTable, {length, length},
               spec.scalesHeads ? spec.softmaxType : spec.computeType,
               getInit(InitKind::CausalMask, hiddenScore));
    if (spec.hybrid)
      addHybridTables(model, spec);
    if (spec.usesAlibi && spec.usesFlashAttention)
      addTable(alibiSlopes, {spec.numHeads}, DType::F32,
               getInit(InitKind::Alibi, 0.0));
    else if (spec.usesAlibi)
      addTable(alibiTable, {spec.numHeads, length, length}, spec.computeType,
               getInit(InitKind::Alibi, 0.0));
  }

  void addCellTree(StringRef symbol, ArrayRef<std::string> names) {
    SmallVector<Attribute> cells;
    for (const std::string &name : names)
      cells.push_back(builder.getStringAttr(name));
    CellTreeOp::create(builder, loc, symbol, builder.getArrayAttr(cells));
  }

  /// Returns the symbol of the Cell tree of layers with or without experts.
  static StringRef getCellTree(bool hasExperts) {
    return hasExperts ? expertCells : bodyCells;
  }

  void addCellTrees() {
    const int64_t numLater = family.joinsAfterNorm ? 0 : spec.nextTokens.depth;
    for (bool hasExperts : {false, true}) {
      bool isUsed = false;
      for (int64_t i = 0; i < spec.numLayers + numLater; ++i)
        isUsed |= spec.hasExperts(i) == hasExperts;
      if (isUsed)
        addCellTree(getCellTree(hasExperts), getCellNames(spec, hasExperts));
    }
  }

  void addEmbedding() {
    const OperatorNames &names = family.operators;
    const std::string table = getTableName(spec);
    const std::string positions = getTableName(spec, ParameterPart::Positions);
    ParameterTraits traits;
    traits.cuts = {getVocabularyAxes(spec.tableCut), {}};
    traits.mayStayWhole = true;
    traits.parallelOptimizer = spec.parallelOptimizerTable;
    addShared(table, {spec.vocabSize, spec.hiddenSize}, spec.embeddingType,
              getInit(InitKind::Normal, spec.getInitialDeviation(
                                            spec.hiddenSize, spec.vocabSize)),
              traits);
    if (spec.learnsPositions) {
      ParameterTraits positionTraits;
      positionTraits.parallelOptimizer = spec.parallelOptimizerTable;
      addShared(
          positions, {spec.sequenceLength, spec.hiddenSize}, spec.embeddingType,
          getInit(InitKind::Normal, spec.initializerRange), positionTraits);
    }
    if (spec.prefix)
      addPrefixParameters(model, spec);
    CellBuilder cells(
        model, spec, "embedding", LayerKind::Embedding, "",
        TypeRange{getIndexType({spec.microBatchSize, spec.sequenceLength})},
        getHandedOn(/*layer=*/0));
    Value rowsOfTokens = cells.getParameter(table);
    auto rows = RankedTensorType::get(
        getShape(cells.getArgument(0)),
        getFloatType(builder.getContext(), spec.embeddingType));
    SmallVector<int64_t> shape(rows.getShape());
    shape.push_back(spec.hiddenSize);
    Value result =
        cells
            .create<EmbeddingOp>(names.gather, rows.clone(shape),
                                 ValueRange{rowsOfTokens, cells.getArgument(0)})
            .getResult();
    auto drop = [&] {
      result =
          cells.drop(result, spec.dropout.embedding, names.embeddingDropout);
    };
    if (spec.learnsPositions) {
      result =
          cells.add(result, cells.getParameter(positions), names.positionAdd);
      drop();
    }
    result = cells.cast(result, spec.residualType, "cast");
    if (!spec.learnsPositions)
      drop();
    if (spec.streams)
      result = addStreams(cells, result);
    SmallVector<Value> results = {result};
    if (spec.prefix)
      llvm::append_range(results, addPrefix(cells));
    cells.returnValues(results);
  }

  /// Returns the argument types of body layer `layer`: the hidden state, and
  /// the prefix's keys and values for this layer and all later ones.
  SmallVector<Type> getHandedOn(int64_t layer) {
    SmallVector<Type> types = {getResidualType(spec.getResidualSize())};
    if (spec.prefix)
      types.append(spec.numLayers - layer,
                   getPrefixType(builder.getContext(), spec));
    return types;
  }

  void addBody(int64_t index) {
    std::string number = std::to_string(index);
    SmallVector<Type> results = getHandedOn(index + 1);
    const bool hasExperts = spec.hasExperts(index);
    if (hasLayerLoss(spec, index, hasExperts))
      results.push_back(RankedTensorType::get({}, builder.getF32Type()));
    CellBuilder cells(model, spec, "layers." + number, LayerKind::Body,
                      family.cells.layers.str() + "." + number,
                      getHandedOn(index), results);
    cells.setCellTree(getCellTree(hasExperts));
    cells.layerIndex = index;
    SmallVector<Value> values(
        addBodyLayer(cells, cells.getArgument(0), hasExperts));
    if (spec.prefix)
      for (int64_t later = index + 1; later < spec.numLayers; ++later)
        values.insert(values.begin() + later - index,
                      cells.getArgument(later - index + 1));
    cells.returnValues(values);
  }

  /// Adds the layer that makes one hidden state of all streams.
  void addCollapse() {
    CellBuilder cells(model, spec, "hc_head", LayerKind::Head,
                      family.operators.streamsHead, getHandedOn(spec.numLayers),
                      getHiddenType());
    cells.returnValues(collapseStreams(cells, cells.getArgument(0)));
  }

  /// Adds the final norm, the head and the layers that predict later tokens.
  /// Each layer passes the hidden states that the head reads to the next one.
  void addBehindBody() {
    NextTokenLayers later(model, spec, getHiddenType());
    const NextTokenSpec &next = spec.nextTokens;
    if (spec.streams)
      addCollapse();
    if (family.joinsAfterNorm)
      addFinalNorm(model, spec, getHiddenType(), /*numKept=*/0);
    for (int64_t index = 0; index < next.depth; ++index)
      later.add(index);
    if (!family.joinsAfterNorm) {
      addFinalNorm(model, spec, getHiddenType(), next.depth);
      later.addOutputNorms();
    }
    addHead(model, spec, getHiddenType());
  }

  OpBuilder builder;
  mlir::Location loc;
  const ModelSpec &spec;
  const FamilyRecord &family;
  ModelOp model;
};

} // namespace

OwningOpRef<ModuleOp> buildModel(MLIRContext *context, const ModelSpec &spec) {
  return ModelBuilder(context, spec).build();
}

} // namespace mf
