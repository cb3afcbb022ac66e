//===- InitialValues.cpp - Initial values of statics ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/InitialValues.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Data/Initializer.h"
#include "mf/Exec/Ranks/TokenExperts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstring>
#include <vector>

using namespace mf::program;

namespace mf::ranks {

/// Returns element (row, column) of a table of rotary embeddings: the cosine or
/// sine of row * scale / base^(2i/d), or of row * scale * the i-th frequency,
/// where i runs over d/2 numbers twice, or over d frequencies once; times the
/// amplitude.
static double getRotary(const InitialValue &value, int64_t row, int64_t column,
                        int64_t columns) {
  const int64_t half = std::max<int64_t>(1, columns / 2);
  const double exponent =
      2.0 * static_cast<double>(column % half) / static_cast<double>(columns);
  const double position = static_cast<double>(row) * value.scale;
  const llvm::ArrayRef<double> frequencies = value.frequencies;
  const double angle =
      frequencies.empty()
          ? position / std::pow(value.value, exponent)
          : position *
                frequencies[static_cast<size_t>(column) % frequencies.size()];
  return value.amplitude * (value.kind == InitialValue::Kind::RotaryCos
                                ? std::cos(angle)
                                : std::sin(angle));
}

/// Returns the slope of a head (Press et al., 2022). For a power of two of
/// heads it is a geometric series from 2^(-8/heads) down to 2^-8. The heads
/// beyond the largest power of two take every other element of the series for
/// twice that power.
static double getAlibiSlope(int64_t head, int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads)
    power *= 2;
  const double index = head < power ? static_cast<double>(head + 1)
                                    : static_cast<double>(head - power) + 0.5;
  return std::exp2(-8.0 * index / static_cast<double>(power));
}

/// Returns element `element` of a table of slopes, or of their products with
/// distances.
static double getAlibi(const TensorShape &shape, int64_t element) {
  const int64_t heads = shape.dims.front();
  if (shape.dims.size() != 3)
    return getAlibiSlope(element, heads);
  const int64_t keys = shape.dims[2], pairs = shape.dims[1] * keys;
  const int64_t query = element % pairs / keys, key = element % keys;
  return getAlibiSlope(element / pairs, heads) *
         static_cast<double>(key - query);
}

/// Returns an element of the bias with which a site of n residual streams
/// begins, of n * n + 2 * n elements: each stream has a small share of the
/// input, gets the whole result, and stays apart from the others.
static double getStreamMixing(int64_t element, int64_t count) {
  const auto streams = static_cast<int64_t>(std::llround(
                           std::sqrt(static_cast<double>(count + 1)))) -
                       1;
  if (element < streams)
    return -std::log(3.0);
  if (element < 2 * streams)
    return 0;
  const int64_t place = element - 2 * streams;
  return place / streams == place % streams ? 0 : -5;
}

static double getTableElement(const InitialValue &value, int64_t row,
                              int64_t column, int64_t columns) {
  switch (value.kind) {
  case InitialValue::Kind::IndexSum:
    return static_cast<double>(row) * value.value +
           static_cast<double>(column) * value.scale;
  case InitialValue::Kind::TokenExperts:
    return std::fmod(static_cast<double>(row + column), value.value);
  case InitialValue::Kind::StreamMixing:
    return getStreamMixing(column, columns);
  case InitialValue::Kind::Hadamard:
    return llvm::popcount(static_cast<uint64_t>(row & column)) % 2 == 0 ? 1
                                                                        : -1;
  case InitialValue::Kind::RotaryCos:
  case InitialValue::Kind::RotarySin:
    return getRotary(value, row, column, columns);
  case InitialValue::Kind::CausalMask:
    return column > row ? value.value : 0.0;
  default:
    return value.value;
  }
}

static llvm::Error fillTable(const InitialValue &value,
                             const TensorShape &shape, int64_t firstElement,
                             llvm::MutableArrayRef<uint8_t> bytes) {
  const int64_t columns = shape.dims.empty() ? 1 : shape.dims.back();
  const int64_t count =
      static_cast<int64_t>(bytes.size()) / getBytes(shape.type);
  std::vector<float> floats(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t element = firstElement + i;
    floats[i] =
        static_cast<float>(value.kind == InitialValue::Kind::Alibi
                               ? getAlibi(shape, element)
                               : getTableElement(value, element / columns,
                                                 element % columns, columns));
  }
  return convertElements(DType::F32,
                         {reinterpret_cast<const uint8_t *>(floats.data()),
                          floats.size() * sizeof(float)},
                         shape.type, bytes);
}

/// Fills the elements with `value` plus multiples of `increment`.
template <typename Element>
static void fillIntegers(double value, double increment,
                         llvm::MutableArrayRef<uint8_t> bytes) {
  for (size_t i = 0; i + sizeof(Element) <= bytes.size();
       i += sizeof(Element), value += increment) {
    const auto element = static_cast<Element>(value);
    std::memcpy(bytes.data() + i, &element, sizeof(Element));
  }
}

static llvm::Error fillIntegerTensor(const InitialValue &value,
                                     const TensorShape &shape,
                                     int64_t firstElement,
                                     llvm::MutableArrayRef<uint8_t> bytes) {
  double number = 0, step = 0, largest = 0;
  if (value.kind == InitialValue::Kind::Ones)
    number = 1;
  else if (value.kind == InitialValue::Kind::Constant)
    number = value.value;
  else if (value.kind == InitialValue::Kind::Coordinate) {
    step = value.value;
    number = static_cast<double>(firstElement) * step;
    largest = static_cast<double>(shape.getNumElements()) * step;
  } else if (value.kind != InitialValue::Kind::Zeros)
    return llvm::createStringError("a tensor of integers can start with zeros, "
                                   "ones, a constant or coordinates only");
  for (double any : {number, step, largest})
    if (!(std::abs(any) <= 2147483647.0) || any != std::trunc(any))
      return llvm::createStringError(
          "a tensor of integers cannot start with a value that is none");
  if (shape.type == DType::I32)
    fillIntegers<int32_t>(number, step, bytes);
  else
    fillIntegers<int64_t>(number, step, bytes);
  return llvm::Error::success();
}

