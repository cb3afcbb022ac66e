//===- Movement.cpp - Kernels that move elements --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FusedKernels.h"
#include "StreamedOutput.h"
#include "Tiles.h"
#include "mf/Exec/Kernels/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <cstring>

namespace mf {

namespace {

constexpr int64_t bytesPerTile = 131072;

/// A copy between two strided tensors, as needed by permutations, slices,
/// concatenations and repetitions.
class StridedCopy {
public:
  /// One dimension, with strides in elements. A source stride of 0 repeats an
  /// element.
  struct Dimension {
    int64_t size, sourceStride, targetStride;
  };

  /// `dimensions` are in the order of the target, outermost first.
  StridedCopy(int64_t elementBytes, llvm::ArrayRef<Dimension> dimensions)
      : elementBytes(elementBytes) {
    for (const Dimension &dim : dimensions) {
      if (dim.size == 1)
        continue;
      Dimension *last = outer.empty() ? nullptr : &outer.back();
      if (last && last->sourceStride == dim.size * dim.sourceStride &&
          last->targetStride == dim.size * dim.targetStride)
        *last = {last->size * dim.size, dim.sourceStride, dim.targetStride};
      else
        outer.push_back(dim);
    }
    inner = outer.empty() ? Dimension{1, 1, 1} : outer.pop_back_val();
    isContiguous = inner.sourceStride == 1 && inner.targetStride == 1;
    if (!isContiguous && inner.sourceStride != 0) {
      auto *found = llvm::find_if(
          outer, [](const Dimension &dim) { return dim.sourceStride == 1; });
      if (found != outer.end()) {
        across = *found;
        outer.erase(found);
      }
    }
    for (const Dimension &dim : outer)
      outerCount *= dim.size;
  }

  void run(const void *source, void *target, ThreadPool &pool) const {
    const char *from = static_cast<const char *>(source);
    char *to = static_cast<char *>(target);
    if (isContiguous)
      copyContiguous(from, to, pool);
    else
      copyElements(from, to, pool);
  }

private:
  void copyContiguous(const char *source, char *target,
                      ThreadPool &pool) const {
    const int64_t bytes = inner.size * elementBytes;
    Tiles pieces(bytes, std::max(bytesPerTile, int64_t{1}));
    Tiles rows(outerCount, std::max<int64_t>(1, bytesPerTile / bytes));
    pool.parallelFor(rows.count * pieces.count, [&](int64_t tile) {
      auto [begin, count] = rows[tile / pieces.count];
      auto [offset, size] = pieces[tile % pieces.count];
      copyRows(source + offset, target + offset, begin, count, size);
    });
  }

  void copyRows(const char *source, char *target, int64_t begin, int64_t count,
                int64_t bytes) const;
  void copyElements(const char *source, char *target, ThreadPool &pool) const;

  int64_t elementBytes;
  /// The innermost dimension of the target.
  Dimension inner;
  /// For elements that are not contiguous in the source: the dimension along
  /// which they are contiguous there, or one element.
  Dimension across{1, 0, 0};
  llvm::SmallVector<Dimension, 4> outer;
  int64_t outerCount = 1;
  bool isContiguous;
};

/// Side of the squares in which elements are transposed.
constexpr int64_t side = 16;

/// Returns the offsets, in elements, of one iteration of nested dimensions.
std::pair<int64_t, int64_t>
getOffsets(llvm::ArrayRef<StridedCopy::Dimension> dimensions,
           int64_t iteration) {
  int64_t source = 0, target = 0;
  for (const StridedCopy::Dimension &dim : llvm::reverse(dimensions)) {
    source += iteration % dim.size * dim.sourceStride;
    target += iteration % dim.size * dim.targetStride;
    iteration /= dim.size;
  }
  return {source, target};
}

/// Copies `count` rows; a constant length makes a row a few instructions.
template <int64_t constantBytes>
void copyRowsOf(const char *source, char *target, int64_t count,
                int64_t sourceStride, int64_t targetStride, int64_t bytes) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(target + i * targetStride, source + i * sourceStride,
                constantBytes ? constantBytes : bytes);
}

template <typename Element>
void transpose(const char *from, char *to, int64_t rows, int64_t columns,
               int64_t sourceStride, int64_t targetStride, int64_t innerSource,
               int64_t innerTarget) {
  const Element *source = reinterpret_cast<const Element *>(from);
  Element *target = reinterpret_cast<Element *>(to);
  for (int64_t column = 0; column < columns; column += side) {
    int64_t end = std::min(columns, column + side);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = column; j < end; ++j)
        target[i * targetStride + j * innerTarget] =
            source[i * sourceStride + j * innerSource];
  }
}

