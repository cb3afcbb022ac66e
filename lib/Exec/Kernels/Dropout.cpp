//===- Dropout.cpp - Random masks and dropout -----------------------------===//
//
// A bit depends on the number of its element in the whole tensor, not on the
// part that a rank has of it, nor on earlier draws.
//
//===----------------------------------------------------------------------===//

#include "DropMask.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include "mf/Support/Philox.h"
#include <cmath>
#include <cstring>

namespace mf {
namespace {

/// Bits that are adjacent in memory whatever the shape.
constexpr int64_t bitsOfUnit = 128;

struct MaskShape {
  std::vector<int64_t> sizes, whole, starts, cutDims;
  /// An element is kept, a 1 in the mask, if its word is at least this.
  uint32_t threshold;
  uint64_t key;
};

/// Words for the elements of one tensor.
class ElementWords {
public:
  ElementWords(const int64_t *draw, uint64_t key) {
    const auto seed = static_cast<uint64_t>(draw[0]);
    // Steps and micro-batches beyond 32 bits are far.
    const std::array<uint32_t, 4> bits =
        philox4x32({low(key), high(key), low(draw[1]), low(draw[2])},
                   {low(seed), high(seed)});
    own = {bits[0], bits[1]};
    upper = {bits[2], bits[3]};
  }

  /// Returns the four words for elements 4 * group to 4 * group + 3.
  std::array<uint32_t, 4> get(uint64_t group) const {
    return philox4x32({low(group), high(group), upper[0], upper[1]}, own);
  }

private:
  static uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
  static uint32_t high(uint64_t value) {
    return static_cast<uint32_t>(value >> 32);
  }

  std::array<uint32_t, 2> own, upper;
};

class DropoutMaskKernel : public Kernel {
public:
  explicit DropoutMaskKernel(MaskShape shape) : shape(std::move(shape)) {
    for (int64_t size : this->shape.sizes)
      count *= size;
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const ElementWords words(static_cast<const int64_t *>(operands.inputs[0]),
                             shape.key);
    std::vector<int64_t> starts = shape.starts;
    for (size_t i = 0; i < shape.cutDims.size(); ++i)
      starts[shape.cutDims[i]] +=
          *static_cast<const int32_t *>(operands.inputs[i + 1]);
    auto *mask = static_cast<uint8_t *>(operands.outputs[0]);
    const Tiles tiles(getBytes(DType::I1, count), bytesOfTile);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      std::memset(mask + begin, 0, size);
      const int64_t end = std::min((begin + size) * 8, count);
      for (int64_t element = begin * 8; element < end;)
        element += drawRun(words, starts, element, end, mask);
    });
  }

private:
  static constexpr int64_t bytesOfTile = 32 * bitsOfUnit / 8;

  /// Draws the elements from `element` on that are contiguous in the whole
  /// tensor, and returns their number.
  int64_t drawRun(const ElementWords &words, llvm::ArrayRef<int64_t> starts,
                  int64_t element, int64_t end, uint8_t *mask) const {
    int64_t number = 0, stride = 1, rest = element;
    for (size_t dim = shape.sizes.size(); dim-- > 0;) {
      number += (starts[dim] + rest % shape.sizes[dim]) * stride;
      rest /= shape.sizes[dim];
      stride *= shape.whole[dim];
    }
    const int64_t width = shape.sizes.empty() ? 1 : shape.sizes.back();
    const int64_t run = std::min(end - element, width - element % width);
    for (int64_t i = 0; i < run;) {
      const auto place = static_cast<uint64_t>(number + i);
      const std::array<uint32_t, 4> drawn = words.get(place / 4);
      for (uint64_t word = place % 4; word < 4 && i < run; ++word, ++i) {
        const int64_t bit = element + i;
        if (drawn[word] >= shape.threshold)
          mask[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
      }
    }
    return run;
  }

  MaskShape shape;
  int64_t count = 1;
};

class DropoutKernel : public Kernel {
public:
  DropoutKernel(const TensorShape &x, double rate)
      : type(x.type), count(x.getNumElements()), factor(getKeptFactor(rate)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const auto *mask = static_cast<const uint8_t *>(operands.inputs[1]);
    const Tiles blocks(count, elementsOfBlock);
    const Tiles tiles = tileRows(blocks.count, elementsOfBlock);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t block = first; block < first + number; ++block) {
        auto [begin, size] = blocks[block];
        float values[elementsOfBlock];
        runCastLoop(type, DType::F32, at(operands.inputs[0], type, begin),
                    values, size);
        applyDropMask(mask, begin, factor, values, size);
        runCastLoop(DType::F32, type, values,
                    at(operands.outputs[0], type, begin), size);
      }
    });
  }

private:
  static constexpr int64_t elementsOfBlock = 1024;

  DType type;
  int64_t count;
  float factor;
};

/// Checks the place of the part, as far as attributes define it.
void checkPlace(SpecChecker &checker, const KernelSpec &spec,
                const MaskShape &shape) {
  const size_t rank = shape.sizes.size();
  checker.require(shape.whole.size() == rank && shape.starts.size() == rank,
                  "expected a size in 'shape' and one in 'starts' for each "
                  "dimension of output 0");
  if (checker.hasFailed())
    return;
  for (size_t dim = 0; dim < rank; ++dim)
    checker.require(shape.starts[dim] >= 0 &&
                        shape.starts[dim] <=
                            shape.whole[dim] - shape.sizes[dim],
                    "output 0 is no part of 'shape'");
  checker.require(shape.cutDims.size() + 1 == spec.inputs.size(),
                  "expected an input for each of 'cut_dims'");
  for (size_t i = 0; i < shape.cutDims.size() && !checker.hasFailed(); ++i) {
    checker.require(shape.cutDims[i] >= 0 &&
                        shape.cutDims[i] < static_cast<int64_t>(rank),
                    "'cut_dims' has a dimension that output 0 has not");
    checker.requireInput(i + 1, {DType::I32, {1}});
  }
}

} // namespace

double readDropRate(SpecChecker &checker) {
  const double rate = checker.getDouble("rate", 0);
  checker.require(rate > 0 && rate < 1,
                  "rate is " + llvm::Twine(std::to_string(rate)) +
                      ", expected one above 0 and below 1");
  return rate;
}

KernelOrError makeDropoutMask(const KernelSpec &spec) {
  SpecChecker checker(spec);
  MaskShape shape;
  if (checker.requireTensors()) {
    checker.requireInput(0, {DType::I64, {3}});
    checker.requireOutputType(0, DType::I1);
    const auto &sizes = spec.outputs[0].dims;
    shape.sizes.assign(sizes.begin(), sizes.end());
    shape.whole = checker.getInts("shape");
    shape.starts = checker.getInts("starts");
    shape.cutDims = checker.getInts("cut_dims");
    shape.key = static_cast<uint64_t>(checker.getInt("key"));
    shape.threshold = static_cast<uint32_t>(
        std::min(readDropRate(checker) * 0x1p32, 0x1p32 - 1));
    checkPlace(checker, spec, shape);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<DropoutMaskKernel>(std::move(shape));
}

KernelOrError makeDropout(const KernelSpec &spec) {
  SpecChecker checker(spec);
  double rate = 0;
  if (checker.requireTensors()) {
    checker.requireFloatInput(0);
    checker.requireInput(1, {DType::I1, spec.inputs[0].dims});
    checker.requireOutput(0, spec.inputs[0]);
    rate = readDropRate(checker);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<DropoutKernel>(spec.inputs[0], rate);
}

} // namespace mf
