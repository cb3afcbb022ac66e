//===- MuonUpdate.cpp - The update of one matrix by Muon ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/UpdateRules.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mf::ir;

namespace {

/// A cut of a dimension over one axis of the mesh.
struct Cut {
  int64_t dim;
  StringAttr axis;
};

/// Returns the cuts through a parameter's matrices in a rank's storage, the
/// outer ones first. If the parameter has three dimensions, the first one
/// counts experts, each with a separate matrix.
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
        if (getGroupSize(param, ArrayAttr::get(param.getContext(), axis)) > 1)
          cuts.push_back({static_cast<int64_t>(dim), axis});
  return cuts;
}

/// Returns the type of a value whose dimension `dim` is multiplied by `to` /
/// `from`.
RankedTensorType resize(Value value, int64_t dim, int64_t to, int64_t from) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = shape[dim] * to / from;
  return type.clone(shape);
}

} // namespace

/// Returns the shape of a weight of `shape`, [experts, rows, columns], with a
/// dimension for its periods in front of that of one period.
static SmallVector<int64_t> getPeriodShape(ArrayRef<int64_t> shape,
                                           int64_t axis, int64_t periods) {
  SmallVector<int64_t> periodic(shape);
  periodic[axis] /= periods;
  periodic.insert(periodic.begin() + axis, periods);
  return periodic;
}

namespace {

class MuonBuilder {
public:
  MuonBuilder(OpBuilder &builder, OptimizerAttr optimizer, Value overflow)
      : builder(builder), optimizer(optimizer), muon(optimizer.getMuon()),
        overflow(overflow) {}

  /// Updates all of `params` with their learning rates. If only one rank
  /// computes each matrix (`spreads`), parameters with the same type, layout
  /// and matrices are updated in groups, with one parameter for each rank.
  void updateAll(ArrayRef<ParamOp> params,
                 llvm::function_ref<Value(ParamOp)> getRate) {
    using Kind = std::tuple<Type, Attribute, Attribute>;
    llvm::MapVector<Kind, SmallVector<ParamOp>> waiting;
    for (ParamOp param : params) {
      SmallVector<ParamOp> &same = waiting[Kind(
          param.getType(), param.getStoredLayout(), param.getMatricesAttr())];
      same.push_back(param);
      const int64_t owners = getNumOwners(param);
      if (owners > 1 && static_cast<int64_t>(same.size()) == owners) {
        updateTogether(same, llvm::map_to_vector(same, getRate));
        same.clear();
      }
    }
    // If fewer parameters than ranks are left, each rank computes all of them.
    for (const auto &[kind, rest] : waiting)
      for (ParamOp param : rest)
        update(param, getRate(param));
  }

private:
  void update(ParamOp param, Value rate) {
    loc = param.getLoc();
    Value result = orthogonalize(param, gather(param, buildDirection(param)));
    takeStep(param, takeOwnPart(param, result), rate);
  }

  /// Updates a group of parameters of the same shape, one for each of the ranks
  /// that have parts of them. Each rank gets one whole parameter, computes its
  /// direction, and sends the parts back.
  void updateTogether(ArrayRef<ParamOp> params, ArrayRef<Value> rates) {
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
      int64_t size = getGroupSize(first, axes);
      auto type = cast<RankedTensorType>(stack.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[from] /= size;
      shape[to] *= size;
      stack = AllToAllOp::create(builder, loc, type.clone(shape), stack, axes,
                                 from, to);
    };
    SmallVector<Cut> cuts = getMatrixCuts(first);
    // The stack is in front of the dimensions of a parameter.
    for (const Cut &cut : llvm::reverse(cuts))
      exchange(cut, 0, cut.dim + 1);
    const SmallVector<int64_t> whole(
        cast<RankedTensorType>(stack.getType()).getShape());
    stack = reshape(orthogonalize(first, stack), whole);
    for (const Cut &cut : cuts)
      exchange(cut, cut.dim + 1, 0);
    SmallVector<Type> types(
        count,
        RankedTensorType::get(shape, getElementTypeOrSelf(stack.getType())));
    auto pieces = SplitOp::create(builder, loc, types, stack,
                                  builder.getI64IntegerAttr(0), nullptr,
                                  nullptr, nullptr);
    for (auto [param, rate, piece] :
         llvm::zip(params, rates, pieces.getParts()))
      takeStep(param, reshape(piece, part.getShape()), rate);
  }

