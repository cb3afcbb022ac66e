//===- StageMapTest.cpp - Layers to stages and chunks ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "test/unit/CaseTable.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using Rows = std::vector<std::vector<int64_t>>;

struct Mapped {
  std::optional<StageMap> map;
  std::string messages;
};

Mapped build(StageMapOptions options, llvm::StringRef offset) {
  DiagnosticList diagnostics;
  auto read =
      readStageOffset(parseYaml(offset, "t.yaml", diagnostics), diagnostics);
  Mapped mapped;
  if (read) {
    options.offset = *read;
    mapped.map = StageMap::create(options, diagnostics);
  }
  mapped.messages = diagnostics.str();
  return mapped;
}

Mapped build(int64_t layers, int64_t stages, int64_t interleave,
             llvm::StringRef offset, std::vector<int64_t> visits = {}) {
  StageMapOptions options;
  options.numLayers = layers;
  options.pipelineStages = stages;
  options.interleave = interleave;
  options.visits = std::move(visits);
  return build(options, offset);
}

/// With a layer behind them that predicts later tokens.
Mapped buildMcore(int64_t layers, int64_t stages, int64_t interleave,
                  llvm::StringRef offset) {
  StageMapOptions options;
  options.numLayers = layers;
  options.mtpLayers = 1;
  options.mayLeaveOutMtp = true;
  options.pipelineStages = stages;
  options.interleave = interleave;
  return build(options, offset);
}

std::vector<int64_t> getStages(const StageMap &map) {
  std::vector<int64_t> stages;
  stages.reserve(static_cast<size_t>(map.getNumLayers()));
  for (int64_t layer = 0; layer < map.getNumLayers(); ++layer)
    stages.push_back(map.getPlace(layer).stage);
  return stages;
}

TEST(StageMapTest, ValuesAreCastAsNumpyDoes) {
  EXPECT_EQ(build(9, 2, 1, "[0.9, '1']").map->getLayersPerStage(),
            (Rows{{4, 5}}));
  EXPECT_EQ(build(9, 2, 1, "[False, True]").map->getLayersPerStage(),
            (Rows{{4, 5}}));
}

TEST(StageMapTest, OnlyTheOuterMiniStagesMayBeEmpty) {
  Mapped mapped = build(8, 4, 1, "[-2, 2, 2, -2]");
  EXPECT_EQ(mapped.messages, "");
  EXPECT_THAT(getStages(*mapped.map), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2));
  mapped = build(8, 2, 2, "[[-2, 1], [3, -2]]");
  EXPECT_EQ(mapped.messages, "");
  EXPECT_THAT(getStages(*mapped.map), ElementsAre(1, 1, 1, 0, 0, 0, 0, 0));
}

TEST(StageMapTest, ErrorsProposeAnOffsetThatIsRight) {
  std::mt19937 random(1);
  int64_t proposed = 0;
  for (int round = 0; round < 500; ++round) {
    const int64_t stages = 1 + random() % 6, interleave = 1 + random() % 3;
    const int64_t layers = random() % 40;
    Rows rows(random() % 4 == 0 ? 2 : static_cast<size_t>(interleave),
              std::vector<int64_t>(static_cast<size_t>(stages)));
    for (std::vector<int64_t> &row : rows)
      for (int64_t &value : row)
        value = static_cast<int64_t>(random() % 5) - 2;
    const StageOffset written{StageOffset::Kind::PerMiniStage, rows, {}};
    Mapped mapped = build(layers, stages, interleave, written.repr());
    if (mapped.map || layers < stages * interleave)
      continue;
    const llvm::StringRef message(mapped.messages);
    const llvm::StringRef before = message.split(" would do").first;
    ASSERT_NE(before.size(), message.size()) << mapped.messages;
    mapped = build(layers, stages, interleave, before.rsplit("; ").second);
    EXPECT_EQ(mapped.messages, "");
    EXPECT_TRUE(mapped.map.has_value());
    ++proposed;
  }
  EXPECT_GT(proposed, 100);
}

TEST(StageMapTest, AnOffsetThatLeavesOutTheLayerForLaterTokens) {
  Mapped mapped = buildMcore(4, 4, 1, "0");
  EXPECT_EQ(mapped.messages,
            "t.yaml:1:1: warning: 'offset' 0 counts 4 layers without the one "
            "that predicts later tokens, as current releases of MindSpore "
            "Transformers do; it is on the last stage, with the recompute "
            "setting of layer 3\n");
  EXPECT_EQ(mapped.map->getLayersPerStage(), (Rows{{1, 1, 1, 1}}));
  EXPECT_THAT(getStages(*mapped.map), ElementsAre(0, 1, 2, 3, 3));
  EXPECT_EQ(mapped.map->getPlace(4).index, 1);
  EXPECT_EQ(mapped.map->getSettingLayer(3), 3);
  EXPECT_EQ(mapped.map->getSettingLayer(4), 3);
  // The last stage has this layer alone.
  mapped = buildMcore(6, 4, 1, "[1, 1, 1, -1]");
  EXPECT_THAT(getStages(*mapped.map), ElementsAre(0, 0, 1, 1, 2, 2, 3));
  EXPECT_EQ(mapped.map->getSettingLayer(6), 5);
  mapped = buildMcore(9, 2, 2, "[[0, 1], [0, 0]]");
  EXPECT_THAT(getStages(*mapped.map),
              ElementsAre(0, 0, 1, 1, 1, 0, 0, 1, 1, 1));
  EXPECT_EQ(mapped.map->getPlace(9).chunk, 1);
}

