//===- ModelStateTest.cpp - Parameters, moments, gradients ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RunnerTesting.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Program/LocatedError.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// One stage per string of statics.
std::string makeProgram(const std::vector<std::string> &statics,
                        llvm::StringRef more = "") {
  std::string text;
  for (size_t stage = 0; stage < statics.size(); ++stage)
    text += "ascend.program @stage" + std::to_string(stage) + " stage " +
            std::to_string(stage) + makeHeader(1, 4, 1048576, 0, more) +
            "ascend.stream @compute compute\n" + statics[stage] +
            "\nascend.step {}\n}\n";
  return text;
}

std::string makeStatic(llvm::StringRef name, llvm::StringRef role,
                       llvm::StringRef type, int64_t offset,
                       llvm::StringRef attributes) {
  return ("ascend.static @" + name + " " + role + " of \"" + name +
          "\" : !ascend.buffer<" + type + ", hbm> at " + llvm::Twine(offset) +
          " {" + attributes + "}\n")
      .str();
}

using Model = ProgramWithState;

std::string initialize(Model &model, uint64_t seed = 0) {
  return llvm::toString(model.state->initialize(seed));
}

TEST(ModelStateTest, FillsTables) {
  Model model(makeProgram(
      {makeStatic("cos", "table", "3x4xf32", 0,
                  "init = #mf.init<rotary_cos, value = 100.0>") +
       makeStatic("sin", "table", "3x4xf32", 64,
                  "init = #mf.init<rotary_sin, value = 100.0, scale = 0.5>") +
       makeStatic("mask", "table", "3x3xbf16", 128,
                  "init = #mf.init<causal_mask, value = -1.0e4>") +
       makeStatic("one", "constant", "2xf32", 256, "init = #mf.init<ones>") +
       makeStatic("number", "constant", "2xi32", 320,
                  "init = #mf.init<constant, value = 7.0>")}));
  ASSERT_EQ(initialize(model), "");
  const std::vector<float> cos = model.get(0, 0), sin = model.get(0, 1);
  EXPECT_THAT(llvm::ArrayRef(cos).take_front(4).vec(), ElementsAre(1, 1, 1, 1));
  EXPECT_FLOAT_EQ(cos[4], std::cos(1.0F));
  EXPECT_FLOAT_EQ(cos[5], std::cos(0.1F));
  EXPECT_EQ(cos[6], cos[4]);
  EXPECT_EQ(cos[7], cos[5]);
  EXPECT_FLOAT_EQ(sin[8], std::sin(1.0F));
  EXPECT_FLOAT_EQ(sin[9], std::sin(0.1F));
  const float low = bfloat16ToFloat(floatToBfloat16(-1e4F));
  EXPECT_THAT(model.get(0, 2), ElementsAre(0, low, low, 0, 0, low, 0, 0, 0));
  EXPECT_THAT(model.get(0, 3), ElementsAre(1, 1));
  int32_t numbers[2];
  std::memcpy(numbers, model.runner->getStatic(0, 4).data(), 8);
  EXPECT_THAT(numbers, ElementsAre(7, 7));
}

TEST(ModelStateTest, RotatesByGivenFrequencies) {
  Model model(makeProgram({makeStatic(
      "sin", "table", "3x4xf32", 0,
      "init = #mf.init<rotary_sin, value = 9.0 frequencies [1.0, 0.25]>")}));
  ASSERT_EQ(initialize(model), "");
  const std::vector<float> sin = model.get(0, 0);
  EXPECT_FLOAT_EQ(sin[8], std::sin(2.0F));
  EXPECT_FLOAT_EQ(sin[9], std::sin(0.5F));
  EXPECT_EQ(sin[10], sin[8]);
  Model neighbours(makeProgram({makeStatic(
      "sin", "table", "3x4xf32", 0,
      "init = #mf.init<rotary_sin, value = 9.0 frequencies [1.0, 1.0, 0.25, "
      "0.25]>")}));
  ASSERT_EQ(initialize(neighbours), "");
  const std::vector<float> pairs = neighbours.get(0, 0);
  EXPECT_THAT((std::vector<float>{pairs[8], pairs[9], pairs[10], pairs[11]}),
              ElementsAre(sin[8], sin[8], sin[9], sin[9]));
  Model narrow(makeProgram({makeStatic(
      "sin", "table", "3x4xf32", 0,
      "init = #mf.init<rotary_sin, value = 9.0 frequencies [1.0]>")}));
  EXPECT_THAT(initialize(narrow),
              testing::HasSubstr("1 frequencies need a tensor of as many or "
                                 "twice as many columns"));
}