void StridedCopy::copyRows(const char *source, char *target, int64_t begin,
                           int64_t count, int64_t bytes) const {
  Dimension row = outer.empty() ? Dimension{1, 0, 0} : outer.back();
  llvm::ArrayRef<Dimension> rest(outer);
  if (!rest.empty())
    rest = rest.drop_back();
  const int64_t sourceStride = row.sourceStride * elementBytes;
  const int64_t targetStride = row.targetStride * elementBytes;
  for (int64_t end = begin + count; begin < end;) {
    int64_t first = begin % row.size;
    int64_t rows = std::min(row.size - first, end - begin);
    auto [sourceOffset, targetOffset] = getOffsets(rest, begin / row.size);
    const char *from =
        source + sourceOffset * elementBytes + first * sourceStride;
    char *to = target + targetOffset * elementBytes + first * targetStride;
    switch (bytes) {
    case 64:
      copyRowsOf<64>(from, to, rows, sourceStride, targetStride, bytes);
      break;
    case 128:
      copyRowsOf<128>(from, to, rows, sourceStride, targetStride, bytes);
      break;
    case 256:
      copyRowsOf<256>(from, to, rows, sourceStride, targetStride, bytes);
      break;
    default:
      copyRowsOf<0>(from, to, rows, sourceStride, targetStride, bytes);
    }
    begin += rows;
  }
}

void StridedCopy::copyElements(const char *source, char *target,
                               ThreadPool &pool) const {
  auto *copy = elementBytes == 2   ? transpose<uint16_t>
               : elementBytes == 4 ? transpose<uint32_t>
                                   : transpose<uint64_t>;
  Tiles strips(across.size, side);
  Tiles tiles(outerCount * strips.count,
              std::max<int64_t>(1, elementsPerTile / (side * inner.size)));
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [first, count] = tiles[tile];
    for (int64_t i = first; i < first + count; ++i) {
      auto [begin, rows] = strips[i % strips.count];
      auto [sourceOffset, targetOffset] = getOffsets(outer, i / strips.count);
      sourceOffset += begin * across.sourceStride;
      targetOffset += begin * across.targetStride;
      copy(source + sourceOffset * elementBytes,
           target + targetOffset * elementBytes, rows, inner.size,
           across.sourceStride, across.targetStride, inner.sourceStride,
           inner.targetStride);
    }
  });
}

using Dimensions = llvm::SmallVector<StridedCopy::Dimension, 6>;

/// Returns the strides of a dense row-major tensor.
llvm::SmallVector<int64_t, 4> getStrides(llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t, 4> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

int64_t dot(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  int64_t sum = 0;
  for (auto [x, y] : llvm::zip_equal(a, b))
    sum += x * y;
  return sum;
}

std::unique_ptr<Kernel>
makeCopy(DType type, llvm::ArrayRef<StridedCopy::Dimension> dimensions,
         int64_t sourceOffset = 0) {
  return makeFunctionKernel(
      [type, sourceOffset, copy = StridedCopy(getBytes(type), dimensions)](
          const KernelOperands &operands, ThreadPool &pool) {
        copy.run(at(operands.inputs[0], type, sourceOffset),
                 operands.outputs[0], pool);
      });
}

void fillZero(void *memory, int64_t bytes, ThreadPool &pool) {
  Tiles tiles(bytes, int64_t{1} << 18);
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, size] = tiles[tile];
    char *target = static_cast<char *>(memory) + begin;
    if (!isStreamed(bytes)) {
      std::memset(target, 0, size);
      return;
    }
    streamZeros(target, size);
    finishStreaming();
  });
}

