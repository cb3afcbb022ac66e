//===- CellBuilder.cpp - Builds one layer, Cell by Cell -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CellBuilder.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

FloatType getFloatType(MLIRContext *context, DType type) {
  Builder builder(context);
  return type == DType::BF16  ? FloatType(builder.getBF16Type())
         : type == DType::F16 ? FloatType(builder.getF16Type())
                              : FloatType(builder.getF32Type());
}

//===----------------------------------------------------------------------===//
// Cells and layers
//===----------------------------------------------------------------------===//

CellBuilder::Cell::Cell(CellBuilder &cells, StringRef name)
    : cells(cells), outerSize(cells.prefix.size()) {
  cells.prefix += name.str() + ".";
}

CellBuilder::Cell::~Cell() { cells.prefix.resize(outerSize); }

CellBuilder::CellBuilder(ModelOp model, const ModelSpec &spec,
                         StringRef layerName, LayerKind kind,
                         StringRef parameterPrefix, TypeRange arguments,
                         TypeRange results)
    : spec(spec), family(getFamily(spec.family)), names(family.operators),
      builder(model.getContext()), loc(model.getLoc()),
      parameterPrefix(parameterPrefix) {
  builder.setInsertionPointToEnd(&model.getBody().front());
  layer = LayerOp::create(
      builder, loc, layerName, builder.getFunctionType(arguments, results),
      kind, PlacementAttr(), LayerSettingsAttr(), FlatSymbolRefAttr(),
      /*joins_next=*/false, /*past=*/0, /*future=*/0, ArrayAttr(), ArrayAttr());
  Block &body = layer.getBody().emplaceBlock();
  for (Type argument : arguments)
    body.addArgument(argument, loc);
  builder.setInsertionPointToEnd(&body);
}

