//===- ShardOptimizer.cpp - Shards parameters over ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/optimizer/ParameterReads.h"
#include "passes/optimizer/StoragePlan.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

#define GEN_PASS_DEF_SHARDOPTIMIZER
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// A parameter and all parameters that are tied to it. They have one storage.
struct TiedGroup {
  SmallVector<ParamOp> params;
  SmallVector<GetParamOp> reads;
};

} // namespace

static bool isRecomputed(LayerOp layer) {
  return llvm::any_of(layer.getBody().getOps<ComputeOpInterface>(),
                      [](ComputeOpInterface op) {
                        return op.getRecomputeMark() == RecomputeKind::Full;
                      });
}

static bool isKeptWide(ParamOp param, Type element) {
  Type kept = KeptType::find(param);
  return kept && kept != element;
}

namespace {

class OptimizerSharder {
public:
  OptimizerSharder(ModelOp model, ParallelAttr parallel, bool gathersAgain,
                   bool printPlan)
      : model(model), settings(parallel.getOptimizerShard()),
        hasOneBackward(parallel.hasOneBackward()),
        hasOneStage(parallel.getStages() == 1), gathersAgain(gathersAgain),
        printPlan(printPlan), mesh(MeshAttr::find(model)),
        builder(model.getContext()) {}

  LogicalResult run() {
    collect();
    std::vector<UsedParameter> parameters;
    for (auto &entry : groups)
      parameters.push_back(describe(entry.second));
    std::vector<StorageDecision> decisions =
        planStorage(mesh, settings.getThreshold(),
                    settings.getWeightShardSize(), parameters);
    if (printPlan)
      printStorage(parameters, decisions, mf::passes::PrintedPlan(model).os());
    if (failed(check(parameters, decisions)))
      return failure();
    warn(parameters, decisions);
    for (auto [entry, decision] : llvm::zip_equal(groups, decisions)) {
      if (!decision.axes.empty())
        share(entry.second, decision);
      emitRemark(entry.second, decision);
    }
    return success();
  }

private:
  void collect() {
    for (auto param : model.getBody().getOps<ParamOp>())
      if (!param.getFrozen())
        groups[param.getTied().value_or(param.getSymName())].params.push_back(
            param);
    const SymbolTable symbols(model);
    model.walk([&](GetParamOp read) {
      auto param = symbols.lookup<ParamOp>(read.getParam());
      if (param && !param.getFrozen())
        groups[param.getTied().value_or(param.getSymName())].reads.push_back(
            read);
    });
  }

  UsedParameter describe(TiedGroup &group) {
    ParamOp param = group.params.front();
    RankedTensorType type = param.getTensorType();
    UsedParameter used;
    used.name = param.getSymName();
    used.shape.assign(type.getShape().begin(), type.getShape().end());
    used.elementBytes = type.getElementTypeBitWidth() / 8;
    used.dim = static_cast<size_t>(param.getStorageDim());
    used.isOptedIn = llvm::all_of(group.params, [](ParamOp member) {
      return member.getParallelOptimizer() && !member.getUpdateRule();
    });
    used.layout = Layout(param.getLayoutAttr(), type.getRank());
    if (std::optional<ParameterSharing> sharing =
            ParameterSharing::find(param)) {
      used.sharing.emplace(sharing->axes.begin(), sharing->axes.end());
      used.mustDivide = sharing->mustDivide;
    }
    return used;
  }

  void share(TiedGroup &group, const StorageDecision &decision) {
    for (ParamOp param : group.params) {
      auto rank = param.getTensorType().getRank();
      Layout stored(param.getLayoutAttr(), rank);
      llvm::append_range(stored.cuts[param.getStorageDim()], decision.axes);
      llvm::erase_if(stored.reduced, [&](StringRef axis) {
        return llvm::is_contained(decision.axes, axis);
      });
      param.setStoredAttr(stored.getAttr(model.getContext()));
    }
    const bool isAgain = isGatheredAgain(group);
    const bool isForPass =
        hasOneBackward ||
        (hasOneStage && ParameterSharing::find(group.params.front()));
    if (!isAgain && !isForPass)
      return gatherOnce(group);
    for (GetParamOp read : group.reads)
      gatherInLayer(read, model.lookupSymbol<ParamOp>(read.getParam()),
                    isAgain);
  }