TEST(ModelStateTest, FillsAlibi) {
  constexpr llvm::StringLiteral alibi = "init = #mf.init<alibi>";
  Model model(
      makeProgram({makeStatic("four", "table", "4xf32", 0, alibi) +
                   makeStatic("six", "table", "6xf32", 64, alibi) +
                   makeStatic("bias", "table", "2x2x3xf32", 128, alibi)}));
  ASSERT_EQ(initialize(model), "");
  // Powers of two; the heads beyond take from the series of twice as many.
  EXPECT_THAT(model.get(0, 0), ElementsAre(0x1p-2F, 0x1p-4F, 0x1p-6F, 0x1p-8F));
  EXPECT_THAT(model.get(0, 1), ElementsAre(0x1p-2F, 0x1p-4F, 0x1p-6F, 0x1p-8F,
                                           0x1p-1F, 0x1p-3F));
  EXPECT_THAT(model.get(0, 2),
              ElementsAre(0, 0x1p-4F, 0x1p-3F, -0x1p-4F, 0, 0x1p-4F, 0, 0x1p-8F,
                          0x1p-7F, -0x1p-8F, 0, 0x1p-8F));
  Model pairs(makeProgram({makeStatic("pairs", "table", "2x2xf32", 0, alibi)}));
  EXPECT_THAT(initialize(pairs), testing::HasSubstr("alibi needs a tensor"));
}

TEST(ModelStateTest, FillsTablesOfIndices) {
  Model model(makeProgram(
      {makeStatic("sum", "table", "2x3xf32", 0,
                  "init = #mf.init<index_sum, value = 10.0, scale = -1.0>") +
       makeStatic("experts", "table", "4x2xf32", 64,
                  "init = #mf.init<token_experts, value = 3.0>") +
       makeStatic("hadamard", "table", "4x4xf32", 128,
                  "init = #mf.init<hadamard>") +
       makeStatic("mixing", "table", "8xf32", 192,
                  "init = #mf.init<stream_mixing>")}));
  ASSERT_EQ(initialize(model), "");
  EXPECT_THAT(model.get(0, 0), ElementsAre(0, -1, -2, 10, 9, 8));
  EXPECT_THAT(model.get(0, 1), ElementsAre(0, 1, 1, 2, 2, 0, 0, 1));
  EXPECT_THAT(model.get(0, 2), ElementsAre(1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1,
                                           -1, 1, -1, -1, 1));
  const auto start = static_cast<float>(-std::log(3.0));
  EXPECT_THAT(model.get(0, 3), ElementsAre(start, start, 0, 0, 0, -5, -5, 0));
}

constexpr llvm::StringLiteral normal = "init = #mf.init<normal, value = 0.02>";

TEST(ModelStateTest, DependsOnNamesAndSeedAlone) {
  // More elements than one tile.
  const std::string a = makeStatic("a", "parameter", "300x256xf32", 0, normal);
  const std::string b = makeStatic("b", "parameter", "8x8xf32", 524288, normal);
  Model one(makeProgram({a + b})), two(makeProgram({b, a}));
  ASSERT_EQ(initialize(one, 5), "");
  ASSERT_EQ(initialize(two, 5), "");
  EXPECT_EQ(one.get(0, 0), two.get(1, 0));
  EXPECT_EQ(one.get(0, 1), two.get(0, 0));
  const std::vector<float> values = one.get(0, 0);
  double square = 0;
  for (float value : values)
    square += value * value;
  EXPECT_NEAR(std::sqrt(square / static_cast<double>(values.size())), 0.02,
              0.0005);
  ASSERT_EQ(initialize(two, 6), "");
  EXPECT_NE(one.get(0, 0), two.get(1, 0));
}

