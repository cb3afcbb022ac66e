//===- MuonUpdate.cpp - The update of one matrix by Muon ------------------===//

#include "passes/optimizer/MuonUpdate.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mf::ir;
using mf::passes::MuonBuilder;

namespace {

/// A cut of a dimension over one axis of the mesh.
struct Cut {
  int64_t dim;
  StringAttr axis;
};

/// The cuts of what a rank stores of a parameter through its matrices, the
/// outer ones first. Experts, the first dimension of three, are matrices of
/// their own.
SmallVector<Cut> getMatrixCuts(ParamOp param) {
  SmallVector<Cut> cuts;
  LayoutAttr layout = param.getStoredLayout();
  if (!layout)
    return cuts;
  const int64_t rank = param.getTensorType().getRank();
  for (auto [dim, axes] :
       llvm::enumerate(layout.getCuts().getAsRange<ArrayAttr>()))
    if (rank - static_cast<int64_t>(dim) <= 2)
      for (auto axis : axes.getAsRange<StringAttr>())
        if (getGroupSize(param, ArrayAttr::get(param.getContext(), axis))
                .value_or(1) > 1)
          cuts.push_back({static_cast<int64_t>(dim), axis});
  return cuts;
}

/// The type that a value has behind its dimension `dim` became `to` / `from` of
/// what it is.
RankedTensorType resize(Value value, int64_t dim, int64_t to, int64_t from) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = shape[dim] * to / from;
  return type.clone(shape);
}

} // namespace

Value MuonBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, type.clone(shape), value);
}

Value MuonBuilder::buildDirection(ParamOp param) {
  auto type = param.getStoredType().clone(builder.getBF16Type());
  return MomentumOp::create(
      builder, loc, type, FlatSymbolRefAttr::get(param.getSymNameAttr()),
      overflow, /*factors=*/ValueRange(),
      builder.getF64FloatAttr(muon.getMomentum().convertToDouble()),
      builder.getBoolAttr(muon.getNesterov()));
}

Value MuonBuilder::gather(ParamOp param, Value part) {
  for (const Cut &cut : llvm::reverse(getMatrixCuts(param))) {
    ArrayAttr axes = builder.getArrayAttr(cut.axis);
    int64_t size = getGroupSize(param, axes).value_or(1);
    part = AllGatherOp::create(builder, loc, resize(part, cut.dim, size, 1),
                               part, axes, cut.dim, /*replicated=*/true);
  }
  return part;
}

Value MuonBuilder::takeOwnPart(ParamOp param, Value whole) {
  for (const Cut &cut : getMatrixCuts(param)) {
    ArrayAttr axes = builder.getArrayAttr(cut.axis);
    int64_t size = getGroupSize(param, axes).value_or(1);
    whole = OwnPartOp::create(builder, loc, resize(whole, cut.dim, 1, size),
                              whole, axes, cut.dim);
  }
  return whole;
}

/// x / (norm + eps), where the sum of squares is one in fp32.
Value MuonBuilder::normalize(Value matrices) {
  auto type = cast<RankedTensorType>(matrices.getType());
  auto cast = [&](Value value, Type element) -> Value {
    auto from = mlir::cast<RankedTensorType>(value.getType());
    return CastOp::create(builder, loc, from.clone(element), value, nullptr,
                          nullptr, nullptr);
  };
  Value wide = cast(matrices, builder.getF32Type());
  Value squares = MulOp::create(builder, loc, wide, wide);
  Value sums =
      ReduceSumOp::create(builder, loc, squares, ArrayRef<int64_t>{1, 2});
  Value norms = SqrtOp::create(builder, loc, sums, nullptr, nullptr, nullptr);
  norms = cast(norms, type.getElementType());
  norms = AddScalarOp::create(
      builder, loc, norms,
      builder.getF64FloatAttr(muon.getEps().convertToDouble()), nullptr,
      nullptr, nullptr);
  return DivOp::create(builder, loc, matrices,
                       reshape(norms, {type.getDimSize(0), 1, 1}));
}