  /// Returns the number of ranks over which parameters such as `param` are
  /// spread, or 1 if each rank computes all of them.
  int64_t getNumOwners(ParamOp param) {
    SmallVector<Cut> cuts = getMatrixCuts(param);
    if (!muon.getSpreads() || param.getTensorType().getRank() != 2 ||
        llvm::any_of(cuts, [&](const Cut &cut) {
          return cut.dim != static_cast<int64_t>(param.getStorageDim());
        }))
      return 1;
    int64_t owners = 1;
    for (const Cut &cut : cuts)
      owners *= getGroupSize(param, builder.getArrayAttr(cut.axis));
    return owners;
  }

  Value buildDirection(ParamOp param) {
    auto type = param.getStoredType().clone(builder.getBF16Type());
    return MomentumOp::create(
        builder, loc, type, FlatSymbolRefAttr::get(param.getSymNameAttr()),
        overflow, /*factors=*/ValueRange(),
        builder.getF64FloatAttr(muon.getMomentum().convertToDouble()),
        builder.getBoolAttr(muon.getNesterov()));
  }

  Value gather(ParamOp param, Value part) {
    for (const Cut &cut : llvm::reverse(getMatrixCuts(param))) {
      ArrayAttr axes = builder.getArrayAttr(cut.axis);
      int64_t size = getGroupSize(param, axes);
      part = AllGatherOp::create(builder, loc, resize(part, cut.dim, size, 1),
                                 part, axes, cut.dim, /*replicated=*/true);
    }
    return part;
  }

  Value takeOwnPart(ParamOp param, Value whole) {
    for (const Cut &cut : getMatrixCuts(param)) {
      ArrayAttr axes = builder.getArrayAttr(cut.axis);
      int64_t size = getGroupSize(param, axes);
      whole = OwnPartOp::create(builder, loc, resize(whole, cut.dim, 1, size),
                                whole, axes, cut.dim);
    }
    return whole;
  }

  /// Makes the matrices of a parameter orthogonal. A matrix consists of the
  /// same parts of all periods, which are brought together first.
  Value orthogonalize(ParamOp param, Value whole) {
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (shape.size() == 2)
      shape.insert(shape.begin(), 1);
    whole = reshape(whole, shape);
    std::optional<MatricesAttr> held = param.getMatrices();
    if (!held)
      return reshape(orthogonalizeEach(whole).front(), type.getShape());
    const int64_t axis = held->getDim() + 1;
    const std::vector<int64_t> sizes = held->getPeriod(),
                               rest = held->getTail();
    const int64_t periods = held->countPeriods(shape[axis]).value_or(1);
    const int64_t period =
        std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
    SmallVector<int64_t> outer = {periods * period};
    llvm::append_range(outer, rest);
    SmallVector<Value> slabs = split(whole, outer, axis);
    shape[axis] = periods * period;
    Value periodic =
        reshape(slabs.front(), getPeriodShape(shape, axis, periods));
    SmallVector<Value> matrices;
    for (auto [part, size] :
         llvm::zip_equal(split(periodic, sizes, axis + 1), sizes)) {
      shape[axis] = periods * size;
      matrices.push_back(reshape(part, shape));
    }
    matrices.append(slabs.begin() + 1, slabs.end());
    SmallVector<Value> results = orthogonalizeEach(matrices);
    SmallVector<Value> parts;
    for (auto [result, size] : llvm::zip(results, sizes)) {
      shape[axis] = periods * size;
      parts.push_back(reshape(result, getPeriodShape(shape, axis, periods)));
    }
    shape[axis] = periods * period;
    slabs.front() = reshape(join(parts, axis + 1), shape);
    llvm::copy(ArrayRef(results).drop_front(sizes.size()), slabs.begin() + 1);
    return reshape(join(slabs, axis), type.getShape());
  }