  /// Returns the type in which ranks keep the parameter; without one the type
  /// to which all readers convert it, or its own. A smaller type reduces the
  /// bytes that are sent and kept.
  Type getGatheredElement(TiedGroup &group) {
    if (Type kept = KeptType::find(group.params.front()))
      return kept;
    Type own = group.params.front().getTensorType().getElementType();
    Type common;
    for (GetParamOp read : group.reads)
      for (Operation *user : read->getUsers()) {
        auto cast = dyn_cast<CastOp>(user);
        Type type = cast ? getElementTypeOrSelf(cast.getType()) : own;
        if (common && common != type)
          return own;
        common = type;
      }
    return common ? common : own;
  }

  /// Returns whether backward gathers the parameter again, so that it need not
  /// live from forward to backward.
  bool isGatheredAgain(TiedGroup &group) {
    if (auto sharing = ParameterSharing::find(group.params.front()))
      return sharing->gathersAgain;
    if (settings.getLevel() > 2)
      return true;
    return gathersAgain && llvm::all_of(group.reads, [](GetParamOp read) {
             return isRecomputed(read->getParentOfType<LayerOp>());
           });
  }

  /// Makes layers read the parameter that was gathered at the start of the
  /// step.
  void gatherOnce(TiedGroup &group) {
    Type element = getGatheredElement(group);
    for (ParamOp param : group.params) {
      param.setGatheredAttr(TypeAttr::get(param.getLocalType().clone(element)));
      param.setScatterGradients(param.getStored() && settings.getLevel() > 1);
    }
    for (GetParamOp read : group.reads) {
      auto type = cast<RankedTensorType>(read.getType());
      if (type.getElementType() == element)
        continue;
      read.getResult().setType(type.clone(element));
      for (Operation *user : llvm::make_early_inc_range(read->getUsers())) {
        user->getResult(0).replaceAllUsesWith(read.getResult());
        user->erase();
      }
    }
  }

  /// Makes a layer gather the parameter itself and, if `isAgain` is true, again
  /// in backward.
  void gatherInLayer(GetParamOp read, ParamOp param, bool isAgain) {
    GradientReduction reduction = param.getReduction();
    std::string name = getNameInLayer(read, "gather");
    const int64_t unit = getUnit(read);
    const auto dim = static_cast<int64_t>(param.getStorageDim());
    read.getResult().setType(param.getStoredType());
    Value part = read.getResult();
    CastOp conversion = getConversion(read);
    Type element =
        conversion ? getElementTypeOrSelf(conversion.getType()) : Type();
    if (conversion && !isKeptWide(param, element)) {
      part = conversion.getResult();
      part.setType(param.getStoredType().clone(element));
    }
    builder.setInsertionPointAfterValue(part);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : part.getUses())
      uses.push_back(&use);
    auto gather = [&](Value value, ArrayAttr axes, bool isReplicated) -> Value {
      if (axes.empty())
        return value;
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] *= getGroupSize(model, axes);
      auto op = AllGatherOp::create(builder, value.getLoc(), type.clone(shape),
                                    value, axes, dim, isReplicated);
      op.setCellName(name);
      op.setWideGradient(ParameterSharing::find(param).has_value());
      if (ParameterSharing::find(param))
        CollectiveUnit::setOn(op, unit);
      if (isAgain)
        op.setRecomputeMark(RecomputeKind::Preset);
      return op;
    };
    Value whole = gather(part, reduction.own, /*isReplicated=*/true);
    whole = gather(whole, reduction.scatter, /*isReplicated=*/false);
    for (OpOperand *use : uses)
      use->set(whole);
  }

  void emitRemark(TiedGroup &group, const StorageDecision &decision) {
    ParamOp param = group.params.front();
    remark::RemarkOpts options = remark::RemarkOpts::name("OptimizerShard")
                                     .category("optimizer")
                                     .function(model.getSymName());
    if (decision.axes.empty()) {
      remark::missed(param.getLoc(), options) << remark::add(
          "'{0}' stays on each rank: {1}", param.getSymName(), decision.reason);
      return;
    }
    remark::passed(param.getLoc(), options)
        << remark::add("'{0}' is sharded over [{1}]: {2}", param.getSymName(),
                       llvm::join(decision.axes, ", "), decision.reason)
        << remark::metric("elements before",
                          param.getLocalType().getNumElements())
        << remark::metric("elements", param.getStoredType().getNumElements());
  }

  LogicalResult check(ArrayRef<UsedParameter> parameters,
                      ArrayRef<StorageDecision> decisions) {
    for (auto [parameter, decision] : llvm::zip_equal(parameters, decisions)) {
      if (!decision.isError)
        continue;
      LocationAttr key = model.getTrainingAttr().getLocation(
          mf::getRankKey(parameter.sharing->front()));
      auto param = model.lookupSymbol<ParamOp>(parameter.name);
      return emitError(key ? mlir::Location(key) : param.getLoc())
             << "'" << parameter.name << "' cannot be sharded over ["
             << llvm::join(*parameter.sharing, ", ") << "]: " << decision.reason
             << "; choose fewer ranks to shard parameters over";
    }
    return success();
  }

  /// Emits one warning for each reason, at the YAML's key, which names the
  /// first of the parameters.
  void warn(ArrayRef<UsedParameter> parameters,
            ArrayRef<StorageDecision> decisions) {
    llvm::MapVector<StringRef, SmallVector<StringRef>> names;
    for (auto [parameter, decision] : llvm::zip_equal(parameters, decisions))
      if (decision.isWarning)
        names[decision.reason].push_back(parameter.name);
    LocationAttr key = model.getTrainingAttr().getLocation(
        mf::known::nameOf(&mf::OptimizerShardConfig::weightShardSize));
    for (const auto &[reason, kept] : names) {
      auto first = model.lookupSymbol<ParamOp>(kept.front());
      InFlightDiagnostic warning =
          emitWarning(key ? mlir::Location(key) : first.getLoc());
      warning << "'" << kept.front() << "'";
      if (kept.size() > 1)
        warning << " and " << kept.size() - 1 << " more";
      warning << (kept.size() > 1 ? " are" : " is")
              << " not sharded: " << reason;
    }
  }

  ModelOp model;
  OptimizerShardAttr settings;
  bool hasOneBackward, hasOneStage;
  /// True if recomputed layers gather again in backward, on any level.
  bool gathersAgain;
  bool printPlan;
  MeshSizes mesh;
  OpBuilder builder;
  llvm::MapVector<StringRef, TiedGroup> groups;
};

