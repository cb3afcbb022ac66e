//===- ParameterParts.cpp - Places of the parts within a tensor -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParameterParts.h"
#include "mf/Support/ShapeText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mf {

static Error rowsError(StringRef name, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           "tensor '" + name + "': " + message);
}

static bool isOfHeads(ParameterPart part) {
  return part == ParameterPart::Query || part == ParameterPart::Key ||
         part == ParameterPart::Value;
}

static bool isOfLatentHeads(ParameterPart part) {
  return part == ParameterPart::QueryNope || part == ParameterPart::QueryRope ||
         part == ParameterPart::KeyNope || part == ParameterPart::ValueUp;
}

static bool isOfLatentAttention(ParameterPart part) {
  return isOfLatentHeads(part) || part == ParameterPart::QueryDown ||
         part == ParameterPart::KeyValueDown || part == ParameterPart::KeyRope;
}

static bool isRotated(ParameterPart part) {
  return part == ParameterPart::QueryRope || part == ParameterPart::KeyRope;
}

/// Returns whether a number is positive and so small that the product of two
/// cannot overflow.
static bool isSize(int64_t size) {
  constexpr int64_t limit = int64_t{1} << 30;
  return size > 0 && size <= limit;
}

/// Returns whether the layout has heads that can be divided into groups with
/// one key head each.
static bool isUsable(const ParameterLayout &layout) {
  return isSize(layout.numHeads) && layout.numKeyValueHeads > 0 &&
         layout.numHeads % layout.numKeyValueHeads == 0 &&
         isSize(layout.headSize);
}

static bool isUsable(const LatentSizes &latent) {
  return (latent.querySize == 0 || isSize(latent.querySize)) &&
         isSize(latent.keyValueSize) && isSize(latent.nopeSize) &&
         isSize(latent.ropeSize) && latent.ropeSize % 2 == 0 &&
         isSize(latent.valueSize);
}

static std::string describeHeads(const ParameterLayout &layout) {
  return (Twine(layout.numHeads) + " heads and " +
          Twine(layout.numKeyValueHeads) + " key/value heads of size " +
          Twine(layout.headSize))
      .str();
}

static std::string describeLatent(const ParameterLayout &layout) {
  const LatentSizes &latent = *layout.latent;
  return (Twine(layout.numHeads) + " heads of size " + Twine(latent.nopeSize) +
          " and " + Twine(latent.ropeSize) + ", values of size " +
          Twine(latent.valueSize) + ", latent sizes " +
          Twine(latent.querySize) + " and " + Twine(latent.keyValueSize))
      .str();
}

Error PartShapes::readRows(StringRef name, const ParameterName &parsed,
                           int64_t rows) {
  const bool ofHeads = isOfHeads(parsed.parts[0]);
  if (!ofHeads && !isOfLatentAttention(parsed.parts[0])) {
    const auto count = static_cast<int64_t>(parsed.parts.size());
    if (rows % count != 0)
      return rowsError(name, "has " + Twine(rows) +
                                 " rows, expected a multiple of " +
                                 Twine(count));
    other = rows / count;
    return Error::success();
  }
  const std::string sizes =
      ofHeads ? describeHeads(layout) : describeLatent(layout);
  if (ofHeads ? !isUsable(layout)
              : !isSize(layout.numHeads) || !isUsable(*layout.latent))
    return rowsError(name, "cannot be taken apart into " + sizes);
  int64_t expected = 0;
  for (ParameterPart part : parsed.parts)
    expected += getRows(part);
  if (rows != expected)
    return rowsError(name, "has " + Twine(rows) + " rows, expected " +
                               Twine(expected) + " (" + sizes + ")");
  return Error::success();
}

Error PartShapes::readStack(StringRef name, const ParameterName &parsed,
                            ArrayRef<int64_t> dims) {
  const auto count = static_cast<int64_t>(parsed.parts.size());
  const bool transposed = parsed.form == TensorForm::StackedTransposed;
  if (dims.size() != 3 || dims[0] != layout.numExperts || dims[0] == 0)
    return rowsError(name, "has shape " + printDims(dims) +
                               ", expected three dimensions, the first " +
                               Twine(layout.numExperts) + " experts");
  const int64_t rows = dims[transposed ? 2 : 1];
  if (rows % count != 0)
    return rowsError(name, "has " + Twine(rows) +
                               " columns, expected a multiple of " +
                               Twine(count));
  other = rows / count;
  columns = dims[transposed ? 1 : 2];
  return Error::success();
}

Expected<PartShapes> PartShapes::create(StringRef name,
                                        const ParameterName &parsed,
                                        ArrayRef<int64_t> dims,
                                        const ParameterLayout &layout) {
  PartShapes result(layout);
  if (parsed.isStacked()) {
    if (Error error = result.readStack(name, parsed, dims))
      return error;
    return result;
  }
  if (dims.empty() || dims.size() > 2)
    return rowsError(name, "has " + Twine(dims.size()) +
                               " dimensions, expected 1 or 2");
  result.isVector = dims.size() == 1;
  const bool isTransposed =
      parsed.form == TensorForm::Transposed && !result.isVector;
  result.columns = result.isVector ? 1 : dims[isTransposed ? 0 : 1];
  if (parsed.form == TensorForm::Columns) {
    const auto count = static_cast<int64_t>(parsed.parts.size());
    if (result.isVector || dims[1] % count != 0)
      return rowsError(name, "has shape " + printDims(dims) +
                                 ", expected a matrix whose columns are a "
                                 "multiple of " +
                                 Twine(count));
    result.columns /= count;
    result.other = dims[0];
    return result;
  }
  if (Error error = result.readRows(name, parsed, dims[isTransposed ? 1 : 0]))
    return error;
  return result;
}

