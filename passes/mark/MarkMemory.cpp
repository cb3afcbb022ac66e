//===- MarkMemory.cpp - Marks recomputed and swapped operators ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Layers/CellTree.h"
#include "mf/Layers/LayerPlan.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/adapters/AdapterPlan.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/mark/LayerCommunication.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <array>

namespace mf::passes {

#define GEN_PASS_DEF_MARKMEMORY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::LayerCommunication;

//===----------------------------------------------------------------------===//
// Report of the layers' settings
//
// The part of the report on a layer plan that needs the model: the operators to
// which settings applied. Scripts get it as JSON, tools as remarks.
//===----------------------------------------------------------------------===//

/// Returns the settings of one operator; empty if there are none.
static llvm::json::Object reportOperator(ComputeOpInterface op,
                                         const LayerEffects &effects) {
  StringRef path = op.getCellName();
  llvm::json::Object object;
  if (std::optional<RecomputeKind> mark = op.getRecomputeMark();
      mark && *mark != RecomputeKind::Output)
    object["recompute"] = stringifyRecomputeKind(*mark);
  if (std::optional<bool> comm = effects.getCommRecompute(path))
    object["comm_recompute"] = *comm;
  if (std::optional<int64_t> prefetch = op.getSwapMark())
    object["swap_prefetch"] = *prefetch;
  return object;
}

static llvm::json::Object reportOperators(LayerOp layer,
                                          const LayerEffects &effects) {
  llvm::json::Object operators;
  LayerCommunication communication(layer);
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    StringRef path = op.getCellName();
    if (path.empty() || communication.isInserted(op))
      continue;
    // The first operator represents all operators of the same name.
    llvm::json::Object object = reportOperator(op, effects);
    if (!object.empty())
      operators.try_emplace(path.str(), std::move(object));
  }
  return operators;
}

/// Returns the name of the model and what `plan` has of its layers, each with
/// every operator that has a setting. `layers` are the body layers, already
/// marked. The order of keys is deterministic.
static llvm::json::Object makeLayerReport(ModelOp model,
                                          ArrayRef<LayerOp> layers,
                                          const LayerPlan &plan) {
  llvm::json::Array rows = plan.toJson();
  for (auto [row, layer, effects] : llvm::zip_equal(rows, layers, plan.layers))
    (*row.getAsObject())["operators"] = reportOperators(layer, effects);
  return llvm::json::Object{{"model", model.getSymName()},
                            {"layers", std::move(rows)}};
}

/// Emits remarks with the settings of each layer.
static void emitLayerRemarks(ArrayRef<LayerOp> layers, const LayerPlan &plan) {
  for (auto [entry, effects] : llvm::zip_equal(layers, plan.layers)) {
    LayerOp layer = entry;
    int64_t numMarked = 0;
    int64_t numSwapped = 0;
    for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
      numMarked += isMarkedForRecompute(op);
      numSwapped += op.getSwapMark().has_value();
    }
    remark::analysis(layer.getLoc(), remark::RemarkOpts::name("LayerSettings")
                                         .category("recompute")
                                         .function(layer.getSymName()))
        << remark::add("{0}", effects.describe())
        << remark::metric("operators marked", numMarked)
        << remark::metric("operators swapped", numSwapped);
    auto [repeated, kept] = LayerCommunication(layer).countMarked();
    if (repeated + kept > 0)
      remark::analysis(layer.getLoc(), remark::RemarkOpts::name("Collectives")
                                           .category("recompute")
                                           .function(layer.getSymName()))
          << remark::add("of {0} collectives next to recomputed operators {1} "
                         "run again where backward needs them",
                         repeated + kept, repeated)
          << remark::metric("repeated", repeated)
          << remark::metric("kept", kept);
  }
}

//===----------------------------------------------------------------------===//
// Memory levels of experts
//
// Chooses operators of dropless experts to run again in backward, by the levels
// of MindSpeed's --moe-zero-memory. MindSpore Transformers has a single name
// for all of these operators, so the levels get their own names for patterns of
// select_recompute, such as `feed_forward.ffn.level0`.
//===----------------------------------------------------------------------===//

static StringRef getKind(ComputeOpInterface op) {
  const KernelSignature *signature = findKernelSignature(op.getKernelName());
  return signature ? signature->kind : StringRef();
}

/// Returns whether `op` multiplies the rows of each expert by the expert's
/// weight.
static bool isProductByExpert(ComputeOpInterface op) {
  return getKind(op) == "grouped_matmul";
}

