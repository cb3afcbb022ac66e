//===- RankMesh.cpp - The mesh of a training YAML -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/RankMesh.h"
#include "dialects/mf/SampleOrderAttribute.h"
#include "mlir/IR/Remarks.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/config/ExpertAxes.h"
#include "passes/config/FullSharding.h"
#include <cstdlib>

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

/// Returns the number of ranks of model_parallel that hold the same key and
/// value head. It is one, or more if the model's family copies heads to ranks
/// that outnumber them.
static int64_t getHeadCopies(ModelOp model, const RankLayout &ranks) {
  if (model.getFamily().value_or("") != "chatglm")
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
    return ("expert_parallel " + llvm::Twine(ranks.expertParallel) +
            " is no product of whole factors of " + llvm::join(sharing, ", ") +
            ", over which '" + param.getSymName() +
            "' is distributed, the last ones first; choose a divisor or a "
            "multiple of the last")
        .str();
  }
  return std::nullopt;
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

/// Returns the place of `key` in the YAML, or else that of the model.
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
  return emitError(getPlace(model, config.parallel.node["data_parallel"]))
         << "'" << model.getSymName() << "' has micro-batches of " << rows
         << " rows, which do not divide over data_parallel "
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
      return emitError(getPlace(model, parallel.node["expert_parallel"]))
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
          << remark::add("{0} neighbours of model_parallel have the same heads "
                         "of keys and values",
                         copies);
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
  check(config.deviceNum, "device_num",
        config.parallelNode["device_num"].getLocation());
  const char *launched = std::getenv("RANK_SIZE");
  int64_t count = 0;
  if (launched && !StringRef(launched).getAsInteger(10, count))
    check(count, "the environment's RANK_SIZE", {});
}

} // namespace mf::passes
