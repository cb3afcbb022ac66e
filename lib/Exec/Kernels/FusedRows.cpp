//===- FusedRows.cpp - Fused kernels that move elements of rows -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "FusedKernels.h"
#include <cstring>

namespace mf {
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
