//===- InsertOptimizer.cpp - Clipping and the optimizer, per stage --------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Program/DropRates.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/config/TrainingCheck.h"
#include "passes/optimizer/CameUpdate.h"
#include "passes/optimizer/CuttingAxes.h"
#include "passes/optimizer/LogitClip.h"
#include "passes/optimizer/MuonUpdate.h"
#include "passes/optimizer/TrainedParameters.h"

namespace mf::passes {
#define GEN_PASS_DEF_INSERTOPTIMIZER
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::TrainedParameters;

namespace {

/// Builds the update of one stage.
class UpdateBuilder {
public:
  UpdateBuilder(ModelOp model, const TrainedParameters &map, int64_t stage,
                int64_t stages, ArrayRef<ParamOp> params)
      : model(model), training(model.getTrainingAttr()), map(map), stage(stage),
        stages(stages), params(params), builder(model.getContext()),
        loc(model.getLoc()) {}

  LogicalResult build();

private:
  void reduceGradients();
  void reduceTied();
  void unscale(Value lossScale);
  Value buildSquares(ArrayRef<ParamOp> summands);
  Value buildGlobalNorm();
  void clip(Value norm, double maxNorm);
  /// Returns the learning rate of each group of parameters, as scalars.
  SmallVector<Value> splitRates(Value learningRates);
  LogicalResult update(ArrayRef<Value> rates, Value step, Value overflow);
  void updateStatistics();
  void reportDropRate(ParamOp param, Value shares, StringRef quantity,
                      double threshold);
  void emitRemark(UpdateOp function);
  bool sharesOwner(ParamOp param) {
    return param.getTied() && map.stages.lookup(*param.getTied()) == stage;
  }
  /// Returns whether the optimizer updates the parameter: it is a weight, and
  /// is not tied to another one of this stage.
  bool isTrained(ParamOp param) {
    return !sharesOwner(param) && !param.getUpdateRule();
  }
  /// Returns the gradients of this stage. If parameters are tied on one stage,
  /// only the owner's gradient is included.
  ArrayAttr getGradients() {
    SmallVector<Attribute> names;
    for (ParamOp param : params)
      if (isTrained(param))
        names.push_back(FlatSymbolRefAttr::get(param.getSymNameAttr()));
    return builder.getArrayAttr(names);
  }
  /// Applies a scalar function with a constant to `value`.
  template <typename OpT> Value apply(Value value, double constant) {
    return OpT::create(builder, loc, value, builder.getF64FloatAttr(constant),
                       nullptr, nullptr, nullptr);
  }

  ModelOp model;
  TrainingAttr training;
  const TrainedParameters &map;
  int64_t stage, stages;
  ArrayRef<ParamOp> params;
  OpBuilder builder;
  Location loc;
};

/// Gradients are summed over ranks in the model's order, which is the same on
/// all of them.
void UpdateBuilder::reduceGradients() {
  bool isMean = training.getParallel().getGradientsMean();
  for (ParamOp param : model.getBody().getOps<ParamOp>())
    if (llvm::is_contained(params, param) && needsReduction(param))
      ReduceGradientOp::create(builder, param.getLoc(), param.getSymName(),
                               param.getLayoutAttr()
                                   ? param.getLayoutAttr().getReduced()
                                   : builder.getArrayAttr({}),
                               isMean && !param.getUpdateRule());
}

void UpdateBuilder::reduceTied() {
  // The model's order makes all stages of a reduction emit their reductions in
  // the same order.
  for (const auto &[owner, group] : map.tied)
    if (llvm::is_contained(group.stages, stage))
      ReduceTiedOp::create(builder, loc, owner,
                           builder.getArrayAttr(group.names), group.stages);
}

void UpdateBuilder::unscale(Value lossScale) {
  Value inverse =
      ReciprocalOp::create(builder, loc, lossScale, nullptr, nullptr, nullptr);
  ScaleGradientsOp::create(builder, loc, inverse, getGradients());
}

/// Returns a vector with the square of the norm of each of `summands` of which
/// this rank holds a part, at its position.
Value UpdateBuilder::buildSquares(ArrayRef<ParamOp> summands) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> positions;
  for (ParamOp param : summands) {
    names.push_back(FlatSymbolRefAttr::get(param.getSymNameAttr()));
    positions.push_back(map.positions.lookup(param.getSymName()));
  }
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(map.positions.size())}, builder.getF32Type());
  Value norms =
      GradientNormsOp::create(builder, loc, type, builder.getArrayAttr(names),
                              builder.getI64ArrayAttr(positions),
                              /*factors=*/ValueRange());
  return MulOp::create(builder, loc, norms, norms);
}