struct ShardOptimizerPass
    : mf::passes::PrintingPass<
          mf::passes::impl::ShardOptimizerBase<ShardOptimizerPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    TrainingAttr training = model.getTrainingAttr();
    ParallelAttr parallel = training.getParallel();
    bool gathersAgain = parallel.getGathersAgain() && mayGatherAgain(training);
    if (parallel.getOptimizerShard() &&
        failed(
            OptimizerSharder(model, parallel, gathersAgain, printPlan).run()))
      signalPassFailure();
  }

private:
  /// A parameter that is gathered once in a step stays whole for all
  /// micro-batches.
  static bool mayGatherAgain(TrainingAttr training) {
    using mf::known::nameOf;
    const StringRef key =
        nameOf(&mf::RecomputeConfig::parallelOptimizerCommRecompute);
    ParallelAttr parallel = training.getParallel();
    OptimizerShardAttr settings = parallel.getOptimizerShard();
    std::string reason;
    if (!settings)
      reason =
          (nameOf(&mf::ParallelConfig::enableParallelOptimizer) + " is False")
              .str();
    else if (settings.getLevel() > 2)
      return true;
    else if (parallel.getStages() > 1)
      reason = "with " + nameOf(&mf::ParallelConfig::pipelineStage).str() +
               " " + std::to_string(parallel.getStages()) +
               " parameters are gathered once in a step";
    else if (!parallel.hasOneBackward())
      reason = (parallel.getMicroBatches() > 1
                    ? "with " +
                          nameOf(&mf::RunnerConfig::gradientAccumulationSteps)
                              .str() +
                          " " + std::to_string(parallel.getMicroBatches())
                    : "with " + nameOf(&mf::ParallelConfig::seqSplitNum).str() +
                          " " + std::to_string(parallel.getSequencePieces())) +
               " parameters are gathered once in a step";
    else
      return true;
    if (LocationAttr place = training.getLocation(key))
      emitWarning(place) << key << " has no effect: " << reason;
    return false;
  }
};

} // namespace
