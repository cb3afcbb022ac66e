//===- CheckpointConversion.cpp - Renames checkpoint parameters -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/CheckpointConversion.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Data/ParameterNames.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include <cstring>
#include <utility>

using namespace llvm;

namespace mf {

namespace {

/// Takes neighbouring elements of a block's target: the first one's number in
/// the target's tensor, and their bytes.
using BlockWriter =
    llvm::function_ref<llvm::Error(int64_t, llvm::ArrayRef<uint8_t>)>;

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

/// Reads `copy` from the source's `bytes`, of type `from`, and passes it to
/// `write` as type `to`, each element once. Holds at most about a million
/// elements.
static Error copyBlock(const BlockCopy &copy, ArrayRef<uint8_t> bytes,
                       DType from, DType to, BlockWriter write) {
  return BlockMover(copy, bytes, from, to, write).move();
}

namespace {

/// A tensor to write, and the source of its rows.
struct PlannedTensor {
  const NamedShape *target = nullptr;
  TensorShape shape;
  std::vector<BlockCopy> copies;
};

/// Tables that Hugging Face's older checkpoints keep, and the moments in a
/// checkpoint of a training.
bool isNoParameter(StringRef name) {
  return name.ends_with(".inv_freq") || name.starts_with("adam_m.") ||
         name.starts_with("adam_v.");
}

class Converter {
public:
  Converter(const SafetensorsCheckpoint &source,
            const CheckpointConversion &conversion)
      : source(source), conversion(conversion) {}

  Error plan() {
    bool isFound = false;
    auto lookup = [&](StringRef name) -> std::optional<ArrayRef<int64_t>> {
      const SafetensorsEntry *entry = source.lookup(name);
      if (!entry)
        return std::nullopt;
      isFound = true;
      return ArrayRef(entry->dims);
    };
    for (const NamedShape &target : conversion.targets) {
      isFound = false;
      Expected<std::vector<BlockCopy>> copies = planParameter(
          target.name, target.shape.dims, lookup, conversion.layout);
      // A file without a table of integers means the model's first table.
      if (!copies && !isFound && !isFloatType(target.shape.type)) {
        consumeError(copies.takeError());
        continue;
      }
      if (!copies)
        return copies.takeError();
      PlannedTensor tensor{&target, target.shape, std::move(*copies)};
      if (Error error = chooseType(tensor))
        return error;
      for (const BlockCopy &copy : tensor.copies)
        used.insert(copy.source);
      tensors.push_back(std::move(tensor));
    }
    return checkNothingIsLost();
  }

  Error write(StringRef path) const {
    SafetensorsWriter writer;
    for (const PlannedTensor &tensor : tensors)
      if (Error error = writer.declare(tensor.target->name, tensor.shape))
        return error;
    writer.setMetadata("format", conversion.format);
    if (Error error = writer.open(path))
      return error;
    for (const PlannedTensor &tensor : tensors)
      for (const BlockCopy &copy : tensor.copies)
        if (Error error = writeBlock(writer, tensor, copy))
          return error;
    return writer.commit();
  }

private:
  /// Sets the type of the tensor to that of its sources, or to F32, which can
  /// represent all types, if they differ. Integers keep their type.
  Error chooseType(PlannedTensor &tensor) const {
    const bool isFloat = isFloatType(tensor.target->shape.type);
    bool isFirst = true;
    for (const BlockCopy &copy : tensor.copies) {
      Expected<TensorView> view = source.find(copy.source);
      if (!view)
        return view.takeError();
      const DType type = view->shape.type;
      if (isFloatType(type) != isFloat)
        return createStringError("tensor '" + copy.source + "' holds " +
                                 getName(type) + ", expected " +
                                 (isFloat ? "f32, bf16 or f16" : "i32 or i64"));
      tensor.shape.type =
          isFirst || tensor.shape.type == type ? type : DType::F32;
      isFirst = false;
    }
    if (conversion.type && isFloat)
      tensor.shape.type = *conversion.type;
    return Error::success();
  }

  Error checkNothingIsLost() const {
    SmallVector<StringRef> lost;
    for (const std::string &name : source.getNames())
      if (!used.contains(name) && !isNoParameter(name) && !isCopy(name))
        lost.push_back(name);
    if (lost.empty())
      return Error::success();
    constexpr size_t shown = 3;
    const size_t more = lost.size() - std::min(shown, lost.size());
    std::string list =
        "'" + join(ArrayRef(lost).take_front(shown), "', '") + "'";
    if (more != 0)
      list += " and " + std::to_string(more) + " more";
    return createStringError("no parameter of the model takes " + list);
  }

  /// Returns whether `name` has exactly the bytes of the tensor that it is a
  /// copy of: a tied head those of the embedding, the embedding and head of
  /// layers that predict additional tokens those of the model.
  bool isCopy(StringRef name) const {
    const std::optional<ParameterPart> part = getOnlyPart(name);
    if (!part)
      return false;
    SmallVector<ParameterPart> originals;
    if (*part == ParameterPart::PredictionEmbedding)
      originals = {ParameterPart::Embedding};
    else if (*part == ParameterPart::PredictionHead)
      originals = {ParameterPart::Head, ParameterPart::Embedding};
    else if (*part == ParameterPart::Head &&
             conversion.layout.tiesWordEmbeddings)
      originals = {ParameterPart::Embedding};
    const SafetensorsEntry *copy = source.lookup(name);
    for (const std::string &other : source.getNames()) {
      const std::optional<ParameterPart> held = getOnlyPart(other);
      if (!used.contains(other) || !held || !is_contained(originals, *held))
        continue;
      const SafetensorsEntry *original = source.lookup(other);
      if (copy->type == original->type && copy->bytes == original->bytes)
        return true;
    }
    return false;
  }

  std::optional<ParameterPart> getOnlyPart(StringRef name) const {
    const std::optional<ParameterName> parsed =
        parseParameterName(name, conversion.layout);
    if (!parsed || parsed->parts.size() != 1)
      return std::nullopt;
    return parsed->parts[0];
  }

  Error writeBlock(SafetensorsWriter &writer, const PlannedTensor &tensor,
                   const BlockCopy &copy) const {
    Expected<TensorView> view = source.find(copy.source);
    if (!view)
      return view.takeError();
    const DType type = tensor.shape.type;
    return copyBlock(copy, view->bytes, view->shape.type, type,
                     [&](int64_t element, ArrayRef<uint8_t> bytes) {
                       return writer.write(tensor.target->name, bytes,
                                           element * getBytes(type));
                     });
  }

  const SafetensorsCheckpoint &source;
  const CheckpointConversion &conversion;
  std::vector<PlannedTensor> tensors;
  StringSet<> used;
};

} // namespace

Error convertCheckpoint(const SafetensorsCheckpoint &source,
                        const CheckpointConversion &conversion,
                        StringRef path) {
  Converter converter(source, conversion);
  if (Error error = converter.plan())
    return error;
  return converter.write(path);
}

} // namespace mf
