//===- SequenceMasks.cpp - Documents and prefixes of sequences ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "Tiles.h"
#include <algorithm>
#include <array>
#include <cstring>

namespace mf {
namespace {

/// Makes a kernel that calls `fillRow(tokens, length, mark, outputs)` for each
/// sequence. The first output may be written to the memory of the tokens. The
/// attribute `mark` is the token that ends a document or a prefix.
template <typename FillRow>
KernelOrError makeSequenceKernel(const KernelSpec &spec, SpecChecker &checker,
                                 const char *mark, FillRow fillRow) {
  checker.requireInputType(0, DType::I32);
  checker.require(spec.inputs[0].dims.size() == 2,
                  "got " + toString(spec.inputs[0]) +
                      ", expected batch x sequence");
  for (size_t output = 0; output < spec.outputs.size(); ++output)
    checker.requireOutput(output, spec.inputs[0]);
  const int64_t token = checker.getInt(mark);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowKernel(
      spec.inputs[0],
      [token, fillRow](const KernelOperands &operands, int64_t length,
                       int64_t begin, int64_t size) {
        for (int64_t row = begin; row < begin + size; ++row) {
          llvm::SmallVector<int32_t *, 2> outputs;
          for (void *output : operands.outputs)
            outputs.push_back(static_cast<int32_t *>(output) + row * length);
          fillRow(operands.getInput<int32_t>(0) + row * length, length, token,
                  outputs);
        }
      });
}

void fillDocumentStarts(const int32_t *tokens, int64_t length, int64_t end,
                        llvm::ArrayRef<int32_t *> outputs) {
  int32_t start = 0;
  for (int64_t i = 0; i < length; ++i) {
    const bool isLast = tokens[i] == end;
    outputs[0][i] = start;
    if (isLast)
      start = static_cast<int32_t>(i + 1);
  }
}

void fillPrefixPositions(const int32_t *tokens, int64_t length, int64_t begin,
                         llvm::ArrayRef<int32_t *> outputs) {
  const int64_t place = std::find(tokens, tokens + length, begin) - tokens;
  const int64_t prefix = place == length ? 1 : std::max<int64_t>(place, 1);
  for (int64_t i = 0; i < length; ++i) {
    outputs[0][i] = static_cast<int32_t>(std::min(i, prefix - 1));
    outputs[1][i] = static_cast<int32_t>(std::max<int64_t>(i - prefix + 1, 0));
  }
}

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

/// Makes a kernel of a mask with a value for each key that `Hides` hides from a
/// query, and zeros for all others.
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
  // The value that hides a key, in the mask's type.
  std::array<unsigned char, sizeof(float)> bits = {};
  const auto number = static_cast<float>(value);
  runCastLoop(DType::F32, mask.type, &number, bits.data(), 1);
  return makeRowKernel(mask, [type = mask.type,
                              bits](const KernelOperands &operands,
                                    int64_t keys, int64_t begin, int64_t size) {
    const int64_t bytes = getBytes(type);
    for (int64_t row = begin; row < begin + size; ++row) {
      const Hides hides(operands.getInput<int32_t>(0), row, keys);
      void *line = at(operands.outputs[0], type, row * keys);
      std::memset(line, 0, keys * bytes);
      for (int64_t key = 0; key < keys; ++key)
        if (hides(key))
          std::memcpy(at(line, type, key), bits.data(), bytes);
    }
  });
}

} // namespace

KernelOrError makeDocumentStarts(const KernelSpec &spec, SpecChecker &checker) {
  return makeSequenceKernel(spec, checker, "end", fillDocumentStarts);
}

KernelOrError makePrefixPositions(const KernelSpec &spec,
                                  SpecChecker &checker) {
  return makeSequenceKernel(spec, checker, "begin", fillPrefixPositions);
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