/// Returns whether `op` only moves the rows of its first operand.
static bool movesRows(ComputeOpInterface op) {
  return isa<BoundedRowsOpInterface>(op.getOperation()) ||
         getKind(op) == "permutation";
}

/// Returns whether an operator depends on another product by expert.
static bool isBehindProduct(ComputeOpInterface op,
                            const DenseSet<Operation *> &behind) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return behind.contains(operand.getDefiningOp());
  });
}

namespace {

class ExpertLevels {
public:
  /// The result is empty for a layer without such experts.
  explicit ExpertLevels(LayerOp layer) {
    static constexpr StringRef sharedCell = ".shared_experts.";
    DenseSet<Operation *> behind;
    for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
      const StringRef cell = op.getCellName();
      if (size_t at = cell.find(sharedCell); at != StringRef::npos)
        shared = cell.take_front(at + sharedCell.size() - 1).str();
      const bool isBehind = isBehindProduct(op, behind);
      if (isBehind || isProductByExpert(op))
        behind.insert(op);
      if (!isBehind && isProductByExpert(op))
        firstProducts.insert(op);
    }
    if (firstProducts.empty())
      return;
    const StringRef outer = cast<ComputeOpInterface>(firstProducts.front())
                                .getCellName()
                                .rsplit('.')
                                .first;
    for (size_t level = 0; level < names.size(); ++level)
      names[level] = (outer + ".level" + Twine(level)).str();
    for (Operation *product : firstProducts) {
      addWayIn(product);
      addActivation(product);
    }
  }

  /// Adds the names of the levels to those that patterns are matched against.
  void addNames(CellTree &tree) const {
    if (!firstProducts.empty())
      for (const std::string &name : names)
        tree.addOperator(name);
  }

  /// Makes the shared experts of a layer at level 1 run again.
  void addShared(LayerEffects &effects) const {
    const RecomputeTarget *setting = findSetting(effects, 1);
    if (!setting || shared.empty())
      return;
    RecomputeTarget target = *setting;
    target.path = shared;
    target.isCell = true;
    effects.recompute.push_back(std::move(target));
  }

  /// Marks the operators of the layer's level, except excluded ones.
  void mark(const LayerEffects &effects) const {
    auto markAll = [](const Operators &operators) {
      for (Operation *op : operators)
        if (auto compute = cast<ComputeOpInterface>(op);
            compute.getRecomputeMark().value_or(RecomputeKind::Output) ==
            RecomputeKind::Output)
          compute.setRecomputeMark(RecomputeKind::Select);
    };
    const bool isAtLevel1 = findSetting(effects, 1);
    if (!isAtLevel1 && !findSetting(effects, 0))
      return;
    markAll(dispatch);
    markAll(activation);
    if (isAtLevel1)
      markAll(firstProducts);
  }

private:
  using Operators = llvm::SetVector<mlir::Operation *>;

  /// Finds the operators that move the rows of a product to the ranks and
  /// places where they are multiplied.
  void addWayIn(Operation *product) {
    SmallVector<Operation *> views;
    Value rows = product->getOperand(0);
    while (auto op = rows.getDefiningOp<ComputeOpInterface>()) {
      if (movesRows(op)) {
        dispatch.insert_range(views);
        dispatch.insert(op);
        views.clear();
      } else if (op.isView()) {
        views.push_back(op);
      } else {
        return;
      }
      rows = op->getOperand(0);
    }
  }

  /// Finds the operators between a product and the products that follow it.
  void addActivation(Operation *product) {
    SmallVector<Operation *> open = {product};
    while (!open.empty())
      for (Operation *user : open.pop_back_val()->getUsers()) {
        auto op = dyn_cast<ComputeOpInterface>(user);
        if (op && !isProductByExpert(op) && activation.insert(user))
          open.push_back(op);
      }
  }

  /// Returns the setting that names a level; null if there is none.
  const RecomputeTarget *findSetting(const LayerEffects &effects,
                                     size_t level) const {
    const RecomputeTarget *setting =
        firstProducts.empty() ? nullptr
                              : effects.getRecomputeSetting(names[level]);
    return setting && setting->enabled && !setting->isCell ? setting : nullptr;
  }

  std::array<std::string, 2> names;
  /// Level 0: the operators that bring tokens to their experts, and those
  /// between the two products of an expert. Both are recomputed from kept
  /// values: the tokens, and the result of the first product.
  Operators dispatch, activation;
  /// The operators that level 1 runs again in addition.
  Operators firstProducts;
  /// The Cell of shared experts; empty if there are none.
  std::string shared;
};

} // namespace

