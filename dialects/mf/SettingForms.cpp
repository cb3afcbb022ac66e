//===- SettingForms.cpp - Values of a YAML as attributes ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/SettingForms.h"
#include "dialects/mf/MfDialect.h"
#include "mf/Frontend/Config/FusionConfig.h"

using namespace mlir;

namespace mf::ir {

//===----------------------------------------------------------------------===//
// Forms of attributes
//===----------------------------------------------------------------------===//

bool isInteger(Attribute attribute) {
  auto integer = dyn_cast<IntegerAttr>(attribute);
  return integer && integer.getType().isSignlessInteger(64);
}

/// Returns whether this is a number of layers: an integer, or a bool for all or
/// none.
static bool isCount(Attribute attribute) {
  return isInteger(attribute) || isa<BoolAttr>(attribute);
}

bool isListOf(Attribute attribute, llvm::function_ref<bool(Attribute)> isItem) {
  auto items = dyn_cast<ArrayAttr>(attribute);
  return items && llvm::all_of(items, isItem);
}

bool areLayerNumbers(Attribute attribute) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute);
  return numbers && llvm::all_of(numbers.asArrayRef(),
                                 [](int64_t layer) { return layer >= 0; });
}

bool isSelection(Attribute attribute) {
  return isa<BoolAttr>(attribute) || areLayerNumbers(attribute) ||
         isListOf(attribute, isCount) || isListOf(attribute, [](Attribute row) {
           return isa<BoolAttr>(row) || isListOf(row, isCount);
         });
}

/// Returns whether this is a selection or a list of patterns.
static bool isSetting(Attribute attribute) {
  return isSelection(attribute) || isListOf(attribute, [](Attribute item) {
           return isa<PatternAttr>(item);
         });
}

std::vector<int64_t> getNumbers(Attribute list) {
  std::vector<int64_t> numbers;
  if (list)
    for (auto number : cast<ArrayAttr>(list).getAsRange<IntegerAttr>())
      numbers.push_back(number.getInt());
  return numbers;
}

//===----------------------------------------------------------------------===//
// Places, numbers and texts
//===----------------------------------------------------------------------===//

Attribute toPlace(MLIRContext *context, const Location &location) {
  if (!location.isKnown())
    return {};
  return FileLineColLoc::get(context, location.file, location.line,
                             location.column);
}

Location fromPlace(Attribute place) {
  Location location;
  if (auto file = dyn_cast_or_null<FileLineColLoc>(place)) {
    location.file = file.getFilename().str();
    location.line = file.getLine();
    location.column = file.getColumn();
  }
  return location;
}

static Attribute toValue(Builder &builder, bool value) {
  return builder.getBoolAttr(value);
}
static Attribute toValue(Builder &builder, const FusionSwitch &value) {
  return builder.getBoolAttr(value.isOn);
}
static Attribute toValue(Builder &builder, int64_t value) {
  return builder.getI64IntegerAttr(value);
}
static Attribute toValue(Builder &builder, double value) {
  return builder.getF64FloatAttr(value);
}
static Attribute toValue(Builder &builder, const std::string &value) {
  return builder.getStringAttr(value);
}
static Attribute toValue(Builder &builder, const std::array<double, 3> &value) {
  return builder.getF64ArrayAttr(value);
}