  /// Makes each of `matrices` orthogonal. The factors of their sizes become
  /// `scale` if they are equal; otherwise the results are multiplied here in
  /// fp32.
  SmallVector<Value> orthogonalizeEach(ArrayRef<Value> matrices) {
    auto getOwnScale = [&](Value matrix) {
      auto type = cast<RankedTensorType>(matrix.getType());
      return getScale(type.getDimSize(1), type.getDimSize(2));
    };
    scale = getOwnScale(matrices.front());
    const bool areAlike = llvm::all_of(
        matrices, [&](Value matrix) { return getOwnScale(matrix) == scale; });
    SmallVector<Value> results;
    for (Value matrix : matrices) {
      Value result = runNewtonSchulz(matrix);
      if (!areAlike)
        result =
            ScaleOp::create(builder, loc, convert(result, builder.getF32Type()),
                            builder.getF64FloatAttr(getOwnScale(matrix)),
                            nullptr, nullptr, nullptr);
      results.push_back(result);
    }
    if (!areAlike)
      scale = 1;
    return results;
  }

  /// Cuts `whole`, [experts, rows, columns], along `axis` into parts of
  /// `sizes`.
  SmallVector<Value> split(Value whole, ArrayRef<int64_t> sizes, int64_t axis) {
    if (sizes.size() == 1)
      return {whole};
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<Type> types;
    for (int64_t size : sizes) {
      SmallVector<int64_t> shape(type.getShape());
      shape[axis] = size;
      types.push_back(type.clone(shape));
    }
    auto parts = SplitOp::create(builder, loc, types, whole,
                                 builder.getI64IntegerAttr(axis), nullptr,
                                 nullptr, nullptr);
    return SmallVector<Value>(parts.getParts());
  }

  /// Concatenates parts along `axis`.
  Value join(ArrayRef<Value> parts, int64_t axis) {
    return parts.size() == 1
               ? parts.front()
               : ConcatOp::create(builder, loc, parts, axis).getResult();
  }

  Value runNewtonSchulz(Value matrices) {
    SmallVector<double> coefficients;
    for (auto step : muon.getCoefficients().getAsRange<ArrayAttr>())
      for (auto number : step.getAsRange<FloatAttr>())
        coefficients.push_back(number.getValueAsDouble());
    return NewtonSchulzOp::create(
        builder, loc, matrices.getType(), matrices,
        builder.getDenseF64ArrayAttr(coefficients),
        builder.getF64FloatAttr(muon.getEps().convertToDouble()), nullptr,
        nullptr, nullptr);
  }

  Value convert(Value value, Type element) {
    auto from = cast<RankedTensorType>(value.getType());
    return CastOp::create(builder, loc, from.clone(element), value, nullptr,
                          nullptr, nullptr);
  }

  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == shape)
      return value;
    return ReshapeOp::create(builder, loc, type.clone(shape), value);
  }

  void takeStep(ParamOp param, Value direction, Value rate) {
    const double decay =
        optimizer.decays(param.getTied().value_or(param.getSymName()),
                         param.getTensorType().getRank())
            ? optimizer.getWeightDecay().convertToDouble()
            : 0.0;
    TakeStepOp::create(
        builder, loc, FlatSymbolRefAttr::get(param.getSymNameAttr()), direction,
        rate, overflow, builder.getF64FloatAttr(scale),
        builder.getF64FloatAttr(decay));
  }

  /// Returns the factor on the learning rate for a matrix of these sizes.
  double getScale(int64_t rows, int64_t columns) {
    return std::sqrt(static_cast<double>(std::max(rows, columns))) *
           muon.getRms().convertToDouble();
  }

  OpBuilder &builder;
  OptimizerAttr optimizer;
  MuonAttr muon;
  Value overflow;
  Location loc = builder.getUnknownLoc();
  /// The factor for the parameter that was made orthogonal last; 1 if its
  /// direction already includes the factor.
  double scale = 0;
};

} // namespace

void mf::passes::buildMuonUpdates(OpBuilder &builder, OptimizerAttr optimizer,
                                  Value overflow, ArrayRef<ParamOp> params,
                                  function_ref<Value(ParamOp)> getRate) {
  MuonBuilder(builder, optimizer, overflow).updateAll(params, getRate);
}
