//===- AccountTrainer.cpp - The device memory of a YAML's trainer ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Pipeline/Policy.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/trainer/TrainerTape.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {

#define GEN_PASS_DEF_ACCOUNTTRAINER
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::TapedChunk;
using mf::trainer::getBlockBytes;
using mf::trainer::TrainerCategory;
using mf::trainer::TrainerPeak;
using mf::trainer::TrainerStage;

namespace {

/// The chunks of a model, in the order of execution, and their tasks.
struct TapedModel {
  std::vector<TapedChunk> chunks;
  schedule::Schedule schedule;
};

/// Counts the weights and states of a stage.
class StateCounter {
public:
  explicit StateCounter(ModelOp model)
      : training(model.getTrainingAttr()), symbols(model) {}

  void add(const TapedChunk &chunk) {
    for (LayerOp layer : chunk.layers)
      for (auto read : layer.getBody().getOps<GetParamOp>()) {
        auto param = symbols.lookup<ParamOp>(read.getParam());
        // On one stage, tied parameters are one weight of the trainer.
        if (!param.getFrozen() &&
            seen.insert(param.getTied().value_or(param.getSymName())).second)
          add(param);
      }
  }

  TrainerStage finish() {
    // AdamW works on one weight at a time: the next weight, the denominator,
    // the quotient and a product, in fp32.
    constexpr int64_t numTemporaries = 4;
    memory.update.bytes[TrainerCategory::Values] = numTemporaries * largest;
    memory.update.bytes[TrainerCategory::GradientSums] = gradients;
    memory.update.at = "largest weight";
    return std::move(memory);
  }

private:
  void add(ParamOp param) {
    const int64_t elements = param.getStoredType().getNumElements();
    Type kept = KeptType::find(param);
    if (!kept)
      kept = param.getTensorType().getElementType();
    const int64_t width = kept.getIntOrFloatBitWidth() / 8;
    const int64_t wide = getBlockBytes(elements * 4);
    memory.always[TrainerCategory::States] += getBlockBytes(elements * width);
    if (param.getGathered())
      memory.always[TrainerCategory::GatheredWeights] +=
          getBlockBytes(getTensorBytes(*param.getGathered()));
    else if (training.getParallel().getStages() > 1 &&
             mf::passes::findWholeSharing(param))
      memory.always[TrainerCategory::GatheredWeights] +=
          getBlockBytes(elements * width);
    if (!param.needsGradient() || param.getUpdateRule())
      return;
    // A copy in fp32 of a narrower weight, and the moments.
    memory.always[TrainerCategory::States] +=
        wide * ((width < 4 ? 1 : 0) + (hasSecondMoment(param) ? 2 : 1));
    largest = std::max(largest, wide);
    gradients += wide;
  }

  bool hasSecondMoment(ParamOp param) {
    MuonAttr muon = training.getOptimizer().getMuon();
    return !muon || !muon.trains(param.getTied().value_or(param.getSymName()),
                                 param.getTensorType().getRank());
  }

  TrainingAttr training;
  SymbolTable symbols;
  TrainerStage memory;
  /// The fp32 copy of the largest weight that the optimizer updates, and the
  /// fp32 gradients of all.
  int64_t largest = 0, gradients = 0;
  llvm::StringSet<> seen;
};

} // namespace

static DictionaryAttr toAttribute(const TrainerPeak &peak, Builder &builder) {
  NamedAttrList parts, attributes;
  peak.moment.bytes.visit([&](TrainerCategory category, int64_t bytes) {
    parts.set(trainer::getKey(category), builder.getI64IntegerAttr(bytes));
  });
  attributes.set("live",
                 builder.getI64IntegerAttr(peak.moment.bytes.getTotal()));
  attributes.set("task", builder.getStringAttr(peak.task));
  attributes.set("at", builder.getStringAttr(peak.moment.at));
  attributes.set("parts", parts.getDictionary(builder.getContext()));
  attributes.set("lasting", builder.getI64IntegerAttr(peak.lastingBytes));
  attributes.set("kept_by_chunk",
                 builder.getDenseI64ArrayAttr(peak.keptByChunk));
  return attributes.getDictionary(builder.getContext());
}

