//===- RankMesh.cpp - The mesh that a training YAML asks for --------------===//

#include "passes/config/RankMesh.h"
#include "dialects/mf/SampleOrderAttribute.h"
#include "mlir/IR/Remarks.h"
#include "passes/config/ConfigAttributes.h"
#include <cstdlib>

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

/// How many ranks of model_parallel have the same head of keys and values: one,
/// or more where the model's family copies them to ranks that outnumber them.
static int64_t getHeadCopies(ModelOp model, const RankLayout &ranks) {
  if (model.getFamily().value_or("") != "chatglm")
    return 1;
  int64_t heads = ranks.modelParallel;
  // Heads of keys go into attention as they are, or are repeated for it.
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

namespace {

/// An axis of one key of parallel_config, and where it is cut in two: numbers
/// of neighbours, each a divisor of the next.
struct NamedAxis {
  std::string name;
  int64_t size;
  SmallVector<int64_t> cuts;
};

} // namespace

/// Cuts the axes among `replicas` (the outer ones first) so that the `size`
/// inner ranks of all are those of whole axes, if that can be.
static void cutAxes(ArrayRef<NamedAxis *> replicas, int64_t size) {
  int64_t ranks = 1;
  for (const NamedAxis *axis : replicas)
    ranks *= axis->size;
  if (ranks % size != 0)
    return;
  for (NamedAxis *axis : llvm::reverse(replicas)) {
    if (size % axis->size == 0) {
      size /= axis->size;
      continue;
    }
    bool divides = axis->size % size == 0;
    for (int64_t cut : axis->cuts)
      divides = divides && (cut % size == 0 || size % cut == 0);
    if (size > 1 && divides && !llvm::is_contained(axis->cuts, size))
      axis->cuts.push_back(size);
    return;
  }
}

/// Ranks that share a parameter out are neighbours: optimizer_weight_shard_size
/// of those that have the same part.
static void cutForShards(ModelOp model, int64_t size,
                         SmallVectorImpl<NamedAxis> &axes) {
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (param.getFrozen() || !param.getParallelOptimizer())
      continue;
    SmallVector<NamedAxis *> replicas;
    for (NamedAxis &axis : axes) {
      bool isCut = false;
      if (ArrayAttr cuts = param.getCutsAttr())
        for (auto names : cuts.getAsRange<ArrayAttr>())
          for (auto name : names.getAsRange<StringAttr>())
            isCut |= StringRef(axis.name).starts_with(name.getValue());
      if (!isCut)
        replicas.push_back(&axis);
    }
    cutAxes(replicas, size);
  }
}

MeshAttr getRankMesh(ModelOp model, const RankLayout &ranks,
                     int64_t shardSize) {
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
  if (shardSize > 1)
    cutForShards(model, shardSize, named);

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

/// A micro-batch has the rows of all replicas, as the importer makes it.
static LogicalResult checkRows(ModelOp model, const TrainingConfig &config,
                               const RankLayout &ranks) {
  auto rows = static_cast<int64_t>(model.getMicroBatchSize());
  if (rows % ranks.dataParallel == 0)
    return success();
  mf::Location key = config.parallel.node["data_parallel"].getLocation();
  mlir::Location place =
      key.isKnown() ? getLocation(model.getContext(), key) : model.getLoc();
  return emitError(place) << "'" << model.getSymName()
                          << "' has micro-batches of " << rows
                          << " rows, which do not divide over data_parallel "
                          << ranks.dataParallel
                          << "; import it with this YAML, or with "
                          << "--batch-size, the rows of one of them";
}

LogicalResult setRankMesh(ModuleOp module, const TrainingConfig &config,
                          const RankLayout &ranks) {
  if (ranks.getNumRanks() == ranks.pipelineStages)
    return success();
  for (auto model : module.getOps<ModelOp>()) {
    if (failed(checkRows(model, config, ranks)))
      return failure();
    const ParallelConfig &parallel = config.parallel;
    MeshAttr mesh = getRankMesh(model, ranks,
                                parallel.enableParallelOptimizer
                                    ? parallel.optimizerWeightShardSize
                                    : -1);
    MeshAttr known = MeshAttr::find(model);
    if (known && known != mesh)
      return model.emitError() << "the YAML asks for the mesh " << mesh
                               << ", but the module has " << known;
    module->setAttr(MeshAttr::attributeName, mesh);
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
