//===- RankMesh.cpp - The mesh of a training YAML -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShardingRule.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Frontend/Families/Family.h"
#include "mlir/IR/Remarks.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/config/ExpertAxes.h"
#include "passes/config/ReadConfig.h"
#include "llvm/ADT/DenseSet.h"
#include <cstdlib>

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

//===----------------------------------------------------------------------===//
// Each parameter, including the weights of norms, is sharded separately along
// its first dimension over the ranks that have different tokens (FSDP). With
// several groups that hold the same shards it is HSDP.
//===----------------------------------------------------------------------===//

/// Returns whether ranks along this axis, or a factor of it, have different
/// tokens.
static bool hasOwnTokens(StringRef axis) {
  return axis.starts_with("dp") || axis.starts_with("cp");
}

static bool isSharedWeight(ParamOp param) {
  return !param.getFrozen() && !param.getUpdateRule();
}

/// Returns the number of ranks that shard a weight, of `copies` ranks that hold
/// the same part.
static int64_t getShards(bool isExpert, int64_t copies, const RankLayout &ranks,
                         const FullyShardedConfig &config) {
  return isExpert ? copies / config.replicate
                  : config.getDenseShards(ranks.contextParallel);
}

/// Splits `axes` where the ranks end that shard a parameter of `model`.
static void cutForFullSharding(ModelOp model, const RankLayout &ranks,
                               const FullyShardedConfig &config,
                               MutableArrayRef<NamedAxis> axes) {
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (!isSharedWeight(param))
      continue;
    const bool isExpert = ranks.expertParallel > 1 && getNumExperts(param);
    std::optional<SmallVector<AxisSpan>> replicas =
        takeReplicas(param, ranks.expertParallel, axes);
    if (!replicas)
      continue;
    if (!isExpert)
      llvm::erase_if(*replicas, [](const AxisSpan &span) {
        return !hasOwnTokens(span.axis->name);
      });
    int64_t copies = 1;
    for (const AxisSpan &span : *replicas)
      copies *= span.size;
    (void)takeInnerRanks(*replicas, getShards(isExpert, copies, ranks, config));
  }
}

/// Returns the weights of experts that are distributed over the ranks of
/// expert_parallel. Must be called before `ep` is resolved to axes.
static SmallVector<ParamOp> getDistributedExperts(ModelOp model,
                                                  const RankLayout &ranks) {
  SmallVector<ParamOp> experts;
  if (ranks.expertParallel > 1)
    for (auto param : model.getBody().getOps<ParamOp>())
      if (getNumExperts(param))
        experts.push_back(param);
  return experts;
}

/// Returns the inner axes of `mesh` over which `param` is sharded.
static Axes getSharingAxes(ParamOp param, const MeshSizes &mesh,
                           const RankLayout &ranks,
                           const FullyShardedConfig &config, bool isExpert) {
  Axes copies;
  for (auto [axis, size] : mesh.axes)
    if (size > 1 && axis != "pp" && !isCutOver(param.getCutsAttr(), axis) &&
        (isExpert || hasOwnTokens(axis)))
      copies.push_back(axis);
  const int64_t shards =
      getShards(isExpert, mesh.getNumParts(copies), ranks, config);
  Axes axes;
  for (StringRef axis : llvm::reverse(copies)) {
    if (mesh.getNumParts(axes) >= shards)
      break;
    axes.insert(axes.begin(), axis);
  }
  return axes;
}

/// Returns the parameters that the head reads, if it has one loss.
static llvm::DenseSet<Operation *> getHeadWeights(ModelOp model) {
  llvm::DenseSet<Operation *> weights;
  const SymbolTable symbols(model);
  for (auto layer : model.getBody().getOps<LayerOp>()) {
    Block &block = layer.getBody().front();
    if (layer.getKind() != LayerKind::Head ||
        block.getTerminator()->getNumOperands() > 1)
      continue;
    for (auto read : block.getOps<GetParamOp>())
      weights.insert(symbols.lookup<ParamOp>(read.getParam()));
  }
  return weights;
}

/// Sets for each weight in `model` the axes of `mesh` over which it is sharded,
/// and whether backward gathers it again. Norms always are gathered again,
/// other weights by the policy of `config`. The head's weight is gathered again
/// only if the policy is `always`, or if the head has several losses and hence
/// no single point in time at which it runs.
static void setFullSharding(ModelOp model, MeshAttr mesh,
                            const RankLayout &ranks,
                            const FullyShardedConfig &config,
                            ArrayRef<ParamOp> experts) {
  const MeshSizes sizes(mesh);
  const ReshardPolicy policy = config.reshardAfterForward;
  const llvm::DenseSet<Operation *> head = getHeadWeights(model);
  for (auto param : model.getBody().getOps<ParamOp>()) {
    // The model says of some weights that all ranks have them whole.
    if (!isSharedWeight(param) || ParameterSharing::find(param))
      continue;
    const bool isExpert = llvm::is_contained(experts, param);
    const bool isVector = param.getTensorType().getRank() == 1;
    const bool gathersAgain =
        isVector || policy == ReshardPolicy::Always ||
        (policy == ReshardPolicy::Default && !head.contains(param));
    ParameterSharing sharing;
    sharing.axes = getSharingAxes(param, sizes, ranks, config, isExpert);
    sharing.gathersAgain = gathersAgain && ranks.pipelineStages == 1;
    // Norms, which are not shared out elsewhere either, must divide.
    sharing.mustDivide =
        (isVector && !param.getParallelOptimizer()) || isExpert;
    sharing.dividesGradients = config.dividesGradients;
    sharing.setOn(param);
  }
}

