//===- SettingAttributes.cpp - Values of settings as attributes -----------===//

#include "passes/config/SettingAttributes.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "passes/config/ConfigAttributes.h"
#include <functional>

using namespace mf;
using namespace mf::ir;
using llvm::cast;
using llvm::dyn_cast;
using llvm::dyn_cast_or_null;
using llvm::isa;
using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::BoolAttr;
using mlir::Builder;
using mlir::IntegerAttr;

//===----------------------------------------------------------------------===//
// Places and texts
//===----------------------------------------------------------------------===//

Attribute passes::toPlace(mlir::MLIRContext *context,
                          const Location &location) {
  return location.isKnown() ? Attribute(getLocation(context, location))
                            : Attribute();
}

static mf::Location fromPlace(Attribute place) {
  mf::Location location;
  if (auto file = dyn_cast_or_null<mlir::FileLineColLoc>(place)) {
    location.file = file.getFilename().str();
    location.line = file.getLine();
    location.column = file.getColumn();
  }
  return location;
}

ArrayAttr passes::toAttribute(Builder &builder,
                              const std::vector<std::string> &texts) {
  llvm::SmallVector<llvm::StringRef> views(texts.begin(), texts.end());
  return builder.getStrArrayAttr(views);
}

static bool toParameter(Builder &, bool value) { return value; }
static int64_t toParameter(Builder &, int64_t value) { return value; }
static void fromParameter(bool parameter, bool &value) { value = parameter; }
static void fromParameter(int64_t parameter, int64_t &value) {
  value = parameter;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static Attribute toCounts(Builder &builder, llvm::ArrayRef<LayerCount> counts) {
  llvm::SmallVector<Attribute> items;
  for (const LayerCount &count : counts)
    items.push_back(count.isBool
                        ? Attribute(builder.getBoolAttr(count.value != 0))
                        : builder.getI64IntegerAttr(count.value));
  return builder.getArrayAttr(items);
}

static std::vector<LayerCount> fromCounts(ArrayAttr items) {
  std::vector<LayerCount> counts;
  for (Attribute item : items)
    if (auto flag = dyn_cast<BoolAttr>(item))
      counts.push_back(LayerCount::fromBool(flag.getValue()));
    else
      counts.push_back(LayerCount::fromInt(cast<IntegerAttr>(item).getInt()));
  return counts;
}

static Attribute toSelection(Builder &builder,
                             const LayerSelection &selection) {
  switch (selection.kind) {
  case LayerSelection::Kind::Bool:
    return builder.getBoolAttr(selection.flag);
  case LayerSelection::Kind::Names:
    return builder.getBoolAttr(true);
  case LayerSelection::Kind::Counts:
    return toCounts(builder, selection.counts);
  case LayerSelection::Kind::Numbers:
    return builder.getDenseI64ArrayAttr(selection.numbers);
  case LayerSelection::Kind::Table:
    break;
  }
  llvm::SmallVector<Attribute> rows;
  for (const LayerCountRow &row : selection.table)
    rows.push_back(row.whole ? Attribute(builder.getBoolAttr(*row.whole))
                             : toCounts(builder, row.counts));
  return builder.getArrayAttr(rows);
}

static LayerSelection fromSelection(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return LayerSelection::fromBool(flag.getValue());
  LayerSelection selection;
  if (auto numbers = dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
    selection.kind = LayerSelection::Kind::Numbers;
    selection.numbers = std::vector<int64_t>(numbers.asArrayRef());
    return selection;
  }
  auto items = cast<ArrayAttr>(attribute);
  if (llvm::none_of(items, llvm::IsaPred<ArrayAttr>)) {
    selection.kind = LayerSelection::Kind::Counts;
    selection.counts = fromCounts(items);
    return selection;
  }
  selection.kind = LayerSelection::Kind::Table;
  for (Attribute item : items) {
    LayerCountRow &row = selection.table.emplace_back();
    if (auto flag = dyn_cast<BoolAttr>(item))
      row.whole = flag.getValue();
    else
      row.counts = fromCounts(cast<ArrayAttr>(item));
  }
  return selection;
}

static Attribute toParameter(Builder &builder, const LayerSetting &setting) {
  if (setting.kind == LayerSetting::Kind::Selection)
    return toSelection(builder, setting.selection);
  llvm::SmallVector<Attribute> patterns;
  for (const LayerSetting::Pattern &pattern : setting.patterns)
    patterns.push_back(PatternAttr::get(
        builder.getContext(), builder.getStringAttr(pattern.text),
        toSelection(builder, pattern.layers),
        passes::toPlace(builder.getContext(), pattern.location)));
  return builder.getArrayAttr(patterns);
}

static void fromParameter(Attribute parameter, LayerSetting &setting) {
  auto items = dyn_cast<ArrayAttr>(parameter);
  if (!items || items.empty() || !isa<PatternAttr>(items[0])) {
    setting.selection = fromSelection(parameter);
    return;
  }
  setting.kind = LayerSetting::Kind::PatternMap;
  for (auto pattern : items.getAsRange<PatternAttr>()) {
    LayerSelection layers = fromSelection(pattern.getSetting());
    layers.location = fromPlace(pattern.getLocation());
    setting.patterns.push_back(
        {pattern.getPattern().str(), layers, layers.location});
  }
}

namespace {
/// The operators that do not run again, as patterns or as parts of names.
struct KeptOperators {
  LayerSetting &patterns;
  std::vector<std::string> &names;

  static KeptOperators get(RecomputeConfig &config) {
    return {config.selectRecomputeExclude, config.keptOperators};
  }
};
} // namespace

static Attribute toParameter(Builder &builder, const KeptOperators &kept) {
  if (kept.names.empty())
    return toParameter(builder, kept.patterns);
  return builder.getDictionaryAttr(builder.getNamedAttr(
      "operators", passes::toAttribute(builder, kept.names)));
}

static void fromParameter(Attribute parameter, KeptOperators kept) {
  auto names = dyn_cast<mlir::DictionaryAttr>(parameter);
  if (!names)
    return fromParameter(parameter, kept.patterns);
  for (auto name :
       cast<ArrayAttr>(names.get("operators")).getAsRange<mlir::StringAttr>())
    kept.names.push_back(name.str());
}

//===----------------------------------------------------------------------===//
// Swap
//===----------------------------------------------------------------------===//

static std::vector<int64_t> fromNumbers(Attribute attribute) {
  std::vector<int64_t> numbers;
  for (auto number : cast<ArrayAttr>(attribute).getAsRange<IntegerAttr>())
    numbers.push_back(number.getInt());
  return numbers;
}

static ArrayAttr toParameter(Builder &builder,
                             const std::vector<SwapEntry> &entries) {
  llvm::SmallVector<Attribute> items;
  for (const SwapEntry &entry : entries)
    items.push_back(SwapEntryAttr::get(
        builder.getContext(), entry.prefetch,
        entry.allLayers ? Attribute(builder.getBoolAttr(true))
        : entry.countsLayers
            ? Attribute(builder.getDenseI64ArrayAttr(entry.layers))
            : builder.getI64ArrayAttr(entry.layers),
        passes::toPlace(builder.getContext(), entry.location)));
  return builder.getArrayAttr(items);
}

static void fromParameter(ArrayAttr parameter,
                          std::vector<SwapEntry> &entries) {
  for (auto item : parameter.getAsRange<SwapEntryAttr>()) {
    SwapEntry &entry = entries.emplace_back();
    entry.prefetch = item.getPrefetch();
    entry.location = fromPlace(item.getLocation());
    if (auto flag = dyn_cast<BoolAttr>(item.getLayers()))
      entry.allLayers = flag.getValue();
    else if (auto numbers =
                 dyn_cast<mlir::DenseI64ArrayAttr>(item.getLayers())) {
      entry.countsLayers = true;
      entry.layers = std::vector<int64_t>(numbers.asArrayRef());
    } else
      entry.layers = fromNumbers(item.getLayers());
  }
}

using OperatorSwap = SwapConfig::OperatorSwap;

static ArrayAttr toParameter(Builder &builder,
                             const std::vector<OperatorSwap> &swaps) {
  llvm::SmallVector<Attribute> items;
  for (const OperatorSwap &swap : swaps)
    items.push_back(OpSwapAttr::get(
        builder.getContext(), builder.getStringAttr(swap.pattern),
        toParameter(builder, swap.entries),
        passes::toPlace(builder.getContext(), swap.location)));
  return builder.getArrayAttr(items);
}

static void fromParameter(ArrayAttr parameter,
                          std::vector<OperatorSwap> &swaps) {
  for (auto item : parameter.getAsRange<OpSwapAttr>()) {
    OperatorSwap &swap = swaps.emplace_back();
    swap.pattern = item.getPattern().str();
    swap.location = fromPlace(item.getLocation());
    fromParameter(item.getEntries(), swap.entries);
  }
}

template <typename Value>
static ArrayAttr toParameter(Builder &builder,
                             const std::optional<Value> &value) {
  return value ? toParameter(builder, *value) : ArrayAttr();
}

template <typename Value>
static void fromParameter(ArrayAttr parameter, std::optional<Value> &value) {
  if (parameter)
    fromParameter(parameter, value.emplace());
}

//===----------------------------------------------------------------------===//
// Offset
//===----------------------------------------------------------------------===//

Attribute passes::toAttribute(Builder &builder, const StageOffset &offset) {
  if (offset.kind == StageOffset::Kind::Scalar)
    return builder.getI64IntegerAttr(offset.rows[0][0]);
  llvm::SmallVector<Attribute> rows;
  for (llvm::ArrayRef<int64_t> row : offset.rows)
    rows.push_back(builder.getI64ArrayAttr(row));
  return offset.kind == StageOffset::Kind::PerStage
             ? rows.front()
             : Attribute(builder.getArrayAttr(rows));
}

static void fromParameter(Attribute parameter, StageOffset &offset) {
  if (!parameter)
    return;
  if (auto number = dyn_cast<IntegerAttr>(parameter)) {
    offset.rows = {{number.getInt()}};
    return;
  }
  auto items = cast<ArrayAttr>(parameter);
  offset.rows.clear();
  offset.kind = StageOffset::Kind::PerStage;
  if (items.empty() || !isa<ArrayAttr>(items[0])) {
    offset.rows.push_back(fromNumbers(items));
    return;
  }
  offset.kind = StageOffset::Kind::PerMiniStage;
  for (Attribute row : items)
    offset.rows.push_back(fromNumbers(row));
}

//===----------------------------------------------------------------------===//
// Members and parameters
//===----------------------------------------------------------------------===//

namespace {

/// A value of a configuration and the parameter of an attribute that holds it.
/// `value` is a member, or a function that returns a reference to the value;
/// `get` is the attribute's getter.
template <auto value, auto get> struct SettingParameter {};

/// The parameters of an attribute in its order.
template <typename... Parameters> struct ParameterList {};

using Recompute = RecomputeConfig;
using RecomputeAttr = RecomputeConfigAttr;
using RecomputeParameters = ParameterList<
    SettingParameter<&Recompute::recompute, &RecomputeAttr::getRecompute>,
    SettingParameter<&Recompute::selectRecompute, &RecomputeAttr::getSelect>,
    SettingParameter<&Recompute::selectCommRecompute,
                     &RecomputeAttr::getSelectComm>,
    SettingParameter<&KeptOperators::get, &RecomputeAttr::getSelectExclude>,
    SettingParameter<&Recompute::selectCommRecomputeExclude,
                     &RecomputeAttr::getSelectCommExclude>,
    SettingParameter<&Recompute::parallelOptimizerCommRecompute,
                     &RecomputeAttr::getParallelOptimizerComm>,
    SettingParameter<&Recompute::mpCommRecompute, &RecomputeAttr::getMpComm>,
    SettingParameter<&Recompute::recomputeSliceActivation,
                     &RecomputeAttr::getSliceActivation>>;

using SwapParameters = ParameterList<
    SettingParameter<&SwapConfig::swap, &SwapConfigAttr::getSwap>,
    SettingParameter<&SwapConfig::defaultPrefetch,
                     &SwapConfigAttr::getDefaultPrefetch>,
    SettingParameter<&SwapConfig::layerSwap, &SwapConfigAttr::getLayerSwap>,
    SettingParameter<&SwapConfig::opSwap, &SwapConfigAttr::getOpSwap>>;

} // namespace

template <typename Attr, typename Config, auto... values, auto... gets>
static Attr toParameters(Builder &builder, Config config,
                         ParameterList<SettingParameter<values, gets>...>) {
  return Attr::get(builder.getContext(),
                   toParameter(builder, std::invoke(values, config))...);
}

template <typename Attr, typename Config, auto... values, auto... gets>
static void fromParameters(Attr attribute, Config &config,
                           ParameterList<SettingParameter<values, gets>...>) {
  (fromParameter((attribute.*gets)(), std::invoke(values, config)), ...);
}

RecomputeConfigAttr passes::toAttribute(Builder &builder,
                                        const RecomputeConfig &config) {
  return toParameters<RecomputeConfigAttr>(builder, config,
                                           RecomputeParameters());
}

SwapConfigAttr passes::toAttribute(Builder &builder, const SwapConfig &config) {
  return toParameters<SwapConfigAttr>(builder, config, SwapParameters());
}

mf::Location passes::getKeyLocation(TrainingAttr training,
                                    llvm::StringRef key) {
  mlir::DictionaryAttr locations = training.getLocations();
  return fromPlace(locations ? locations.get(key) : Attribute());
}

RecomputeConfig passes::getRecomputeConfig(TrainingAttr training) {
  TrainingConfig config;
  fromParameters(training.getRecompute(), config.recompute,
                 RecomputeParameters());
  for (const KnownKey &key : recomputeSection.keys) {
    const KeyField field = key.field(config);
    if (auto *const *setting = std::get_if<LayerSetting *>(&field)) {
      (*setting)->location = getKeyLocation(training, key.name);
      if ((*setting)->kind == LayerSetting::Kind::Selection)
        (*setting)->selection.location = (*setting)->location;
    }
  }
  return config.recompute;
}

SwapConfig passes::getSwapConfig(TrainingAttr training) {
  SwapConfig config;
  fromParameters(training.getSwap(), config, SwapParameters());
  config.location = getKeyLocation(training, "swap");
  config.prefetchLocation = getKeyLocation(training, "default_prefetch");
  return config;
}

StageOffset passes::getStageOffset(TrainingAttr training) {
  StageOffset offset;
  fromParameter(training.getParallel().getOffset(), offset);
  offset.location = getKeyLocation(training, "offset");
  return offset;
}