void CellBuilder::nameLosses(
    ArrayRef<std::pair<StringRef, double>> namesAndUnits) {
  setLossParts(layer, llvm::map_to_vector(namesAndUnits, [&](auto part) {
                 return LossPart{builder.getStringAttr(part.first),
                                 builder.getF64FloatAttr(part.second)};
               }));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

mlir::Type CellBuilder::getType(ArrayRef<int64_t> shape, DType type) {
  return RankedTensorType::get(shape, getFloatType(builder.getContext(), type));
}

InitAttr CellBuilder::getInit(InitKind kind, double value, double scale) {
  return InitAttr::get(builder.getContext(), kind, value, scale);
}

InitAttr CellBuilder::getWeightInit(int64_t numInputs, int64_t numOutputs) {
  return getInit(InitKind::Normal,
                 spec.getInitialDeviation(numInputs, numOutputs));
}

void createParameter(OpBuilder &builder, mlir::Location loc, StringRef symbol,
                     Type type, InitAttr init, const ParameterTraits &traits) {
  FlatSymbolRefAttr owner;
  if (!traits.tiedTo.empty())
    owner = FlatSymbolRefAttr::get(builder.getContext(), traits.tiedTo);
  auto param =
      ParamOp::create(builder, loc, symbol, type, init, traits.frozen, owner);
  if (llvm::any_of(traits.cuts,
                   [](const auto &axes) { return !axes.empty(); })) {
    SmallVector<Attribute> cuts;
    for (ArrayRef<StringRef> axes : traits.cuts)
      cuts.push_back(builder.getStrArrayAttr(axes));
    param.setCutsAttr(builder.getArrayAttr(cuts));
    param.setMayStayWhole(traits.mayStayWhole);
  }
  param.setParallelOptimizer(traits.parallelOptimizer);
  param.setStorageDim(static_cast<uint64_t>(traits.storageDim));
  param.setUpdateRule(traits.updateRule);
  if (traits.capacityShare)
    param.setCapacityShareAttr(builder.getF64FloatAttr(*traits.capacityShare));
  if (traits.staysWhole)
    ParameterSharing().setOn(param);
  if (traits.keepsOwnType)
    KeptType::setOn(param, param.getTensorType().getElementType());
  const Matrices &matrices = traits.matrices;
  if (!matrices.sizes.empty())
    param.setMatricesAttr(MatricesAttr::get(
        builder.getContext(), matrices.dim,
        builder.getI64ArrayAttr(matrices.sizes),
        matrices.rest.empty() ? ArrayAttr()
                              : builder.getI64ArrayAttr(matrices.rest)));
  const LogitClip &clip = traits.logitClip;
  if (!clip.largest.empty())
    param.setLogitClipAttr(LogitClipAttr::get(
        builder.getContext(),
        FlatSymbolRefAttr::get(builder.getContext(), clip.largest),
        builder.getI64ArrayAttr(clip.roots)));
}

Value CellBuilder::addParameter(StringRef leaf, ArrayRef<int64_t> shape,
                                DType type, InitAttr init,
                                const ParameterTraits &traits) {
  std::string symbol = parameterPrefix + "." + prefix + leaf.str();
  Type tensor = getType(shape, type);
  OpBuilder outside(layer);
  createParameter(outside, loc, symbol, tensor, init, traits);
  return GetParamOp::create(builder, loc, tensor, symbol);
}

Value CellBuilder::addStatistic(StringRef leaf, ArrayRef<int64_t> shape,
                                ParameterTraits traits) {
  traits.parallelOptimizer = false;
  return addParameter(leaf, shape, DType::F32, getInit(InitKind::Zeros),
                      traits);
}

Value CellBuilder::addLoadBias(StringRef leaf, int64_t numExperts,
                               const LoadBias &bias) {
  ParameterTraits traits;
  traits.frozen = !bias.isUpdated;
  if (bias.isUpdated)
    traits.updateRule = UpdateRule::Balance;
  return addStatistic(leaf, {numExperts}, traits);
}

Value CellBuilder::addLoadRecord(StringRef leaf, ArrayRef<int64_t> shape,
                                 std::optional<double> capacityShare) {
  ParameterTraits traits;
  traits.capacityShare = capacityShare;
  traits.updateRule = UpdateRule::Record;
  // Each rank keeps the router's rows that it has.
  const RankLayout &ranks = spec.ranks;
  const int64_t rows = ranks.dataParallel * ranks.contextParallel;
  if (shape.front() == rows * ranks.modelParallel)
    traits.cuts = {{"dp", "cp", "mp"}, {}};
  else if (shape.front() == rows)
    traits.cuts = {{"dp", "cp"}, {}};
  return addStatistic(leaf, shape, traits);
}

GetParamOp CellBuilder::addLargestLogits(StringRef leaf) {
  ParameterTraits traits;
  traits.updateRule = UpdateRule::Largest;
  traits.cuts = {{"mp"}};
  return addStatistic(leaf, {spec.numHeads}, traits)
      .getDefiningOp<GetParamOp>();
}

Value CellBuilder::getParameter(StringRef symbol) {
  auto param = SymbolTable::lookupNearestSymbolFrom<ParamOp>(
      layer, builder.getStringAttr(symbol));
  return GetParamOp::create(builder, loc, param.getType(), symbol);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Value CellBuilder::cast(Value value, DType type, StringRef leaf) {
  return castTo(value, getType(getShape(value), type), leaf);
}

Value CellBuilder::castToIndex(Value value, StringRef leaf) {
  return castTo(value,
                RankedTensorType::get(getShape(value), builder.getI32Type()),
                leaf);
}

Value CellBuilder::castTo(Value value, Type target, StringRef leaf) {
  if (value.getType() == target)
    return value;
  Value &result = casts[{value, target}];
  if (!result)
    result = create<CastOp>(leaf, target, value).getResult();
  return result;
}

Value CellBuilder::reshape(Value value, ArrayRef<int64_t> shape,
                           StringRef leaf) {
  auto type = llvm::cast<RankedTensorType>(value.getType()).clone(shape);
  return create<ReshapeOp>(leaf, type, value).getResult();
}

Value CellBuilder::transpose(Value value, ArrayRef<int64_t> perm,
                             StringRef leaf) {
  return create<TransposeOp>(leaf, value, perm).getResult();
}

Value CellBuilder::sliceLast(Value value, int64_t start, int64_t size,
                             StringRef leaf) {
  auto axis = static_cast<int64_t>(getShape(value).size() - 1);
  return slice(value, axis, start, size, leaf);
}

Value CellBuilder::slice(Value value, int64_t axis, int64_t start, int64_t size,
                         StringRef leaf) {
  SmallVector<int64_t> sizes(getShape(value));
  SmallVector<int64_t> starts(sizes.size(), 0);
  starts[axis] = start;
  sizes[axis] = size;
  return create<SliceOp>(leaf, value, starts, sizes).getResult();
}

Value CellBuilder::shiftTokens(Value tokens, int64_t distance, int64_t fill) {
  int64_t length = getShape(tokens)[1];
  Value later = slice(tokens, 1, distance, length - distance, "shift_slice");
  int64_t low[] = {0, 0}, high[] = {0, distance};
  return create<PadOp>("shift_pad", later, low, high, fill).getResult();
}

Value CellBuilder::concatLast(ValueRange values, StringRef leaf) {
  auto axis = static_cast<int64_t>(getShape(values.front()).size() - 1);
  return create<ConcatOp>(leaf, values, axis).getResult();
}

Value CellBuilder::add(Value lhs, Value rhs, StringRef leaf) {
  return create<AddOp>(leaf, lhs, rhs).getResult();
}

Value CellBuilder::multiply(Value lhs, Value rhs, StringRef leaf) {
  return create<MulOp>(leaf, lhs, rhs).getResult();
}

Value CellBuilder::negate(Value value, StringRef leaf) {
  return create<NegOp>(leaf, value.getType(), value).getResult();
}

Value CellBuilder::scale(Value value, double factor, StringRef leaf) {
  return createUnmarked<ScaleOp>(leaf, value, builder.getF64FloatAttr(factor));
}

Value CellBuilder::addScalar(Value value, double scalar, StringRef leaf) {
  return createUnmarked<AddScalarOp>(leaf, value,
                                     builder.getF64FloatAttr(scalar));
}

Value CellBuilder::reduceSum(Value value, ArrayRef<int64_t> axes,
                             StringRef leaf) {
  return create<ReduceSumOp>(leaf, value, axes).getResult();
}

Value CellBuilder::cumsum(Value value, int64_t axis, StringRef leaf) {
  return createUnmarked<CumsumOp>(leaf, value, builder.getI64IntegerAttr(axis));
}

Value CellBuilder::remainder(Value value, int64_t divisor, StringRef leaf) {
  return createUnmarked<RemainderOp>(
      leaf, value, builder.getF64FloatAttr(static_cast<double>(divisor)));
}

Value CellBuilder::floorDivide(Value value, int64_t divisor, StringRef leaf) {
  return createUnmarked<FloorDivideOp>(
      leaf, value, builder.getF64FloatAttr(static_cast<double>(divisor)));
}

Value CellBuilder::compare(Value value, Comparison comparison, double scalar,
                           StringRef leaf) {
  return createUnmarked<CompareScalarOp>(leaf, value, comparison,
                                         APFloat(scalar));
}

Value CellBuilder::limit(Value value, double limit, bool bothSides,
                         StringRef leaf) {
  // 1 above the limit, -1 below the other one.
  Value sides = compare(value, Comparison::Greater, limit, leaf);
  Value beyond = sides;
  if (bothSides) {
    Value below = compare(value, Comparison::Less, -limit, leaf);
    beyond = add(sides, below, leaf);
    sides = add(sides, negate(below, leaf), leaf);
  }
  Value within = addScalar(negate(beyond, leaf), 1.0, leaf);
  return add(multiply(value, within, leaf), scale(sides, limit, leaf), leaf);
}

Value CellBuilder::addLimitedProduct(Value gate, Value up, StringRef activation,
                                     StringRef product) {
  const double most = *spec.activationLimit;
  gate = limit(cast(gate, DType::F32, activation), most, false, activation);
  up = limit(cast(up, DType::F32, activation), most, true, activation);
  gate = create<SiluOp>(activation, gate.getType(), gate).getResult();
  return cast(multiply(gate, up, product), spec.computeType, product);
}

void CellBuilder::updateType() {
  layer.setFunctionType(builder.getFunctionType(
      layer.getBody().getArgumentTypes(), layer.getResultTypes()));
}

Value CellBuilder::getTokens() {
  if (tokens)
    return tokens;
  auto type = RankedTensorType::get({spec.microBatchSize, spec.sequenceLength},
                                    builder.getI32Type());
  tokens = layer.getBody().insertArgument(
      layer.getBody().getNumArguments() - (draw ? 1 : 0), type, loc);
  updateType();
  return tokens;
}

Value CellBuilder::getDraw() {
  if (draw)
    return draw;
  draw = layer.getBody().addArgument(getDrawType(builder.getContext()), loc);
  updateType();
  return draw;
}

Value CellBuilder::drawMask(Value value, double rate, StringRef leaf,
                            int64_t columns) {
  std::string source = prefix + leaf.str();
  if (!parameterPrefix.empty())
    source = parameterPrefix + "." + source;
  if (unsigned number = numDropouts[source]++)
    source += ":" + std::to_string(number);
  return create<DropoutMaskOp>(leaf, value, getDraw(), rate, source, columns);
}

Value CellBuilder::drop(Value value, double rate, StringRef leaf) {
  if (rate == 0)
    return value;
  return create<DropoutOp>(leaf, value, drawMask(value, rate, leaf), rate)
      .getResult();
}

Value CellBuilder::addDocumentStarts() {
  return createUnmarked<DocumentStartsOp>("document_starts", getTokens(),
                                          *spec.documentEnd);
}

Value CellBuilder::addFlashAttention(Value query, Value key, Value value,
                                     double scale, Value slopes, StringRef leaf,
                                     Value largestLogits) {
  auto attention = create<FlashAttentionOp>(leaf, query, key, value, scale,
                                            /*causal=*/true, slopes);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(attention);
    if (const double rate = spec.dropout.attention; rate != 0)
      attention.setDropout(
          drawMask(query, rate, leaf, /*columns=*/getShape(key)[2]), rate);
    if (spec.documentEnd)
      attention.getStartsMutable().assign(addDocumentStarts());
  }
  if (!largestLogits)
    return attention.getResult();
  return createUnmarked<TrackLargestOp>(
      leaf, attention.getResult(), largestLogits, attention.getSoftmaxMax());
}

//===----------------------------------------------------------------------===//
// Shared Cells
//===----------------------------------------------------------------------===//

Value CellBuilder::addLinear(Value input, int64_t outSize,
                             const LinearTraits &traits) {
  int64_t inSize = getShape(input).back();
  ParameterTraits weightTraits = traits, biasTraits;
  weightTraits.cuts.resize(2);
  weightTraits.cuts[traits.cutsInputs != traits.storesInputRows ? 1 : 0] =
      traits.axes;
  if (traits.storesInputRows)
    weightTraits.matrices.dim = 1;
  int64_t shape[] = {outSize, inSize};
  if (traits.storesInputRows)
    std::swap(shape[0], shape[1]);
  Value weight = addParameter("weight", shape, spec.paramType,
                              getWeightInit(inSize, outSize), weightTraits);
  input = cast(input, spec.computeType, "cast");
  weight = cast(weight, spec.computeType, "cast");
  Value result =
      create<MatmulOp>("matmul", input, weight, false, !traits.storesInputRows)
          .getResult();
  const bool dropsFirst = spec.dropout.precedesBias || !traits.hasBias;
  if (dropsFirst)
    result = drop(result, traits.dropout, names.linearDropout);
  if (!traits.hasBias)
    return result;
  if (!traits.cutsInputs)
    biasTraits.cuts = {traits.axes};
  biasTraits.parallelOptimizer = false;
  Value bias = addParameter("bias", {outSize}, spec.paramType,
                            getInit(InitKind::Zeros), biasTraits);
  bias = cast(bias, spec.computeType, "cast");
  result = add(result, bias, names.biasAdd);
  return dropsFirst ? result
                    : drop(result, traits.dropout, names.linearDropout);
}

Value CellBuilder::addNormOperator(Value input) {
  const int64_t size = getShape(input).back();
  ParameterTraits traits;
  traits.parallelOptimizer = false;
  Value weight = addParameter(spec.usesLayerNorm ? "gamma" : "weight", {size},
                              spec.normType, getInit(InitKind::Ones), traits);
  if (!spec.usesLayerNorm)
    return create<RmsNormOp>("norm", input, weight, spec.normEpsilon)
        .getResult();
  Value bias = addParameter("beta", {size}, spec.normType,
                            getInit(InitKind::Zeros), traits);
  return create<LayerNormOp>("layer_norm", input, weight, bias,
                             spec.normEpsilon)
      .getResult();
}

Value CellBuilder::addNorm(Value input) {
  auto type = llvm::cast<RankedTensorType>(input.getType());
  Type normType = getType(type.getShape(), spec.normType);
  if (type == normType || !spec.castsNormInput)
    return addNormOperator(input);
  auto castIn = create<CastOp>("cast", normType, input);
  // MindSpore Transformers marks this cast of RMSNorm for recomputation itself:
  // it is cheap, and its result is twice the input's size.
  if (!spec.usesLayerNorm)
    castIn.setRecomputeMark(RecomputeKind::Preset);
  Value value = addNormOperator(castIn.getResult());
  return create<CastOp>(names.normCastOut, type, value).getResult();
}

} // namespace mf
