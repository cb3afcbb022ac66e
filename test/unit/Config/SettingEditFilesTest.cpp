//===- SettingEditFilesTest.cpp - Real YAMLs with drawn settings ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each YAML of test/data gets settings drawn with a fixed seed. The settings
// read from the result must be those that were asked for, and all else as
// before.
//
//===----------------------------------------------------------------------===//

#include "SettingEdits.h"
#include "YamlMutations.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <random>

using namespace mf;

namespace {

/// Settings that a model of some layers can have, the same ones for the same
/// seed.
class SettingDraw {
public:
  explicit SettingDraw(unsigned seed) : random(seed) {}

  int64_t from(int64_t smallest, int64_t largest) {
    return smallest +
           static_cast<int64_t>(random() %
                                static_cast<uint64_t>(largest - smallest + 1));
  }
  bool coin() { return from(0, 1) == 1; }

  /// Draws settings for a file with so many layers.
  MemorySettings draw(int64_t layers);

private:
  StageTable drawOffset(int64_t layers, int64_t stages, int64_t chunks);
  StageTable drawCounts(const StageTable &offset, int64_t average);
  std::vector<OperatorCounts> drawOperators(const StageTable &offset,
                                            int64_t average);
  std::vector<SwapItem> drawSwap(int64_t layers);

  std::mt19937 random;
};

StageTable SettingDraw::drawOffset(int64_t layers, int64_t stages,
                                   int64_t chunks) {
  StageTable table(static_cast<size_t>(chunks),
                   std::vector<int64_t>(static_cast<size_t>(stages)));
  auto place = [&]() -> int64_t & {
    return table[static_cast<size_t>(from(0, chunks - 1))]
                [static_cast<size_t>(from(0, stages - 1))];
  };
  const int64_t average = layers / (stages * chunks);
  for (int64_t left = layers % (stages * chunks); left > 0; --left)
    ++place();
  for (int64_t moves = from(0, 2); moves > 0; --moves) {
    int64_t &giver = place();
    if (giver < 0 || average + giver < 2)
      continue;
    --giver;
    ++place();
  }
  return table;
}

StageTable SettingDraw::drawCounts(const StageTable &offset, int64_t average) {
  StageTable table = offset;
  const bool isNone = from(0, 4) == 0;
  for (std::vector<int64_t> &row : table)
    for (int64_t &count : row)
      count = isNone ? 0 : from(0, average + count);
  return table;
}

std::vector<OperatorCounts> SettingDraw::drawOperators(const StageTable &offset,
                                                       int64_t average) {
  std::vector<OperatorCounts> operators;
  for (const char *pattern :
       {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu",
        "feed_forward\\.w2\\.reshape", ".*\\.norm", "it's"})
    if (coin())
      operators.push_back({pattern, drawCounts(offset, average)});
  return operators;
}

std::vector<SwapItem> SettingDraw::drawSwap(int64_t layers) {
  std::vector<SwapItem> items;
  for (const char *name : {"", "attention\\.flash_attention", "add"})
    for (int64_t prefetch = 1; prefetch <= 2; ++prefetch) {
      SwapItem item = {name, prefetch, {}};
      for (int64_t layer = prefetch - 1; layer < layers; layer += 2)
        if (coin())
          item.layers.push_back(layer);
      if (!item.layers.empty() && coin())
        items.push_back(std::move(item));
    }
  return items;
}

MemorySettings SettingDraw::draw(int64_t layers) {
  MemorySettings settings;
  const int64_t stages = from(1, std::min<int64_t>(layers, 5));
  const int64_t chunks =
      from(1, std::max<int64_t>(std::min<int64_t>(layers / stages, 3), 1));
  const int64_t average = layers / (stages * chunks);
  settings.stages = stages;
  settings.interleave = chunks;
  settings.offset = drawOffset(layers, stages, chunks);
  settings.scheduler = coin() ? "1f1b" : "seqpipe";
  settings.recompute = drawCounts(*settings.offset, average);
  settings.selectRecompute = drawOperators(*settings.offset, average);
  settings.selectCommRecompute = drawOperators(*settings.offset, average);
  settings.swap = from(0, 2) == 0 ? drawSwap(layers) : std::vector<SwapItem>();
  if (coin())
    settings.microBatches = from(1, 64);
  if (coin())
    settings.batchSize = from(1, 4);
  if (coin())
    settings.lessMemoryInterleave = coin();
  for (auto number :
       {&MemorySettings::dataParallel, &MemorySettings::modelParallel,
        &MemorySettings::contextParallel, &MemorySettings::expertParallel})
    if (coin())
      settings.*number = from(1, 16);
  if (coin())
    settings.sequenceParallel = coin();
  if (coin())
    settings.optimizerSharding = coin();
  return settings;
}

struct File {
  std::string path;
  std::string text;
};

std::vector<File> readFiles() {
  std::vector<File> files;
  for (const std::string &path : findYamlFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!llvm::StringRef(path).contains("mindformers") || !buffer)
      continue;
    files.push_back({path, (*buffer)->getBuffer().str()});
  }
  return files;
}