TEST(ModelStateTest, StartsTiedParametersEqual) {
  Model model(
      makeProgram({makeStatic("table", "parameter", "4x4xf32", 0, normal),
                   makeStatic("head", "parameter", "4x4xf32", 0,
                              (normal + ", tied = @table").str()) +
                       makeStatic("gradient", "gradient", "4x4xf32", 64, "")}));
  ASSERT_EQ(initialize(model), "");
  EXPECT_EQ(model.get(0, 0), model.get(1, 0));
  EXPECT_NE(model.get(0, 0)[0], 0);
  EXPECT_EQ(model.get(1, 1), std::vector<float>(16, 0));

  // Saved once, and read for both.
  llvm::SmallString<128> path;
  ASSERT_FALSE(
      llvm::sys::fs::createTemporaryFile("state", "safetensors", path));
  ASSERT_FALSE(static_cast<bool>(
      ranks::writeTensors(path, model.state->collectParameters())));
  const std::vector<float> saved = model.get(0, 0);
  ASSERT_EQ(initialize(model, 1), "");
  EXPECT_NE(model.get(0, 0), saved);
  std::vector<std::string> notes;
  ASSERT_FALSE(static_cast<bool>(
      model.state->loadParameters({path.str().str()}, notes)));
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(model.get(0, 0), saved);
  EXPECT_EQ(model.get(1, 0), saved);
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(static_cast<bool>(file));
  EXPECT_EQ(file->getTensors().size(), 1u);
  EXPECT_FALSE(llvm::sys::fs::remove(path));
}

TEST(ModelStateTest, RefusesParametersWithoutValue) {
  Model model(makeProgram({makeStatic("w", "parameter", "4xf32", 0, "")}));
  EXPECT_THAT(initialize(model), HasSubstr("'w' has no initial value"));
  Model integers(makeProgram({makeStatic("w", "table", "4xi32", 0, normal)}));
  EXPECT_THAT(initialize(integers),
              HasSubstr("initial value of 'w': a tensor of integers can start "
                        "with zeros, ones, a constant or coordinates only"));
}

TEST(ModelStateTest, SavesAndLoadsARank) {
  const std::string statics =
      makeStatic("w", "parameter", "4xbf16", 0, normal) +
      "ascend.static @m first_moment of \"w\" : !ascend.buffer<4xf32, hbm> at "
      "64\nascend.static @v second_moment of \"w\" : !ascend.buffer<4xf32, "
      "hbm> at 128\nascend.static @a average of \"w\" : "
      "!ascend.buffer<4xf32, hbm> at 192\n";
  Model model(makeProgram({statics}));
  ASSERT_EQ(initialize(model), "");
  for (uint32_t i = 1; i < 4; ++i)
    for (uint8_t &byte : model.runner->getStatic(0, i))
      byte = static_cast<uint8_t>(i);
  std::vector<std::vector<float>> before;
  for (uint32_t i = 0; i < 4; ++i)
    before.push_back(model.get(0, i));
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("rank", "safetensors", path));
  ASSERT_FALSE(static_cast<bool>(model.state->saveRank(0, path)));
  ASSERT_EQ(initialize(model, 1), "");
  ASSERT_FALSE(static_cast<bool>(model.state->loadRanks({path.str().str()})));
  for (uint32_t i = 0; i < 4; ++i)
    EXPECT_EQ(model.get(0, i), before[i]);

  // A checkpoint of another type would not go on bit by bit.
  std::string other = statics;
  other.replace(other.find("4xbf16"), 6, "4xf32");
  Model wide(makeProgram({other}));
  EXPECT_THAT(llvm::toString(wide.state->loadRanks({path.str().str()})),
              HasSubstr("tensor 'w' is bf16, but the program holds f32"));
  EXPECT_FALSE(llvm::sys::fs::remove(path));
}

} // namespace
