//===- Dropout.cpp - Random masks and dropout -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "DropMask.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "mf/Support/DropoutBits.h"
#include <cmath>
#include <cstring>

namespace mf {
namespace {

/// Elements that dropout converts at a time.
constexpr int64_t elementsOfBlock = 1024;

struct MaskShape {
  DropoutDraw part;
  std::vector<int64_t> cutDims;
};

class DropoutMaskKernel : public Kernel {
public:
  explicit DropoutMaskKernel(MaskShape shape) : shape(std::move(shape)) {
    for (int64_t size : this->shape.part.sizes)
      count *= size;
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    DropoutDraw part = shape.part;
    std::memcpy(part.draw.data(), operands.inputs[0], sizeof part.draw);
    for (size_t i = 0; i < shape.cutDims.size(); ++i)
      part.starts[shape.cutDims[i]] += *operands.getInput<int32_t>(i + 1);
    auto *mask = operands.getOutput<uint8_t>(0);
    const Tiles tiles(getBytes(DType::I1, count), bytesOfTile);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      drawDropoutBits(part, begin, size, mask);
    });
  }

private:
  static constexpr int64_t bytesOfTile = 32 * dropoutBitsOfUnit / 8;

  MaskShape shape;
  int64_t count = 1;
};

/// Checks the offsets of the slice, as far as attributes define them.
void checkPlace(SpecChecker &checker, const KernelSpec &spec,
                const MaskShape &shape) {
  const size_t rank = shape.part.sizes.size();
  checker.require(shape.part.whole.size() == rank &&
                      shape.part.starts.size() == rank,
                  "expected a size in 'shape' and one in 'starts' for each "
                  "dimension of output 0");
  if (checker.hasFailed())
    return;
  for (size_t dim = 0; dim < rank; ++dim)
    checker.require(shape.part.starts[dim] >= 0 &&
                        shape.part.starts[dim] <=
                            shape.part.whole[dim] - shape.part.sizes[dim],
                    "output 0 is no part of 'shape'");
  checker.require(shape.cutDims.size() + 1 == spec.inputs.size(),
                  "expected an input for each of 'cut_dims'");
  for (size_t i = 0; i < shape.cutDims.size() && !checker.hasFailed(); ++i) {
    checker.require(shape.cutDims[i] >= 0 &&
                        shape.cutDims[i] < static_cast<int64_t>(rank),
                    "'cut_dims' has a dimension that output 0 does not have");
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

KernelOrError makeDropoutMask(const KernelSpec &spec, SpecChecker &checker) {
  MaskShape shape;
  checker.requireInput(0, {DType::I64, {3}});
  checker.requireOutputType(0, DType::I1);
  const auto &sizes = spec.outputs[0].dims;
  shape.part.sizes.assign(sizes.begin(), sizes.end());
  shape.part.whole = checker.getInts("shape");
  shape.part.starts = checker.getInts("starts");
  shape.cutDims = checker.getInts("cut_dims");
  shape.part.key = static_cast<uint64_t>(checker.getInt("key"));
  shape.part.threshold = getDropThreshold(readDropRate(checker));
  checkPlace(checker, spec, shape);
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<DropoutMaskKernel>(std::move(shape));
}

KernelOrError makeDropout(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  checker.requireInput(1, {DType::I1, spec.inputs[0].dims});
  checker.requireOutput(0, spec.inputs[0]);
  const double rate = readDropRate(checker);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &x = spec.inputs[0];
  const Tiles blocks(x.getNumElements(), elementsOfBlock);
  return makeTiledKernel(
      tileRows(blocks.count, elementsOfBlock),
      [blocks, type = x.type, factor = getKeptFactor(rate)](
          const KernelOperands &operands, int64_t first, int64_t number) {
        const auto *mask = operands.getInput<uint8_t>(1);
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

} // namespace mf