/// x = a x + (b A + c A A) x, A = x xT; of a matrix with more rows than columns
/// the transpose of what that makes of its transpose.
Value MuonBuilder::runNewtonSchulz(Value matrices) {
  auto type = cast<RankedTensorType>(matrices.getType());
  const bool isTall = type.getDimSize(1) > type.getDimSize(2);
  auto times = [&](Value value, Attribute factor) -> Value {
    return ScaleOp::create(builder, loc, value, cast<FloatAttr>(factor),
                           nullptr, nullptr, nullptr);
  };
  Value x = normalize(matrices);
  for (auto step : muon.getCoefficients().getAsRange<ArrayAttr>()) {
    Value a = MatmulOp::create(builder, loc, x, x, /*transposeA=*/isTall,
                               /*transposeB=*/!isTall);
    Value square = MatmulOp::create(builder, loc, a, a);
    Value sum =
        AddOp::create(builder, loc, times(a, step[1]), times(square, step[2]));
    Value product =
        isTall ? MatmulOp::create(builder, loc, x, sum, /*transposeA=*/false,
                                  /*transposeB=*/true)
               : MatmulOp::create(builder, loc, sum, x);
    x = AddOp::create(builder, loc, times(x, step[0]), product);
  }
  return x;
}

double MuonBuilder::getScale(int64_t rows, int64_t columns) {
  return std::sqrt(static_cast<double>(std::max(rows, columns))) *
         muon.getRms().convertToDouble();
}

FailureOr<Value> MuonBuilder::orthogonalize(ParamOp param, Value whole) {
  auto type = cast<RankedTensorType>(whole.getType());
  const int64_t rows = type.getDimSize(type.getRank() - 2);
  const int64_t columns = type.getDimSize(type.getRank() - 1);
  const int64_t count = type.getNumElements() / (rows * columns);
  MuonSplitAttr split = muon.findSplit(param.getSymName());
  if (!split) {
    scale = getScale(rows, columns);
    return reshape(runNewtonSchulz(reshape(whole, {count, rows, columns})),
                   type.getShape());
  }
  SmallVector<int64_t> parts = split.getParts();
  const int64_t period =
      std::accumulate(parts.begin(), parts.end(), int64_t(0));
  const bool cutsRows = split.getDim() == 0;
  const int64_t extent = cutsRows ? rows : columns;
  if (extent % period != 0 || (!cutsRows && extent != period))
    return param.emitOpError("has ")
           << extent << (cutsRows ? " rows" : " columns")
           << ", which the parts that Muon takes for matrices, "
           << split.getSizes() << " by '" << split.getPattern().getValue()
           << "', do not divide";
  // Repetitions are matrices beside each other: they need no copies.
  const int64_t repeated = cutsRows ? count * (rows / period) : count;
  Value matrices =
      reshape(whole, cutsRows ? ArrayRef<int64_t>{repeated, period, columns}
                              : ArrayRef<int64_t>{count, rows, columns});
  const int64_t axis = cutsRows ? 1 : 2;
  SmallVector<Type> partTypes;
  scale = 0;
  for (int64_t size : parts) {
    SmallVector<int64_t> shape = {repeated, cutsRows ? size : rows,
                                  cutsRows ? columns : size};
    partTypes.push_back(type.clone(shape));
    scale = std::max(scale, getScale(shape[1], shape[2]));
  }
  if (parts.size() == 1)
    return reshape(runNewtonSchulz(matrices), type.getShape());
  auto pieces = SplitOp::create(builder, loc, partTypes, matrices,
                                builder.getI64IntegerAttr(axis), nullptr,
                                nullptr, nullptr);
  SmallVector<Value> results;
  for (Value piece : pieces.getParts()) {
    auto pieceType = cast<RankedTensorType>(piece.getType());
    Value result = runNewtonSchulz(piece);
    double own = getScale(pieceType.getDimSize(1), pieceType.getDimSize(2));
    if (own != scale)
      result = ScaleOp::create(builder, loc, result,
                               builder.getF64FloatAttr(own / scale), nullptr,
                               nullptr, nullptr);
    results.push_back(result);
  }
  return reshape(ConcatOp::create(builder, loc, results, axis),
                 type.getShape());
}

