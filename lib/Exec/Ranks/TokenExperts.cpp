//===- TokenExperts.cpp - Tables of experts by token ids ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/TokenExperts.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Support/ShapeText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cstring>

using namespace mf::program;

namespace mf::ranks {

static llvm::MutableArrayRef<uint8_t> getBytesOf(std::vector<float> &numbers) {
  return {reinterpret_cast<uint8_t *>(numbers.data()),
          numbers.size() * sizeof(float)};
}

/// Returns integers as numbers. Fails on an integer that is not an expert.
template <typename Integer>
static llvm::Expected<std::vector<float>>
readIntegers(llvm::StringRef name, const TensorView &given, int64_t experts) {
  llvm::ArrayRef<int64_t> dims = given.shape.dims;
  const int64_t choices = dims.empty() ? 1 : dims.back();
  std::vector<float> numbers(given.bytes.size() / sizeof(Integer));
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Integer expert;
    std::memcpy(&expert, given.bytes.data() + i * sizeof(Integer),
                sizeof(Integer));
    if (expert < 0 || expert >= experts)
      return llvm::createStringError(
          "tensor '" + name + "' gives token " +
          llvm::Twine(static_cast<int64_t>(i) / choices) + " the expert " +
          llvm::Twine(expert) + ", expected 0 to " + llvm::Twine(experts - 1));
    number = static_cast<float>(expert);
  }
  return numbers;
}

static llvm::Expected<std::vector<float>>
readNumbers(llvm::StringRef name, const TensorView &given, int64_t experts) {
  if (given.shape.type == DType::I32)
    return readIntegers<int32_t>(name, given, experts);
  if (given.shape.type == DType::I64)
    return readIntegers<int64_t>(name, given, experts);
  return llvm::createStringError("tensor '" + name + "' holds " +
                                 getName(given.shape.type) +
                                 ", expected i32 or i64: numbers of experts");
}

llvm::Expected<std::vector<uint8_t>>
readTokenExperts(llvm::StringRef name, const TensorView &given,
                 const InitialValue &value, const TensorShape &shape) {
  if (given.shape.dims != shape.dims)
    return llvm::createStringError(
        "tensor '" + name + "' has shape " + printDims(given.shape.dims) +
        ", expected " + printDims(shape.dims) +
        ": the experts of each token of the vocabulary");
  // fp32 has all integers up to this one.
  constexpr double largest = 0x1p24;
  auto numbers = readNumbers(
      name, given,
      static_cast<int64_t>(std::min(std::max(0.0, value.value), largest)));
  if (!numbers)
    return numbers.takeError();
  std::vector<uint8_t> bytes(shape.getBytes());
  if (llvm::Error error =
          convertElements(DType::F32, getBytesOf(*numbers), shape.type, bytes))
    return std::move(error);
  return bytes;
}

std::vector<uint8_t> writeTokenExperts(DType type,
                                       llvm::ArrayRef<uint8_t> bytes) {
  std::vector<float> numbers(bytes.size() /
                             static_cast<size_t>(getBytes(type)));
  // Only floating-point tables have this initial value.
  llvm::cantFail(convertElements(type, bytes, DType::F32, getBytesOf(numbers)));
  std::vector<uint8_t> integers(numbers.size() * sizeof(int32_t));
  for (auto [i, number] : llvm::enumerate(numbers)) {
    const auto expert = static_cast<int32_t>(number);
    std::memcpy(integers.data() + i * sizeof(expert), &expert, sizeof(expert));
  }
  return integers;
}

} // namespace mf::ranks
