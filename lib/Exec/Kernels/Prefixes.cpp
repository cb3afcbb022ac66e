//===- Prefixes.cpp - Prefixes that all tokens of a sample see ------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include <algorithm>
#include <cstring>

namespace mf {
namespace {

class PrefixPositionsKernel : public Kernel {
public:
  PrefixPositionsKernel(const TensorShape &tokens, int64_t begin)
      : rows(tokens.dims[0]), length(tokens.dims[1]), begin(begin) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const auto *tokens = static_cast<const int32_t *>(operands.inputs[0]);
    auto *within = static_cast<int32_t *>(operands.outputs[0]);
    auto *behind = static_cast<int32_t *>(operands.outputs[1]);
    const Tiles tiles = tileRows(rows, length);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t row = first; row < first + number; ++row)
        fillRow(tokens + row * length, within + row * length,
                behind + row * length);
    });
  }

private:
  void fillRow(const int32_t *tokens, int32_t *within, int32_t *behind) const {
    const int64_t place = std::find(tokens, tokens + length, begin) - tokens;
    const int64_t prefix = place == length ? 1 : std::max<int64_t>(place, 1);
    for (int64_t i = 0; i < length; ++i) {
      within[i] = static_cast<int32_t>(std::min(i, prefix - 1));
      behind[i] = static_cast<int32_t>(std::max<int64_t>(i - prefix + 1, 0));
    }
  }

  int64_t rows, length, begin;
};

class PrefixMaskKernel : public Kernel {
public:
  PrefixMaskKernel(const TensorShape &mask, double value)
      : type(mask.type), rows(mask.dims[0] * mask.dims[2]),
        length(mask.dims[3]) {
    const auto number = static_cast<float>(value);
    runCastLoop(DType::F32, type, &number, bits, 1);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const auto *behind = static_cast<const int32_t *>(operands.inputs[0]);
    const Tiles tiles = tileRows(rows, length);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t row = first; row < first + number; ++row)
        fillRow(behind + row / length * length, row % length,
                at(operands.outputs[0], type, row * length));
    });
  }

private:
  void fillRow(const int32_t *behind, int64_t query, void *line) const {
    const int64_t bytes = getBytes(type);
    std::memset(line, 0, length * bytes);
    for (int64_t key = query + 1; key < length; ++key)
      if (behind[key] > 0)
        std::memcpy(at(line, type, key), bits, bytes);
  }

  DType type;
  int64_t rows, length;
  /// The value in the mask's type.
  unsigned char bits[sizeof(float)] = {};
};

} // namespace

KernelOrError makePrefixMask(const KernelSpec &spec) {
  SpecChecker checker(spec);
  double value = 0;
  if (checker.requireTensors()) {
    checker.requireFloatOutput(0);
    const TensorShape &mask = spec.outputs[0];
    checker.require(mask.dims.size() == 4 && mask.dims[1] == 1 &&
                        mask.dims[2] == mask.dims[3],
                    "output 0 is " + toString(mask) +
                        ", expected batch x 1 x sequence x sequence");
    if (!checker.hasFailed())
      checker.requireInput(0, {DType::I32, {mask.dims[0], mask.dims[3]}});
    value = checker.getDouble("value");
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<PrefixMaskKernel>(spec.outputs[0], value);
}

KernelOrError makePrefixPositions(const KernelSpec &spec) {
  SpecChecker checker(spec);
  int64_t begin = 0;
  if (checker.requireTensors()) {
    checker.requireInputType(0, DType::I32);
    checker.require(spec.inputs[0].dims.size() == 2,
                    "got " + toString(spec.inputs[0]) +
                        ", expected batch x sequence");
    checker.requireOutput(0, spec.inputs[0]);
    checker.requireOutput(1, spec.inputs[0]);
    begin = checker.getInt("begin");
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<PrefixPositionsKernel>(spec.inputs[0], begin);
}

} // namespace mf
