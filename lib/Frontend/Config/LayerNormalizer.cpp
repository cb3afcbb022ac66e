//===- LayerNormalizer.cpp - Settings in the terms of a stage map ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerNormalizer.h"
#include <algorithm>

namespace mf {

using Matrix = std::vector<std::vector<int64_t>>;

std::string reprList(const std::vector<int64_t> &values) {
  std::string text = "[";
  for (int64_t value : values)
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

std::string reprMatrix(const Matrix &rows) {
  std::string text = "[";
  for (const std::vector<int64_t> &row : rows)
    text += (text.size() > 1 ? ", " : "") + reprList(row);
  return text + "]";
}

bool NormalizedLayers::covers(const StageMap &stages, int64_t layer) const {
  layer = stages.getSettingLayer(layer);
  switch (kind) {
  case Kind::All:
    return true;
  case Kind::Indices:
    return static_cast<size_t>(layer) < mask.size() &&
           mask[static_cast<size_t>(layer)];
  case Kind::Matrix:
    break;
  }
  const LayerPlace &place = stages.getPlace(layer);
  auto row = static_cast<size_t>(place.chunk);
  auto column = static_cast<size_t>(place.position);
  return row < matrix.size() && column < matrix[row].size() &&
         place.index < matrix[row][column];
}

std::string NormalizedLayers::repr() const {
  switch (kind) {
  case Kind::All:
    return "True";
  case Kind::Indices:
    return reprCounts(indices);
  case Kind::Matrix:
    break;
  }
  return reprMatrix(matrix);
}

NormalizedLayers LayerNormalizer::normalize(const LayerSelection &selection,
                                            llvm::StringRef what) {
  if (selection.kind == LayerSelection::Kind::Numbers)
    return normalizeNumbers(selection);
  return isSwapOn ? normalizeIndices(selection, what)
                  : normalizeMatrix(selection, what);
}

/// The reader has checked that these layers exist.
NormalizedLayers
LayerNormalizer::normalizeNumbers(const LayerSelection &selection) const {
  NormalizedLayers normalized;
  normalized.kind = NormalizedLayers::Kind::Indices;
  normalized.mask.resize(static_cast<size_t>(stages.getNumLayers()));
  for (int64_t layer : selection.numbers) {
    normalized.indices.push_back(LayerCount::fromInt(layer));
    if (layer >= 0 && layer < stages.getNumLayers())
      normalized.mask[static_cast<size_t>(layer)] = true;
  }
  return normalized;
}

static Matrix makeZeros(const Matrix &shape) {
  Matrix zeros = shape;
  for (std::vector<int64_t> &row : zeros)
    std::fill(row.begin(), row.end(), 0);
  return zeros;
}

NormalizedLayers
LayerNormalizer::normalizeMatrix(const LayerSelection &selection,
                                 llvm::StringRef what) {
  const Matrix &layers = stages.getLayersPerStage();
  NormalizedLayers normalized;
  normalized.matrix = makeZeros(layers);
  switch (selection.kind) {
  case LayerSelection::Kind::Bool:
    if (selection.flag)
      normalized.matrix = layers;
    break;
  case LayerSelection::Kind::Names:
    normalized.matrix = layers;
    break;
  case LayerSelection::Kind::Numbers:
    break;
  case LayerSelection::Kind::Counts:
    if (!dealCounts(selection, what, normalized.matrix))
      normalized.matrix = makeZeros(layers);
    break;
  case LayerSelection::Kind::Table:
    if (!clampTable(selection, what, normalized.matrix))
      normalized.matrix = makeZeros(layers);
    break;
  }
  return normalized;
}

/// Warns about a count that is larger than the number of a stage's layers.
void LayerNormalizer::warnAboutExcess(const LayerSelection &selection,
                                      llvm::StringRef what,
                                      const LayerCount &count, int64_t stage,
                                      int64_t room) {
  if (!count.isBool && count.value > std::max<int64_t>(room, 0))
    diagnostics.warning(
        selection.location,
        what + " asks for " + llvm::Twine(count.value) + " layers of stage " +
            llvm::Twine(stage) + ", which has " +
            llvm::Twine(std::max<int64_t>(room, 0)) + "; it gets these");
}

/// Distributes one count per stage over the chunks in turn, starting with the
/// first.
bool LayerNormalizer::dealCounts(const LayerSelection &selection,
                                 llvm::StringRef what, Matrix &matrix) {
  const Matrix &layers = stages.getLayersPerStage();
  if (!stages.visitsAlike() && !selection.counts.empty()) {
    diagnostics.error(selection.location,
                      "expected a list per interleave for " + what +
                          " of a pipeline whose interleaves visit the stages "
                          "in different orders (zero_bubble_v), but got " +
                          selection.repr());
    return false;
  }
  auto numStages = static_cast<size_t>(stages.getNumStages());
  if (selection.counts.size() > numStages) {
    diagnostics.error(selection.location,
                      "expected at most one value per pipeline stage (" +
                          llvm::Twine(numStages) + ") for " + what +
                          ", but got " + llvm::Twine(selection.counts.size()) +
                          ", " + selection.repr());
    return false;
  }
  if (!selection.counts.empty() && selection.counts.size() < numStages)
    diagnostics.warning(selection.location,
                        what + " has values for " +
                            llvm::Twine(selection.counts.size()) + " of " +
                            llvm::Twine(numStages) +
                            " stages; the last ones get none");
  for (size_t stage = 0; stage < selection.counts.size(); ++stage) {
    const LayerCount &count = selection.counts[stage];
    if (count.value < 0) {
      diagnostics.error(selection.location,
                        "expected a number of layers for stage " +
                            llvm::Twine(stage) + " of " + what + ", but got " +
                            llvm::Twine(count.value));
      return false;
    }
    int64_t room = 0;
    for (const std::vector<int64_t> &row : layers)
      room += std::max<int64_t>(row[stage], 0);
    warnAboutExcess(selection, what, count, static_cast<int64_t>(stage), room);
    int64_t left =
        count.isBool ? (count.value ? room : 0) : std::min(count.value, room);
    while (left > 0) {
      for (size_t chunk = 0; chunk < layers.size() && left > 0; ++chunk) {
        if (matrix[chunk][stage] >= layers[chunk][stage])
          continue;
        ++matrix[chunk][stage];
        --left;
      }
    }
  }
  return true;
}

/// Limits one count per mini stage to the number of its layers.
bool LayerNormalizer::clampTable(const LayerSelection &selection,
                                 llvm::StringRef what, Matrix &matrix) {
  const Matrix &layers = stages.getLayersPerStage();
  auto numStages = static_cast<size_t>(stages.getNumStages());
  if (selection.table.size() != layers.size()) {
    diagnostics.error(selection.location,
                      "expected one row per interleave (" +
                          llvm::Twine(layers.size()) + ") for " + what +
                          ", but got " + llvm::Twine(selection.table.size()) +
                          ", " + selection.repr());
    return false;
  }
  for (size_t chunk = 0; chunk < layers.size(); ++chunk) {
    const LayerCountRow &row = selection.table[chunk];
    if (row.whole) {
      if (*row.whole)
        matrix[chunk] = layers[chunk];
      continue;
    }
    if (row.counts.size() != numStages) {
      diagnostics.error(
          selection.location,
          "expected one value per pipeline stage (" + llvm::Twine(numStages) +
              ") in row " + llvm::Twine(chunk) + " of " + what + ", but got " +
              llvm::Twine(row.counts.size()) + ", " + selection.repr());
      return false;
    }
    for (size_t position = 0; position < numStages; ++position) {
      int64_t stage = stages.getStage(static_cast<int64_t>(chunk),
                                      static_cast<int64_t>(position));
      const LayerCount &count = row.counts[static_cast<size_t>(stage)];
      int64_t room = layers[chunk][position];
      warnAboutExcess(selection, what, count, stage, room);
      matrix[chunk][position] =
          count.isBool ? (count.value ? room : 0) : std::min(count.value, room);
      if (!count.isBool && count.value < 0)
        diagnostics.warning(selection.location,
                            what + " asks for " + llvm::Twine(count.value) +
                                " layers of stage " + llvm::Twine(stage) +
                                " in row " + llvm::Twine(chunk) +
                                "; it gets none");
    }
  }
  return true;
}

/// With swap enabled, settings do not refer to stages: a list contains layer
/// indices.
NormalizedLayers
LayerNormalizer::normalizeIndices(const LayerSelection &selection,
                                  llvm::StringRef what) {
  NormalizedLayers normalized;
  normalized.kind = NormalizedLayers::Kind::Indices;
  normalized.mask.resize(static_cast<size_t>(stages.getNumLayers()));
  switch (selection.kind) {
  case LayerSelection::Kind::Bool:
    if (selection.flag)
      normalized.kind = NormalizedLayers::Kind::All;
    return normalized;
  case LayerSelection::Kind::Counts:
  case LayerSelection::Kind::Numbers:
    break;
  case LayerSelection::Kind::Table:
  case LayerSelection::Kind::Names:
    diagnostics.error(selection.location,
                      "expected a bool or a list of layer indices for " + what +
                          " with swap on, but got " +
                          (selection.kind == LayerSelection::Kind::Names
                               ? std::string("a list of strings")
                               : selection.repr()));
    return normalized;
  }
  if (llvm::any_of(selection.counts,
                   [](const LayerCount &count) { return count.isBool; }))
    diagnostics.warning(
        selection.location,
        "with swap on, the list of " + what +
            " holds layer indices, where True is 1 and False is 0; write a "
            "bool without a list for all layers or none");
  for (const LayerCount &count : selection.counts) {
    normalized.indices.push_back(count);
    if (count.value >= 0 && count.value < stages.getNumLayers())
      normalized.mask[static_cast<size_t>(count.value)] = true;
    else
      diagnostics.warning(
          selection.location,
          what + " names layer " + llvm::Twine(count.value) +
              ", but there are " + llvm::Twine(stages.getNumLayers()) +
              " layers; with swap on, a list holds layer indices");
  }
  return normalized;
}

/// More than a model has operators; a limit for hostile input.
static constexpr size_t mostPatterns = 1000;

llvm::ArrayRef<llvm::StringRef> getDefaultCommPatterns() {
  static constexpr llvm::StringRef patterns[] = {".*\\.norm"};
  return patterns;
}

llvm::StringRef getDefaultSwapPattern() { return ".*\\.flash_attention"; }

std::vector<PatternLayers>
resolvePatterns(const LayerSetting &setting, LayerKey key,
                llvm::ArrayRef<llvm::StringRef> defaults,
                LayerNormalizer &normalizer, DiagnosticList &diagnostics) {
  std::vector<PatternLayers> patterns;
  const llvm::StringLiteral name = getName(key);
  auto add = [&](llvm::StringRef pattern, const Location &location,
                 NormalizedLayers layers) -> LayerRequest & {
    LayerRequest request;
    request.key = key;
    request.pattern = pattern.str();
    request.location = location;
    patterns.push_back({std::move(request), std::move(layers)});
    return patterns.back().request;
  };
  if (setting.kind == LayerSetting::Kind::Selection) {
    const LayerSelection &selection = setting.selection;
    NormalizedLayers layers = normalizer.normalize(selection, name);
    // An empty list names no operators; it is no list of counts either.
    if (selection.kind == LayerSelection::Kind::Counts &&
        selection.counts.empty())
      return patterns;
    for (llvm::StringRef pattern : defaults)
      add(pattern, setting.location, layers).isUnnamed = true;
    if (defaults.empty() && setting.isTruthy())
      diagnostics.warning(setting.location,
                          quote(name) +
                              " without operator names excludes nothing; give "
                              "a list of names, or a map from name to layers");
    return patterns;
  }
  if (setting.patterns.size() > mostPatterns) {
    diagnostics.error(setting.location, "more than " +
                                            llvm::Twine(mostPatterns) +
                                            " patterns in " + quote(name));
    return patterns;
  }
  // A list of names covers all layers; with swap on it is not accepted.
  std::optional<NormalizedLayers> all;
  if (setting.kind == LayerSetting::Kind::Patterns)
    all = normalizer.normalize(setting.selection, name);
  llvm::StringSet<> seen;
  for (const LayerSetting::Pattern &pattern : setting.patterns) {
    if (!seen.insert(pattern.text).second)
      continue;
    const std::string what = (name + " " + quote(pattern.text)).str();
    add(pattern.text, pattern.location,
        all ? *all : normalizer.normalize(pattern.layers, what))
        .meansWholePaths = pattern.layers.kind == LayerSelection::Kind::Numbers;
  }
  return patterns;
}

} // namespace mf
