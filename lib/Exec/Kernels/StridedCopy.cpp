//===- StridedCopy.cpp - Strided copies of elements -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StridedCopy.h"
#include "Tiles.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

namespace mf {
namespace {

constexpr int64_t bytesPerTile = 131072;

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

} // namespace

StridedCopy::StridedCopy(int64_t elementBytes,
                         llvm::ArrayRef<Dimension> dimensions)
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

void StridedCopy::run(const void *source, void *target,
                      ThreadPool &pool) const {
  const char *from = static_cast<const char *>(source);
  char *to = static_cast<char *>(target);
  if (isContiguous)
    copyContiguous(from, to, pool);
  else
    copyElements(from, to, pool);
}

void StridedCopy::copyContiguous(const char *source, char *target,
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

} // namespace mf
