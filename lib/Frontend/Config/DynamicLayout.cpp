//===- DynamicLayout.cpp - Ranks and batches of the trainer ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <numeric>

namespace mf {

using namespace dynamic;

//===----------------------------------------------------------------------===//
// Batches that grow
//===----------------------------------------------------------------------===//

namespace {

/// One level of a growing global_batch_size: the number of sequences for a
/// number of steps. The last level applies to all later steps.
struct BatchRamp {
  int64_t batchSize = 0;
  int64_t steps = 0;
  int64_t microBatches = 0;
};

struct RampNumbers {
  int64_t start = 0, increment = 0, samples = 0, most = 0;

  int64_t getNumLevels() const { return (most - start) / increment; }
  /// Returns the batch size after `consumed` samples.
  int64_t getBatchSize(int64_t consumed) const {
    const int64_t levels = getNumLevels();
    if (consumed > samples || levels == 0 || samples == 0)
      return most;
    const double perLevel =
        static_cast<double>(samples) / static_cast<double>(levels);
    const auto level =
        static_cast<int64_t>(static_cast<double>(consumed) / perLevel);
    return std::min(start + increment * level, most);
  }
};

} // namespace

/// Checks the numbers in the trainer's order; empty if they are right.
static std::string checkRamp(const RampNumbers &ramp, int64_t units) {
  auto number = [](int64_t value) { return std::to_string(value); };
  const std::string name = training::rampupBatchSize.name.str();
  if (ramp.increment <= 0)
    return name + "[1] (batch_size_increment) must be > 0, got " +
           number(ramp.increment) + ".";
  if (ramp.samples < 0)
    return name + "[2] (rampup_samples) must be >= 0, got " +
           number(ramp.samples) + ".";
  const std::string start =
      name + "[0] start_global_batch_size(" + number(ramp.start) + ") must be ";
  const std::string whole = training::globalBatchSize.getPath() + "(" +
                            number(ramp.most) + ") must be ";
  if (ramp.start <= 0)
    return start + "positive.";
  if (ramp.most < ramp.start)
    return whole + ">= " + name + "[0] start_global_batch_size(" +
           number(ramp.start) + ").";
  if ((ramp.most - ramp.start) % ramp.increment != 0)
    return "(global_batch_size - start_global_batch_size)=" +
           number(ramp.most - ramp.start) +
           " must be divisible by batch_size_increment=" +
           number(ramp.increment) + ".";
  const std::string divisible = "divisible by data_parallel*" +
                                training::localBatchSize.name.str() + "(" +
                                number(units) + ").";
  if (ramp.start % units != 0)
    return start + divisible;
  if (ramp.most % units != 0)
    return whole + divisible;
  // Levels repeat modulo the units.
  const int64_t levels = std::min(ramp.getNumLevels(), units);
  for (int64_t level = 0; level < levels; ++level)
    if (const int64_t size = ramp.start + level * ramp.increment;
        size % units != 0)
      return "rampup produces gbs=" + number(size) +
             " at increment k=" + number(level) + ", which is not " +
             divisible.substr(0, divisible.size() - 1) +
             ". Adjust batch_size_increment so every intermediate gbs is "
             "divisible.";
  return {};
}

/// Empty if the batch does not grow. Errors are the trainer's.
static std::vector<BatchRamp> readBatchRamp(const Node &root, int64_t baseUnits,
                                            DiagnosticList &diagnostics) {
  /// Levels that a message lists; more have no use in it.
  constexpr size_t mostLevels = 256;
  const DynamicReader reader(root, diagnostics);
  const DynamicKey &key = training::rampupBatchSize;
  Node written = reader.getWritten(key);
  if (!written)
    return {};
  const std::vector<Node> &items = written.getElements();
  if (items.size() != 3 ||
      llvm::any_of(items, [](const Node &item) { return !item.getInt(); })) {
    reader.error(key, "expected [start, increment, samples], three ints, for " +
                          quote(key.name) + ", but got " + written.repr(60));
    return {};
  }
  const RampNumbers ramp = {*items[0].getInt(), *items[1].getInt(),
                            *items[2].getInt(),
                            reader.getInt(training::globalBatchSize)};
  const std::string problem = checkRamp(ramp, std::max<int64_t>(baseUnits, 1));
  if (!problem.empty()) {
    reader.error(key, problem);
    return {};
  }
  std::vector<BatchRamp> levels;
  int64_t consumed = 0;
  while (levels.size() < mostLevels) {
    const int64_t size = ramp.getBatchSize(consumed);
    if (levels.empty() || levels.back().batchSize != size)
      levels.push_back({size, 0, size / baseUnits});
    if (size == ramp.most)
      break;
    // All steps before the next possible change of the size are counted in one
    // iteration.
    const double perLevel = static_cast<double>(ramp.samples) /
                            static_cast<double>(ramp.getNumLevels());
    const int64_t level = (size - ramp.start) / ramp.increment + 1;
    const auto next =
        static_cast<int64_t>(perLevel * static_cast<double>(level));
    const int64_t steps =
        std::max<int64_t>(1, (std::min(next, ramp.samples) - consumed) / size);
    levels.back().steps += steps;
    consumed += steps * size;
  }
  return levels;
}

//===----------------------------------------------------------------------===//
// Layers of stages
//===----------------------------------------------------------------------===//

namespace {

/// The layers of one chunk, both ends included.
struct ChunkRange {
  int64_t first = 0, last = 0;
};

} // namespace

static bool parseLayerNumber(llvm::StringRef text, int64_t &number) {
  return !text.trim().getAsInteger(10, number);
}

/// Returns the trainer's message about an invalid range; empty if it is valid.
static std::string parseChunkRange(llvm::StringRef text, ChunkRange &range) {
  llvm::SmallVector<llvm::StringRef> ends;
  text.trim().split(ends, '-');
  std::string problem = "Invalid layer range format: " + text.str() + "; ";
  if (ends.size() > 2)
    return problem + "expected format is 'start-end' or 'single_layer'";
  if (!parseLayerNumber(ends.front(), range.first) ||
      !parseLayerNumber(ends.back(), range.last))
    return problem + "layer IDs must be integers, got '" + ends.front().str() +
           "' and '" + ends.back().str() + "'";
  if (range.first > range.last)
    return problem + "layer_start must be less than or equal to layer_end";
  return {};
}

static bool readStageRow(const Node &row, int64_t rank,
                         const DynamicLayout &layout,
                         std::vector<ChunkRange> &ranges,
                         DiagnosticList &diagnostics) {
  if (!row.isString()) {
    diagnostics.error(row.getLocation(),
                      "expected a string such as '0-3' for each stage in " +
                          quote(parallelism::layersPerStage.name) +
                          ", but got " + row.repr(60) +
                          ", on which the trainer fails");
    return false;
  }
  llvm::SmallVector<llvm::StringRef> chunks;
  row.getText().split(chunks, ',');
  if (static_cast<int64_t>(chunks.size()) != layout.interleave) {
    diagnostics.error(
        row.getLocation(),
        "PP rank " + llvm::Twine(rank) + " has " + llvm::Twine(chunks.size()) +
            " chunk(s) in " + quote(parallelism::layersPerStage.name) +
            " (got '" + getPythonText(row) + "'), but " +
            quote(parallelism::interleaveNum.name) + " is " +
            llvm::Twine(layout.interleave) +
            "; each PP rank must have exactly " +
            llvm::Twine(layout.interleave) + " comma-separated chunk(s)");
    return false;
  }
  for (auto [chunk, text] : llvm::enumerate(chunks)) {
    std::string problem = parseChunkRange(
        text, ranges[chunk * static_cast<size_t>(layout.pipeline) +
                     static_cast<size_t>(rank)]);
    if (problem.empty())
      continue;
    diagnostics.error(row.getLocation(), problem);
    return false;
  }
  return true;
}

/// The trainer accepts ranges with gaps, with which the model would lack
/// layers.
static bool checkCoverage(const Node &written,
                          const std::vector<ChunkRange> &ranges,
                          int64_t numLayers, DiagnosticList &diagnostics) {
  int64_t next = 0;
  for (const ChunkRange &range : ranges) {
    if (range.first != next) {
      diagnostics.error(written.getLocation(),
                        "expected the next stage of " +
                            quote(parallelism::layersPerStage.name) +
                            " to begin with layer " + llvm::Twine(next) +
                            ", but it has " + llvm::Twine(range.first) + "-" +
                            llvm::Twine(range.last) +
                            "; each layer has one stage, in their order");
      return false;
    }
    next = range.last + 1;
  }
  if (next == numLayers)
    return true;
  diagnostics.error(written.getLocation(),
                    quote(parallelism::layersPerStage.name) +
                        " has layers up to " + llvm::Twine(next - 1) +
                        ", but the model has " + llvm::Twine(numLayers));
  return false;
}

std::vector<std::vector<int64_t>>
readDynamicStages(const Node &root, const DynamicLayout &layout,
                  int64_t numLayers, DiagnosticList &diagnostics) {
  if (layout.pipeline == 1)
    return {};
  /// A limit for hostile input.
  constexpr int64_t mostStages = 1 << 16;
  DynamicReader reader(root, diagnostics);
  const int64_t stages = layout.pipeline * layout.interleave;
  const DynamicKey &key = parallelism::layersPerStage;
  Node written = reader.getAny(key);
  if (!written)
    written = reader.get(key);
  std::vector<std::vector<int64_t>> counts(
      static_cast<size_t>(layout.interleave));
  if (stages > mostStages) {
    reader.error(key, "expected at most " + llvm::Twine(mostStages) +
                          " stages, but got " + llvm::Twine(stages));
    return {};
  }
  if (written.isString() && written.getText() == "auto") {
    if (numLayers % stages != 0) {
      reader.error(key, "Number of layers (" + llvm::Twine(numLayers) +
                            ") is not divisible by total stages (" +
                            llvm::Twine(stages) +
                            "); configure the model distribution via " +
                            quote(key.name));
      return {};
    }
    for (std::vector<int64_t> &row : counts)
      row.assign(static_cast<size_t>(layout.pipeline), numLayers / stages);
    return counts;
  }
  if (!written.isList()) {
    diagnostics.error(written.getLocation(),
                      "expected 'auto' or a list of strings for " +
                          quote(key.name) + " with several stages, but got " +
                          written.repr(60) + ", on which the trainer fails");
    return {};
  }
  const std::vector<Node> &rows = written.getElements();
  if (static_cast<int64_t>(rows.size()) != layout.pipeline) {
    diagnostics.error(written.getLocation(),
                      "The length of " + quote(key.name) + " (" +
                          llvm::Twine(rows.size()) + ") must equal " +
                          quote(parallelism::pipelineParallel.name) + " (" +
                          llvm::Twine(layout.pipeline) + "), but got " +
                          llvm::Twine(rows.size()) + " entries for " +
                          llvm::Twine(layout.pipeline) + " PP ranks");
    return {};
  }
  std::vector<ChunkRange> ranges(static_cast<size_t>(stages));
  for (auto [rank, row] : llvm::enumerate(rows))
    if (!readStageRow(row, static_cast<int64_t>(rank), layout, ranges,
                      diagnostics))
      return {};
  if (!checkCoverage(written, ranges, numLayers, diagnostics))
    return {};
  for (auto [stage, range] : llvm::enumerate(ranges))
    counts[stage / static_cast<size_t>(layout.pipeline)].push_back(
        range.last - range.first + 1);
  return counts;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// A limit for hostile input, far above the number of ranks of any real
/// cluster.
static constexpr int64_t mostRanks = 1 << 20;

static int64_t getLaunchedRanks() {
  const char *text = std::getenv("RANK_SIZE");
  int64_t count = 0;
  if (!text || llvm::StringRef(text).getAsInteger(10, count) ||
      count > mostRanks)
    return 0;
  return std::max<int64_t>(count, 0);
}

static int64_t readDegree(const DynamicReader &reader, const DynamicKey &key) {
  const int64_t degree = reader.getInt(key);
  if (degree >= 1 && degree <= mostRanks)
    return degree;
  reader.error(key, "Parallelism degree should be >= 1: expected from 1 to " +
                        llvm::Twine(mostRanks) + " for " + quote(key.name) +
                        ", but got " + llvm::Twine(degree));
  return 1;
}

/// Returns the smallest number of data-parallel ranks with which the number of
/// ranks is a multiple of the number of the experts' ranks.
static int64_t getFewestReplicas(const DynamicLayout &layout, int64_t shard) {
  if (shard > 0)
    return std::min(shard, mostRanks);
  const int64_t others = layout.context * layout.tensor;
  return layout.expert / std::gcd(layout.expert, others);
}

static void resolveDataParallel(const DynamicReader &reader,
                                DynamicLayout &layout) {
  const DynamicKey &key = parallelism::dataParallelShard;
  const int64_t asked = reader.getInt(key);
  const int64_t others = layout.tensor * layout.context * layout.pipeline;
  const int64_t launched = getLaunchedRanks();
  layout.isLaunched = launched > 0;
  layout.data =
      layout.isLaunched ? launched / others : getFewestReplicas(layout, asked);
  if (asked == 0) {
    reader.error(key, "integer division or modulo by zero: expected " +
                          quote(key.name) + " to be at least 1, or -1 for all");
    layout.data = std::max<int64_t>(layout.data, 1);
  }
  const bool isWhole = layout.data * others == launched;
  layout.replicate = asked <= 0 ? 1 : std::max<int64_t>(layout.data / asked, 1);
  layout.shard = layout.data / layout.replicate;
  if (layout.isLaunched &&
      (!isWhole || layout.replicate * layout.shard != layout.data)) {
    reader.error(key, "Invalid parallel dims: dp_replicate(" +
                          llvm::Twine(layout.replicate) + ") * dp_shard(" +
                          llvm::Twine(layout.shard) + ") * cp(" +
                          llvm::Twine(layout.context) + ") * tp(" +
                          llvm::Twine(layout.tensor) + ") * pp(" +
                          llvm::Twine(layout.pipeline) + ") != WORLD_SIZE(" +
                          llvm::Twine(launched) + ")");
    layout.data = std::max<int64_t>(layout.data, 1);
    layout.shard = layout.data;
    layout.replicate = 1;
  } else if (asked > 0 && layout.shard != asked) {
    reader.warn(key, quote(key.name) + " " + llvm::Twine(asked) + " becomes " +
                         llvm::Twine(layout.shard) + ": there are " +
                         llvm::Twine(layout.data) + " data-parallel ranks");
  }
  if (!layout.isLaunched)
    reader.warn(key, "the YAML does not say how many ranks are started; the "
                     "program is for " +
                         llvm::Twine(layout.getNumRanks()) +
                         ", set RANK_SIZE in the environment to their number");
}

static void checkExpertRanks(const DynamicReader &reader, const Node &root,
                             const DynamicLayout &layout) {
  const DynamicKey &key = parallelism::expertParallel;
  const int64_t ranks = layout.shard * layout.context * layout.tensor;
  if (layout.expert > 1 && ranks % layout.expert != 0) {
    reader.error(key,
                 "Invalid " + key.name + ": ep(" + llvm::Twine(layout.expert) +
                     ") must divide dp_shard(" + llvm::Twine(layout.shard) +
                     ") * cp(" + llvm::Twine(layout.context) + ") * tp(" +
                     llvm::Twine(layout.tensor) + ") = " + llvm::Twine(ranks));
    return;
  }
  const Node experts = keys::numExperts.find(root[model::section], keys::Mcore);
  const int64_t count = experts.getInt().value_or(0);
  if (layout.expert > 1 && count > 0 && count % ranks != 0)
    reader.error(
        key, "Uneven sharding on dim 0 not supported: the " +
                 llvm::Twine(count) + " experts do not divide over dp_shard(" +
                 llvm::Twine(layout.shard) + ") * cp(" +
                 llvm::Twine(layout.context) + ") * tp(" +
                 llvm::Twine(layout.tensor) + ") = " + llvm::Twine(ranks) +
                 " ranks; set " + parallelism::dataParallelShard.name +
                 " so that they do");
  const DynamicKey &dispatcher = parallelism::moeTokenDispatcherType;
  const DynamicKey &perMachine = parallelism::npuNumsPerDevice;
  if (reader.getString(dispatcher) == "alltoall_deredundancy" &&
      layout.expert < reader.getInt(perMachine))
    reader.error(key, key.name + " must be greater than or equal to " +
                          perMachine.name + " when " + dispatcher.name +
                          " is alltoall_deredundancy, but got " +
                          llvm::Twine(layout.expert) + " and " +
                          llvm::Twine(reader.getInt(perMachine)));
}

static void checkTensorParallel(const DynamicReader &reader, const Node &model,
                                int64_t degree) {
  if (degree == 1)
    return;
  const DynamicKey &key = parallelism::tensorParallel;
  if (!reader.getBool(parallelism::sequenceParallel))
    reader.error(key, "PyNative tensor parallelism requires " +
                          parallelism::sequenceParallel.name + "=True when " +
                          key.name + " > 1, but got " + key.name + "=" +
                          llvm::Twine(degree));
  auto divide = [&](const ModelKey &size) {
    const Node value = size.find(model, keys::Mcore);
    if (value.getInt().value_or(0) % degree != 0)
      reader.diagnostics.error(value.getLocation(),
                               size.getNames(keys::Mcore).back() + " (" +
                                   llvm::Twine(*value.getInt()) +
                                   ") must be divisible by the TP degree (" +
                                   llvm::Twine(degree) + ")");
  };
  divide(keys::vocabSize);
  const bool isLatent =
      keys::multiLatentAttention.find(model).getBool().value_or(
          !keys::keyValueRank.find(model).isUndefinedOrNull() ||
          keys::modelType.find(model).getText().starts_with("deepseek"));
  if (!isLatent)
    divide(keys::numKeyValueHeads);
  Node rank = keys::queryRank.find(model);
  if (isLatent && rank.getKind() == NodeKind::Null)
    reader.diagnostics.error(rank.getLocation(),
                             "NotImplementedError: " + key.name +
                                 " above 1 needs a " +
                                 keys::queryRank.getName());
}

static bool hasCompressedMask(const Node &root) {
  for (const ModelKey *key :
       {&keys::compressedMask, &keys::compressedDocumentMask})
    if (key->find(root[model::section]).getBool().value_or(false))
      return true;
  return root.getPath(dataloader::section)["config"][dataloader::documentMask]
      .getBool()
      .value_or(false);
}

static void checkContextParallel(const DynamicReader &reader, const Node &root,
                                 int64_t degree) {
  const DynamicKey &key = parallelism::contextParallel;
  const DynamicKey &methodKey = parallelism::contextParallelMethod;
  const DynamicKey &headKey = parallelism::ulyssesDegreeInCp;
  const DynamicKey &asyncKey = parallelism::contextParallelAsync;
  const std::string method = reader.getString(methodKey);
  if (degree == 1)
    return;
  if (method != getContextMethod(method, &ContextMethod::name).name)
    reader.error(methodKey, "Unsupported " + methodKey.name + ": " + method +
                                "; expected colossal, ulysses or hybrid");
  if (!hasCompressedMask(root))
    reader.error(key, "Context parallel (" + key.name +
                          " > 1) requires a compressed attention mask. Set " +
                          keys::compressedMask.getName() + " or " +
                          keys::compressedDocumentMask.getName() +
                          " of the model to True");
  const DynamicKey &columnKey = dataloader::columnNames;
  Node columns = root.getPath(columnKey.getPath());
  if (columns.isList() &&
      llvm::none_of(columns.getElements(), [](const Node &column) {
        return column.getText() == "position_ids";
      }))
    reader.diagnostics.error(columns.getLocation(),
                             key.name + " above 1 needs 'position_ids' among " +
                                 columnKey.name);
  Node given = reader.getWritten(headKey);
  const int64_t heads = given.getInt().value_or(0);
  const bool isRight = method == hybridMethod.name
                           ? heads > 1 && heads < degree && degree % heads == 0
                       : method == ulyssesMethod.name
                           ? !given || heads == degree
                           : !given || heads == 1;
  if (!isRight)
    reader.error(headKey, "expected " + headKey.name + " to be " + key.name +
                              " with ulysses, 1 with colossal, and a divisor "
                              "between them with hybrid, but got " +
                              reader.get(headKey).repr(60) + " with " + method +
                              " and " + key.name + " " + llvm::Twine(degree));
  if (method == colossalMethod.name && reader.getBool(asyncKey))
    reader.warnUnused(asyncKey,
                      "only ulysses and hybrid exchange beside computation");
}

static void checkSharding(const DynamicReader &reader,
                          const DynamicLayout &layout) {
  const DynamicKey &policyKey = parallelism::reshardPolicy;
  const DynamicKey &offload = parallelism::cpuOffload;
  const DynamicKey &denseKey = parallelism::denseFsdpShardSize;
  const std::string policy = reader.getString(policyKey);
  if (policy != "always" && policy != "never" && policy != "default")
    reader.error(policyKey,
                 "Invalid " + policyKey.name + ": " + policy +
                     "; valid options are: 'always', 'never', 'default'");
  if (reader.getBool(offload))
    reader.error(offload, "RuntimeError: " + offload.name +
                              " True is not supported; expected False");
  const int64_t ranks = layout.shard * layout.context;
  Node dense = reader.getWritten(denseKey);
  if (dense && (*dense.getInt() < 1 || ranks % *dense.getInt() != 0))
    reader.error(denseKey,
                 "Invalid parallel dims: " + denseKey.name + "(" +
                     llvm::Twine(*dense.getInt()) + ") must divide dp_shard(" +
                     llvm::Twine(layout.shard) + ") * cp(" +
                     llvm::Twine(layout.context) + ") = " + llvm::Twine(ranks));
}

static void countMicroBatches(const Node &root, DynamicLayout &layout,
                              DiagnosticList &diagnostics) {
  const DynamicReader reader(root, diagnostics);
  const DynamicKey &globalKey = training::globalBatchSize;
  const DynamicKey &localKey = training::localBatchSize;
  for (const DynamicKey *key : {&globalKey, &localKey})
    if (reader.getInt(*key) <= 0 || reader.getInt(*key) > INT32_MAX) {
      reader.error(*key, key->getPath() + " in config must be positive");
      return;
    }
  const int64_t local = reader.getInt(localKey);
  const int64_t global = reader.getInt(globalKey);
  const int64_t unit = layout.data * local;
  layout.microBatches = global / unit;
  if (layout.microBatches < 1) {
    reader.error(globalKey,
                 "The product of data_parallel and " + localKey.name +
                     " exceeds " + globalKey.name + ", data_parallel " +
                     llvm::Twine(layout.data) + " * " + localKey.name + " " +
                     llvm::Twine(local) + " > " + llvm::Twine(global) +
                     "; raise it to a multiple of " + llvm::Twine(unit) +
                     " or start fewer ranks");
    layout.microBatches = 1;
  } else if (const int64_t rest = global % unit) {
    reader.warn(globalKey, llvm::Twine(rest) + " of the " +
                               llvm::Twine(global) + " samples of " +
                               globalKey.name + " are dropped: a step has " +
                               llvm::Twine(layout.microBatches) +
                               " micro-batches of " + llvm::Twine(unit) +
                               " samples");
  }
  const std::vector<BatchRamp> ramp = readBatchRamp(root, unit, diagnostics);
  if (ramp.empty())
    return;
  std::string text;
  for (const BatchRamp &level : ramp)
    text += (text.empty() ? "" : ", ") + std::to_string(level.batchSize) +
            " (" + std::to_string(level.microBatches) + " micro-batches)" +
            (&level == &ramp.back()
                 ? ""
                 : " for " + std::to_string(level.steps) + " steps");
  reader.warn(training::rampupBatchSize,
              "the program is that of the last batch size of " +
                  quote(training::rampupBatchSize.name) + ": " + text);
}

DynamicLayout resolveDynamicLayout(const Node &root,
                                   DiagnosticList &diagnostics) {
  DynamicReader reader(root, diagnostics);
  DynamicLayout layout;
  layout.tensor = readDegree(reader, parallelism::tensorParallel);
  layout.context = readDegree(reader, parallelism::contextParallel);
  layout.pipeline = readDegree(reader, parallelism::pipelineParallel);
  layout.expert = readDegree(reader, parallelism::expertParallel);
  layout.interleave = readDegree(reader, parallelism::interleaveNum);
  if (layout.tensor * layout.context > mostRanks ||
      layout.tensor * layout.context * layout.pipeline > mostRanks) {
    reader.error(parallelism::tensorParallel,
                 "the number of ranks is above " + llvm::Twine(mostRanks));
    return {};
  }
  resolveDataParallel(reader, layout);
  checkExpertRanks(reader, root, layout);
  checkTensorParallel(reader, root[model::section], layout.tensor);
  checkContextParallel(reader, root, layout.context);
  checkSharding(reader, layout);
  countMicroBatches(root, layout, diagnostics);
  return layout;
}

} // namespace mf
