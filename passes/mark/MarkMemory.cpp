//===- MarkMemory.cpp - Marks recomputed and swapped operators ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelSignature.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/adapters/AdapterPlan.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/config/TrainingCheck.h"
#include "passes/mark/ExpertLevels.h"
#include "passes/mark/KeptOperators.h"
#include "passes/mark/LayerCommunication.h"
#include "passes/mark/LayerReport.h"
#include "passes/mark/SliceActivation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {
#define GEN_PASS_DEF_MARKMEMORY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::LayerCommunication;

namespace {

/// Returns true if a result of `op` leaves `cell`, possibly through views and
/// collectives. A recomputed Cell keeps the values that leave it.
bool escapes(Operation *op, const LayerTarget &cell,
             const LayerCommunication &communication) {
  for (Operation *user : op->getUsers()) {
    auto compute = dyn_cast<ComputeOpInterface>(user);
    bool isInserted = communication.isInserted(user);
    if (!compute || (!isInserted && !cell.contains(compute.getCellName())))
      return true;
    if ((isInserted || compute.isView()) && escapes(user, cell, communication))
      return true;
  }
  return false;
}

/// Returns the names of one layer against which patterns are matched.
CellTree buildCellTree(LayerOp layer, mlir::SymbolTable &symbols,
                       bool selectRecompute, bool isOfDynamicGraph) {
  CellTree tree;
  if (std::optional<StringRef> name = layer.getCellTree())
    if (auto names = symbols.lookup<CellTreeOp>(*name))
      for (StringRef path : names.getNames().getAsValueRange<StringAttr>())
        tree.addOperator(path);
  LayerCommunication communication(layer);
  std::vector<std::string> operators;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>())
    operators.push_back(op.getCellName().str());
  // The dynamic graph has its adapters before patterns are matched.
  std::set<std::string> adapters;
  if (!isOfDynamicGraph)
    adapters = mf::passes::findAdapterOperators(operators);
  bool usesFlashAttention = false;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    StringRef path = op.getCellName();
    if (path.empty() || communication.isInserted(op) ||
        adapters.count(path.str()) > 0)
      continue;
    tree.addOperator(path);
    usesFlashAttention |= path.ends_with(".flash_attention");
  }
  setModelPresets(tree, selectRecompute, usesFlashAttention);
  mf::passes::ExpertLevels(layer).addNames(tree);
  return tree;
}

/// Makes the plan for a model's body layers.
class LayerMarker {
public:
  explicit LayerMarker(ModelOp model)
      : model(model), symbols(model),
        recompute(mf::passes::getRecomputeConfig(model.getTrainingAttr())) {}

  std::optional<LayerPlan> plan();
  /// Returns the layers for the first piece of the sequence.
  ArrayRef<LayerOp> getLayers() const { return layers; }
  /// Returns the versions of layer `number` for all pieces of the sequence.
  ArrayRef<LayerOp> getPieces(size_t number) const { return pieces[number]; }

private:
  ModelOp model;
  mlir::SymbolTable symbols;
  RecomputeConfig recompute;
  SmallVector<LayerOp> layers;
  std::vector<SmallVector<LayerOp, 1>> pieces;
};

std::optional<LayerPlan> LayerMarker::plan() {
  bool selects = recompute.selectRecompute.isTruthy();
  std::vector<CellTree> trees;
  // The index of each layer in the stage map. A layer that joins the next one
  // shares its index.
  std::vector<int64_t> stageNumbers;
  int64_t nextNumber = 0;
  llvm::StringMap<size_t> numbers;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    if (layer.getKind() != LayerKind::Body)
      continue;
    auto [number, isFirst] =
        numbers.try_emplace(layer.getCell(), layers.size());
    if (!isFirst) {
      pieces[number->second].push_back(layer);
      continue;
    }
    layers.push_back(layer);
    stageNumbers.push_back(layer.getJoinsNext() ? nextNumber : nextNumber++);
    pieces.push_back({layer});
    trees.push_back(
        buildCellTree(layer, symbols, selects, recompute.isOfDynamicGraph));
  }
  FailureOr<StageMap> stages = mf::passes::readStageMap(model);
  if (failed(stages))
    return std::nullopt;
  DiagnosticList diagnostics;
  SwapConfig swap = mf::passes::getSwapConfig(model.getTrainingAttr());
  ParallelAttr parallel = model.getTrainingAttr().getParallel();
  NameFamily names = model.getFamily().value_or("").starts_with("mcore")
                         ? NameFamily::Mcore
                         : NameFamily::Classic;
  LayerPlanInput input{recompute, swap, *stages,
                       names,     {},   parallel.getGradientGroups()};
  for (auto [number, tree] : llvm::zip_equal(stageNumbers, trees))
    input.layers.push_back({number, &tree});
  LayerPlan plan = planLayers(input, diagnostics);
  if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics))
    return std::nullopt;
  for (auto [layer, effects] : llvm::zip_equal(layers, plan.layers))
    mf::passes::ExpertLevels(layer).addShared(effects);
  return plan;
}

/// Returns why `op` is recomputed, or none if no setting applies to it.
std::optional<RecomputeKind> getMark(const LayerEffects &effects,
                                     const LayerCommunication &communication,
                                     ComputeOpInterface op,
                                     ArrayRef<std::string> keptOperators) {
  const RecomputeTarget *setting =
      effects.getRecomputeSetting(op.getCellName());
  if (!setting)
    return std::nullopt;
  if (!setting->enabled || mf::passes::isKeptOperator(op, keptOperators))
    return RecomputeKind::Excluded;
  if (setting->isPreset)
    return RecomputeKind::Preset;
  if (setting->isCell && escapes(op, *setting, communication))
    return RecomputeKind::Output;
  return effects.fullRecompute && setting->path.empty() ? RecomputeKind::Full
                                                        : RecomputeKind::Select;
}