/// Builds the L2 norm of all gradients of all stages. The squares of parts are
/// summed only over the ranks that hold the other parts, so that every element
/// counts once.
Value UpdateBuilder::buildGlobalNorm() {
  llvm::MapVector<ArrayAttr, SmallVector<ParamOp>> byAxes;
  byAxes[builder.getArrayAttr({})];
  for (ParamOp param : params)
    if (!param.getTied() && !param.getUpdateRule())
      byAxes[mf::passes::getCuttingAxes(
                 param, llvm::to_vector(llvm::seq<int64_t>(
                            0, param.getTensorType().getRank())))]
          .push_back(param);
  Value squares;
  for (const auto &[axes, summands] : byAxes) {
    Value own = buildSquares(summands);
    if (!axes.empty())
      own = AllReduceOp::create(builder, loc, own.getType(), own, axes);
    squares = squares ? Value(AddOp::create(builder, loc, squares, own)) : own;
  }
  if (stages > 1)
    squares = AllReduceOp::create(builder, loc, squares.getType(), squares,
                                  builder.getStrArrayAttr({"pp"}));
  Value sum = ReduceSumOp::create(builder, loc, squares, int64_t(0));
  return SqrtOp::create(builder, loc, sum, nullptr, nullptr, nullptr);
}

void UpdateBuilder::clip(Value norm, double maxNorm) {
  if (stage == stages - 1)
    ReportOp::create(builder, loc, norm, "global_norm");
  // min(1, max_norm / (max(norm, max_norm) + 1e-6))
  Value divisor = apply<AddScalarOp>(apply<ClampMinOp>(norm, maxNorm), 1e-6);
  Value inverse =
      ReciprocalOp::create(builder, loc, divisor, nullptr, nullptr, nullptr);
  Value factor = apply<ClampMaxOp>(apply<ScaleOp>(inverse, maxNorm), 1.0);
  ScaleGradientsOp::create(builder, loc, factor, getGradients());
}

SmallVector<Value> UpdateBuilder::splitRates(Value learningRates) {
  auto type = cast<RankedTensorType>(learningRates.getType());
  if (type.getRank() == 0)
    return {learningRates};
  auto scalar = RankedTensorType::get({}, type.getElementType());
  SmallVector<Value> rates;
  for (int64_t group = 0; group < type.getNumElements(); ++group) {
    Value one = SliceOp::create(builder, loc, learningRates, group, int64_t(1));
    rates.push_back(ReshapeOp::create(builder, loc, scalar, one));
  }
  return rates;
}

LogicalResult UpdateBuilder::update(ArrayRef<Value> rates, Value step,
                                    Value overflow) {
  OptimizerAttr optimizer = training.getOptimizer();
  auto number = [&](const llvm::APFloat &value) {
    return builder.getF64FloatAttr(value.convertToDouble());
  };
  auto getRate = [&](ParamOp param) {
    return rates[training.getLrSchedule().getGroup(param.getSymName())];
  };
  SmallVector<ParamOp> matrices;
  for (ParamOp param : params) {
    if (!isTrained(param))
      continue;
    if (optimizer.getCame()) {
      if (failed(mf::passes::CameBuilder(builder, optimizer, step, overflow)
                     .update(param, getRate(param))))
        return failure();
      continue;
    }
    const StringRef name = param.getTied().value_or(param.getSymName());
    const int64_t rank = param.getTensorType().getRank();
    if (MuonAttr muon = optimizer.getMuon(); muon && muon.trains(name, rank)) {
      matrices.push_back(param);
      continue;
    }
    const bool decays = optimizer.decays(name, rank);
    AdamWOp::create(
        builder, param.getLoc(), FlatSymbolRefAttr::get(param.getSymNameAttr()),
        getRate(param), step, overflow, /*factors=*/ValueRange(),
        number(optimizer.getBeta1()), number(optimizer.getBeta2()),
        number(optimizer.getEps()),
        decays ? number(optimizer.getWeightDecay())
               : builder.getF64FloatAttr(0.0),
        builder.getBoolAttr(optimizer.getBiasCorrection()),
        optimizer.getCorrectsEps() ? builder.getUnitAttr() : UnitAttr());
    if (WeightAverageAttr average = optimizer.getAverage())
      AverageWeightOp::create(builder, param.getLoc(), param.getSymName(), step,
                              overflow, average);
  }
  if (!matrices.empty())
    mf::passes::MuonBuilder(builder, optimizer, overflow)
        .updateAll(matrices, getRate);
  return mf::passes::clipLogits(builder, optimizer, params, overflow);
}

/// Reports, for each row, the sum over experts of the amount by which their
/// shares exceed `threshold`.
void UpdateBuilder::reportDropRate(ParamOp param, Value shares,
                                   StringRef quantity, double threshold) {
  Value above = apply<ClampMinOp>(apply<AddScalarOp>(shares, -threshold), 0.0);
  Value rate = ReduceSumOp::create(builder, param.getLoc(), above, int64_t(1));
  ReportOp::create(builder, param.getLoc(), rate,
                   (quantity + param.getSymName()).str());
}

