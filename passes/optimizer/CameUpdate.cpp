//===- CameUpdate.cpp - The update of one parameter by Came ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/UpdateRules.h"

using namespace mlir;
using namespace mf::ir;

ArrayAttr mf::passes::getCuttingAxes(ParamOp param, ArrayRef<int64_t> dims) {
  SmallVector<Attribute> axes;
  if (LayoutAttr layout = param.getStoredLayout())
    for (auto [axis, size] : MeshSizes(MeshAttr::find(param)).axes) {
      auto name = StringAttr::get(param.getContext(), axis);
      if (size > 1 && llvm::any_of(dims, [&, &layout = layout](int64_t dim) {
            return llvm::is_contained(cast<ArrayAttr>(layout.getCuts()[dim]),
                                      name);
          }))
        axes.push_back(name);
    }
  return ArrayAttr::get(param.getContext(), axes);
}

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

class CameBuilder {
public:
  CameBuilder(OpBuilder &builder, OptimizerAttr optimizer, Value step,
              Value overflow)
      : builder(builder), optimizer(optimizer), came(optimizer.getCame()),
        step(step), overflow(overflow) {}

  LogicalResult update(ParamOp updated, Value rate) {
    param = updated;
    loc = param.getLoc();
    if (std::optional<StringRef> owner = param.getTied()) {
      auto other = SymbolTable::lookupNearestSymbolFrom<ParamOp>(
          param, builder.getStringAttr(*owner));
      // Means over different parts are rounded differently, so that the copies
      // would diverge.
      if (other && other.getStoredLayout() != param.getStoredLayout())
        return param.emitOpError("is cut over other ranks than '")
               << *owner
               << "', to which it is tied: Came, which adds up what ranks have "
                  "of a parameter, needs copies that are cut alike; expected "
                  "one stage, or another optimizer";
    }
    auto name = FlatSymbolRefAttr::get(param.getSymNameAttr());
    Value gradient = TakeGradientOp::create(
        builder, loc, param.getStoredType().clone(builder.getF32Type()), name,
        /*factors=*/ValueRange());
    Value squares = addConstant(MulOp::create(builder, loc, gradient, gradient),
                                came.getEps().convertToDouble());
    Value update = clip(divideByMoment(gradient, squares));
    Value moment = buildAverage(AveragedState::FirstMoment, update,
                                optimizer.getBeta1().convertToDouble());
    TakeStepOp::create(
        builder, loc, name, weighByConfidence(update, moment), rate, overflow,
        builder.getF64FloatAttr(1),
        builder.getF64FloatAttr(optimizer.getWeightDecay().convertToDouble()));
    return success();
  }

private:
  /// Returns the mean of `value` over `dims`, which are removed. `paramDims`
  /// are the dimensions of the parameter that `value` has. All ranks hold the
  /// result.
  Value buildMean(Value value, ArrayRef<int64_t> dims,
                  ArrayRef<int64_t> paramDims) {
    Value sum = ReduceSumOp::create(builder, loc, value, dims);
    ArrayAttr axes = mf::passes::getCuttingAxes(param, paramDims);
    if (!axes.empty())
      sum = AllReduceOp::create(builder, loc, sum.getType(), sum, axes);
    double count = 1;
    for (int64_t dim : paramDims)
      count *= static_cast<double>(param.getTensorType().getDimSize(dim));
    return scale(sum, 1 / count);
  }

  Value buildAverage(AveragedState state, Value value, double decay,
                     bool grows = false) {
    return UpdateAverageOp::create(
        builder, loc, value.getType(),
        AveragedStateAttr::get(builder.getContext(), state),
        FlatSymbolRefAttr::get(param.getSymNameAttr()), value, step, overflow,
        builder.getF64FloatAttr(decay),
        grows ? builder.getUnitAttr() : UnitAttr());
  }

  Value buildRoot(Value value) {
    return SqrtOp::create(builder, loc, value, nullptr, nullptr, nullptr);
  }

  Value addConstant(Value value, double constant) {
    return AddScalarOp::create(builder, loc, value,
                               builder.getF64FloatAttr(constant), nullptr,
                               nullptr, nullptr);
  }