//===----------------------------------------------------------------------===//
// Marks recomputed and swapped operators
//===----------------------------------------------------------------------===//

/// Returns the dynamic graph's name, in lower case, of the operator that
/// launches a kernel. It usually is that of the kernel.
static std::string getDynamicName(llvm::StringRef kernel) {
  kernel.consume_front("aclnn");
  return llvm::StringSwitch<llvm::StringRef>(kernel)
      .Case("Matmul", "MatMulExt")
      .Case("Add", "AddExt")
      .Case("Adds", "AddScalar")
      .Case("Muls", "MulScalar")
      .Case("Embedding", "Gather")
      .Case("Cat", "Concat")
      .Cases({"Permute", "LayerNorm", "Reshape"}, "")
      .Default(kernel)
      .lower();
}

/// Returns whether the dynamic graph's name of the operator that `op` launches
/// contains one of `parts`, which are in lower case. Views, and operators whose
/// results the framework never keeps, have no such name.
static bool isKeptOperator(ComputeOpInterface op,
                           llvm::ArrayRef<std::string> parts) {
  if (parts.empty() || op.isView())
    return false;
  const std::string name = getDynamicName(op.getKernelName());
  return !name.empty() && llvm::any_of(parts, [&](const std::string &part) {
    return llvm::StringRef(name).contains(part);
  });
}

static int64_t countBackwardKernels(LayerOp layer,
                                    const LayerEffects &effects) {
  int64_t kernels = 0;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>())
    kernels += !op.isView();
  return kernels * (effects.fullRecompute ? 3 : 2);
}

/// Converts prefetch distances that count layers to numbers of kernels.
/// Backward of a layer is counted as two kernels for each kernel of forward,
/// and three if the layer is recomputed as a whole.
static void countSwapKernels(llvm::ArrayRef<LayerOp> layers,
                             std::vector<LayerEffects> &effects) {
  for (size_t number = 0; number < effects.size(); ++number)
    for (SwapTarget &target : effects[number].swap) {
      if (!target.countsLayers)
        continue;
      int64_t kernels = 0;
      for (int64_t ahead = 1; ahead <= target.prefetch; ++ahead)
        if (const size_t other = number + static_cast<size_t>(ahead);
            other < effects.size())
          kernels += countBackwardKernels(layers[other], effects[other]);
      target.prefetch = std::max<int64_t>(kernels, 1);
      target.countsLayers = false;
    }
}

namespace {

/// The decision of recompute_slice_activation for a layer.
struct SliceDecision {
  /// The axes over which the kept input of a recomputed layer is cut along its
  /// first dimension; empty if each rank keeps all of it.
  Axes axes;
  /// The reason for the decision.
  std::string reason;
  /// True if the user requested something that is not possible.
  bool isWarning = false;
};

} // namespace

/// Decides for a tensor with layout `layout` and `size` rows on each rank. It
/// can only be cut over ranks that hold the same part of it.
static SliceDecision planSlice(const MeshSizes &mesh, const Layout &layout,
                               int64_t size) {
  Axes axes;
  for (auto [axis, ranks] : mesh.axes)
    if (axis != "pp" && ranks > 1 && !layout.cutsOver(axis))
      axes.push_back(axis);
  if (axes.empty())
    return {{}, "no two ranks have the same part of it"};
  int64_t copies = mesh.getNumParts(axes);
  std::string over = llvm::join(axes, " and ");
  if (size % copies != 0)
    return {{},
            "its first dimension, " + std::to_string(size) +
                ", does not divide over the " + std::to_string(copies) +
                " ranks of " + over + " that have it",
            /*isWarning=*/true};
  return {axes, "each of " + std::to_string(copies) + " ranks of " + over +
                    " keeps its part"};
}

/// Returns the hidden input or, if a rank first takes its own part of it, that
/// part.
static Value findInput(LayerOp layer, const LayerCommunication &communication) {
  for (Value argument : layer.getArguments()) {
    if (!isFloatTensor(argument.getType()))
      continue;
    while (argument.hasOneUse()) {
      auto user = dyn_cast<ComputeOpInterface>(*argument.getUsers().begin());
      if (!user || !communication.isInserted(user) || user.isView())
        break;
      argument = user->getResult(0);
    }
    return argument;
  }
  return nullptr;
}

namespace {

/// Lets ranks that hold the same input of a recomputed layer each keep only a
/// part of it. Reports once if that is not possible.
class ActivationSlicer {
public:
  explicit ActivationSlicer(ir::ModelOp model) : model(model) {}

