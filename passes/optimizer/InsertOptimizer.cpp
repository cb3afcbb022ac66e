//===- InsertOptimizer.cpp - Clipping and the optimizer, per stage --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "mf/Program/DropRates.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/optimizer/UpdateRules.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

namespace mf::passes {

#define GEN_PASS_DEF_INSERTOPTIMIZER
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;

/// Returns the axes that cut the rows that a rank stores, but not the rows that
/// its layers use.
static SmallVector<Attribute> getSharingAxes(ParamOp param) {
  SmallVector<Attribute> axes;
  LayoutAttr stored = param.getStoredLayout(), used = param.getLayoutAttr();
  if (!stored)
    return axes;
  auto getRowAxes = [](LayoutAttr layout) {
    return cast<ArrayAttr>(layout.getCuts()[0]).getValue();
  };
  ArrayRef<Attribute> known = used ? getRowAxes(used) : ArrayRef<Attribute>();
  for (Attribute axis : getRowAxes(stored))
    if (!llvm::is_contained(known, axis))
      axes.push_back(axis);
  return axes;
}

static LogicalResult clip(OpBuilder &builder, ParamOp param,
                          FloatAttr threshold, Value overflow) {
  Location loc = param.getLoc();
  LogitClipAttr clip = *param.getLogitClip();
  MatricesAttr matrices = *param.getMatrices();
  const std::vector<int64_t> rest = matrices.getTail();
  auto largest =
      SymbolTable::lookupNearestSymbolFrom<ParamOp>(param, clip.getLargest());
  const int64_t rows = param.getLocalType().getDimSize(0);
  if (!largest ||
      matrices.countPeriods(rows) != largest.getLocalType().getNumElements())
    return param.emitError("weights of a rank that are clipped by their logits "
                           "(qk_clip_threshold) must be those of its own "
                           "heads, but a rank has ")
           << rows << " rows of '" << param.getSymName()
           << "'; set qk_clip_enabled to False, or let q_lora_rank be a size";
  auto type = RankedTensorType::get({rows}, builder.getF32Type());
  Value factors =
      LogitFactorsOp::create(builder, loc, type, clip.getLargest(), overflow,
                             threshold, matrices.getSizes(), clip.getRoots(),
                             builder.getI64IntegerAttr(std::accumulate(
                                 rest.begin(), rest.end(), int64_t(0))));
  for (Attribute axis : getSharingAxes(param)) {
    ArrayAttr axes = builder.getArrayAttr(axis);
    const int64_t parts = getGroupSize(param, axes);
    if (parts == 1)
      continue;
    type = type.clone(ArrayRef<int64_t>{type.getDimSize(0) / parts});
    factors = OwnPartOp::create(builder, loc, type, factors, axes, int64_t(0));
  }
  ScaleRowsOp::create(builder, loc,
                      FlatSymbolRefAttr::get(param.getSymNameAttr()), factors);
  return success();
}

/// Builds the product of the rows of `params` with the factors that their
/// #mf.logit_clip define, if the optimizer is Muon with a `logit_threshold`.
/// Each rank multiplies the rows of its own part. The factors are 1 if
/// `overflow` is not 0. Fails if a rank has rows of heads whose logits it does
/// not have.
static LogicalResult clipLogits(OpBuilder &builder, OptimizerAttr optimizer,
                                ArrayRef<ParamOp> params, Value overflow) {
  MuonAttr muon = optimizer.getMuon();
  const FloatAttr threshold = muon ? muon.getLogitThreshold() : FloatAttr();
  if (!threshold)
    return success();
  for (ParamOp param : params)
    if (param.needsGradient() && param.getLogitClip() &&
        failed(clip(builder, param, threshold, overflow)))
      return failure();
  return success();
}

namespace {

/// The placement of trained parameters: the stages whose backward computes
/// their gradients, and their positions in the vector of norms.
struct TrainedParameters {
  llvm::MapVector<int64_t, llvm::SmallVector<ParamOp>> byStage;
  /// The stage of each parameter, by its name.
  llvm::StringMap<int64_t> stages;
  /// The position of each parameter that contributes to the norm. Tied ones do
  /// not.
  llvm::StringMap<int64_t> positions;
  /// The parameters that are tied to each owner, in the model's order.
  struct Tied {
    llvm::SmallVector<mlir::Attribute> names;
    /// The owner's stage, then the stage of each name.
    llvm::SmallVector<int64_t> stages;
  };
  llvm::MapVector<llvm::StringRef, Tied> tied;

