//===- SettingEditFilesTest.cpp - Real YAMLs with drawn settings ----------===//
//
// Each YAML of test/data gets settings drawn with a fixed seed. What is read
// from the result must be what was asked for, and all else as before.
//
//===----------------------------------------------------------------------===//

#include "mf/Config/SettingEdit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <random>

using namespace mf;

namespace {

struct File {
  std::string path;
  std::string text;
  NameFamily names = NameFamily::Classic;
};

std::vector<File> readFiles() {
  std::vector<File> files;
  for (const char *folder :
       {"/mindformers/yamls", "/mindformers/throughput_yamls"}) {
    std::error_code code;
    for (llvm::sys::fs::directory_iterator
             at(MF_TEST_DATA + std::string(folder), code),
         end;
         at != end && !code; at.increment(code))
      files.push_back({at->path(), "", NameFamily::Classic});
  }
  // Folders list their files in no fixed order.
  std::sort(files.begin(), files.end(),
            [](const File &a, const File &b) { return a.path < b.path; });
  for (File &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file.path);
    file.text = buffer ? (*buffer)->getBuffer().str() : "";
    if (llvm::StringRef(file.path).contains("qwen3"))
      file.names = NameFamily::Mcore;
  }
  return files;
}

TrainingConfig parse(llvm::StringRef text) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(text, "a.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.hasErrors()) << diagnostics.str();
  return config;
}

MemorySettings read(llvm::StringRef text, NameFamily names) {
  auto settings = readSettings(parse(text), names);
  if (settings)
    return *settings;
  ADD_FAILURE() << llvm::toString(settings.takeError());
  return {};
}

class Draw {
public:
  explicit Draw(unsigned seed) : random(seed) {}

  int64_t from(int64_t smallest, int64_t largest) {
    return smallest +
           static_cast<int64_t>(random() %
                                static_cast<uint64_t>(largest - smallest + 1));
  }
  bool coin() { return from(0, 1) == 1; }

  /// Of a file with so many layers.
  MemorySettings draw(int64_t layers);

private:
  StageTable drawOffset(int64_t layers, int64_t stages, int64_t chunks);
  StageTable drawCounts(const StageTable &offset, int64_t average);
  std::vector<OperatorCounts> drawOperators(const StageTable &offset,
                                            int64_t average);
  std::vector<SwapItem> drawSwap(int64_t layers);

  std::mt19937 random;
};

StageTable Draw::drawOffset(int64_t layers, int64_t stages, int64_t chunks) {
  StageTable table(static_cast<size_t>(chunks),
                   std::vector<int64_t>(static_cast<size_t>(stages)));
  auto place = [&]() -> int64_t & {
    return table[static_cast<size_t>(from(0, chunks - 1))]
                [static_cast<size_t>(from(0, stages - 1))];
  };
  for (int64_t left = layers % (stages * chunks); left > 0; --left)
    ++place();
  for (int64_t moves = from(0, 2); moves > 0; --moves) {
    int64_t &giver = place();
    if (giver < 0)
      continue;
    --giver;
    ++place();
  }
  return table;
}

StageTable Draw::drawCounts(const StageTable &offset, int64_t average) {
  StageTable table = offset;
  const bool isNone = from(0, 4) == 0;
  for (std::vector<int64_t> &row : table)
    for (int64_t &count : row)
      count = isNone ? 0 : from(0, average + count);
  return table;
}

std::vector<OperatorCounts> Draw::drawOperators(const StageTable &offset,
                                                int64_t average) {
  std::vector<OperatorCounts> operators;
  for (const char *pattern :
       {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu",
        "feed_forward\\.w2\\.reshape", ".*\\.norm", "it's"})
    if (coin())
      operators.push_back({pattern, drawCounts(offset, average)});
  return operators;
}