  bool slice(LayerOp layer, const LayerCommunication &communication) {
    MeshAttr mesh = MeshAttr::find(model);
    Value input = findInput(layer, communication);
    if (!mesh || !input || mesh.getNumRanks() == mesh.getSize("pp"))
      return false;
    remark::RemarkOpts options = remark::RemarkOpts::name("SliceActivation")
                                     .category("recompute")
                                     .function(layer.getSymName());
    auto type = cast<RankedTensorType>(input.getType());
    LayoutAttr layout = LayoutAttr::find(type);
    if (!layout) {
      remark::missed(layer.getLoc(), options) << remark::add(
          "the kept input is not sliced: which ranks have it is not known");
      return false;
    }
    MeshSizes sizes(mesh);
    RankedTensorType local = getLocalType(type, layout, sizes);
    SliceDecision decision = planSlice(sizes, Layout(layout, type.getRank()),
                                       local ? local.getDimSize(0) : 1);
    if (decision.axes.empty()) {
      remark::missed(layer.getLoc(), options)
          << remark::add("the kept input is not sliced: {0}", decision.reason);
      if (!decision.isWarning || hasWarned)
        return false;
      hasWarned = true;
      const StringRef key =
          mf::known::nameOf(&mf::RecomputeConfig::recomputeSliceActivation);
      LocationAttr place = model.getTrainingAttr().getLocation(key);
      emitWarning(place ? mlir::Location(place) : model.getLoc())
          << key << " has no effect: the kept input of '" << layer.getSymName()
          << "' is not sliced, as " << decision.reason;
      return false;
    }
    OpBuilder builder(layer.getContext());
    builder.setInsertionPointAfterValue(input);
    auto kept = KeepPartOp::create(builder, layer.getLoc(), input,
                                   builder.getStrArrayAttr(decision.axes));
    kept.setCellName("input");
    kept.setRecomputeMark(RecomputeKind::Full);
    input.replaceAllUsesExcept(kept, kept);
    int64_t bytes = getTensorBytes(local);
    remark::passed(layer.getLoc(), options)
        << remark::add("of the kept input {0}", decision.reason)
        << remark::metric("bytes", bytes)
        << remark::metric("bytes kept",
                          bytes / sizes.getNumParts(decision.axes));
    return true;
  }

private:
  ir::ModelOp model;
  bool hasWarned = false;
};

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

/// Returns what the YAML asks of a layer; nothing if that is not set.
const LayerSettings &getSettings(LayerOp layer) {
  static const LayerSettings none;
  LayerSettingsAttr settings = layer.getSettingsAttr();
  return settings ? settings.getValue() : none;
}

/// Returns the names of one layer against which patterns are matched.
CellTree buildCellTree(LayerOp layer, mlir::SymbolTable &symbols,
                       bool isOfDynamicGraph) {
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
  setModelPresets(tree, getSettings(layer).selectsOperators,
                  usesFlashAttention);
  ExpertLevels(layer).addNames(tree);
  return tree;
}

/// Makes the plan for a model's body layers.
class LayerMarker {
public:
  explicit LayerMarker(ModelOp model)
      : model(model), symbols(model),
        isOfDynamicGraph(model.getTrainingAttr().getDynamicGraph()) {}

  /// `handler` receives the names of each layer; it may be empty.
  std::optional<LayerPlan> plan(const mf::passes::LayerNamesHandler &handler) {
    std::vector<PlannedLayer> planned;
    std::vector<CellTree> trees;
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
      PlacementAttr placement = layer.getPlacementAttr();
      if (!placement) {
        layer.emitOpError("has no placement; run mf-partition first");
        return std::nullopt;
      }
      layers.push_back(layer);
      // A layer that joins the next one has the number of that.
      planned.push_back({layer.getJoinsNext() ? nextNumber : nextNumber++,
                         placement.getStage(), placement.getChunk(),
                         &getSettings(layer)});
      pieces.push_back({layer});
      trees.push_back(buildCellTree(layer, symbols, isOfDynamicGraph));
      if (handler)
        handler(layer.getCell(), trees.back());
    }
    for (auto [layer, tree] : llvm::zip_equal(planned, trees))
      layer.tree = &tree;
    DiagnosticList diagnostics;
    LayerPlan plan =
        planLayers(planned, /*logs=*/!isOfDynamicGraph, diagnostics);
    if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics))
      return std::nullopt;
    for (auto [layer, effects] : llvm::zip_equal(layers, plan.layers))
      ExpertLevels(layer).addShared(effects);
    return plan;
  }

  /// Returns the layers for the first piece of the sequence.
  ArrayRef<LayerOp> getLayers() const { return layers; }
  /// Returns the versions of layer `number` for all pieces of the sequence.
  ArrayRef<LayerOp> getPieces(size_t number) const { return pieces[number]; }