  /// Collects the parameters of `model`. Reports a parameter that several
  /// chunks train, and a tied parameter whose owner no chunk trains.
  mlir::LogicalResult build(ModelOp model) {
    mlir::SymbolTable symbols(model);
    llvm::StringMap<std::tuple<int64_t, int64_t, int64_t>> chunks;
    for (auto backward :
         model.getBody().getOps<GradientFunctionOpInterface>()) {
      // The other version of a chunk computes the same gradients.
      if (backward.getPlacement().getKeeps())
        continue;
      int64_t stage = backward.getPlacement().getStage();
      for (auto name :
           backward.getGradients().getAsRange<FlatSymbolRefAttr>()) {
        auto param = symbols.lookup<ParamOp>(name.getValue());
        if (!param)
          return backward->emitOpError("expected a parameter, but got '")
                 << name.getValue() << "'";
        PlacementAttr place = backward.getPlacement();
        auto [known, isNew] = chunks.try_emplace(
            param.getSymName(), stage, place.getChunk(), place.getPiece());
        auto [knownStage, knownChunk, knownPiece] = known->second;
        // All pieces of the sequence add to one gradient.
        if (!isNew && knownStage == stage && knownChunk == place.getChunk() &&
            knownPiece != place.getPiece())
          continue;
        if (!stages.try_emplace(param.getSymName(), stage).second)
          return backward->emitOpError("expected '")
                 << param.getSymName()
                 << "' to be read by one chunk; tie a second parameter to it "
                    "for the other";
        byStage[stage].push_back(param);
      }
    }
    for (ParamOp param : model.getBody().getOps<ParamOp>())
      if (!param.getTied() && !param.getUpdateRule() &&
          stages.contains(param.getSymName()))
        positions.try_emplace(param.getSymName(), positions.size());
    return groupTied(model);
  }

private:
  mlir::LogicalResult groupTied(ModelOp model) {
    for (ParamOp param : model.getBody().getOps<ParamOp>()) {
      std::optional<StringRef> owner = param.getTied();
      if (!owner || !stages.contains(param.getSymName()))
        continue;
      auto ownerStage = stages.find(*owner);
      if (ownerStage == stages.end())
        return param.emitOpError("is tied to '")
               << *owner << "', which no chunk trains";
      Tied &group = tied[*owner];
      if (group.names.empty())
        group.stages.push_back(ownerStage->second);
      group.names.push_back(FlatSymbolRefAttr::get(param.getSymNameAttr()));
      group.stages.push_back(stages.lookup(param.getSymName()));
    }
    return success();
  }
};

/// Builds the update of one stage.
class UpdateBuilder {
public:
  UpdateBuilder(ModelOp model, const TrainedParameters &map, int64_t stage,
                int64_t stages, ArrayRef<ParamOp> params)
      : model(model), training(model.getTrainingAttr()), map(map), stage(stage),
        stages(stages), params(params), builder(model.getContext()),
        loc(model.getLoc()) {}

  LogicalResult build() {
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
      clip(norm, clipping.getMaxNorm().convertToDouble());
    if (failed(update(splitRates(body->getArgument(0)), body->getArgument(1),
                      overflow)))
      return failure();
    updateStatistics();
    ReturnOp::create(builder, loc);
    emitRemark(function);
    return success();
  }

private:
  /// Gradients are summed over ranks in the model's order, which is the same on
  /// all of them.
  void reduceGradients() {
    bool isMean = training.getParallel().getGradientsMean();
    for (ParamOp param : model.getBody().getOps<ParamOp>())
      if (llvm::is_contained(params, param) && needsReduction(param))
        ReduceGradientOp::create(builder, param.getLoc(), param.getSymName(),
                                 param.getLayoutAttr()
                                     ? param.getLayoutAttr().getReduced()
                                     : builder.getArrayAttr({}),
                                 isMean && !param.getUpdateRule());
  }

  void reduceTied() {
    // The model's order makes all stages of a reduction emit their reductions
    // in the same order.
    for (const auto &[owner, group] : map.tied)
      if (llvm::is_contained(group.stages, stage))
        ReduceTiedOp::create(builder, loc, owner,
                             builder.getArrayAttr(group.names), group.stages);
  }

  void unscale(Value lossScale) {
    Value inverse = ReciprocalOp::create(builder, loc, lossScale, nullptr,
                                         nullptr, nullptr);
    ScaleGradientsOp::create(builder, loc, inverse, getGradients());
  }