int64_t PartShapes::getRows(ParameterPart part) const {
  if (part == ParameterPart::Query)
    return layout.numHeads * layout.headSize;
  if (isOfHeads(part))
    return layout.numKeyValueHeads * layout.headSize;
  if (!isOfLatentAttention(part))
    return other;
  const LatentSizes &latent = *layout.latent;
  switch (part) {
  case ParameterPart::QueryDown:
    return latent.querySize;
  case ParameterPart::KeyValueDown:
    return latent.keyValueSize;
  case ParameterPart::KeyRope:
    return latent.ropeSize;
  case ParameterPart::QueryRope:
    return layout.numHeads * latent.ropeSize;
  case ParameterPart::ValueUp:
    return layout.numHeads * latent.valueSize;
  default:
    return layout.numHeads * latent.nopeSize;
  }
}

std::vector<int64_t> PartShapes::getDims(const ParameterName &name) const {
  int64_t rows = 0;
  for (ParameterPart part : name.parts)
    rows += getRows(part);
  switch (name.form) {
  case TensorForm::Rows:
  case TensorForm::Transposed:
    if (isVector)
      return {rows};
    if (name.form == TensorForm::Transposed)
      return {columns, rows};
    return {rows, columns};
  case TensorForm::Columns:
    return {other, columns * static_cast<int64_t>(name.parts.size())};
  case TensorForm::Stacked:
    return {layout.numExperts, rows, columns};
  case TensorForm::StackedTransposed:
    return {layout.numExperts, columns, rows};
  }
  llvm_unreachable("unknown form");
}

namespace {

class SegmentLister {
public:
  SegmentLister(const ParameterName &name, const PartShapes &shapes,
                const ParameterLayout &layout)
      : name(name), shapes(shapes), layout(layout) {}

  std::vector<PartSegment> list() {
    switch (name.form) {
    case TensorForm::Rows:
      listRows();
      break;
    case TensorForm::Columns:
      listColumns();
      break;
    case TensorForm::Transposed:
      listTransposed();
      break;
    case TensorForm::Stacked:
    case TensorForm::StackedTransposed:
      listStack();
      break;
    }
    return std::move(segments);
  }

private:
  int64_t countGroups() const {
    if (name.order != RowOrder::Grouped)
      return 1;
    if (isOfHeads(name.parts[0]))
      return layout.numKeyValueHeads;
    return isOfLatentHeads(name.parts[0]) ? layout.numHeads
                                          : shapes.getRows(name.parts[0]);
  }

  void listRows() {
    const int64_t groups = countGroups(), columns = shapes.getColumns();
    int64_t row = 0;
    for (int64_t group = 0; group < groups; ++group)
      for (ParameterPart part : name.parts) {
        const int64_t count = shapes.getRows(part) / groups;
        if (name.rotatesPairs && isRotated(part))
          addPairs(part, group * count, count, row);
        else
          segments.push_back({part,
                              name.expert,
                              group * count,
                              count,
                              {row * columns, columns, 1}});
        row += count;
      }
  }

  /// Adds rows of which the even ones of each head are the first half of its
  /// part, and the odd ones the second half.
  void addPairs(ParameterPart part, int64_t partRow, int64_t count,
                int64_t row) {
    const int64_t columns = shapes.getColumns();
    const int64_t half = layout.latent->ropeSize / 2;
    for (int64_t done = 0; done < count; done += 2 * half)
      for (int64_t odd : {0, 1})
        segments.push_back({part,
                            name.expert,
                            partRow + done + odd * half,
                            half,
                            {(row + done + odd) * columns, 2 * columns, 1}});
  }

  void listColumns() {
    const int64_t columns = shapes.getColumns();
    const int64_t stride = columns * static_cast<int64_t>(name.parts.size());
    for (auto [index, part] : enumerate(name.parts))
      segments.push_back({part,
                          name.expert,
                          0,
                          shapes.getRows(part),
                          {static_cast<int64_t>(index) * columns, stride, 1}});
  }

  void listTransposed() {
    int64_t row = 0, all = 0;
    for (ParameterPart part : name.parts)
      all += shapes.getRows(part);
    for (ParameterPart part : name.parts) {
      const int64_t rows = shapes.getRows(part);
      segments.push_back({part, name.expert, 0, rows, {row, 1, all}});
      row += rows;
    }
  }

  void listStack() {
    const int64_t columns = shapes.getColumns();
    const int64_t rows = shapes.getRows(name.parts[0]);
    const int64_t all = rows * static_cast<int64_t>(name.parts.size());
    const bool transposed = name.form == TensorForm::StackedTransposed;
    const int64_t blocks =
        name.order == RowOrder::Grouped ? layout.gateUpBlocks : 1;
    const int64_t count = rows / blocks;
    for (int64_t expert = 0; expert < layout.numExperts; ++expert) {
      int64_t row = 0;
      for (int64_t block = 0; block < blocks; ++block)
        for (ParameterPart part : name.parts) {
          BlockPlace place{expert * all * columns, columns, 1};
          if (transposed)
            place = {place.offset + row, 1, all};
          else
            place.offset += row * columns;
          segments.push_back({part, expert, block * count, count, place});
          row += count;
        }
    }
  }

  const ParameterName &name;
  const PartShapes &shapes;
  const ParameterLayout &layout;
  std::vector<PartSegment> segments;
};

} // namespace

std::vector<PartSegment> listSegments(const ParameterName &name,
                                      const PartShapes &shapes,
                                      const ParameterLayout &layout) {
  return SegmentLister(name, shapes, layout).list();
}

} // namespace mf