TrainingConfig parse(llvm::StringRef text) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(text, "a.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.hasErrors()) << diagnostics.str();
  return config;
}

MemorySettings read(llvm::StringRef text) {
  auto settings = readSettings(parse(text));
  if (settings)
    return *settings;
  ADD_FAILURE() << llvm::toString(settings.takeError());
  return {};
}

/// The operators as readSettings gives them: none for no layers, in an order of
/// its own.
std::map<std::string, StageTable>
normalize(const std::optional<std::vector<OperatorCounts>> &list) {
  std::map<std::string, StageTable> operators;
  for (const OperatorCounts &one :
       list.value_or(std::vector<OperatorCounts>())) {
    bool isEmpty = true;
    for (const std::vector<int64_t> &row : one.layers)
      for (const int64_t count : row)
        isEmpty &= count == 0;
    if (!isEmpty)
      operators[one.pattern] = one.layers;
  }
  return operators;
}

/// Holds `now` to what was asked for and, where nothing was, to `before`.
void expectSettings(const MemorySettings &asked, const MemorySettings &before,
                    const MemorySettings &now) {
  EXPECT_EQ(now.offset, asked.offset);
  EXPECT_EQ(now.recompute, asked.recompute);
  EXPECT_EQ(normalize(now.selectRecompute), normalize(asked.selectRecompute));
  EXPECT_EQ(normalize(now.selectCommRecompute),
            normalize(asked.selectCommRecompute));
  EXPECT_EQ(now.swap, asked.swap);
  EXPECT_EQ(now.interleave, asked.interleave);
  const bool isLessMemory = asked.lessMemoryInterleave.value_or(false);
  EXPECT_EQ(*now.scheduler,
            isLessMemory ? "seqsmartvpp" : asked.scheduler.value());
  EXPECT_EQ(now.lessMemoryInterleave, isLessMemory);
  for (auto number :
       {&MemorySettings::microBatches, &MemorySettings::batchSize,
        &MemorySettings::dataParallel, &MemorySettings::modelParallel,
        &MemorySettings::contextParallel, &MemorySettings::expertParallel})
    EXPECT_EQ(now.*number, asked.*number ? asked.*number : before.*number);
  for (auto flag :
       {&MemorySettings::sequenceParallel, &MemorySettings::optimizerSharding})
    EXPECT_EQ(now.*flag, asked.*flag ? asked.*flag : before.*flag);
}

/// All scalars by their path, without those that settings are written to or
/// that are aliases of them in the files.
void flatten(const Node &node, const std::string &path,
             std::map<std::string, std::string> &scalars) {
  static const std::vector<llvm::StringRef> settings = {
      ".recompute_config.recompute",
      ".recompute_config.select_recompute",
      ".recompute_config.select_comm_recompute",
      ".swap_config",
      ".context.memory_optimize_level",
      ".model.model_config.offset",
      ".model.model_config.pp_interleave_num",
      ".parallel.pipeline_config",
      ".parallel.enable_parallel_optimizer",
      ".parallel.dataset_strategy",
      ".parallel_config.use_seq_parallel",
      ".parallel_config.data_parallel",
      ".parallel_config.model_parallel",
      ".parallel_config.context_parallel",
      ".parallel_config.expert_parallel",
      ".parallel_config.pipeline_stage",
      ".parallel_config.micro_batch_num",
      ".runner_config.batch_size"};
  if (llvm::is_contained(settings, path) ||
      llvm::StringRef(path).ends_with("micro_batch_num"))
    return;
  if (!node.isMap() && !node.isList())
    scalars[path] = node.repr(SIZE_MAX);
  for (const Node::Entry &entry : node.getEntries())
    flatten(entry.value, path + "." + entry.key.getText().str(), scalars);
  for (size_t at = 0; at < node.getElements().size(); ++at)
    flatten(node.getElements()[at], path + "." + std::to_string(at), scalars);
}

