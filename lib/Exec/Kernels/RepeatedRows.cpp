//===- RepeatedRows.cpp - Rows of a broadcast tensor ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RepeatedRows.h"
#include <cstring>

namespace mf {

RepeatedRows::RepeatedRows(const TensorShape &from, llvm::ArrayRef<int64_t> to)
    : elementBytes(mf::getBytes(from.type)),
      sourceColumns(from.dims.empty() ? 1 : from.dims.back()),
      columns(to.empty() ? 1 : to.back()) {
  int64_t stride = 1;
  for (size_t fromLast = 1; fromLast < to.size(); ++fromLast) {
    const int64_t size = to[to.size() - 1 - fromLast];
    const int64_t own = fromLast < from.dims.size()
                            ? from.dims[from.dims.size() - 1 - fromLast]
                            : 1;
    if (size > 1)
      loops.push_back({size, own == 1 ? 0 : stride});
    stride *= own;
  }
}

int64_t RepeatedRows::getSourceRow(int64_t row) const {
  int64_t source = 0;
  for (const Loop &loop : loops) {
    source += row % loop.size * loop.stride;
    row /= loop.size;
  }
  return source;
}

bool RepeatedRows::liesTogether(int64_t first, int64_t count) const {
  if (sourceColumns != columns)
    return false;
  if (count == 1)
    return true;
  const Loop &inner = loops.front();
  if (inner.stride == 1 && first % inner.size + count <= inner.size)
    return true;
  for (int64_t row = 1, begin = getSourceRow(first); row < count; ++row)
    if (getSourceRow(first + row) != begin + row)
      return false;
  return true;
}

template <typename Bits>
static void repeat(const char *source, char *target, int64_t count) {
  Bits element;
  std::memcpy(&element, source, sizeof element);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(target + i * sizeof element, &element, sizeof element);
}

void RepeatedRows::copyRow(const char *source, char *target) const {
  if (sourceColumns == columns)
    std::memcpy(target, source, columns * elementBytes);
  else if (elementBytes == sizeof(uint16_t))
    repeat<uint16_t>(source, target, columns);
  else if (elementBytes == sizeof(uint32_t))
    repeat<uint32_t>(source, target, columns);
  else
    repeat<uint64_t>(source, target, columns);
}

const void *RepeatedRows::get(const void *source, int64_t first, int64_t count,
                              void *scratch) const {
  const auto *rows = static_cast<const char *>(source);
  const int64_t sourceBytes = sourceColumns * elementBytes;
  if (liesTogether(first, count))
    return rows + getSourceRow(first) * sourceBytes;
  auto *target = static_cast<char *>(scratch);
  for (int64_t row = 0; row < count; ++row)
    copyRow(rows + getSourceRow(first + row) * sourceBytes,
            target + row * columns * elementBytes);
  return scratch;
}

} // namespace mf