  /// Returns a vector with the square of the norm of each of `summands` of
  /// which this rank holds a part, at its position.
  Value buildSquares(ArrayRef<ParamOp> summands) {
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

  /// Builds the L2 norm of all gradients of all stages. The squares of parts
  /// are summed only over the ranks that hold the other parts, so that every
  /// element counts once.
  Value buildGlobalNorm() {
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
      squares =
          squares ? Value(AddOp::create(builder, loc, squares, own)) : own;
    }
    if (stages > 1)
      squares = AllReduceOp::create(builder, loc, squares.getType(), squares,
                                    builder.getStrArrayAttr({"pp"}));
    Value sum = ReduceSumOp::create(builder, loc, squares, int64_t(0));
    return SqrtOp::create(builder, loc, sum, nullptr, nullptr, nullptr);
  }

  void clip(Value norm, double maxNorm) {
    if (stage == stages - 1)
      ReportOp::create(builder, loc, norm, "global_norm");
    // min(1, max_norm / (max(norm, max_norm) + 1e-6))
    Value divisor = apply<AddScalarOp>(apply<ClampMinOp>(norm, maxNorm), 1e-6);
    Value inverse =
        ReciprocalOp::create(builder, loc, divisor, nullptr, nullptr, nullptr);
    Value factor = apply<ClampMaxOp>(apply<ScaleOp>(inverse, maxNorm), 1.0);
    ScaleGradientsOp::create(builder, loc, factor, getGradients());
  }

  /// Returns the learning rate of each group of parameters, as scalars.
  SmallVector<Value> splitRates(Value learningRates) {
    auto type = cast<RankedTensorType>(learningRates.getType());
    if (type.getRank() == 0)
      return {learningRates};
    auto scalar = RankedTensorType::get({}, type.getElementType());
    SmallVector<Value> rates;
    for (int64_t group = 0; group < type.getNumElements(); ++group) {
      Value one =
          SliceOp::create(builder, loc, learningRates, group, int64_t(1));
      rates.push_back(ReshapeOp::create(builder, loc, scalar, one));
    }
    return rates;
  }

  LogicalResult update(ArrayRef<Value> rates, Value step, Value overflow) {
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
        if (failed(mf::passes::buildCameUpdate(
                builder, optimizer, step, overflow, param, getRate(param))))
          return failure();
        continue;
      }
      const StringRef name = param.getTied().value_or(param.getSymName());
      const int64_t rank = param.getTensorType().getRank();
      if (MuonAttr muon = optimizer.getMuon();
          muon && muon.trains(name, rank)) {
        matrices.push_back(param);
        continue;
      }
      const bool decays = optimizer.decays(name, rank);
      AdamWOp::create(
          builder, param.getLoc(),
          FlatSymbolRefAttr::get(param.getSymNameAttr()), getRate(param), step,
          overflow, /*factors=*/ValueRange(), number(optimizer.getBeta1()),
          number(optimizer.getBeta2()), number(optimizer.getEps()),
          decays ? number(optimizer.getWeightDecay())
                 : builder.getF64FloatAttr(0.0),
          builder.getBoolAttr(optimizer.getBiasCorrection()),
          optimizer.getCorrectsEps() ? builder.getUnitAttr() : UnitAttr());
      if (WeightAverageAttr average = optimizer.getAverage())
        AverageWeightOp::create(builder, param.getLoc(), param.getSymName(),
                                step, overflow, average);
    }
    if (!matrices.empty())
      mf::passes::buildMuonUpdates(builder, optimizer, overflow, matrices,
                                   getRate);
    return clipLogits(builder, optimizer, params, overflow);
  }

  void updateStatistics() {
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

  /// Reports, for each row, the sum over experts of the amount by which their
  /// shares exceed `threshold`.
  void reportDropRate(ParamOp param, Value shares, StringRef quantity,
                      double threshold) {
    Value above =
        apply<ClampMinOp>(apply<AddScalarOp>(shares, -threshold), 0.0);
    Value rate =
        ReduceSumOp::create(builder, param.getLoc(), above, int64_t(1));
    ReportOp::create(builder, param.getLoc(), rate,
                     (quantity + param.getSymName()).str());
  }

  /// Emits a remark on the stage's update with the decisions made here: the
  /// parameters that do not decay, and the gradients that are summed over
  /// stages.
  void emitRemark(UpdateOp function) {
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
           << remark::metric("parameters", llvm::range_size(steps) +
                                               llvm::range_size(matrices))
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
