//===- ModelStateTest.cpp - Parameters, moments, gradients ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RunnerTesting.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Program/LocatedError.h"
#include "test/unit/TemporaryDirectory.h"
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

/// One table with this initial value.
std::string makeTable(llvm::StringRef type, llvm::StringRef init) {
  return makeProgram({makeStatic("table", "table", type, 0,
                                 ("init = #mf.init<" + init + ">").str())});
}

TEST(ModelStateTest, FillsTables) {
  struct Case {
    const char *type, *init;
    std::vector<float> expected;
  };
  const float low = bfloat16ToFloat(floatToBfloat16(-1e4F));
  const auto start = static_cast<float>(-std::log(3.0));
  // Of positions 0 to 2.
  auto rotate = [](float (*function)(float), float first, float second,
                   bool arePairs = false) {
    std::vector<float> values;
    for (float position : {0.0F, 1.0F, 2.0F}) {
      const float one = function(position * first),
                  two = function(position * second);
      values.insert(values.end(),
                    {one, arePairs ? one : two, arePairs ? two : one, two});
    }
    return values;
  };
  const Case cases[] = {
      {"3x4xf32", "rotary_cos, value = 100.0", rotate(std::cos, 1, 0.1F)},
      {"3x4xf32", "rotary_sin, value = 100.0, scale = 0.5",
       rotate(std::sin, 0.5F, 0.05F)},
      {"3x4xf32", "rotary_sin, value = 9.0 frequencies [1.0, 0.25]",
       rotate(std::sin, 1, 0.25F)},
      {"3x4xf32", "rotary_sin, value = 9.0 frequencies [1.0, 1.0, 0.25, 0.25]",
       rotate(std::sin, 1, 0.25F, /*arePairs=*/true)},
      {"3x3xbf16",
       "causal_mask, value = -1.0e4",
       {0, low, low, 0, 0, low, 0, 0, 0}},
      {"2xf32", "ones", {1, 1}},
      // Powers of two; the heads beyond take from the series of twice as many.
      {"4xf32", "alibi", {0x1p-2F, 0x1p-4F, 0x1p-6F, 0x1p-8F}},
      {"6xf32",
       "alibi",
       {0x1p-2F, 0x1p-4F, 0x1p-6F, 0x1p-8F, 0x1p-1F, 0x1p-3F}},
      {"2x2x3xf32",
       "alibi",
       {0, 0x1p-4F, 0x1p-3F, -0x1p-4F, 0, 0x1p-4F, 0, 0x1p-8F, 0x1p-7F,
        -0x1p-8F, 0, 0x1p-8F}},
      {"2x3xf32",
       "index_sum, value = 10.0, scale = -1.0",
       {0, -1, -2, 10, 9, 8}},
      {"4x2xf32", "token_experts, value = 3.0", {0, 1, 1, 2, 2, 0, 0, 1}},
      {"4x4xf32",
       "hadamard",
       {1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1, 1}},
      {"8xf32", "stream_mixing", {start, start, 0, 0, 0, -5, -5, 0}}};
  for (const Case &one : cases) {
    SCOPED_TRACE(one.init);
    Model model(makeTable(one.type, one.init));
    ASSERT_EQ(initialize(model), "");
    EXPECT_THAT(model.get(0, 0),
                testing::Pointwise(testing::FloatEq(), one.expected));
  }
  Model model(makeTable("2xi32", "constant, value = 7.0"));
  ASSERT_EQ(initialize(model), "");
  int32_t numbers[2];
  std::memcpy(numbers, model.runner->getStatic(0, 0).data(), 8);
  EXPECT_THAT(numbers, ElementsAre(7, 7));
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
  const TemporaryDirectory folder;
  const std::string path = folder.path("state");
  ASSERT_FALSE(static_cast<bool>(
      ranks::writeTensors(path, model.state->collectParameters())));
  const std::vector<float> saved = model.get(0, 0);
  ASSERT_EQ(initialize(model, 1), "");
  EXPECT_NE(model.get(0, 0), saved);
  std::vector<std::string> notes;
  ASSERT_FALSE(static_cast<bool>(model.state->loadParameters({path}, notes)));
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(model.get(0, 0), saved);
  EXPECT_EQ(model.get(1, 0), saved);
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(static_cast<bool>(file));
  EXPECT_EQ(file->getTensors().size(), 1u);
}

TEST(ModelStateTest, RefusesWhatHasNoValue) {
  Model model(makeProgram({makeStatic("w", "parameter", "4xf32", 0, "")}));
  EXPECT_THAT(initialize(model), HasSubstr("'w' has no initial value"));
  const char *cases[][3] = {
      {"4xi32", "normal, value = 0.02",
       "initial value of 'table': a tensor of integers can start with zeros, "
       "ones, a constant or coordinates only"},
      {"3x4xf32", "rotary_sin, value = 9.0 frequencies [1.0]",
       "1 frequencies need a tensor of as many or twice as many columns"},
      {"2x2xf32", "alibi", "alibi needs a tensor"}};
  for (const auto &[type, init, message] : cases) {
    Model table(makeTable(type, init));
    EXPECT_THAT(initialize(table), HasSubstr(message));
  }
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
  const TemporaryDirectory folder;
  const std::string path = folder.path("state");
  ASSERT_FALSE(static_cast<bool>(model.state->saveRank(0, path)));
  ASSERT_EQ(initialize(model, 1), "");
  ASSERT_FALSE(static_cast<bool>(model.state->loadRanks({path})));
  for (uint32_t i = 0; i < 4; ++i)
    EXPECT_EQ(model.get(0, i), before[i]);

  // A checkpoint of another type would not go on bit by bit.
  std::string other = statics;
  other.replace(other.find("4xbf16"), 6, "4xf32");
  Model wide(makeProgram({other}));
  EXPECT_THAT(llvm::toString(wide.state->loadRanks({path})),
              HasSubstr("tensor 'w' is bf16, but the program holds f32"));
}

} // namespace