/// Returns the number of ranks of model_parallel that hold the same key and
/// value head. It is one, or more if the model's family copies heads to ranks
/// that outnumber them.
static int64_t getHeadCopies(ModelOp model, const RankLayout &ranks) {
  const FamilyRecord *family = findFamily(model.getFamily().value_or(""));
  if (!family || !family->copiesKeyValueHeads)
    return 1;
  int64_t heads = ranks.modelParallel;
  // Key heads are either inputs of attention directly, or are repeated for it.
  model.walk([&](Operation *op) {
    Value key;
    if (auto attention = dyn_cast<FlashAttentionOp>(op))
      key = attention.getKey();
    else if (auto repeat = dyn_cast<RepeatOp>(op))
      key = repeat.getInput();
    else
      return WalkResult::advance();
    heads = cast<RankedTensorType>(key.getType()).getDimSize(1);
    return WalkResult::interrupt();
  });
  bool areCopied =
      heads < ranks.modelParallel && ranks.modelParallel % heads == 0;
  return areCopied ? ranks.modelParallel / heads : 1;
}

/// Splits axes for optimizer_weight_shard_size. The ranks that shard a
/// parameter are neighbours, among those that hold the same part.
static void cutForShards(ModelOp model, const RankLayout &ranks, int64_t size,
                         MutableArrayRef<NamedAxis> axes) {
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (param.getFrozen() || param.getUpdateRule() ||
        !param.getParallelOptimizer())
      continue;
    // A dimension that is not a product of whole factors stays whole on each
    // rank.
    if (std::optional<SmallVector<AxisSpan>> replicas =
            takeReplicas(param, ranks.expertParallel, axes))
      (void)takeInnerRanks(*replicas, size);
  }
}

/// Splits axes for experts, which are distributed over expert_parallel of the
/// ranks that do not cut their weights otherwise. Returns the problem if these
/// are not a product of whole factors.
static std::optional<std::string>
cutForExperts(ModelOp model, const RankLayout &ranks,
              MutableArrayRef<NamedAxis> axes) {
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (!getNumExperts(param) ||
        takeReplicas(param, ranks.expertParallel, axes))
      continue;
    std::vector<std::string> sharing;
    for (const NamedAxis &axis : axes)
      if (!isCutOver(param.getCutsAttr(), axis.name))
        sharing.push_back(axis.name + " = " + std::to_string(axis.size));
    return (known::nameOf(&ParallelConfig::expertParallel) + " " +
            llvm::Twine(ranks.expertParallel) +
            " is no product of whole factors of " + llvm::join(sharing, ", ") +
            ", over which '" + param.getSymName() +
            "' is distributed, the last ones first; choose a divisor or a "
            "multiple of the last")
        .str();
  }
  return std::nullopt;
}

/// Splits axes where a loss of routers divides their rows, of which each rank
/// has one, into those of each sequence: [rows, experts] as [sequences, rows of
/// one, experts].
static void cutForSequences(ModelOp model, MutableArrayRef<NamedAxis> axes) {
  int64_t ranks = 1;
  for (const NamedAxis &axis : axes)
    ranks *= axis.size;
  model.walk([&](ReshapeOp reshape) {
    ArrayRef<int64_t> rows = reshape.getInput().getType().getShape();
    ArrayRef<int64_t> parts = reshape.getResult().getType().getShape();
    if (rows.size() != 2 || parts.size() != 3 || rows[0] != ranks ||
        parts[0] * parts[1] != ranks)
      return;
    int64_t outer = parts[0];
    for (NamedAxis &axis : axes) {
      if (outer % axis.size == 0) {
        outer /= axis.size;
        continue;
      }
      const int64_t inner = axis.size / outer;
      auto fits = [&](int64_t cut) {
        return cut != inner && (cut % inner == 0 || inner % cut == 0);
      };
      if (outer > 1 && axis.size % outer == 0 && llvm::all_of(axis.cuts, fits))
        axis.cuts.push_back(inner);
      return;
    }
  });
}