llvm::Error fillInitialValue(const InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &shape,
                             int64_t firstElement,
                             llvm::MutableArrayRef<uint8_t> bytes) {
  if (!isFloatType(shape.type))
    return fillIntegerTensor(value, shape, firstElement, bytes);
  if (value.kind == InitialValue::Kind::Coordinate)
    return llvm::createStringError("coordinates need a tensor of integers");
  if (value.kind == InitialValue::Kind::Alibi && shape.dims.size() != 1 &&
      shape.dims.size() != 3)
    return llvm::createStringError("alibi needs a tensor [heads] or [heads, "
                                   "sequence, sequence]");
  if (const size_t count = value.frequencies.size(); count > 0) {
    const size_t columns =
        shape.dims.empty() ? 0 : static_cast<size_t>(shape.dims.back());
    if (columns != count && columns != 2 * count)
      return llvm::createStringError(
          llvm::Twine(count) +
          " frequencies need a tensor of as many or twice as many columns");
  }
  switch (value.kind) {
  case InitialValue::Kind::Zeros:
    return initializeElements(Initializer::zeros(), seed, name, firstElement,
                              shape.type, bytes);
  case InitialValue::Kind::Ones:
    return initializeElements(Initializer::ones(), seed, name, firstElement,
                              shape.type, bytes);
  case InitialValue::Kind::Normal:
    return initializeElements(Initializer::normal(value.value), seed, name,
                              firstElement, shape.type, bytes);
  case InitialValue::Kind::Uniform:
    return initializeElements(Initializer::uniform(value.value), seed, name,
                              firstElement, shape.type, bytes);
  default:
    return fillTable(value, shape, firstElement, bytes);
  }
}

llvm::Error fillInitialSlice(const InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &whole,
                             const SliceRuns &runs, int64_t begin, int64_t end,
                             llvm::MutableArrayRef<uint8_t> bytes) {
  const int64_t elementBytes = getBytes(whole.type);
  llvm::Error result = llvm::Error::success();
  runs.forEach(begin, end, [&](int64_t first, int64_t local, int64_t count) {
    if (!result)
      result = fillInitialValue(
          value, seed, name, whole, first,
          bytes.slice(local * elementBytes, count * elementBytes));
  });
  return result;
}

llvm::Error fillChangedSlice(const InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &whole,
                             const SliceRuns &runs, const TensorChange &change,
                             llvm::MutableArrayRef<uint8_t> bytes) {
  std::vector<uint8_t> all(whole.getBytes());
  if (llvm::Error error = fillInitialValue(value, seed, name, whole, 0, all))
    return error;
  if (llvm::Error error = change(name, whole, all))
    return error;
  runs.take(all, bytes, getBytes(whole.type));
  return llvm::Error::success();
}

/// Returns elements as numbers.
static llvm::Expected<std::vector<float>>
readNumbers(DType type, llvm::ArrayRef<uint8_t> bytes) {
  std::vector<float> numbers(bytes.size() /
                             static_cast<size_t>(getBytes(type)));
  auto convert = [&](auto zero) {
    for (auto [i, number] : llvm::enumerate(numbers)) {
      std::memcpy(&zero, bytes.data() + i * sizeof(zero), sizeof(zero));
      number = static_cast<float>(zero);
    }
  };
  if (type == DType::I32)
    convert(int32_t(0));
  else if (type == DType::I64)
    convert(int64_t(0));
  else if (llvm::Error error =
               convertElements(type, bytes, DType::F32,
                               {reinterpret_cast<uint8_t *>(numbers.data()),
                                numbers.size() * sizeof(float)}))
    return error;
  return numbers;
}

/// Fails if a file's tensor `given` differs by more than rounding from a rank's
/// elements `own` of a table.
static llvm::Error checkTable(llvm::StringRef name, const TensorView &given,
                              const TensorShape &whole, const SliceRuns &runs,
                              llvm::ArrayRef<uint8_t> own) {
  constexpr float rounding = 1e-2F;
  bool isSame = given.shape.dims == whole.dims;
  if (isSame) {
    auto wanted = readNumbers(whole.type, own);
    auto found = readNumbers(given.shape.type, given.bytes);
    if (!wanted || !found)
      return llvm::joinErrors(wanted.takeError(), found.takeError());
    runs.forEach([&](int64_t first, int64_t local, int64_t count) {
      for (int64_t i = 0; i < count && isSame; ++i) {
        const float number = (*wanted)[static_cast<size_t>(local + i)];
        isSame = std::abs((*found)[static_cast<size_t>(first + i)] - number) <=
                 rounding * std::max(1.0F, std::abs(number));
      }
    });
  }
  if (isSame)
    return llvm::Error::success();
  return llvm::createStringError(
      "tensor '" + name +
      "' differs from the table that the model's settings make; expected the "
      "same table, or none in the file");
}

llvm::Error loadTable(llvm::StringRef name, const TensorView &given,
                      const InitialValue &value, const TensorShape &whole,
                      const SliceRuns &runs,
                      llvm::MutableArrayRef<uint8_t> own) {
  if (!isTokenExperts(value))
    return checkTable(name, given, whole, runs, own);
  auto all = readTokenExperts(name, given, value, whole);
  if (!all)
    return all.takeError();
  runs.take(*all, own, getBytes(whole.type));
  return llvm::Error::success();
}

} // namespace mf::ranks
