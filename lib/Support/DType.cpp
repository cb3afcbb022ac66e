//===- DType.cpp - Element types and shapes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/DType.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf {

int64_t getBytes(DType type) {
  switch (type) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::I64:
    return 8;
  case DType::I1:
    return 1;
  }
  llvm_unreachable("unknown element type");
}

int64_t getBytes(DType type, int64_t elements) {
  constexpr int64_t bitsOfUnit = 128;
  return type == DType::I1
             ? (elements + bitsOfUnit - 1) / bitsOfUnit * (bitsOfUnit / 8)
             : elements * getBytes(type);
}

llvm::StringRef getName(DType type) {
  switch (type) {
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::I1:
    return "i1";
  }
  llvm_unreachable("unknown element type");
}

std::optional<DType> parseDType(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<DType>>(name)
      .Case("f32", DType::F32)
      .Case("bf16", DType::BF16)
      .Case("f16", DType::F16)
      .Case("i32", DType::I32)
      .Case("i64", DType::I64)
      .Case("i1", DType::I1)
      .Default(std::nullopt);
}

int64_t TensorShape::getNumElements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

int64_t TensorShape::getBytes() const {
  return mf::getBytes(type, getNumElements());
}

} // namespace mf
