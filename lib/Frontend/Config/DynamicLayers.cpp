//===- DynamicLayers.cpp - Recompute of the trainer -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicLayers.h"

namespace mf {

namespace {

struct LayerSpan {
  int64_t first = 0, last = 0;
};

} // namespace

std::string printLayerRange(int64_t first, int64_t last) {
  const std::string text = std::to_string(first);
  return last > first ? text + "-" + std::to_string(last) : text;
}

/// Parses a range such as '5' or '0-19', in which only digits are allowed.
static std::optional<LayerSpan> parseLayerSpan(llvm::StringRef text) {
  auto [first, last] = text.split('-');
  const bool isRange = text.contains('-');
  LayerSpan range;
  auto parse = [](llvm::StringRef digits, int64_t &number) {
    constexpr size_t mostDigits = 18;
    return !digits.empty() && digits.size() <= mostDigits &&
           digits.find_first_not_of("0123456789") == llvm::StringRef::npos &&
           !digits.getAsInteger(10, number);
  };
  if (!parse(first, range.first) || (isRange && !parse(last, range.last)))
    return std::nullopt;
  if (!isRange)
    range.last = range.first;
  return range;
}

/// Checks a range in the trainer's words; empty if it is right.
static std::string checkLayerSpan(const Node &spec, const LayerSpan &range,
                                  int64_t numLayers) {
  const std::string got = ", got " + spec.repr(60);
  if (range.first > range.last)
    return "range start must be <= end" + got;
  if (range.last >= numLayers)
    return "layer id " + std::to_string(range.last) + " out of range [0, " +
           std::to_string(numLayers - 1) + "]" + got;
  return {};
}

std::optional<std::vector<int64_t>>
readLayerNumbers(const Node &list, const std::string &label,
                 const DynamicDepth &depth, int64_t prefetch, bool checksRange,
                 DiagnosticList &diagnostics) {
  /// If the trainer does not check the range, layers after the last one of the
  /// model are ignored.
  const int64_t numLayers = depth.getAll();
  std::vector<int64_t> numbers;
  LayerSpan previous = {-1, -1};
  for (auto [position, spec] : llvm::enumerate(list.getElements())) {
    const std::string at = label + "[" + std::to_string(position) + "]: ";
    const std::string text = getPythonText(spec);
    std::optional<LayerSpan> range =
        parseLayerSpan(llvm::StringRef(text).trim());
    std::string problem;
    if (!range || (!spec.isString() && !spec.isInt()))
      problem = at + "invalid layer spec " + spec.repr(60) +
                "; expected one non-negative integer or 'start-end' (e.g. "
                "'5', '0-19')";
    else if (checksRange)
      // Without layers the number of layers is what is wrong.
      problem = depth.layers > 0 ? checkLayerSpan(spec, *range, numLayers) : "";
    if (range && checksRange && problem.empty() &&
        range->first <= previous.last)
      problem = label +
                ": layer specs must be in strictly ascending order; "
                "spec[" +
                std::to_string(position) + "] '" + text + "' starts at " +
                std::to_string(range->first) + " but previous spec ends at " +
                std::to_string(previous.last);
    else if (!problem.empty() && range)
      problem.insert(0, at);
    if (!problem.empty()) {
      diagnostics.error(spec.getLocation(), problem);
      return std::nullopt;
    }
    previous = *range;
    for (int64_t layer = range->first;
         layer <= std::min(range->last, numLayers - 1); ++layer)
      numbers.push_back(layer);
  }
  if (prefetch > 0 && previous.last >= 0 &&
      previous.last + prefetch >= numLayers) {
    diagnostics.error(list.getLocation(),
                      label + ": max layer id " + llvm::Twine(previous.last) +
                          " plus prefetch " + llvm::Twine(prefetch) +
                          " exceeds num_layers (" + llvm::Twine(numLayers) +
                          "); max allowed layer id is " +
                          llvm::Twine(numLayers - prefetch - 1));
    return std::nullopt;
  }
  return numbers;
}

static LayerSelection selectNumbers(std::vector<int64_t> numbers,
                                    const Location &location) {
  LayerSelection selection;
  selection.kind = LayerSelection::Kind::Numbers;
  selection.numbers = std::move(numbers);
  selection.location = location;
  return selection;
}

/// Reads a map from whole paths of modules to layers.
static LayerSetting
readModulePatterns(const Node &map, const std::string &prefix,
                   const std::string &specPrefix, const DynamicDepth &depth,
                   bool checksRange, DiagnosticList &diagnostics) {
  LayerSetting setting;
  setting.kind = LayerSetting::Kind::PatternMap;
  setting.location = map.getLocation();
  if (!map.isMap()) {
    diagnostics.error(map.getLocation(),
                      prefix +
                          ".select_module must be a dict (module path -> "
                          "list of layer ranges), got " +
                          getPythonType(map));
    return setting;
  }
  for (const Node::Entry &entry : map.getEntries()) {
    const std::string quoted = "'" + getPythonText(entry.key) + "'";
    if (!entry.key.isString() || entry.key.getText().trim().empty()) {
      diagnostics.error(entry.key.getLocation(),
                        prefix + ".select_module: invalid module path key " +
                            entry.key.repr(60));
      continue;
    }
    if (!entry.value.isList()) {
      diagnostics.error(entry.value.getLocation(),
                        prefix + ".select_module[" + quoted +
                            "]: value must be a list or tuple of layer "
                            "ranges, got " +
                            getPythonType(entry.value));
      continue;
    }
    auto numbers = readLayerNumbers(
        entry.value, specPrefix + ".select_module[" + quoted + "]", depth,
        /*prefetch=*/0, checksRange, diagnostics);
    if (numbers)
      setting.patterns.push_back(
          {entry.key.getText().str(),
           selectNumbers(std::move(*numbers), entry.value.getLocation()),
           entry.key.getLocation()});
  }
  return setting;
}

static bool isEmpty(const Node &value) {
  return value.getElements().empty() && value.getEntries().empty();
}

/// Returns whether `value` is left out or empty. Another type has an error of
/// its own.
static bool isLeftOut(const Node &value) {
  return !value || value.getKind() == NodeKind::Null ||
         ((value.isList() || value.isMap()) && isEmpty(value));
}

/// Reads `mode`; emits an error for an unknown one.
static std::string readRecomputeMode(const DynamicReader &reader) {
  Node mode = reader.getNode()["mode"];
  if (!mode)
    return "None";
  std::string text = getPythonText(mode);
  if (mode.isString() && (text == "None" || text == "full" || text == "select"))
    return text;
  if (mode.getKind() == NodeKind::Null)
    text = "None";
  reader.diagnostics.error(mode.getLocation(),
                           "RecomputeConfig.mode must be 'None', 'full', or "
                           "'select', got " +
                               text);
  return "None";
}

static void readExcludedOperators(const DynamicReader &reader,
                                  RecomputeConfig &config) {
  for (const Node &item : reader.getWritten("exclude_op").getElements()) {
    if (item.getText().trim().empty())
      reader.diagnostics.error(item.getLocation(),
                               "TrainConfig.recompute.exclude_op: expected "
                               "non-empty strings, but got " +
                                   item.repr(60));
    else
      config.keptOperators.push_back(item.getText().lower());
  }
}

/// Reads recompute itself.
static void readRecomputeSection(const DynamicReader &reader,
                                 const DynamicDepth &depth,
                                 RecomputeConfig &config) {
  DiagnosticList &diagnostics = reader.diagnostics;
  const std::string mode = readRecomputeMode(reader);
  const std::string prefix = "TrainConfig.recompute";
  const std::string specs = "TrainConfig.recompute_config.recompute";
  Node layers = reader.getWritten("full_recompute_layer");
  Node modules = reader.getWritten("select_module");
  readExcludedOperators(reader, config);
  config.recompute.selection = selectNumbers({}, {});
  if (mode == "None") {
    for (llvm::StringRef key :
         {"full_recompute_layer", "select_module", "exclude_op"})
      if (Node value = reader.getWritten(key))
        reader.warn(key, "'" + key +
                             "' has no effect: mode of recompute is "
                             "'None'");
    config.keptOperators.clear();
    return;
  }
  if (mode == "full" && isLeftOut(reader.getNode()["full_recompute_layer"]))
    return reader.error("mode", prefix + ": mode is 'full' but "
                                         "full_recompute_layer is missing or "
                                         "empty");
  if (mode == "select" && isEmpty(modules))
    return reader.error("mode", prefix + ": mode is 'select' but "
                                         "select_module is missing or empty");
  if (!isEmpty(layers))
    if (auto numbers = readLayerNumbers(layers, specs + ".full_recompute_layer",
                                        depth, /*prefetch=*/0,
                                        /*checksRange=*/true, diagnostics)) {
      config.recompute.selection =
          selectNumbers(std::move(*numbers), layers.getLocation());
      config.recompute.location = layers.getLocation();
    }
  if (mode == "select")
    config.selectRecompute = readModulePatterns(modules, prefix, specs, depth,
                                                isEmpty(layers), diagnostics);
  else if (modules)
    reader.warn("select_module", "'select_module' has no effect: mode of "
                                 "recompute is 'full'");
}

void readDynamicRecompute(const Node &root, const DynamicDepth &depth,
                          TrainingConfig &config, DiagnosticList &diagnostics) {
  DynamicReader reader(root, "recompute", diagnostics);
  readRecomputeSection(reader, depth, config.recompute);
  DynamicReader communication(root, "recompute_comm", diagnostics);
  Node modules = communication.getWritten("select_module");
  if (!communication.getBool("enable")) {
    if (modules)
      communication.warn("select_module",
                         "'select_module' has no effect: 'enable' of "
                         "recompute_comm is not True");
    return;
  }
  if (isEmpty(modules))
    return communication.error("enable",
                               "TrainConfig.recompute_comm: enable is True but "
                               "select_module is missing or empty");
  config.recompute.selectCommRecompute =
      readModulePatterns(modules, "TrainConfig.recompute_comm",
                         "TrainConfig.recompute_config.recompute_comm", depth,
                         /*checksRange=*/true, diagnostics);
}

} // namespace mf