/// Returns a recomputed operator that reads a result of `op`, possibly through
/// views.
ComputeOpInterface findRecomputedReader(Operation *op) {
  for (Operation *user : op->getUsers()) {
    auto compute = dyn_cast<ComputeOpInterface>(user);
    if (!compute)
      continue;
    if (isMarkedForRecompute(compute))
      return compute;
    if (compute.isView())
      if (ComputeOpInterface reader = findRecomputedReader(user))
        return reader;
  }
  return nullptr;
}

/// The result of a collective on a swapped value is swapped too.
std::optional<int64_t>
getSentPrefetch(ComputeOpInterface op,
                const LayerCommunication &communication) {
  if (op.getEngine() != Engine::Communication)
    return std::nullopt;
  ComputeOpInterface producer = communication.findProducer(op);
  while (producer && !producer.getSwapMark() && producer.isView())
    producer = communication.findProducer(producer);
  return producer ? producer.getSwapMark() : std::nullopt;
}

void warnAboutReader(const LayerEffects &effects, StringRef path,
                     ComputeOpInterface reader,
                     const LayerCommunication &communication,
                     DiagnosticList &diagnostics) {
  std::string name = reader.getCellName().str();
  const RecomputeTarget *setting = effects.getRecomputeSetting(name);
  if (communication.isInserted(reader)) {
    name = "the communication of " + name;
    setting = communication.getSetting(reader);
  }
  warnAboutSwapConflict(effects, path, name, setting, diagnostics);
}

/// Marks swapped operators after all recompute marks of the layer are set.
/// Warns once for each name whose swap has no effect because of recompute,
/// unless the model itself requires the recompute, which the user cannot
/// change.
void markSwap(LayerOp layer, const LayerEffects &effects,
              const LayerCommunication &communication,
              DiagnosticList &diagnostics) {
  llvm::StringSet<> warned;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    op.setSwapMark(std::nullopt);
    bool isInserted = communication.isInserted(op);
    StringRef path = op.getCellName();
    std::optional<int64_t> prefetch = isInserted
                                          ? getSentPrefetch(op, communication)
                                          : effects.getSwapPrefetch(path);
    if (!prefetch || isMarkedForRecompute(op))
      continue;
    ComputeOpInterface reader = findRecomputedReader(op);
    if (!reader)
      op.setSwapMark(prefetch);
    else if (!isInserted &&
             *reader.getRecomputeMark() != RecomputeKind::Preset &&
             warned.insert(path).second)
      warnAboutReader(effects, path, reader, communication, diagnostics);
  }
}

struct MarkMemoryPass : mf::passes::PrintingPass<
                            mf::passes::impl::MarkMemoryBase<MarkMemoryPass>> {
  using PrintingPass::PrintingPass;
  MarkMemoryPass(const mf::passes::MarkMemoryOptions &options,
                 mf::passes::LayerReportHandler handler)
      : PrintingPass(options), handler(std::move(handler)) {}

  void runOnOperation() override {
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    LayerMarker planner(model);
    std::optional<LayerPlan> plan = planner.plan();
    if (!plan)
      return signalPassFailure();
    ArrayRef<LayerOp> layers = planner.getLayers();
    // The diagnostics for the first piece apply to all pieces.
    DiagnosticList diagnostics, repeated;
    mf::passes::ActivationSlicer slicer(model);
    keptOperators =
        mf::passes::getRecomputeConfig(model.getTrainingAttr()).keptOperators;
    mf::passes::countSwapKernels(layers, plan->layers);
    for (auto [number, effects] : llvm::enumerate(plan->layers))
      for (LayerOp layer : planner.getPieces(number))
        mark(layer, effects, slicer,
             layer == layers[number] ? diagnostics : repeated);
    if (!quiet) {
      mf::passes::PrintedPlan text(model);
      plan->printLog(text.os());
      plan->printTable(text.os());
    }
    if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics))
      return signalPassFailure();
    mf::passes::emitLayerRemarks(model, layers, *plan);
    if (handler)
      handler(mf::passes::makeLayerReport(model, layers, *plan));
  }

private:
  /// `effects` then has what the layer really gets.
  void mark(LayerOp layer, LayerEffects &effects,
            mf::passes::ActivationSlicer &slicer,
            DiagnosticList &diagnostics) const {
    LayerCommunication communication(layer);
    for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
      if (communication.isInserted(op))
        continue;
      // A preset of an earlier pass stays where no setting asks for recompute.
      std::optional<RecomputeKind> mark =
          getMark(effects, communication, op, keptOperators);
      const bool isSet = mark && *mark != RecomputeKind::Output;
      if (isSet || op.getRecomputeMark() != RecomputeKind::Preset)
        op.setRecomputeMark(mark);
    }
    mf::passes::ExpertLevels(layer).mark(effects);
    communication.markRecompute(effects);
    markSwap(layer, effects, communication, diagnostics);
    if (effects.sliceActivation)
      effects.sliceActivation = slicer.slice(layer, communication);
  }

  mf::passes::LayerReportHandler handler;
  /// Name parts of operators whose results recomputed cells keep.
  std::vector<std::string> keptOperators;
};

} // namespace

std::unique_ptr<Pass>
mf::passes::createMarkMemory(const MarkMemoryOptions &options,
                             LayerReportHandler handler) {
  return std::make_unique<MarkMemoryPass>(options, std::move(handler));
}