void UpdateBuilder::updateStatistics() {
  ExpertBalanceAttr balance = training.getExpertBalance();
  DropRateAttr dropRate = training.getDropRate();
  for (ParamOp param : params) {
    auto name = FlatSymbolRefAttr::get(param.getSymNameAttr());
    auto number = [&](const llvm::APFloat &value) {
      return builder.getF64FloatAttr(value.convertToDouble());
    };
    if (param.getUpdateRule() == UpdateRule::Balance && balance)
      BalanceExpertsOp::create(builder, param.getLoc(), name,
                               number(balance.getRate()),
                               number(balance.getTarget()));
    if (param.getUpdateRule() != UpdateRule::Record)
      continue;
    Value shares = RecordStatisticOp::create(builder, param.getLoc(),
                                             param.getStoredType(), name);
    if (!dropRate || param.getStoredType().getRank() != 2 ||
        mf::getLayerNumber(param.getSymName()) >= dropRate.getLayers())
      continue;
    reportDropRate(param, shares, mf::drop_rate::logged,
                   dropRate.getThreshold().convertToDouble());
    if (std::optional<llvm::APFloat> share = param.getCapacityShare())
      reportDropRate(param, shares, mf::drop_rate::dropped,
                     share->convertToDouble());
  }
}

/// Emits a remark on the stage's update with the decisions made here: the
/// parameters that do not decay, and the gradients that are summed over stages.
void UpdateBuilder::emitRemark(UpdateOp function) {
  Region &body = function.getBody();
  auto steps = body.getOps<AdamWOp>();
  auto matrices = body.getOps<TakeStepOp>();
  auto reductions = body.getOps<ReduceTiedOp>();
  auto sums = body.getOps<ReduceGradientOp>();
  int64_t elements = 0;
  for (ParamOp param : params)
    if (isTrained(param))
      elements += param.getStoredType().getNumElements();
  auto remark = remark::passed(loc, remark::RemarkOpts::name("Update")
                                        .category("optimizer")
                                        .function(model.getSymName()));
  remark << remark::add("stage {0} updates its parameters", stage)
         << remark::metric("parameters",
                           llvm::range_size(steps) + llvm::range_size(matrices))
         << remark::metric("elements", elements)
         << remark::metric(
                "without decay",
                llvm::count_if(steps,
                               [](AdamWOp step) {
                                 return step.getWeightDecay().isZero();
                               }))
         << remark::metric("gradients reduced over ranks",
                           llvm::range_size(sums))
         << remark::metric("reductions of tied gradients",
                           llvm::range_size(reductions));
  if (training.getOptimizer().getMuon() && !matrices.empty())
    remark << remark::metric("matrices by Muon", llvm::range_size(matrices));
  if (auto clipped = body.getOps<ScaleRowsOp>(); !clipped.empty())
    remark << remark::metric("weights clipped by their logits",
                             llvm::range_size(clipped));
}

LogicalResult UpdateBuilder::build() {
  builder.setInsertionPointToEnd(&model.getBody().front());
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  std::string name = "update" + std::to_string(stage);
  SmallVector<Type> arguments(training.scalesLoss() ? 3 : 2, scalar);
  // The rates are a vector if groups of parameters have their own rates.
  if (auto groups = training.getLrSchedule().getGroupPatterns();
      !groups.empty())
    arguments[0] = RankedTensorType::get(
        {static_cast<int64_t>(groups.size()) + 1}, builder.getF32Type());
  auto function = UpdateOp::create(builder, loc, name,
                                   builder.getFunctionType(arguments, {}),
                                   stage, ArrayAttr(), ArrayAttr());
  Block *body =
      builder.createBlock(&function.getBody(), {}, arguments,
                          SmallVector<Location>(arguments.size(), loc));
  reduceGradients();
  reduceTied();
  if (training.scalesLoss())
    unscale(body->getArgument(2));
  // A gradient that is not finite makes the norm not finite on every stage.
  Value norm = buildGlobalNorm();
  Value overflow = NonFiniteOp::create(builder, loc, scalar, norm);
  if (stage == stages - 1)
    ReportOp::create(builder, loc, overflow, "overflow");
  if (ClippingAttr clipping = training.getClipping())
    clip(norm, clipping.getConfig().maxNorm);
  if (failed(update(splitRates(body->getArgument(0)), body->getArgument(1),
                    overflow)))
    return failure();
  updateStatistics();
  ReturnOp::create(builder, loc);
  emitRemark(function);
  return success();
}

struct InsertOptimizerPass
    : mf::passes::impl::InsertOptimizerBase<InsertOptimizerPass> {
  void runOnOperation() override {
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    TrainedParameters map;
    if (failed(map.build(model)))
      return signalPassFailure();
    int64_t stages = model.getTrainingAttr().getParallel().getStages();
    for (int64_t stage = 0; stage < stages; ++stage)
      if (failed(UpdateBuilder(model, map, stage, stages, map.byStage[stage])
                     .build()))
        return signalPassFailure();
  }
};

} // namespace
