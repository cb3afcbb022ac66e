//===- AdapterRows.cpp - Tensors of adapters with reordered rows ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "AdapterRows.h"
#include "mf/Exec/Data/ElementConversion.h"
#include <cstring>

namespace mf {

llvm::Expected<std::vector<uint8_t>> readAs(const SafetensorsCheckpoint &source,
                                            llvm::StringRef name,
                                            const TensorShape &shape) {
  auto tensor = source.find(name);
  if (!tensor)
    return tensor.takeError();
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.getBytes()));
  if (llvm::Error error = readTensor(name, *tensor, shape, bytes))
    return error;
  return bytes;
}

llvm::Expected<std::vector<uint8_t>>
readRows(const SafetensorsCheckpoint &source, llvm::StringRef name,
         const TensorShape &shape, llvm::StringRef from, llvm::StringRef to,
         const ParameterLayout &layout) {
  auto bytes = readAs(source, name, shape);
  if (!bytes || from.empty())
    return bytes;
  auto copies = planParameter(
      to, shape.dims,
      [&](llvm::StringRef asked) -> std::optional<llvm::ArrayRef<int64_t>> {
        if (asked != from)
          return std::nullopt;
        return llvm::ArrayRef<int64_t>(shape.dims);
      },
      layout);
  if (!copies)
    return copies.takeError();
  const auto size = static_cast<size_t>(getBytes(shape.type));
  std::vector<uint8_t> moved(bytes->size());
  auto place = [&](const BlockPlace &block, int64_t row, int64_t column) {
    return size * static_cast<size_t>(block.offset + row * block.rowStride +
                                      column * block.columnStride);
  };
  for (const BlockCopy &copy : *copies)
    for (int64_t row = 0; row < copy.rows; ++row)
      for (int64_t column = 0; column < copy.columns; ++column)
        std::memcpy(moved.data() + place(copy.to, row, column),
                    bytes->data() + place(copy.from, row, column), size);
  return moved;
}

} // namespace mf
