//===- SequenceMasks.cpp - Documents and prefixes of sequences ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "Tiles.h"
#include <algorithm>
#include <cstring>

namespace mf {
namespace {

/// Computes numbers for the tokens of each sequence. The first output may be
/// written to the memory of the tokens.
class SequenceKernel : public Kernel {
public:
  SequenceKernel(const TensorShape &tokens, int64_t mark)
      : length(tokens.dims[1]), mark(mark), rows(tokens.dims[0]) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const Tiles tiles = tileRows(rows, length);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t row = first; row < first + number; ++row) {
        llvm::SmallVector<int32_t *, 2> outputs;
        for (void *output : operands.outputs)
          outputs.push_back(static_cast<int32_t *>(output) + row * length);
        fillRow(operands.getInput<int32_t>(0) + row * length, outputs);
      }
    });
  }

protected:
  virtual void fillRow(const int32_t *tokens,
                       llvm::ArrayRef<int32_t *> outputs) const = 0;

  int64_t length;
  /// The token that ends a document or a prefix.
  int64_t mark;

private:
  int64_t rows;
};

class DocumentStartsKernel : public SequenceKernel {
  using SequenceKernel::SequenceKernel;

  void fillRow(const int32_t *tokens,
               llvm::ArrayRef<int32_t *> outputs) const override {
    int32_t start = 0;
    for (int64_t i = 0; i < length; ++i) {
      const bool isLast = tokens[i] == mark;
      outputs[0][i] = start;
      if (isLast)
        start = static_cast<int32_t>(i + 1);
    }
  }
};

class PrefixPositionsKernel : public SequenceKernel {
  using SequenceKernel::SequenceKernel;

  void fillRow(const int32_t *tokens,
               llvm::ArrayRef<int32_t *> outputs) const override {
    const int64_t place = std::find(tokens, tokens + length, mark) - tokens;
    const int64_t prefix = place == length ? 1 : std::max<int64_t>(place, 1);
    for (int64_t i = 0; i < length; ++i) {
      outputs[0][i] = static_cast<int32_t>(std::min(i, prefix - 1));
      outputs[1][i] =
          static_cast<int32_t>(std::max<int64_t>(i - prefix + 1, 0));
    }
  }
};

template <typename MadeKernel>
KernelOrError makeSequenceKernel(const KernelSpec &spec, SpecChecker &checker,
                                 const char *mark) {
  checker.requireInputType(0, DType::I32);
  checker.require(spec.inputs[0].dims.size() == 2,
                  "got " + toString(spec.inputs[0]) +
                      ", expected batch x sequence");
  for (size_t output = 0; output < spec.outputs.size(); ++output)
    checker.requireOutput(output, spec.inputs[0]);
  const int64_t token = checker.getInt(mark);
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<MadeKernel>(spec.inputs[0], token);
}

/// A mask with a value for each key that `Hides` hides from a query, and zeros
/// for all others.
template <typename Hides> class MaskKernel : public Kernel {
public:
  MaskKernel(const TensorShape &mask, double value)
      : type(mask.type), rows(mask.dims[0] * mask.dims[2]), keys(mask.dims[3]) {
    const auto number = static_cast<float>(value);
    runCastLoop(DType::F32, type, &number, bits, 1);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const int64_t bytes = getBytes(type);
    const Tiles tiles = tileRows(rows, keys);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t row = first; row < first + number; ++row) {
        const Hides hides(operands.getInput<int32_t>(0), row, keys);
        void *line = at(operands.outputs[0], type, row * keys);
        std::memset(line, 0, keys * bytes);
        for (int64_t key = 0; key < keys; ++key)
          if (hides(key))
            std::memcpy(at(line, type, key), bits, bytes);
      }
    });
  }

private:
  DType type;
  int64_t rows, keys;
  /// The value that hides a key, in the mask's type.
  unsigned char bits[sizeof(float)] = {};
};

/// Hides the keys before the start of the query's document.
struct HidesOtherDocuments {
  HidesOtherDocuments(const int32_t *starts, int64_t row, int64_t)
      : start(starts[row]) {}
  bool operator()(int64_t key) const { return key < start; }

  int64_t start;
};

/// Hides the keys behind both the query and the prefix.
struct HidesBehindPrefix {
  HidesBehindPrefix(const int32_t *positions, int64_t row, int64_t keys)
      : behind(positions + row / keys * keys), query(row % keys) {}
  bool operator()(int64_t key) const { return key > query && behind[key] > 0; }

  const int32_t *behind;
  int64_t query;
};

template <typename Hides>
KernelOrError makeMask(const KernelSpec &spec, SpecChecker &checker,
                       bool isSquare, llvm::StringRef expected) {
  checker.requireFloatOutput(0);
  const TensorShape &mask = spec.outputs[0];
  checker.require(mask.dims.size() == 4 && mask.dims[1] == 1 &&
                      (!isSquare || mask.dims[2] == mask.dims[3]),
                  "output 0 is " + toString(mask) + ", expected " + expected);
  if (!checker.hasFailed())
    checker.requireInput(0, {DType::I32, {mask.dims[0], mask.dims[2]}});
  const double value = checker.getDouble("value");
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<MaskKernel<Hides>>(mask, value);
}

} // namespace

KernelOrError makeDocumentStarts(const KernelSpec &spec, SpecChecker &checker) {
  return makeSequenceKernel<DocumentStartsKernel>(spec, checker, "end");
}

KernelOrError makePrefixPositions(const KernelSpec &spec,
                                  SpecChecker &checker) {
  return makeSequenceKernel<PrefixPositionsKernel>(spec, checker, "begin");
}

KernelOrError makeDocumentMask(const KernelSpec &spec, SpecChecker &checker) {
  return makeMask<HidesOtherDocuments>(spec, checker, false,
                                       "batch x 1 x queries x keys");
}

KernelOrError makePrefixMask(const KernelSpec &spec, SpecChecker &checker) {
  return makeMask<HidesBehindPrefix>(spec, checker, true,
                                     "batch x 1 x sequence x sequence");
}

} // namespace mf
