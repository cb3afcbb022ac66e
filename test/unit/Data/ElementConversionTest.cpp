//===- ElementConversionTest.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/ElementConversion.h"
#include "TestFiles.h"
#include "llvm/ADT/APFloat.h"
#include "gmock/gmock.h"
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace mf;
using testing::HasSubstr;

namespace {

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A type of 16 bits: its conversions by LLVM, and ours.
struct SixteenBits {
  const fltSemantics &semantics;
  uint16_t (*fromFloat)(float);
  float (*toFloat)(uint16_t);

  APFloat decode(uint16_t bits) const {
    return APFloat(semantics, APInt(16, bits));
  }
  uint16_t round(float value) const {
    APFloat number(value);
    bool losesInformation;
    number.convert(semantics, APFloat::rmNearestTiesToEven, &losesInformation);
    return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
  }
};

const SixteenBits types[] = {
    {APFloat::IEEEhalf(), floatToHalf, halfToFloat},
    {APFloat::BFloat(), floatToBfloat16, bfloat16ToFloat}};

TEST(ElementConversionTest, EveryValueIsItsDefinition) {
  for (const SixteenBits &type : types)
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const auto own = static_cast<uint16_t>(bits);
      const float value = type.toFloat(own);
      if (type.decode(own).isNaN()) {
        EXPECT_TRUE(std::isnan(value)) << bits;
        EXPECT_TRUE(std::isnan(type.toFloat(type.fromFloat(value)))) << bits;
        continue;
      }
      EXPECT_EQ(value, type.decode(own).convertToFloat()) << bits;
      EXPECT_EQ(type.fromFloat(value), bits);
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
  // A NaN whose upper bits are those of infinity.
  const float nan = floatOf(0x7F800001);
  for (const SixteenBits &type : types) {
    for (float value : values)
      EXPECT_EQ(type.fromFloat(value), type.round(value)) << value;
    EXPECT_TRUE(std::isnan(type.toFloat(type.fromFloat(nan))));
  }
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
}

} // namespace
