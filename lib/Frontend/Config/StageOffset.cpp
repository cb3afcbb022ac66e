//===- StageOffset.cpp - The forms of model_config.offset -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/StageMap.h"
#include <cmath>

namespace mf {

/// Offsets beyond this cannot belong to a model; sums of them stay far from
/// overflow.
static constexpr int64_t largestOffset = 1 << 20;

/// Returns the result of numpy's cast of a loaded value to int32.
static std::optional<int64_t> castToInt(const Node &node) {
  std::optional<int64_t> value = node.getInt();
  if (std::optional<bool> flag = node.getBool())
    value = *flag ? 1 : 0;
  if (node.isFloat() && std::abs(*node.getFloat()) <= largestOffset)
    value = static_cast<int64_t>(*node.getFloat());
  int64_t parsed = 0;
  if (node.isString() && !node.getText().trim().getAsInteger(10, parsed))
    value = parsed;
  if (!value || *value > largestOffset || *value < -largestOffset)
    return std::nullopt;
  return value;
}

static std::optional<std::vector<int64_t>>
readRow(const Node &list, DiagnosticList &diagnostics) {
  std::vector<int64_t> row;
  for (const Node &item : list.getElements()) {
    std::optional<int64_t> value = castToInt(item);
    if (!value) {
      rejectValue(item, "a number of layers in 'offset'", diagnostics);
      return std::nullopt;
    }
    row.push_back(*value);
  }
  return row;
}

static std::optional<StageOffset> readTable(const Node &list,
                                            DiagnosticList &diagnostics) {
  StageOffset offset;
  offset.kind = StageOffset::Kind::PerMiniStage;
  offset.rows.clear();
  for (const Node &item : list.getElements()) {
    if (!item.isList()) {
      rejectValue(item, "a list for each row of 'offset'", diagnostics);
      return std::nullopt;
    }
    auto row = readRow(item, diagnostics);
    if (!row)
      return std::nullopt;
    if (!offset.rows.empty() && row->size() != offset.rows[0].size()) {
      diagnostics.error(
          item.getLocation(),
          "rows of different lengths in 'offset': " + llvm::Twine(row->size()) +
              " values after rows of " + llvm::Twine(offset.rows[0].size()));
      return std::nullopt;
    }
    offset.rows.push_back(std::move(*row));
  }
  return offset;
}

std::optional<StageOffset> readStageOffset(const Node &node,
                                           DiagnosticList &diagnostics) {
  StageOffset offset;
  offset.location = node.getLocation();
  if (!node)
    return offset;
  if (node.isList()) {
    const std::vector<Node> &items = node.getElements();
    bool hasRows = false;
    for (const Node &item : items)
      hasRows |= item.isList();
    if (hasRows) {
      auto table = readTable(node, diagnostics);
      if (table)
        table->location = node.getLocation();
      return table;
    }
    auto row = readRow(node, diagnostics);
    if (!row)
      return std::nullopt;
    offset.kind = StageOffset::Kind::PerStage;
    offset.rows = {std::move(*row)};
    return offset;
  }
  if (std::optional<int64_t> value = castToInt(node)) {
    offset.rows = {{*value}};
    return offset;
  }
  rejectValue(node,
              "an int, a list with a value per stage or a list "
              "of such lists (one per interleave) for 'offset'",
              diagnostics);
  return std::nullopt;
}

int64_t StageOffset::getSum() const {
  int64_t sum = 0;
  for (const std::vector<int64_t> &row : rows)
    for (int64_t value : row)
      sum += value;
  return sum;
}

static std::string reprRow(const std::vector<int64_t> &row) {
  std::string text = "[";
  for (int64_t value : row)
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

std::string StageOffset::repr() const {
  if (kind == Kind::Scalar)
    return std::to_string(rows[0][0]);
  if (kind == Kind::PerStage)
    return reprRow(rows[0]);
  std::string text = "[";
  for (const std::vector<int64_t> &row : rows)
    text += (text.size() > 1 ? ", " : "") + reprRow(row);
  return text + "]";
}

std::vector<std::vector<int64_t>>
dealLayersEvenly(int64_t layers, int64_t stages, int64_t interleave) {
  std::vector<std::vector<int64_t>> table(
      static_cast<size_t>(interleave),
      std::vector<int64_t>(static_cast<size_t>(stages)));
  int64_t left = layers % (stages * interleave);
  for (int64_t chunk = stages * interleave - 2; left > 0; --chunk, --left)
    ++table[static_cast<size_t>(chunk / stages)]
           [static_cast<size_t>(chunk % stages)];
  return table;
}

} // namespace mf
