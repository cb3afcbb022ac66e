//===- ElementConversionTest.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/ElementConversion.h"
#include "TestFiles.h"
#include "gmock/gmock.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace mf;
using testing::HasSubstr;

namespace {

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The nearest representable value found without bit tricks: among all finite
/// values of a 16-bit type, the one with the smallest distance, ties to an even
/// pattern. `decode` gives a pattern's value; patterns are in order of
/// magnitude.
template <typename Decode>
uint16_t roundBySearch(float value, uint16_t infinity, Decode decode) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  uint16_t low = 0;
  uint16_t high = infinity;
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (decode(middle) <= magnitude ? low : high) = middle;
  }
  const double below = decode(low);
  // Infinity counts as the value that would follow the largest finite one.
  const double above = high == infinity ? below + (below - decode(low - 1))
                                        : static_cast<double>(decode(high));
  const double down = magnitude - below;
  const double up = above - magnitude;
  const bool roundUp = up < down || (up == down && (low & 1) != 0);
  return sign | (roundUp ? high : low);
}

double decodeHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  return exponent == 0 ? std::ldexp(mantissa, -24)
                       : std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(ElementConversionTest, EveryHalfIsItsDefinition) {
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    EXPECT_EQ(halfToFloat(bits), decodeHalf(bits)) << bits;
    EXPECT_EQ(halfToFloat(bits | 0x8000), -decodeHalf(bits)) << bits;
  }
  EXPECT_TRUE(std::signbit(halfToFloat(0x8000)));
  EXPECT_EQ(halfToFloat(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(halfToFloat(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(halfToFloat(0x7E01)));
}

TEST(ElementConversionTest, EverySixteenBitValueSurvivesTheWayThroughFloat) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7FFF) <= 0x7C00)
      EXPECT_EQ(floatToHalf(halfToFloat(bits)), bits);
    else
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(halfToFloat(bits)))));
    if ((bits & 0x7FFF) <= 0x7F80)
      EXPECT_EQ(floatToBfloat16(bfloat16ToFloat(bits)), bits);
    else
      EXPECT_TRUE(
          std::isnan(bfloat16ToFloat(floatToBfloat16(bfloat16ToFloat(bits)))));
  }
}

TEST(ElementConversionTest, RoundsToNearestEven) {
  std::mt19937 random = makeRandom(7);
  std::vector<float> values = {0.0F,     -0.0F,    65504.0F, 65519.996F,
                               65520.0F, 65536.0F, 1e-8F,    3.4028235e38F,
                               1e-45F,   0x1p-24F, 0x1p-25F, 0x1.8p-25F};
  for (int i = 0; i < 20000; ++i)
    values.push_back(floatOf(random() & 0xFF7FFFFF)); // no infinity, no NaN
  for (int i = 0; i < 20000; ++i) // the range of half, ties among them
    values.push_back(std::ldexp(static_cast<float>(random() % 8192), //
                                static_cast<int>(random() % 44) - 30));
  for (float value : values) {
    EXPECT_EQ(floatToHalf(value), roundBySearch(value, 0x7C00, decodeHalf))
        << value;
    EXPECT_EQ(floatToBfloat16(value),
              roundBySearch(value, 0x7F80,
                            [](uint16_t bits) {
                              return static_cast<double>(floatOf(bits << 16));
                            }))
        << value;
  }
}

TEST(ElementConversionTest, KeepsInfinityAndNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(floatToHalf(-infinity), 0xFC00);
  EXPECT_EQ(floatToBfloat16(infinity), 0x7F80);
  // A NaN whose upper bits are those of infinity.
  const float nan = floatOf(0x7F800001);
  EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBfloat16(nan))));
  EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(nan))));
}

TEST(ElementConversionTest, ConvertsUnalignedBuffers) {
  const uint16_t bf16[] = {0x3F80, 0xC000, 0x7F80};
  std::vector<uint8_t> from(7);
  std::memcpy(from.data() + 1, bf16, 6);
  std::vector<uint8_t> to(13);
  ASSERT_EQ(message(convertElements(
                DType::BF16, ArrayRef<uint8_t>(from).drop_front(), DType::F32,
                MutableArrayRef<uint8_t>(to).drop_front())),
            "");
  float values[3];
  std::memcpy(values, to.data() + 1, 12);
  EXPECT_EQ(values[0], 1.0F);
  EXPECT_EQ(values[1], -2.0F);
  EXPECT_TRUE(std::isinf(values[2]));

  std::vector<uint8_t> half(6);
  ASSERT_EQ(
      message(convertElements(DType::BF16, ArrayRef<uint8_t>(from).drop_front(),
                              DType::F16, half)),
      "");
  uint16_t halves[3];
  std::memcpy(halves, half.data(), 6);
  EXPECT_EQ(halves[0], 0x3C00);
  EXPECT_EQ(halves[1], 0xC000);
  EXPECT_EQ(halves[2], 0x7C00);
}

TEST(ElementConversionTest, RefusesWhatDoesNotFit) {
  std::vector<uint8_t> eight(8);
  std::vector<uint8_t> four(4);
  EXPECT_THAT(message(convertElements(DType::F32, eight, DType::BF16, eight)),
              HasSubstr("cannot convert 8 bytes of f32 to 8 bytes of bf16"));
  EXPECT_THAT(message(convertElements(DType::F32, eight, DType::I32, eight)),
              HasSubstr("cannot convert f32 to i32"));
  EXPECT_THAT(message(convertElements(DType::I64, four, DType::I64, four)),
              HasSubstr("cannot convert 4 bytes of i64"));
  EXPECT_EQ(message(convertElements(DType::I64, eight, DType::I64, eight)), "");
  EXPECT_EQ(message(convertElements(DType::F32, {}, DType::F16, {})), "");
  EXPECT_EQ(bitsOf(1.0F), 0x3F800000u);
}

} // namespace