TEST(StageMapTest, AnOffsetThatCountsTheLayerForLaterTokens) {
  Mapped mapped = buildMcore(4, 4, 1, "[0, 0, 1, 0]");
  EXPECT_EQ(mapped.messages,
            "t.yaml:1:1: warning: 'offset' [0, 0, 1, 0] counts 5 layers with "
            "the one that predicts later tokens, as older releases of "
            "MindSpore Transformers do; current ones expect a sum of 0\n");
  EXPECT_THAT(getStages(*mapped.map), ElementsAre(0, 1, 2, 2, 3));
  EXPECT_EQ(mapped.map->getSettingLayer(4), 4);
  EXPECT_EQ(buildMcore(4, 1, 1, "0").messages, "");
}

TEST(StageMapTest, AnOffsetThatFitsNeitherCount) {
  EXPECT_EQ(buildMcore(45, 8, 1, "0").messages,
            "t.yaml:1:1: error: expected the values of 'offset' 0 to add up to "
            "5, what remains of 45 layers without the one that predicts later "
            "tokens over 8 mini stages (pipeline_stage 8 * pp_interleave_num "
            "1), as current releases of MindSpore Transformers count, or to 6, "
            "what remains of 46 layers with it, as older releases do, but they "
            "add up to 0; [0, 0, 1, 1, 1, 1, 1, 0] would do\n");
  EXPECT_TRUE(buildMcore(45, 8, 1, "[0, 0, 1, 1, 1, 1, 1, 0]").map);
  // Without the layer there are fewer layers than stages.
  EXPECT_THAT(buildMcore(3, 4, 1, "1").messages,
              HasSubstr("but they add up to 1; [0, 0, 0, 0] would do"));
}

TEST(StageMapTest, TheLayerForLaterTokensIsOnTheLastMiniStage) {
  EXPECT_THAT(buildMcore(7, 2, 2, "[[0, 1], [1, -2]]").messages,
              HasSubstr("leaves stage 1 of interleave 1 with 0 layers; "
                        "expected at least 1 there, where later tokens are "
                        "predicted; "));
  EXPECT_TRUE(buildMcore(8, 2, 2, "[[0, 1], [1, -2]]").map);
}

TEST(StageMapTest, OneIntCountsForEveryStage) {
  Mapped mapped = build(5, 2, 1, "1");
  EXPECT_THAT(mapped.messages, HasSubstr("room is made for 6 layers"));
  EXPECT_EQ(mapped.map->getLayersPerStage(), (Rows{{3, 3}}));
  EXPECT_THAT(getStages(*mapped.map), ElementsAre(0, 0, 0, 1, 1));
}

/// Layers, stages and chunks for each of them, and an offset.
constexpr llvm::StringLiteral wrongOffsets = R"(
8 4 1 [2, 2, -2, -2] => t.yaml:1:1: error: 'offset' [2, 2, -2, -2] leaves stage 2 of interleave 0 with 0 layers; expected at least 1 between the first and the last of all; [0, 0, 0, 0] would do
8 2 2 [[1, -2], [1, 0]] => leaves stage 1 of interleave 0 with 0 layers
6 4 1 [2, 1, 1, -2] => t.yaml:1:1: error: 'offset' [2, 1, 1, -2] leaves stage 3 of interleave 0 with -1 layers; expected at least 0 there; [0, 1, 1, 0] would do
# Layers that the offset counts too often leave late stages without any.
9 8 1 1 => error: 'offset' 1 leaves stage 5 of interleave 0 with 0 layers
9 4 1 [1, 0, 0] => t.yaml:1:1: error: expected one value per pipeline stage (4) in each row of 'offset' [1, 0, 0], but got 3
9 2 2 [[0, 1]] => one row per interleave (2)
9 2 1 [[0, 1], [0, 0]] => note: pp_interleave_num counts only if
10 4 1 0 => to add up to 2, what remains of 10 layers over 4
9 2 2 [[1], [0, 0]] => rows of different lengths
8 2 1 x => 'offset'
8 2 1 null => but got null
8 2 1 [] => but got 0
8 2 1 [[[0]], [[0]]] => a list
8 2 1 [99999999999, 0] => a number of layers
# Huge sizes.
1099511627776 2 1 0 => at most 65536
8 65536 65536 0 => mini stages
8 0 1 0 => from 1 to
)";

