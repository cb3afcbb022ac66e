//===- InitializerTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/Initializer.h"
#include "TestFiles.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Support/Philox.h"
#include "gmock/gmock.h"
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace mf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<float> draw(const Initializer &initializer, uint64_t seed,
                        StringRef name, int64_t count, int64_t first = 0) {
  std::vector<float> values(count);
  EXPECT_EQ(
      message(initializeElements(
          initializer, seed, name, first, DType::F32,
          {reinterpret_cast<uint8_t *>(values.data()), values.size() * 4})),
      "");
  return values;
}

// The known answers of Random123 (kat_vectors, philox4x32 10 rounds).
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                         {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                         {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(InitializerTest, HashIsFnv1a) {
  EXPECT_EQ(hashParameterName(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hashParameterName("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hashParameterName("foobar"), 0x85944171f73967e8u);
}

TEST(InitializerTest, InverseNormalInvertsTheDistribution) {
  EXPECT_EQ(inverseNormal(0.5), 0);
  for (int step = -620; step <= 620; ++step) {
    const double x = step / 100.0;
    const double probability = 0.5 * std::erfc(-x / std::sqrt(2.0));
    // Near 1 the probability itself carries few digits of x.
    const double density =
        std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
    EXPECT_NEAR(inverseNormal(probability), x, 1e-14 * 8 + 2e-16 / density)
        << x;
  }
}

/// Written once more: the word of an element, made a number between 0 and 1.
double drawProbability(uint64_t seed, StringRef name, uint64_t element) {
  const uint64_t group = element / 4, hash = hashParameterName(name);
  const std::array<uint32_t, 4> words = philox4x32(
      {static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32),
       static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return (words[element % 4] + 0.5) * 0x1p-32;
}

/// Also those of a slice, and past the 32-bit counter.
TEST(InitializerTest, ValuesAreThoseOfTheDefinition) {
  for (uint64_t seed : {uint64_t{1}, uint64_t{1} << 40 | 7})
    for (StringRef name : {"w", "layers.0.wq.weight"})
      for (int64_t first :
           {int64_t{0}, int64_t{1}, int64_t{6}, (int64_t{1} << 34) - 3}) {
        const std::vector<float> normal =
            draw(Initializer::normal(0.02, 1), seed, name, 103, first);
        const std::vector<float> uniform =
            draw(Initializer::uniform(0.25), seed, name, 103, first);
        for (int64_t i = 0; i < 103; ++i) {
          const double probability = drawProbability(seed, name, first + i);
          EXPECT_FLOAT_EQ(normal[i], 1 + 0.02 * inverseNormal(probability));
          EXPECT_FLOAT_EQ(uniform[i], 0.25 * (2 * probability - 1));
        }
      }
}

// Runs are only comparable if these never change. Computed from the documented
// definition by a program of its own (Python, statistics.NormalDist).
TEST(InitializerTest, ValuesAreFixed) {
  EXPECT_THAT(draw(Initializer::normal(), 1, "model.norm_out.weight", 4),
              ElementsAre(-0x1.59de9cp-9F, -0x1.4e4c14p-6F, 0x1.06871p-6F,
                          0x1.c27ce4p-7F));
}

TEST(InitializerTest, EveryFloatTypeIsTheRoundedFp32Value) {
  const Initializer normal = Initializer::normal(0.02);
  const std::vector<float> exact = draw(normal, 3, "w", 1000);
  std::vector<uint16_t> rounded(1000);
  const MutableArrayRef<uint8_t> bytes(
      reinterpret_cast<uint8_t *>(rounded.data()), 2000);
  ASSERT_EQ(message(initializeElements(normal, 3, "w", 0, DType::BF16, bytes)),
            "");
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(rounded[i], floatToBfloat16(exact[i]));
  ASSERT_EQ(message(initializeElements(normal, 3, "w", 0, DType::F16, bytes)),
            "");
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(rounded[i], floatToHalf(exact[i]));
  ASSERT_EQ(message(initializeElements(Initializer::ones(), 3, "w", 0,
                                       DType::BF16, bytes)),
            "");
  EXPECT_THAT(rounded, Each(0x3F80));
}

TEST(InitializerTest, Constants) {
  EXPECT_THAT(draw(Initializer::zeros(), 1, "a", 5), Each(0.0F));
  EXPECT_THAT(draw(Initializer::ones(), 1, "a", 5), Each(1.0F));
  EXPECT_THAT(draw(Initializer::normal(0, 3), 1, "a", 5), Each(3.0F));
}

TEST(InitializerTest, Refusals) {
  std::vector<uint8_t> bytes(6);
  auto error = [&](const Initializer &initializer, DType type,
                   int64_t first = 0) {
    return message(initializeElements(initializer, 1, "w", first, type, bytes));
  };
  EXPECT_THAT(
      error(Initializer::normal(), DType::I32),
      HasSubstr("parameter 'w': cannot initialise elements of type i32"));
  EXPECT_THAT(error(Initializer::normal(), DType::F32),
              HasSubstr("6 bytes from element 0 on are no whole elements"));
  EXPECT_THAT(error(Initializer::ones(), DType::BF16, -1),
              HasSubstr("from element -1"));
  EXPECT_THAT(error(Initializer::normal(-1), DType::BF16),
              HasSubstr("mean 0 and sigma -1"));
  EXPECT_THAT(error(Initializer::normal(std::nan("")), DType::BF16),
              HasSubstr("normal distribution with mean 0"));
}

} // namespace