bool saysASetting(llvm::StringRef line) {
  line = line.trim();
  // Patterns of select_recompute.
  if (line.starts_with("'") || line.empty())
    return true;
  static const std::vector<llvm::StringRef> keys = {
      "recompute",        "select_recompute",     "select_comm_recompute",
      "offset",           "pp_interleave_num",    "pipeline_interleave",
      "batch_size",       "pipeline_stage",       "pipeline_scheduler",
      "data_parallel",    "model_parallel",       "enable_parallel_optimizer",
      "context_parallel", "expert_parallel",      "use_seq_parallel",
      "micro_batch_num",  "memory_optimize_level"};
  return llvm::is_contained(keys, line.split(':').first);
}

TEST(SettingEditFilesTest, WritingWhatIsThereChangesNothing) {
  const std::vector<File> files = readFiles();
  ASSERT_GT(files.size(), 30u);
  for (const File &file : files) {
    SCOPED_TRACE(file.path);
    auto edited = applySettings(file.text, "a.yaml", read(file.text));
    ASSERT_TRUE(bool(edited)) << llvm::toString(edited.takeError());
    EXPECT_EQ(*edited, file.text);
  }
}

/// Full recompute is the one setting that pieces of the sequence refuse.
void expectNoFullRecompute(llvm::Error error) {
  EXPECT_THAT(llvm::toString(std::move(error)),
              testing::HasSubstr(
                  "full recompute does not work with seq_split_num > 1"));
}

TEST(SettingEditFilesTest, WritesDrawnSettings) {
  SettingDraw draw(1);
  for (const File &file : readFiles()) {
    const MemorySettings before = read(file.text);
    DiagnosticList ignored;
    const StageMapOptions options =
        getStageMapOptions(parse(file.text), ignored);
    const bool cutsSequence = parse(file.text).parallel.seqSplitNum > 1;
    std::map<std::string, std::string> scalars;
    flatten(parse(file.text).root, "", scalars);
    for (int round = 0; round < 4; ++round) {
      SCOPED_TRACE(file.path + " round " + std::to_string(round));
      const MemorySettings asked =
          draw.draw(options.numLayers + options.mtpLayers);
      auto edited = applySettings(file.text, "a.yaml", asked);
      if (!edited && cutsSequence) {
        expectNoFullRecompute(edited.takeError());
        continue;
      }
      ASSERT_TRUE(bool(edited)) << llvm::toString(edited.takeError());
      expectSettings(asked, before, read(*edited));
      std::map<std::string, std::string> now;
      flatten(parse(*edited).root, "", now);
      EXPECT_EQ(now, scalars);
      for (llvm::StringRef line : diffLines(file.text, *edited))
        if (line.consume_front("-"))
          EXPECT_TRUE(saysASetting(line)) << line.str();
      // And from there to other ones.
      const MemorySettings next =
          draw.draw(options.numLayers + options.mtpLayers);
      auto again = applySettings(*edited, "a.yaml", next);
      if (!again && cutsSequence) {
        expectNoFullRecompute(again.takeError());
        continue;
      }
      ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError()) << *edited;
      expectSettings(next, read(*edited), read(*again));
      if (HasFailure()) {
        ADD_FAILURE() << *edited << "\n=======\n" << *again;
        return;
      }
    }
  }
}

/// Whatever a text is, its settings are written or an error says why not.
TEST(SettingEditFilesTest, BrokenFilesAreEditedOrRejected) {
  const std::vector<std::string> texts = readYamlTexts();
  SettingDraw draw(2);
  YamlMutator mutator(20251122);
  size_t rejected = 0;
  size_t edited = 0;
  for (int round = 0; round < 10; ++round)
    for (const std::string &original : texts) {
      std::string text = original;
      for (size_t i = 0, count = 1 + mutator.below(4); i < count; ++i)
        mutator.mutate(text, texts);
      SCOPED_TRACE(text);
      DiagnosticList diagnostics;
      const TrainingConfig config =
          parseTrainingConfig(text, "a.yaml", diagnostics);
      auto before = readSettings(config);
      const StageMapOptions options = getStageMapOptions(config, diagnostics);
      const int64_t layers = options.numLayers + options.mtpLayers;
      const MemorySettings asked =
          draw.draw(layers >= 1 && layers <= 256 ? layers : 8);
      auto result = applySettings(text, "a.yaml", asked);
      if (!result || !before) {
        ++rejected;
        if (!result)
          EXPECT_EQ(llvm::toString(result.takeError()).find("a.yaml"), 0u);
        if (!before)
          llvm::consumeError(before.takeError());
        continue;
      }
      ++edited;
      expectSettings(asked, *before, read(*result));
      if (HasFailure())
        return;
    }
  // The mutations are neither too weak nor too strong to tell something.
  EXPECT_GT(rejected, 50u);
  EXPECT_GT(edited, 50u);
}

} // namespace