private:
  ModelOp model;
  mlir::SymbolTable symbols;
  bool isOfDynamicGraph;
  SmallVector<LayerOp> layers;
  std::vector<SmallVector<LayerOp, 1>> pieces;
};

/// Returns why `op` is recomputed, or none if no setting applies to it.
std::optional<RecomputeKind> getMark(const LayerEffects &effects,
                                     const LayerCommunication &communication,
                                     ComputeOpInterface op,
                                     ArrayRef<std::string> keptOperators) {
  const RecomputeTarget *setting =
      effects.getRecomputeSetting(op.getCellName());
  if (!setting)
    return std::nullopt;
  if (!setting->enabled || isKeptOperator(op, keptOperators))
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
                     SwapConflicts &conflicts) {
  std::string name = reader.getCellName().str();
  const RecomputeTarget *setting = effects.getRecomputeSetting(name);
  if (communication.isInserted(reader)) {
    name = "the communication of " + name;
    setting = communication.getSetting(reader);
  }
  conflicts.add(effects, path, name, setting);
}

/// Marks swapped operators after all recompute marks of the layer are set.
/// Warns once for each name whose swap has no effect because of recompute,
/// unless the model itself requires the recompute, which the user cannot
/// change.
void markSwap(LayerOp layer, const LayerEffects &effects,
              const LayerCommunication &communication,
              SwapConflicts &conflicts) {
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
      warnAboutReader(effects, path, reader, communication, conflicts);
  }
}

struct MarkMemoryPass : mf::passes::PrintingPass<
                            mf::passes::impl::MarkMemoryBase<MarkMemoryPass>> {
  using PrintingPass::PrintingPass;
  MarkMemoryPass(const mf::passes::MarkMemoryOptions &options,
                 mf::passes::LayerReportHandler handler,
                 mf::passes::LayerNamesHandler namesHandler)
      : PrintingPass(options), handler(std::move(handler)),
        namesHandler(std::move(namesHandler)) {}

  void runOnOperation() override {
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    LayerMarker planner(model);
    std::optional<LayerPlan> plan = planner.plan(namesHandler);
    if (!plan)
      return signalPassFailure();
    ArrayRef<LayerOp> layers = planner.getLayers();
    // The conflicts of the first piece are those of all pieces.
    SwapConflicts conflicts, repeated;
    ActivationSlicer slicer(model);
    countSwapKernels(layers, plan->layers);
    for (auto [number, effects] : llvm::enumerate(plan->layers))
      for (LayerOp layer : planner.getPieces(number))
        mark(layer, effects, slicer,
             layer == layers[number] ? conflicts : repeated);
    DiagnosticList diagnostics;
    conflicts.report(diagnostics);
    if (!quiet) {
      mf::passes::PrintedPlan text(model);
      plan->printLog(text.os());
      plan->printTable(text.os());
    }
    if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics))
      return signalPassFailure();
    emitLayerRemarks(layers, *plan);
    if (handler)
      handler(makeLayerReport(model, layers, *plan));
  }

private:
  /// `effects` then has what the layer really gets.
  void mark(LayerOp layer, LayerEffects &effects, ActivationSlicer &slicer,
            SwapConflicts &conflicts) const {
    LayerCommunication communication(layer);
    for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
      if (communication.isInserted(op))
        continue;
      // A preset of an earlier pass stays where no setting asks for recompute.
      std::optional<RecomputeKind> mark =
          getMark(effects, communication, op, getSettings(layer).keptOperators);
      const bool isSet = mark && *mark != RecomputeKind::Output;
      if (isSet || op.getRecomputeMark() != RecomputeKind::Preset)
        op.setRecomputeMark(mark);
    }
    ExpertLevels(layer).mark(effects);
    communication.markRecompute(effects);
    markSwap(layer, effects, communication, conflicts);
    if (effects.sliceActivation)
      effects.sliceActivation = slicer.slice(layer, communication);
  }

  mf::passes::LayerReportHandler handler;
  mf::passes::LayerNamesHandler namesHandler;
};

} // namespace

std::unique_ptr<Pass>
mf::passes::createMarkMemory(const MarkMemoryOptions &options,
                             LayerReportHandler handler,
                             LayerNamesHandler namesHandler) {
  return std::make_unique<MarkMemoryPass>(options, std::move(handler),
                                          std::move(namesHandler));
}