  Value scale(Value value, double factor) {
    return ScaleOp::create(builder, loc, value, builder.getF64FloatAttr(factor),
                           nullptr, nullptr, nullptr);
  }

  Value reshape(Value value, ArrayRef<int64_t> shape) {
    return ReshapeOp::create(builder, loc, getType(value).clone(shape), value);
  }

  /// Returns `value` divided by the square root of the moment that `rows` and
  /// `columns` represent: rows * columns / (mean of rows).
  Value divideByRoot(Value value, Value rows, Value columns) {
    RankedTensorType type = getType(value);
    const int64_t last = type.getRank() - 1;
    Value mean = buildMean(rows, last - 1, last - 1);
    SmallVector<int64_t> shape(getType(rows).getShape());
    shape.back() = 1;
    rows = DivOp::create(builder, loc, rows, reshape(mean, shape));
    shape = SmallVector<int64_t>(type.getShape());
    shape[last] = 1;
    value = DivOp::create(builder, loc, value, reshape(buildRoot(rows), shape));
    shape = SmallVector<int64_t>(type.getShape());
    shape[last - 1] = 1;
    return DivOp::create(builder, loc, value,
                         reshape(buildRoot(columns), shape));
  }

  /// Returns `value` divided by the square root of the running mean of
  /// `squares`.
  Value divideByMoment(Value value, Value squares) {
    const int64_t last = getType(value).getRank() - 1;
    if (last == 0)
      return DivOp::create(
          builder, loc, value,
          buildRoot(buildAverage(AveragedState::SecondMoment, squares,
                                 came.getDecayRate().convertToDouble(),
                                 /*grows=*/true)));
    Value rows =
        buildAverage(AveragedState::SquareRows, buildMean(squares, last, last),
                     came.getDecayRate().convertToDouble(), /*grows=*/true);
    Value columns = buildAverage(AveragedState::SquareColumns,
                                 buildMean(squares, last - 1, last - 1),
                                 came.getDecayRate().convertToDouble(),
                                 /*grows=*/true);
    return divideByRoot(value, rows, columns);
  }

  /// Returns `update`, scaled such that its root mean square is at most the
  /// threshold.
  Value clip(Value update) {
    auto dims =
        llvm::to_vector(llvm::seq<int64_t>(0, getType(update).getRank()));
    Value squares = MulOp::create(builder, loc, update, update);
    Value norm = buildRoot(buildMean(squares, dims, dims));
    Value excess = scale(norm, 1 / came.getClipThreshold().convertToDouble());
    Value divisor =
        ClampMinOp::create(builder, loc, excess, builder.getF64FloatAttr(1),
                           nullptr, nullptr, nullptr);
    return DivOp::create(builder, loc, update, divisor);
  }

  /// Returns the first moment divided by the deviation of updates from it.
  Value weighByConfidence(Value update, Value moment) {
    const int64_t last = getType(update).getRank() - 1;
    if (last == 0)
      return moment;
    Value difference = AddOp::create(builder, loc, update, scale(moment, -1));
    Value squares =
        addConstant(MulOp::create(builder, loc, difference, difference),
                    came.getInstabilityEps().convertToDouble());
    Value rows = buildAverage(AveragedState::InstabilityRows,
                              buildMean(squares, last, last),
                              came.getBeta3().convertToDouble());
    Value columns = buildAverage(AveragedState::InstabilityColumns,
                                 buildMean(squares, last - 1, last - 1),
                                 came.getBeta3().convertToDouble());
    return divideByRoot(moment, rows, columns);
  }

  OpBuilder &builder;
  OptimizerAttr optimizer;
  CameAttr came;
  Value step, overflow;
  ParamOp param;
  Location loc = builder.getUnknownLoc();
};

} // namespace

LogicalResult mf::passes::buildCameUpdate(OpBuilder &builder,
                                          OptimizerAttr optimizer, Value step,
                                          Value overflow, ParamOp param,
                                          Value rate) {
  return CameBuilder(builder, optimizer, step, overflow).update(param, rate);
}