void MuonBuilder::takeStep(ParamOp param, Value direction, Value rate) {
  TakeStepOp::create(builder, loc,
                     FlatSymbolRefAttr::get(param.getSymNameAttr()), direction,
                     rate, overflow, builder.getF64FloatAttr(scale),
                     builder.getF64FloatAttr(weightDecay));
}

int64_t MuonBuilder::getNumOwners(ParamOp param) {
  SmallVector<Cut> cuts = getMatrixCuts(param);
  if (!muon.getSpreads() || param.getTensorType().getRank() != 2 ||
      llvm::any_of(cuts, [](const Cut &cut) { return cut.dim != 0; }))
    return 1;
  int64_t owners = 1;
  for (const Cut &cut : cuts)
    owners *= getGroupSize(param, builder.getArrayAttr(cut.axis)).value_or(1);
  return owners;
}

LogicalResult MuonBuilder::update(ParamOp param, Value rate) {
  loc = param.getLoc();
  FailureOr<Value> result =
      orthogonalize(param, gather(param, buildDirection(param)));
  if (failed(result))
    return failure();
  takeStep(param, takeOwnPart(param, *result), rate);
  return success();
}

/// One of the matrices goes to each rank, and comes back as it went.
LogicalResult MuonBuilder::updateTogether(ArrayRef<ParamOp> params,
                                          ArrayRef<Value> rates) {
  ParamOp first = params.front();
  loc = first.getLoc();
  RankedTensorType part = first.getStoredType();
  const auto count = static_cast<int64_t>(params.size());
  SmallVector<int64_t> shape = {1, part.getDimSize(0), part.getDimSize(1)};
  SmallVector<Value> directions;
  for (ParamOp param : params)
    directions.push_back(reshape(buildDirection(param), shape));
  Value stack = ConcatOp::create(builder, loc, directions, 0);
  auto exchange = [&](const Cut &cut, int64_t from, int64_t to) {
    ArrayAttr axes = builder.getArrayAttr(cut.axis);
    int64_t size = getGroupSize(first, axes).value_or(1);
    auto type = cast<RankedTensorType>(stack.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[from] /= size;
    shape[to] *= size;
    stack = AllToAllOp::create(builder, loc, type.clone(shape), stack, axes,
                               from, to);
  };
  SmallVector<Cut> cuts = getMatrixCuts(first);
  for (const Cut &cut : llvm::reverse(cuts))
    exchange(cut, 0, 1);
  auto whole = cast<RankedTensorType>(stack.getType());
  FailureOr<Value> result = orthogonalize(first, stack);
  if (failed(result))
    return failure();
  stack = reshape(*result, whole.getShape());
  for (const Cut &cut : cuts)
    exchange(cut, 1, 0);
  SmallVector<Type> types(count,
                          RankedTensorType::get(shape, whole.getElementType()));
  auto pieces =
      SplitOp::create(builder, loc, types, stack, builder.getI64IntegerAttr(0),
                      nullptr, nullptr, nullptr);
  for (auto [param, rate, piece] : llvm::zip(params, rates, pieces.getParts()))
    takeStep(param, reshape(piece, part.getShape()), rate);
  return success();
}

LogicalResult
MuonBuilder::updateAll(ArrayRef<ParamOp> params,
                       llvm::function_ref<Value(ParamOp)> getRate) {
  using Kind = std::tuple<Type, Attribute, Attribute>;
  llvm::MapVector<Kind, SmallVector<ParamOp>> waiting;
  for (ParamOp param : params) {
    Attribute split = muon.findSplit(param.getSymName());
    SmallVector<ParamOp> &same =
        waiting[Kind(param.getType(), param.getStoredLayout(), split)];
    same.push_back(param);
    const int64_t owners = getNumOwners(param);
    if (owners > 1 && static_cast<int64_t>(same.size()) == owners) {
      if (failed(updateTogether(same, llvm::map_to_vector(same, getRate))))
        return failure();
      same.clear();
    }
  }
  // Each rank works on those that are fewer than the ranks.
  for (const auto &[kind, rest] : waiting)
    for (ParamOp param : rest)
      if (failed(update(param, getRate(param))))
        return failure();
  return success();
}