static void emitRemark(ModelOp model, int64_t stage, const TrainerPeak &peak) {
  std::string parts;
  peak.moment.bytes.visit([&](TrainerCategory category, int64_t bytes) {
    parts += (parts.empty() ? "" : ", ") + trainer::getName(category).str() +
             " " + std::to_string(bytes);
  });
  remark::analysis(
      model.getLoc(),
      remark::RemarkOpts::name("Trainer").category("memory").function(
          model.getSymName()))
      << remark::add("on stage {0} the trainer holds most in {1} at {2}", stage,
                     peak.task, peak.moment.at)
      << remark::metric("bytes", peak.moment.bytes.getTotal())
      << remark::metric("parts", parts);
}

namespace {

struct AccountTrainerPass
    : mf::passes::impl::AccountTrainerBase<AccountTrainerPass> {

  void runOnOperation() override {
    // The attribute is for reports and limits.
    markAllAnalysesPreserved();
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    // The compiler of the static graph plans a step as mf does.
    if (!model.getTrainingAttr().getDynamicGraph())
      return;
    FailureOr<TapedModel> taped = readModel();
    if (failed(taped))
      return signalPassFailure();
    std::vector<trainer::ChunkMemory> chunks;
    for (const TapedChunk &chunk : taped->chunks)
      chunks.push_back(mf::passes::tapeChunk(model, chunk));
    Builder builder(&getContext());
    SmallVector<Attribute> stages;
    const schedule::Pipeline &pipeline = taped->schedule.pipeline;
    for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
      StateCounter states(model);
      for (auto [number, chunk] : llvm::enumerate(taped->chunks))
        if (pipeline.stageOfChunk[number] == stage)
          states.add(chunk);
      TrainerStage memory = states.finish();
      memory.always[TrainerCategory::Tables] +=
          mf::passes::getLastingMaskBytes(model);
      const TrainerPeak peak =
          trainer::findPeak(taped->schedule, stage, chunks, memory);
      stages.push_back(toAttribute(peak, builder));
      emitRemark(model, stage, peak);
    }
    model.setTrainerMemoryAttr(builder.getArrayAttr(stages));
  }

private:
  FailureOr<TapedModel> readModel() {
    ModelOp model = getOperation();
    ParallelAttr parallel = model.getTrainingAttr().getParallel();
    TapedModel result;
    schedule::Pipeline pipeline;
    pipeline.stages = parallel.getStages();
    pipeline.microBatches = parallel.getMicroBatches();
    pipeline.stageOfChunk.clear();
    PlacementAttr last;
    for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
      PlacementAttr placement = layer.getPlacementAttr();
      if (!placement)
        return layer.emitOpError("has no placement; run mf-partition first");
      if (placement != last) {
        pipeline.stageOfChunk.push_back(placement.getStage());
        result.chunks.emplace_back();
        result.chunks.back().hasInputGradient = static_cast<bool>(last);
        last = placement;
      }
      result.chunks.back().layers.push_back(layer);
    }
    for (TapedChunk &chunk : llvm::drop_end(result.chunks))
      chunk.hasReader = true;
    llvm::Expected<const schedule::Policy *> policy = schedule::findPolicy(
        getScheduleName(parallel.getScheduler(), parallel.getInterleave()));
    if (!policy)
      return model.emitOpError("cannot be scheduled: ")
             << llvm::toString(policy.takeError()) << " ("
             << mf::known::nameOf(&mf::ParallelConfig::pipelineScheduler)
             << ")";
    llvm::Expected<schedule::Schedule> schedule =
        schedule::buildSchedule(**policy, pipeline);
    if (!schedule)
      return model.emitOpError("cannot be scheduled: ")
             << llvm::toString(schedule.takeError());
    result.schedule = std::move(*schedule);
    return result;
  }
};

} // namespace
