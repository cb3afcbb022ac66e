//===- ElementConversion.cpp - Between f32, bf16 and f16 ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/ElementConversion.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstring>

using namespace llvm;

namespace mf {

namespace {

uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// One functor per type with its storage type and its conversions from and to
// float. Every bf16 and f16 value is a float, so that a conversion through
// float rounds once.
struct Float32 {
  using Storage = float;
  static float load(float stored) { return stored; }
  static float store(float value) { return value; }
};
struct Bfloat16 {
  using Storage = uint16_t;
  static float load(uint16_t stored) { return bfloat16ToFloat(stored); }
  static uint16_t store(float value) { return floatToBfloat16(value); }
};
struct HalfFloat {
  using Storage = uint16_t;
  static float load(uint16_t stored) { return halfToFloat(stored); }
  static uint16_t store(float value) { return floatToHalf(value); }
};

template <typename From, typename To>
void convertAll(const uint8_t *from, uint8_t *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    typename From::Storage stored;
    std::memcpy(&stored, from + i * sizeof stored, sizeof stored);
    const typename To::Storage result = To::store(From::load(stored));
    std::memcpy(to + i * sizeof result, &result, sizeof result);
  }
}

template <typename From>
void convertTo(DType toType, const uint8_t *from, uint8_t *to, size_t count) {
  switch (toType) {
  case DType::F32:
    return convertAll<From, Float32>(from, to, count);
  case DType::BF16:
    return convertAll<From, Bfloat16>(from, to, count);
  case DType::F16:
    return convertAll<From, HalfFloat>(from, to, count);
  default:
    llvm_unreachable("not a floating point type");
  }
}

} // namespace

bool isFloatType(DType type) {
  return type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

float bfloat16ToFloat(uint16_t bits) {
  return fromBits(static_cast<uint32_t>(bits) << 16);
}

uint16_t floatToBfloat16(float value) {
  const uint32_t bits = toBits(value);
  if ((bits & 0x7FFFFFFF) >
      0x7F800000) // NaN: set the quiet bit so that it stays a NaN
    return static_cast<uint16_t>((bits >> 16) | 0x0040);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float halfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) // infinity and NaN
    return fromBits(sign | 0x7F800000 | (magnitude & 0x03FF) << 13);
  if (magnitude >= 0x0400) // normal: the exponent's bias changes from 15 to 127
    return fromBits(sign | ((magnitude << 13) + (uint32_t{112} << 23)));
  // Subnormal and zero: magnitude units of 2^-24.
  const float scaled = static_cast<float>(magnitude) * 0x1p-24F;
  return fromBits(sign | toBits(scaled));
}

uint16_t floatToHalf(float value) {
  const uint32_t bits = toBits(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x03FF));
  if (magnitude >=
      0x47800000) // 65536 and above, where all values round to infinity
    return sign | 0x7C00;
  if (magnitude >= 0x38800000) { // 2^-14 and above: normal
    // A carry out of the mantissa moves into the exponent, up to infinity.
    const uint32_t rounded = magnitude + 0x0FFF + ((magnitude >> 13) & 1);
    return static_cast<uint16_t>(sign |
                                 ((rounded - (uint32_t{112} << 23)) >> 13));
  }
  // Subnormal: adding 0.5 makes the unit in the last place of the sum 2^-24,
  // so that the addition rounds as the result has to be.
  const float sum = fromBits(magnitude) + 0.5F;
  return static_cast<uint16_t>(sign | (toBits(sum) - toBits(0.5F)));
}

Error convertElements(DType fromType, ArrayRef<uint8_t> from, DType toType,
                      MutableArrayRef<uint8_t> to) {
  const size_t fromBytes = getBytes(fromType);
  const size_t toBytes = getBytes(toType);
  const size_t count = from.size() / fromBytes;
  if (from.size() % fromBytes != 0 || to.size() % toBytes != 0 ||
      to.size() / toBytes != count)
    return createStringError(
        inconvertibleErrorCode(),
        "cannot convert %zu bytes of %s to %zu bytes of %s", from.size(),
        getName(fromType).data(), to.size(), getName(toType).data());
  if (from.empty())
    return Error::success();
  if (fromType == toType) {
    std::memcpy(to.data(), from.data(), from.size());
    return Error::success();
  }
  if (!isFloatType(fromType) || !isFloatType(toType))
    return createStringError(inconvertibleErrorCode(),
                             "cannot convert %s to %s: only floating point "
                             "types convert",
                             getName(fromType).data(), getName(toType).data());
  switch (fromType) {
  case DType::F32:
    convertTo<Float32>(toType, from.data(), to.data(), count);
    break;
  case DType::BF16:
    convertTo<Bfloat16>(toType, from.data(), to.data(), count);
    break;
  default:
    convertTo<HalfFloat>(toType, from.data(), to.data(), count);
    break;
  }
  return Error::success();
}

} // namespace mf
