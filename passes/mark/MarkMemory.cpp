//===- MarkMemory.cpp - Mark what is recomputed, and what is swapped ------===//

#include "passes/Passes.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/mark/LayerReport.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {
#define GEN_PASS_DEF_MARKMEMORY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;

namespace {

/// True if `path` is `cell` or below it; every path is below the empty one.
bool isBelow(StringRef path, StringRef cell) {
  return path.consume_front(cell) &&
         (cell.empty() || path.empty() || path.starts_with("."));
}

/// True if a result of `op` leaves `cell`, maybe through views. A recomputed
/// Cell keeps what leaves it.
bool escapes(Operation *op, StringRef cell) {
  for (Operation *user : op->getUsers()) {
    auto compute = dyn_cast<ComputeOpInterface>(user);
    if (!compute || !isBelow(compute.getCellName(), cell))
      return true;
    if (compute.isView() && escapes(user, cell))
      return true;
  }
  return false;
}

/// The names of one layer as patterns see them.
CellTree buildCellTree(LayerOp layer, mlir::SymbolTable &symbols,
                       bool selectRecompute) {
  CellTree tree;
  if (std::optional<StringRef> name = layer.getCellTree())
    if (auto names = symbols.lookup<CellTreeOp>(*name))
      for (StringRef path : names.getNames().getAsValueRange<StringAttr>())
        tree.addOperator(path);
  bool usesFlashAttention = false;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    StringRef path = op.getCellName();
    if (path.empty())
      continue;
    tree.addOperator(path);
    usesFlashAttention |= path.ends_with(".flash_attention");
  }
  setModelPresets(tree, selectRecompute, usesFlashAttention);
  return tree;
}

/// Makes the plan of a model's body layers.
class LayerPlanner {
public:
  explicit LayerPlanner(ModelOp model)
      : model(model), symbols(model),
        recompute(mf::passes::getRecomputeConfig(model.getTrainingAttr())) {}

  std::optional<LayerPlan> plan();
  ArrayRef<LayerOp> getLayers() const { return layers; }

private:
  ModelOp model;
  mlir::SymbolTable symbols;
  RecomputeConfig recompute;
  SmallVector<LayerOp> layers;
};

std::optional<LayerPlan> LayerPlanner::plan() {
  bool selects = recompute.selectRecompute.isTruthy();
  std::vector<CellTree> trees;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    if (layer.getKind() != LayerKind::Body)
      continue;
    layers.push_back(layer);
    trees.push_back(buildCellTree(layer, symbols, selects));
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
  for (auto [index, tree] : llvm::enumerate(trees))
    input.layers.push_back({static_cast<int64_t>(index), &tree});
  LayerPlan plan = planLayers(input, diagnostics);
  if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics))
    return std::nullopt;
  return plan;
}

/// Why `op` is recomputed or not, or none if nothing is said about it.
std::optional<RecomputeKind> getMark(const LayerEffects &effects,
                                     ComputeOpInterface op) {
  const RecomputeTarget *setting =
      effects.getRecomputeSetting(op.getCellName());
  if (!setting)
    return std::nullopt;
  if (!setting->enabled)
    return RecomputeKind::Excluded;
  if (setting->isPreset)
    return RecomputeKind::Preset;
  if (setting->isCell && escapes(op, setting->path))
    return std::nullopt;
  return effects.fullRecompute && setting->path.empty() ? RecomputeKind::Full
                                                        : RecomputeKind::Select;
}

/// A recomputed operator that reads a result of `op`, maybe through views.
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

/// Marks what is swapped once all recompute marks of the layer are set. Warns
/// once for each name whose swap recompute undoes, unless the model itself
/// wants the recompute: then there is nothing to mend.
void markSwap(LayerOp layer, const LayerEffects &effects,
              DiagnosticList &diagnostics) {
  llvm::StringSet<> warned;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    op.setSwapMark(std::nullopt);
    StringRef path = op.getCellName();
    std::optional<int64_t> prefetch = effects.getSwapPrefetch(path);
    if (!prefetch || isMarkedForRecompute(op))
      continue;
    ComputeOpInterface reader = findRecomputedReader(op);
    if (!reader)
      op.setSwapMark(prefetch);
    else if (*reader.getRecomputeMark() != RecomputeKind::Preset &&
             warned.insert(path).second)
      warnAboutSwapConflict(effects, path, reader.getCellName(), diagnostics);
  }
}

struct MarkMemoryPass : mf::passes::impl::MarkMemoryBase<MarkMemoryPass> {
  using MarkMemoryBase::MarkMemoryBase;
  MarkMemoryPass(const mf::passes::MarkMemoryOptions &options,
                 mf::passes::LayerReportHandler handler)
      : MarkMemoryBase(options), handler(std::move(handler)) {}

  void runOnOperation() override {
    ModelOp model = getOperation();
    if (!model.getTraining()) {
      model.emitOpError("has no training configuration; run mf-read-config "
                        "first");
      return signalPassFailure();
    }
    LayerPlanner planner(model);
    std::optional<LayerPlan> plan = planner.plan();
    if (!plan)
      return signalPassFailure();
    if (!quiet) {
      plan->printLog(llvm::errs());
      plan->printTable(llvm::errs());
    }
    ArrayRef<LayerOp> layers = planner.getLayers();
    DiagnosticList diagnostics;
    for (const LayerEffects &effects : plan->layers) {
      LayerOp layer = layers[static_cast<size_t>(effects.layer)];
      for (auto op : layer.getBody().getOps<ComputeOpInterface>())
        op.setRecomputeMark(getMark(effects, op));
      markSwap(layer, effects, diagnostics);
    }
    if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics))
      return signalPassFailure();
    mf::passes::emitLayerRemarks(model, layers, *plan);
    if (handler)
      handler(mf::passes::makeLayerReport(model, layers, *plan));
  }

private:
  mf::passes::LayerReportHandler handler;
};

} // namespace

std::unique_ptr<Pass>
mf::passes::createMarkMemory(const MarkMemoryOptions &options,
                             LayerReportHandler handler) {
  return std::make_unique<MarkMemoryPass>(options, std::move(handler));
}
