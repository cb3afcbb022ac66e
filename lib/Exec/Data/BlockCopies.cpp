//===- BlockCopies.cpp - Moving blocks between tensors --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BlockCopies.h"
#include "mf/Exec/Data/ElementConversion.h"
#include <cstring>
#include <utility>

using namespace llvm;

namespace mf {

namespace {

constexpr int64_t mostAtOnce = int64_t{1} << 20;

class BlockMover {
public:
  BlockMover(BlockCopy block, ArrayRef<uint8_t> bytes, DType from, DType to,
             BlockWriter write)
      : copy(std::move(block)), bytes(bytes), from(from), to(to), write(write) {
    turn();
  }

  Error move() {
    if (copy.rows == 0 || copy.columns == 0)
      return Error::success();
    return copy.from.columnStride == 1 ? moveRows() : moveTransposed();
  }

private:
  /// Makes the target's neighbours those of a row, and merges rows that are
  /// contiguous on both sides.
  void turn() {
    if (copy.columns > 1 && copy.to.columnStride != 1) {
      std::swap(copy.rows, copy.columns);
      std::swap(copy.from.rowStride, copy.from.columnStride);
      std::swap(copy.to.rowStride, copy.to.columnStride);
    }
    if (copy.columns == 1)
      copy.from.columnStride = copy.to.columnStride = 1;
    if (copy.from.columnStride == 1 && copy.to.columnStride == 1 &&
        copy.from.rowStride == copy.columns &&
        copy.to.rowStride == copy.columns) {
      copy.columns *= copy.rows;
      copy.rows = 1;
    }
  }

  Error moveRows() {
    for (int64_t row = 0; row < copy.rows; ++row)
      for (int64_t column = 0; column < copy.columns; column += mostAtOnce) {
        const int64_t count = std::min(mostAtOnce, copy.columns - column);
        const int64_t first =
            copy.from.offset + row * copy.from.rowStride + column;
        if (Error error = put(
                row, column,
                bytes.slice(first * getBytes(from), count * getBytes(from))))
          return error;
      }
    return Error::success();
  }

  /// A column of the source is contiguous, and so is a row of the target. A few
  /// rows are moved at a time, so that bytes on the same cache line are used
  /// together.
  Error moveTransposed() {
    constexpr int64_t rowsAtOnce = 64;
    const int64_t columnsAtOnce =
        std::min(copy.columns, mostAtOnce / rowsAtOnce);
    const int64_t size = getBytes(from);
    std::vector<uint8_t> gathered(rowsAtOnce * columnsAtOnce * size);
    for (int64_t row = 0; row < copy.rows; row += rowsAtOnce)
      for (int64_t column = 0; column < copy.columns; column += columnsAtOnce) {
        const int64_t rows = std::min(rowsAtOnce, copy.rows - row);
        const int64_t columns = std::min(columnsAtOnce, copy.columns - column);
        for (int64_t j = 0; j < columns; ++j)
          for (int64_t i = 0; i < rows; ++i)
            std::memcpy(&gathered[(i * columns + j) * size],
                        &bytes[getSource(row + i, column + j) * size], size);
        for (int64_t i = 0; i < rows; ++i)
          if (Error error = put(
                  row + i, column,
                  ArrayRef(gathered).slice(i * columns * size, columns * size)))
            return error;
      }
    return Error::success();
  }

  int64_t getSource(int64_t row, int64_t column) const {
    return copy.from.offset + row * copy.from.rowStride +
           column * copy.from.columnStride;
  }

  /// Hands on elements of a row, from `column` on.
  Error put(int64_t row, int64_t column, ArrayRef<uint8_t> elements) {
    const int64_t target = copy.to.offset + row * copy.to.rowStride + column;
    if (from == to)
      return write(target, elements);
    converted.resize(elements.size() / getBytes(from) * getBytes(to));
    if (Error error = convertElements(from, elements, to, converted))
      return error;
    return write(target, converted);
  }

  BlockCopy copy;
  ArrayRef<uint8_t> bytes;
  DType from;
  DType to;
  BlockWriter write;
  std::vector<uint8_t> converted;
};

} // namespace

Error copyBlock(const BlockCopy &copy, ArrayRef<uint8_t> bytes, DType from,
                DType to, BlockWriter write) {
  return BlockMover(copy, bytes, from, to, write).move();
}

} // namespace mf