std::vector<SwapItem> Draw::drawSwap(int64_t layers) {
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

MemorySettings Draw::draw(int64_t layers) {
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

/// What readSettings says of the operators: none for no layers, in an order of
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

/// The lines of `before` that are not in `after`, by a longest common
/// subsequence.
std::vector<llvm::StringRef> getLostLines(llvm::StringRef before,
                                          llvm::StringRef after) {
  llvm::SmallVector<llvm::StringRef> old, now;
  before.split(old, '\n');
  after.split(now, '\n');
  std::vector<std::vector<unsigned>> common(
      old.size() + 1, std::vector<unsigned>(now.size() + 1));
  for (size_t i = old.size(); i-- > 0;)
    for (size_t j = now.size(); j-- > 0;)
      common[i][j] = old[i] == now[j]
                         ? common[i + 1][j + 1] + 1
                         : std::max(common[i + 1][j], common[i][j + 1]);
  std::vector<llvm::StringRef> lost;
  for (size_t i = 0, j = 0; i < old.size();) {
    if (j < now.size() && old[i] == now[j]) {
      ++i;
      ++j;
    } else if (j < now.size() && common[i][j + 1] >= common[i + 1][j]) {
      ++j;
    } else {
      lost.push_back(old[i++]);
    }
  }
  return lost;
}

bool saysASetting(llvm::StringRef line) {
  line = line.trim();
  // Patterns of select_recompute.
  if (line.starts_with("'") || line.empty())
    return true;
  static const std::vector<llvm::StringRef> keys = {
      "recompute",        "select_recompute",  "select_comm_recompute",
      "offset",           "pp_interleave_num", "pipeline_interleave",
      "batch_size",       "pipeline_stage",    "pipeline_scheduler",
      "data_parallel",    "model_parallel",    "enable_parallel_optimizer",
      "context_parallel", "expert_parallel",   "use_seq_parallel",
      "micro_batch_num"};
  return llvm::is_contained(keys, line.split(':').first);
}

TEST(SettingEditFiles, WritingWhatIsThereChangesNothing) {
  const std::vector<File> files = readFiles();
  ASSERT_GT(files.size(), 30u);
  for (const File &file : files) {
    SCOPED_TRACE(file.path);
    auto edited = applySettings(file.text, "a.yaml",
                                read(file.text, file.names), file.names);
    ASSERT_TRUE(bool(edited)) << llvm::toString(edited.takeError());
    EXPECT_EQ(*edited, file.text);
  }
}

TEST(SettingEditFiles, WritesDrawnSettings) {
  Draw draw(1);
  for (const File &file : readFiles()) {
    const MemorySettings before = read(file.text, file.names);
    DiagnosticList ignored;
    const StageMapOptions options =
        getStageMapOptions(parse(file.text), ignored);
    std::map<std::string, std::string> scalars;
    flatten(parse(file.text).root, "", scalars);
    for (int round = 0; round < 10; ++round) {
      SCOPED_TRACE(file.path + " round " + std::to_string(round));
      const MemorySettings asked =
          draw.draw(options.numLayers + options.mtpLayers);
      auto edited = applySettings(file.text, "a.yaml", asked, file.names);
      if (!edited) {
        // The one thing that these files cannot have.
        EXPECT_EQ(llvm::toString(edited.takeError()), "");
        return;
      }
      expectSettings(asked, before, read(*edited, file.names));
      std::map<std::string, std::string> now;
      flatten(parse(*edited).root, "", now);
      EXPECT_EQ(now, scalars);
      for (const llvm::StringRef line : getLostLines(file.text, *edited))
        EXPECT_TRUE(saysASetting(line)) << line.str();
      // And from there to other ones.
      const MemorySettings next =
          draw.draw(options.numLayers + options.mtpLayers);
      auto again = applySettings(*edited, "a.yaml", next, file.names);
      ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError()) << *edited;
      expectSettings(next, read(*edited, file.names), read(*again, file.names));
      if (HasFailure()) {
        ADD_FAILURE() << *edited << "\n=======\n" << *again;
        return;
      }
    }
  }
}

} // namespace