/// Fills memory with the bytes of one element, again and again.
void fillElements(void *memory, int64_t count,
                  llvm::ArrayRef<std::byte> element, ThreadPool &pool) {
  Tiles tiles(count, int64_t{1} << 16);
  const auto size = static_cast<int64_t>(element.size());
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, length] = tiles[tile];
    auto *target = static_cast<std::byte *>(memory) + begin * size;
    for (int64_t i = 0; i < length; ++i)
      std::memcpy(target + i * size, element.data(), element.size());
  });
}

/// Returns the bytes of an element that surrounds a tensor; none for zero.
std::vector<std::byte> makePadding(DType type, int64_t value) {
  if (value == 0)
    return {};
  std::vector<std::byte> element(getBytes(type));
  if (type == DType::I32) {
    const auto number = static_cast<int32_t>(value);
    std::memcpy(element.data(), &number, sizeof number);
  } else if (type == DType::I64) {
    std::memcpy(element.data(), &value, sizeof value);
  } else {
    const auto number = static_cast<float>(value);
    runCastLoop(DType::F32, type, &number, element.data(), 1);
  }
  return element;
}

/// Requires one entry for each dimension of input 0.
bool requireRank(SpecChecker &checker, const KernelSpec &spec,
                 llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
  checker.require(values.size() == spec.inputs[0].dims.size(),
                  "attribute '" + name + "' has " + llvm::Twine(values.size()) +
                      " entries, expected " +
                      llvm::Twine(spec.inputs[0].dims.size()) +
                      ", one for each dimension");
  return !checker.hasFailed();
}

} // namespace

