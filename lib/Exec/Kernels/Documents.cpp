//===- Documents.cpp - Documents of a packed sequence ---------------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include <cstring>

namespace mf {
namespace {

class DocumentStartsKernel : public Kernel {
public:
  DocumentStartsKernel(const TensorShape &tokens, int64_t end)
      : rows(tokens.dims[0]), length(tokens.dims[1]), end(end) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const auto *tokens = static_cast<const int32_t *>(operands.inputs[0]);
    auto *starts = static_cast<int32_t *>(operands.outputs[0]);
    const Tiles tiles = tileRows(rows, length);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t row = first; row < first + number; ++row)
        fillRow(tokens + row * length, starts + row * length);
    });
  }

private:
  /// The starts may be written to the memory of the tokens.
  void fillRow(const int32_t *tokens, int32_t *starts) const {
    int32_t start = 0;
    for (int64_t i = 0; i < length; ++i) {
      const bool isLast = tokens[i] == end;
      starts[i] = start;
      if (isLast)
        start = static_cast<int32_t>(i + 1);
    }
  }

  int64_t rows, length, end;
};

class DocumentMaskKernel : public Kernel {
public:
  DocumentMaskKernel(const TensorShape &mask, double value)
      : type(mask.type), rows(mask.dims[0] * mask.dims[2]), keys(mask.dims[3]) {
    const auto number = static_cast<float>(value);
    runCastLoop(DType::F32, type, &number, bits, 1);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const auto *starts = static_cast<const int32_t *>(operands.inputs[0]);
    const Tiles tiles = tileRows(rows, keys);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t row = first; row < first + number; ++row)
        fillRow(at(operands.outputs[0], type, row * keys),
                std::clamp<int64_t>(starts[row], 0, keys));
    });
  }

private:
  void fillRow(void *line, int64_t hidden) const {
    const int64_t bytes = getBytes(type);
    std::memset(at(line, type, hidden), 0, (keys - hidden) * bytes);
    for (int64_t key = 0; key < hidden; ++key)
      std::memcpy(at(line, type, key), bits, bytes);
  }

  DType type;
  int64_t rows, keys;
  /// The value in the mask's type.
  unsigned char bits[sizeof(float)] = {};
};

} // namespace

KernelOrError makeDocumentMask(const KernelSpec &spec) {
  SpecChecker checker(spec);
  double value = 0;
  if (checker.requireTensors()) {
    checker.requireFloatOutput(0);
    const TensorShape &mask = spec.outputs[0];
    checker.require(mask.dims.size() == 4 && mask.dims[1] == 1,
                    "output 0 is " + toString(mask) +
                        ", expected batch x 1 x queries x keys");
    if (!checker.hasFailed())
      checker.requireInput(0, {DType::I32, {mask.dims[0], mask.dims[2]}});
    value = checker.getDouble("value");
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<DocumentMaskKernel>(spec.outputs[0], value);
}

KernelOrError makeDocumentStarts(const KernelSpec &spec) {
  SpecChecker checker(spec);
  int64_t end = 0;
  if (checker.requireTensors()) {
    checker.requireInputType(0, DType::I32);
    checker.require(spec.inputs[0].dims.size() == 2,
                    "got " + toString(spec.inputs[0]) +
                        ", expected batch x sequence");
    checker.requireOutput(0, spec.inputs[0]);
    end = checker.getInt("end");
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<DocumentStartsKernel>(spec.inputs[0], end);
}

} // namespace mf