TEST(StageMapTest, WrongOffsetsAreErrors) {
  for (const auto &[given, message] : readTable(wrongOffsets)) {
    llvm::StringRef offset = given;
    int64_t sizes[3] = {};
    for (int64_t &size : sizes) {
      ASSERT_FALSE(offset.consumeInteger(10, size));
      offset = offset.ltrim();
    }
    EXPECT_THAT(build(sizes[0], sizes[1], sizes[2], offset).messages,
                HasSubstr(message.str()));
  }
}

/// The second of two chunks visits the stages backwards.
std::vector<int64_t> getV(int64_t stages) {
  std::vector<int64_t> visits;
  for (int64_t chunk = 0; chunk < 2 * stages; ++chunk)
    visits.push_back(chunk < stages ? chunk : 2 * stages - 1 - chunk);
  return visits;
}

TEST(StageMapTest, AVFoldsTheSecondChunkBack) {
  Mapped mapped = build(8, 4, 2, "0", getV(4));
  EXPECT_EQ(mapped.messages, "");
  EXPECT_THAT(getStages(*mapped.map), ElementsAre(0, 1, 2, 3, 3, 2, 1, 0));
  EXPECT_EQ(mapped.map->getFirstStage(), 0);
  EXPECT_EQ(mapped.map->getLastStage(), 0);
  EXPECT_FALSE(mapped.map->visitsAlike());
}

TEST(StageMapTest, EveryVHasTheLayersThatItsOffsetGivesToPhysicalStages) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    int64_t stages = 2 + random() % 5;
    int64_t average = 1 + random() % 3;
    Rows offset(2, std::vector<int64_t>(static_cast<size_t>(stages)));
    int64_t rest = random() % (2 * stages);
    for (int64_t i = 0; i < rest; ++i)
      ++offset[random() % 2][random() % stages];
    StageOffset written{StageOffset::Kind::PerMiniStage, offset, {}};
    Mapped mapped = build(2 * stages * average + rest, stages, 2,
                          written.repr(), getV(stages));
    ASSERT_EQ(mapped.messages, "");
    for (int64_t chunk = 0; chunk < 2; ++chunk)
      for (int64_t stage = 0; stage < stages; ++stage)
        EXPECT_EQ(
            static_cast<int64_t>(mapped.map->getLayers(stage, chunk).size()),
            average +
                offset[static_cast<size_t>(chunk)][static_cast<size_t>(stage)]);
    // Down to the last stage and back up, a stage at a time.
    std::vector<int64_t> passed = getStages(*mapped.map);
    auto turn = std::find_if(passed.begin(), passed.end(), [&](int64_t stage) {
      return stage == stages - 1;
    });
    EXPECT_TRUE(std::is_sorted(passed.begin(), turn));
    EXPECT_TRUE(std::is_sorted(turn, passed.end(), std::greater<>()));
  }
}

TEST(StageMapTest, AScheduleHasToVisitEachStageOncePerChunk) {
  for (const std::vector<int64_t> &visits :
       {std::vector<int64_t>{0, 1}, {0, 1, 2, -1}, {0, 1, 1, 1}, {0, 0, 1, 1}})
    EXPECT_THAT(build(8, 2, 2, "0", visits).messages,
                HasSubstr("does not place 2 chunks on each of 2 stages"));
}

TEST(StageMapTest, OptionsOfAYaml) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(
      "parallel_config: {pipeline_stage: 8, micro_batch_num: 4}\n"
      "parallel: {pipeline_config: {pipeline_interleave: True}}\n"
      "model:\n  model_config: {num_layers: 8, mtp_depth: 1, offset: 0,"
      " pp_interleave_num: 2, start_stage: 4, stage_num: 4}\n",
      "t.yaml", diagnostics);
  StageMapOptions options = getStageMapOptions(config, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  EXPECT_EQ(options.mtpLayers, 1);
  EXPECT_EQ(options.interleave, 2);
  options.mtpLayers = 0;
  StageMap map = *StageMap::create(options, diagnostics);
  EXPECT_THAT(getStages(map), ElementsAre(4, 5, 6, 7, 4, 5, 6, 7));
  EXPECT_EQ(map.getFirstStage(), 4);
  EXPECT_EQ(map.getLastStage(), 7);
}

TEST(StageMapTest, FewerLayersThanMiniStages) {
  DiagnosticList diagnostics;
  StageMapOptions options;
  options.numLayers = 3;
  options.pipelineStages = 2;
  EXPECT_TRUE(checkLayerCount(options, diagnostics));
  options.interleave = 2;
  EXPECT_FALSE(checkLayerCount(options, diagnostics));
}

} // namespace