KernelOrError makePermute(const KernelSpec &spec, SpecChecker &checker) {
  Dimensions dimensions;
  const TensorShape &x = spec.inputs[0];
  std::vector<int64_t> perm = checker.getInts("perm");
  if (requireRank(checker, spec, "perm", perm)) {
    std::vector<int64_t> sorted = perm;
    llvm::sort(sorted);
    for (size_t i = 0; i < sorted.size(); ++i)
      checker.require(sorted[i] == static_cast<int64_t>(i),
                      "attribute 'perm' is no permutation of the dimensions");
  }
  if (!checker.hasFailed()) {
    TensorShape y{x.type, {}};
    for (int64_t axis : perm)
      y.dims.push_back(x.dims[axis]);
    auto source = getStrides(x.dims), target = getStrides(y.dims);
    for (size_t i = 0; i < perm.size(); ++i)
      dimensions.push_back({y.dims[i], source[perm[i]], target[i]});
    checker.requireOutput(0, y);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeCopy(spec.inputs[0].type, dimensions);
}

KernelOrError makeSlice(const KernelSpec &spec, SpecChecker &checker) {
  Dimensions dimensions;
  int64_t offset = 0;
  const TensorShape &x = spec.inputs[0];
  std::vector<int64_t> starts = checker.getInts("starts");
  std::vector<int64_t> sizes = checker.getInts("sizes");
  bool ranked = requireRank(checker, spec, "starts", starts) &&
                requireRank(checker, spec, "sizes", sizes);
  for (size_t i = 0; ranked && i < sizes.size(); ++i)
    checker.require(starts[i] >= 0 && sizes[i] >= 1 &&
                        starts[i] <= x.dims[i] - sizes[i],
                    "slice of " + llvm::Twine(sizes[i]) + " from " +
                        llvm::Twine(starts[i]) + " leaves dimension " +
                        llvm::Twine(i) + " of " + toString(x));
  TensorShape y{x.type, {sizes.begin(), sizes.end()}};
  checker.requireOutput(0, y);
  if (!checker.hasFailed()) {
    auto source = getStrides(x.dims), target = getStrides(y.dims);
    for (size_t i = 0; i < sizes.size(); ++i)
      dimensions.push_back({sizes[i], source[i], target[i]});
    offset = dot(starts, source);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeCopy(spec.inputs[0].type, dimensions, offset);
}

KernelOrError makeCat(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &first = spec.inputs[0];
  const int64_t axis = checker.getAxis("axis", first.dims.size());
  TensorShape y = first;
  for (size_t i = 1; i < spec.inputs.size() && !checker.hasFailed(); ++i) {
    TensorShape expected = first;
    if (spec.inputs[i].dims.size() == first.dims.size())
      expected.dims[axis] = spec.inputs[i].dims[axis];
    checker.requireInput(i, expected);
    y.dims[axis] += expected.dims[axis];
  }
  checker.requireOutput(0, y);
  if (llvm::Error error = checker.takeError())
    return error;
  auto target = getStrides(spec.outputs[0].dims);
  // A copy from each input to its own part of the output.
  std::vector<std::pair<StridedCopy, int64_t>> copies;
  int64_t start = 0;
  for (const TensorShape &input : spec.inputs) {
    auto source = getStrides(input.dims);
    Dimensions dimensions;
    for (size_t i = 0; i < input.dims.size(); ++i)
      dimensions.push_back({input.dims[i], source[i], target[i]});
    copies.emplace_back(StridedCopy(getBytes(y.type), dimensions),
                        start * target[axis]);
    start += input.dims[axis];
  }
  return makeFunctionKernel([type = y.type, copies = std::move(copies)](
                                const KernelOperands &operands,
                                ThreadPool &pool) {
    for (auto [input, part] : llvm::zip_equal(operands.inputs, copies))
      part.first.run(input, at(operands.outputs[0], type, part.second), pool);
  });
}

KernelOrError makePad(const KernelSpec &spec, SpecChecker &checker) {
  Dimensions dimensions;
  int64_t offset = 0, value = 0;
  const TensorShape &x = spec.inputs[0];
  if (spec.attributes.count("value"))
    value = checker.getInt("value");
  checker.require(
      x.type != DType::I32 || (value >= INT32_MIN && value <= INT32_MAX),
      "padding with " + llvm::Twine(value) + " does not fit 32 bits");
  std::vector<int64_t> low = checker.getInts("low");
  std::vector<int64_t> high = checker.getInts("high");
  bool ranked = requireRank(checker, spec, "low", low) &&
                requireRank(checker, spec, "high", high);
  const int64_t most = int64_t{1} << 60;
  for (size_t i = 0; ranked && i < low.size(); ++i)
    checker.require(low[i] >= 0 && high[i] >= 0 && low[i] < most &&
                        high[i] < most,
                    "padding of dimension " + llvm::Twine(i) +
                        " must not be negative or huge");
  if (!checker.hasFailed()) {
    TensorShape y = x;
    for (size_t i = 0; i < low.size(); ++i)
      y.dims[i] += low[i] + high[i];
    checker.requireOutput(0, y);
  }
  if (!checker.hasFailed()) {
    auto source = getStrides(x.dims);
    auto target = getStrides(spec.outputs[0].dims);
    for (size_t i = 0; i < low.size(); ++i)
      dimensions.push_back({x.dims[i], source[i], target[i]});
    offset = dot(low, target);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      [y = spec.outputs[0], offset, element = makePadding(x.type, value),
       copy = StridedCopy(getBytes(x.type), dimensions)](
          const KernelOperands &operands, ThreadPool &pool) {
        void *target = operands.outputs[0];
        if (element.empty())
          fillZero(target, y.getBytes(), pool);
        else
          fillElements(target, y.getNumElements(), element, pool);
        copy.run(operands.inputs[0], at(target, y.type, offset), pool);
      });
}

KernelOrError makeRepeat(const KernelSpec &spec, SpecChecker &checker) {
  Dimensions dimensions;
  const TensorShape &x = spec.inputs[0];
  int64_t axis = checker.getAxis("axis", x.dims.size());
  int64_t repeats = checker.getInt("repeats");
  checker.require(repeats >= 1 && repeats < (int64_t{1} << 31),
                  "attribute 'repeats' is " + llvm::Twine(repeats) +
                      ", expected at least 1");
  if (!checker.hasFailed()) {
    TensorShape y = x;
    checker.require(y.dims[axis] < (int64_t{1} << 31),
                    "input 0 is too large to be repeated");
    y.dims[axis] *= checker.hasFailed() ? 1 : repeats;
    checker.requireOutput(0, y);
    auto source = getStrides(x.dims), target = getStrides(y.dims);
    for (int64_t i = 0; i < static_cast<int64_t>(x.dims.size()); ++i) {
      int64_t copies = i == axis ? repeats : 1;
      dimensions.push_back({x.dims[i], source[i], target[i] * copies});
      if (i == axis)
        dimensions.push_back({repeats, 0, target[i]});
    }
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeCopy(spec.inputs[0].type, dimensions);
}

KernelOrError makeOwnPart(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &x = spec.inputs[0];
  checker.require(x.dims.size() == 3,
                  "input 0 is " + toString(x) +
                      ", expected before x parts x elements");
  checker.requireInput(1, {DType::I32, {1}});
  if (!checker.hasFailed())
    checker.requireOutput(0, {x.type, {x.dims[0], x.dims[2]}});
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &whole = spec.inputs[0];
  const int64_t parts = whole.dims[1], elements = whole.dims[2];
  const Dimensions dimensions = {{whole.dims[0], parts * elements, elements},
                                 {elements, 1, 1}};
  return makeFunctionKernel(
      [parts, elements, type = whole.type,
       copy = StridedCopy(getBytes(whole.type), dimensions)](
          const KernelOperands &operands, ThreadPool &pool) {
        const int64_t part =
            std::clamp<int64_t>(*operands.getInput<int32_t>(1), 0, parts - 1);
        copy.run(at(operands.inputs[0], type, part * elements),
                 operands.outputs[0], pool);
      });
}

KernelOrError makeInplaceCopy(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireOutput(0, spec.inputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  int64_t count = spec.inputs[0].getNumElements();
  return makeCopy(spec.inputs[0].type,
                  llvm::ArrayRef<StridedCopy::Dimension>{{count, 1, 1}});
}

KernelOrError makeInplaceZero(const KernelSpec &spec, SpecChecker &checker) {
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      [bytes = spec.outputs[0].getBytes()](const KernelOperands &operands,
                                           ThreadPool &pool) {
        fillZero(operands.outputs[0], bytes, pool);
      });
}

namespace {

/// Copies between rows of different sizes, all in bytes.
struct RowCopy {
  int64_t sourceRow, targetRow, sourceBegin, targetBegin, bytes;

  void run(const void *source, void *target, int64_t rows) const {
    const auto *from = static_cast<const char *>(source) + sourceBegin;
    auto *to = static_cast<char *>(target) + targetBegin;
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(to + row * targetRow, from + row * sourceRow, bytes);
  }
};

int64_t getRowBytes(const TensorShape &shape) {
  return getRowSize(shape) * getBytes(shape.type);
}

int64_t getLast(const KernelSpec &spec, const char *attribute) {
  return std::get<std::vector<int64_t>>(spec.attributes.at(attribute)).back();
}

} // namespace

FusedFunction makeFusedSlice(const KernelSpec &spec) {
  const int64_t element = getBytes(spec.inputs[0].type);
  const int64_t bytes = getRowBytes(spec.outputs[0]);
  const RowCopy copy = {getRowBytes(spec.inputs[0]), bytes,
                        getLast(spec, "starts") * element, 0, bytes};
  return [copy](llvm::ArrayRef<const void *> inputs, void *output,
                int64_t rows) { copy.run(inputs[0], output, rows); };
}

FusedFunction makeFusedPad(const KernelSpec &spec) {
  const int64_t element = getBytes(spec.inputs[0].type);
  const int64_t bytes = getRowBytes(spec.inputs[0]);
  const RowCopy copy = {bytes, getRowBytes(spec.outputs[0]), 0,
                        getLast(spec, "low") * element, bytes};
  return
      [copy](llvm::ArrayRef<const void *> inputs, void *output, int64_t rows) {
        std::memset(output, 0, rows * copy.targetRow);
        copy.run(inputs[0], output, rows);
      };
}

FusedFunction makeFusedCat(const KernelSpec &spec) {
  llvm::SmallVector<RowCopy, 2> copies;
  int64_t begin = 0;
  for (const TensorShape &input : spec.inputs) {
    const int64_t bytes = getRowBytes(input);
    copies.push_back({bytes, getRowBytes(spec.outputs[0]), 0, begin, bytes});
    begin += bytes;
  }
  return [copies](llvm::ArrayRef<const void *> inputs, void *output,
                  int64_t rows) {
    for (size_t i = 0; i < copies.size(); ++i)
      copies[i].run(inputs[i], output, rows);
  };
}

} // namespace mf