FailureOr<MeshAttr> getRankMesh(ModelOp model, const RankLayout &ranks,
                                const ParallelConfig &parallel,
                                std::string &problem) {
  SmallVector<NamedAxis> named;
  auto add = [&](StringRef name, int64_t size) {
    if (size > 1)
      named.push_back({name.str(), size, {}});
  };
  add("dp", ranks.dataParallel);
  int64_t head = ranks.headParallel, rows = ranks.contextParallel / head;
  add(head > 1 ? "cp_co" : "cp", rows);
  add(rows > 1 ? "cp_ds" : "cp", head);
  int64_t copies = getHeadCopies(model, ranks);
  int64_t heads = ranks.modelParallel / copies;
  add(copies > 1 && heads > 1 ? "mp_kv" : "mp", heads);
  add(copies > 1 && heads > 1 ? "mp_copy" : "mp", copies);
  if (std::optional<std::string> found = cutForExperts(model, ranks, named)) {
    problem = *found;
    return failure();
  }
  cutForSequences(model, named);
  if (parallel.fullySharded)
    cutForFullSharding(model, ranks, *parallel.fullySharded, named);
  else if (parallel.enableParallelOptimizer &&
           parallel.optimizerShard.weightShardSize > 1)
    cutForShards(model, ranks, parallel.optimizerShard.weightShardSize, named);

  MLIRContext *context = model.getContext();
  SmallVector<StringAttr> axes = {StringAttr::get(context, "pp")};
  SmallVector<int64_t> sizes = {ranks.pipelineStages};
  for (NamedAxis &axis : named) {
    llvm::sort(axis.cuts, std::greater<>());
    axis.cuts.push_back(1);
    int64_t outer = axis.size;
    for (auto [number, cut] : llvm::enumerate(axis.cuts)) {
      std::string name = axis.name;
      if (axis.cuts.size() > 1)
        name += "_" + std::to_string(number);
      axes.push_back(StringAttr::get(context, name));
      sizes.push_back(outer / cut);
      outer = cut;
    }
  }
  return MeshAttr::get(context, axes, sizes);
}

/// Returns the location of `key` in the YAML, or else that of the model.
static mlir::Location getPlace(ModelOp model, const Node &key) {
  mf::Location place = key.getLocation();
  return place.isKnown() ? getLocation(model.getContext(), place)
                         : model.getLoc();
}

/// Checks that a micro-batch has the rows of all replicas, as the importer
/// builds it.
static LogicalResult checkRows(ModelOp model, const TrainingConfig &config,
                               const RankLayout &ranks) {
  auto rows = static_cast<int64_t>(model.getMicroBatchSize());
  if (rows % ranks.dataParallel == 0)
    return success();
  const StringRef key = known::nameOf(&ParallelConfig::dataParallel);
  return emitError(getPlace(model, config.parallel.node[key]))
         << "'" << model.getSymName() << "' has micro-batches of " << rows
         << " rows, which do not divide over " << key << " "
         << ranks.dataParallel << "; import it with this YAML, or with "
         << "--batch-size, the rows of one of them";
}

LogicalResult setRankMesh(ModuleOp module, const TrainingConfig &config,
                          const RankLayout &ranks) {
  if (ranks.getNumRanks() == ranks.pipelineStages)
    return success();
  const ParallelConfig &parallel = config.parallel;
  for (auto model : module.getOps<ModelOp>()) {
    if (failed(checkRows(model, config, ranks)))
      return failure();
    std::string problem;
    FailureOr<MeshAttr> found = getRankMesh(model, ranks, parallel, problem);
    if (failed(found))
      return emitError(getPlace(
                 model, known::find(parallel, &ParallelConfig::expertParallel)))
             << problem;
    MeshAttr mesh = *found;
    MeshAttr known = MeshAttr::find(model);
    if (known && known != mesh)
      return model.emitError() << "the YAML asks for the mesh " << mesh
                               << ", but the module has " << known;
    module->setAttr(MeshAttr::attributeName, mesh);
    const SmallVector<ParamOp> experts = getDistributedExperts(model, ranks);
    if (failed(resolveExpertAxes(model, mesh, ranks.expertParallel)))
      return failure();
    if (parallel.fullySharded)
      setFullSharding(model, mesh, ranks, *parallel.fullySharded, experts);
    if (int64_t copies = getHeadCopies(model, ranks); copies > 1)
      remark::analysis(model.getLoc(), remark::RemarkOpts::name("HeadCopies")
                                           .category("config")
                                           .function(model.getSymName()))
          << remark::add("{0} neighbours of {1} have the same heads of keys "
                         "and values",
                         copies, known::nameOf(&ParallelConfig::modelParallel));
    if (ranks.sampleOrder != SampleOrder::Whole)
      module->setAttr(
          sampleOrderAttribute,
          StringAttr::get(module.getContext(), getName(ranks.sampleOrder)));
  }
  return success();
}

void checkDeviceNum(const ParallelConfig &config, const RankLayout &ranks,
                    DiagnosticList &diagnostics) {
  auto check = [&](int64_t count, const llvm::Twine &name,
                   const mf::Location &place) {
    if (count > 0 && count != ranks.getNumRanks())
      diagnostics.warning(
          place, name + " " + llvm::Twine(count) +
                     " is not the number of ranks that parallel_config asks "
                     "for; the program is for " +
                     llvm::Twine(ranks.getNumRanks()));
  };
  const StringRef key = known::nameOf(&ParallelConfig::deviceNum);
  check(config.deviceNum, key, config.parallelNode[key].getLocation());
  const char *launched = std::getenv("RANK_SIZE");
  int64_t count = 0;
  if (launched && !StringRef(launched).getAsInteger(10, count))
    check(count, "the environment's RANK_SIZE", {});
}

} // namespace mf::passes