static void fromValue(Attribute attribute, bool &value) {
  value = cast<BoolAttr>(attribute).getValue();
}
static void fromValue(Attribute attribute, FusionSwitch &value) {
  fromValue(attribute, value.isOn);
}
static void fromValue(Attribute attribute, int64_t &value) {
  value = cast<IntegerAttr>(attribute).getInt();
}
static void fromValue(Attribute attribute, double &value) {
  value = cast<FloatAttr>(attribute).getValueAsDouble();
}
static void fromValue(Attribute attribute, std::string &value) {
  value = cast<StringAttr>(attribute).str();
}
static void fromValue(Attribute attribute, std::array<double, 3> &value) {
  for (auto [number, item] : llvm::zip(value, cast<ArrayAttr>(attribute)))
    fromValue(item, number);
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

static Attribute toValue(Builder &builder, const LayerSetting &setting) {
  if (setting.kind == LayerSetting::Kind::Selection)
    return toSelection(builder, setting.selection);
  llvm::SmallVector<Attribute> patterns;
  for (const LayerSetting::Pattern &pattern : setting.patterns)
    patterns.push_back(PatternAttr::get(
        builder.getContext(), builder.getStringAttr(pattern.text),
        toSelection(builder, pattern.layers),
        toPlace(builder.getContext(), pattern.location)));
  return builder.getArrayAttr(patterns);
}

static void fromValue(Attribute attribute, LayerSetting &setting) {
  auto items = dyn_cast<ArrayAttr>(attribute);
  if (!items || items.empty() || !isa<PatternAttr>(items[0])) {
    setting.selection = fromSelection(attribute);
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

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

using OperatorSwap = SwapConfig::OperatorSwap;

static Attribute toValue(Builder &builder, const SwapEntry &entry);
static Attribute toValue(Builder &builder, const OperatorSwap &swap);
static void fromValue(Attribute attribute, SwapEntry &entry);
static void fromValue(Attribute attribute, OperatorSwap &swap);

template <typename Item>
static Attribute toValue(Builder &builder, const std::vector<Item> &items) {
  llvm::SmallVector<Attribute> attributes;
  for (const Item &item : items)
    attributes.push_back(toValue(builder, item));
  return builder.getArrayAttr(attributes);
}

template <typename Item>
static void fromValue(Attribute attribute, std::vector<Item> &items) {
  items.clear();
  for (Attribute item : cast<ArrayAttr>(attribute))
    fromValue(item, items.emplace_back());
}

static Attribute toValue(Builder &builder, const SwapEntry &entry) {
  Attribute layers = entry.allLayers ? Attribute(builder.getBoolAttr(true))
                     : entry.countsLayers
                         ? Attribute(builder.getDenseI64ArrayAttr(entry.layers))
                         : builder.getI64ArrayAttr(entry.layers);
  return SwapEntryAttr::get(builder.getContext(), entry.prefetch, layers,
                            toPlace(builder.getContext(), entry.location));
}

static void fromValue(Attribute attribute, SwapEntry &entry) {
  auto item = cast<SwapEntryAttr>(attribute);
  entry.prefetch = item.getPrefetch();
  entry.location = fromPlace(item.getLocation());
  if (auto flag = dyn_cast<BoolAttr>(item.getLayers())) {
    entry.allLayers = flag.getValue();
  } else if (auto numbers = dyn_cast<DenseI64ArrayAttr>(item.getLayers())) {
    entry.countsLayers = true;
    entry.layers = std::vector<int64_t>(numbers.asArrayRef());
  } else {
    entry.layers = getNumbers(item.getLayers());
  }
}

static Attribute toValue(Builder &builder, const OperatorSwap &swap) {
  return OpSwapAttr::get(builder.getContext(),
                         builder.getStringAttr(swap.pattern),
                         cast<ArrayAttr>(toValue(builder, swap.entries)),
                         toPlace(builder.getContext(), swap.location));
}

static void fromValue(Attribute attribute, OperatorSwap &swap) {
  auto item = cast<OpSwapAttr>(attribute);
  swap.pattern = item.getPattern().str();
  swap.location = fromPlace(item.getLocation());
  fromValue(item.getEntries(), swap.entries);
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

template <typename Value>
static Attribute toValue(Builder &builder, const std::optional<Value> &value) {
  return value ? toValue(builder, *value) : Attribute();
}

template <typename Value>
static void fromValue(Attribute attribute, std::optional<Value> &value) {
  fromValue(attribute, value.emplace());
}

Attribute toAttribute(Builder &builder, const KeyField &member) {
  auto convert = [&](auto value) -> Attribute {
    using Member = decltype(value);
    if constexpr (std::is_same_v<Member, std::vector<std::string> *>)
      if (value->empty())
        return {};
    if constexpr (std::is_pointer_v<Member>)
      return toValue(builder, *value);
    return {};
  };
  return std::visit(convert, member);
}

void fromAttribute(Attribute attribute, const KeyField &member) {
  auto convert = [&](auto value) {
    if constexpr (std::is_pointer_v<decltype(value)>)
      fromValue(attribute, *value);
  };
  std::visit(convert, member);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

/// For each type of a parameter, checks an attribute and returns the expected
/// form in words if the attribute does not have it.
struct FormCheck {
  const KnownKey &key;
  Attribute attribute;

  std::string find(bool isValid, const llvm::Twine &wanted) const {
    return isValid ? std::string() : wanted.str();
  }

  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool *) const {
    return find(isa<BoolAttr>(attribute), "a bool");
  }
  std::string operator()(FusionSwitch *) const {
    return (*this)(static_cast<bool *>(nullptr));
  }
  std::string operator()(int64_t *) const {
    bool isValid = isInteger(attribute);
    if (isValid) {
      const int64_t number = cast<IntegerAttr>(attribute).getInt();
      isValid = (number >= key.smallest && number <= key.largest) ||
                (key.takesMinusOne && number == -1);
    }
    return find(isValid, key.describeNumbers(/*sayBoth=*/false));
  }
  std::string operator()(double *) const {
    auto number = dyn_cast<FloatAttr>(attribute);
    const bool isValid = number && number.getType().isF64() &&
                         number.getValue().isFinite() &&
                         key.range.contains(number.getValueAsDouble());
    return find(isValid, key.range.words);
  }
  std::string operator()(std::string *) const {
    return find(isa<StringAttr>(attribute), "a text");
  }
  std::string operator()(LayerSetting *) const {
    if (key.takesPatterns)
      return find(isSetting(attribute),
                  "a bool, a list of counts, a list of such lists or a list "
                  "of patterns");
    return find(isSelection(attribute),
                "a bool, a list of counts or a list of such lists");
  }
  std::string operator()(std::vector<std::string> *) const {
    return find(isListOf(attribute, llvm::IsaPred<StringAttr>),
                "a list of texts");
  }
  std::string operator()(std::vector<std::array<double, 3>> *) const {
    auto isTriple = [](Attribute item) {
      return isListOf(item, llvm::IsaPred<FloatAttr>) &&
             cast<ArrayAttr>(item).size() == 3;
    };
    return find(isListOf(attribute, isTriple) &&
                    !cast<ArrayAttr>(attribute).empty(),
                "a list of three numbers for each step");
  }
  std::string operator()(std::optional<std::vector<SwapEntry>> *) const {
    return find(isListOf(attribute, llvm::IsaPred<SwapEntryAttr>),
                "a list of #mf.swap_entry");
  }
  std::string operator()(std::optional<std::vector<OperatorSwap>> *) const {
    return find(isListOf(attribute, llvm::IsaPred<OpSwapAttr>),
                "a list of #mf.op_swap");
  }
  template <typename Value>
  std::string operator()(std::optional<Value> *) const {
    return (*this)(static_cast<Value *>(nullptr));
  }
};

} // namespace

std::string findMismatch(const KnownKey &key, Attribute attribute,
                         const KeyField &member) {
  return std::visit(FormCheck{key, attribute}, member);
}

} // namespace mf::ir
