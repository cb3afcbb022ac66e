//===- MfAttributeVerifiers.cpp - Verifiers of marks and configurations ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The settings of a YAML keep the form in which they are written, so that their
// parameters are untyped attributes. These verifiers define the valid forms.
//
//===----------------------------------------------------------------------===//

#include "dialects/mf/MfDialect.h"
#include "dialects/mf/SettingForms.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mf::ir;

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Forms of settings
//===----------------------------------------------------------------------===//

/// Returns whether this is an offset of a stage. It is limited, because larger
/// values are not numbers of layers and their sums could overflow.
static bool isOffset(Attribute attribute) {
  return isInteger(attribute) &&
         llvm::isInt<32>(cast<IntegerAttr>(attribute).getInt());
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult SwapAttr::verify(EmitError emitError, int64_t distance) {
  return verifySwapDistance(emitError, distance);
}

/// Returns whether this is a list of strings, or null.
static bool areNames(ArrayAttr names) {
  return !names || llvm::all_of(names, llvm::IsaPred<StringAttr>);
}

// NOLINTBEGIN(performance-unnecessary-value-param): tablegen declares it.
LogicalResult LoraAttr::verify(EmitError emitError, int64_t rank,
                               llvm::APFloat alpha, llvm::APFloat dropout,
                               StringAttr target, StringAttr nameA,
                               StringAttr nameB, InitAttr initA, InitAttr initB,
                               Type paramType, Type computeType,
                               ArrayAttr exclude, ArrayAttr freezeInclude,
                               ArrayAttr freezeExclude, bool /*matchesPaths*/,
                               bool /*trainsOthers*/, bool /*inserted*/,
                               LocationAttr /*location*/) {
  // NOLINTEND(performance-unnecessary-value-param)
  if (rank < 1)
    return emitError() << "expected a rank of at least 1, but got " << rank;
  if (!alpha.isFinite() || alpha.isZero())
    return emitError() << "expected a finite alpha other than 0, but got "
                       << alpha.convertToDouble();
  const double share = dropout.convertToDouble();
  const bool isShare = share >= 0 && share < 1; // NaN is not.
  if (!isShare)
    return emitError() << "expected dropout to be at least 0 and below 1, but "
                          "got "
                       << share;
  if (!target || !nameA || !nameB || nameA.empty() || nameB.empty() ||
      nameA == nameB)
    return emitError() << "expected a target and two different names";
  for (InitAttr init : {initA, initB})
    if (init && !llvm::is_contained(
                    {InitKind::Zeros, InitKind::Normal, InitKind::Uniform},
                    init.getKind()))
      return emitError() << "expected zeros, normal or uniform first values, "
                            "but got "
                         << init;
  for (Type type : {paramType, computeType})
    if (type && !isa<FloatType>(type))
      return emitError() << "expected a float type, but got " << type;
  if (!areNames(exclude) || !areNames(freezeInclude) ||
      !areNames(freezeExclude))
    return emitError() << "expected exclude, freeze_include and "
                          "freeze_exclude to be lists of texts";
  return success();
}

LogicalResult ParallelAttr::verify(
    EmitError emitError, int64_t stages, int64_t interleave,
    int64_t microBatches, Attribute offset, int64_t gradientGroups,
    StringRef scheduler, int64_t sequencePieces, bool sequenceParallel,
    StringAttr contextParallel, OptimizerShardAttr optimizerShard,
    bool gradientsMean, bool fullBatch, int64_t rowBlocks, int64_t copies) {
  if (scheduler.empty())
    return emitError() << "expected the name of a scheduler, but got ''";
  if (contextParallel &&
      !llvm::is_contained({"colossalai_cp", "ulysses_cp", "hybrid_cp"},
                          contextParallel.getValue()))
    return emitError() << "expected context_parallel to be colossalai_cp, "
                          "ulysses_cp or hybrid_cp, but got "
                       << contextParallel;
  if (sequencePieces < 1)
    return emitError() << "expected sequence_pieces to be positive, but got "
                       << sequencePieces;
  if (gradientGroups < 1)
    return emitError() << "expected gradient_groups to be positive, but got "
                       << gradientGroups;
  // This limit is far above the number of devices and of samples in a batch,
  // and programs of that size still fit in memory.
  constexpr int64_t maximum = 65536;
  if (rowBlocks < 1 || rowBlocks > maximum || copies < 1 || copies > maximum)
    return emitError() << "expected row_blocks and copies to be from 1 to "
                       << maximum << ", but got " << rowBlocks << " and "
                       << copies;
  if (sequencePieces > 1 && copies > 1)
    return emitError() << "expected either sequence_pieces or copies to be 1, "
                          "but got "
                       << sequencePieces << " and " << copies;
  for (int64_t count : {stages, interleave, microBatches})
    if (count < 1 || count > maximum)
      return emitError() << "expected stages, interleave and micro_batches to "
                            "be from 1 to "
                         << maximum << ", but got " << stages << ", "
                         << interleave << " and " << microBatches;
  auto isRow = [](Attribute row) { return isListOf(row, isOffset); };
  if (offset && !isOffset(offset) && !isRow(offset) && !isListOf(offset, isRow))
    return emitError() << "expected offset to be a 32-bit number, a list of "
                          "them or a list of such lists, but got "
                       << offset;
  return success();
}

LogicalResult PatternAttr::verify(EmitError emitError, StringAttr pattern,
                                  Attribute setting, Attribute location) {
  if (!isSelection(setting))
    return emitError() << "expected a bool, a list of counts or a list of such "
                          "lists for pattern "
                       << pattern << ", but got " << setting;
  return success();
}

LogicalResult SwapEntryAttr::verify(EmitError emitError, int64_t prefetch,
                                    Attribute layers, Attribute location) {
  if (prefetch < 1)
    return emitError() << "expected prefetch to be positive, but got "
                       << prefetch;
  if (!isa<BoolAttr>(layers) && !isListOf(layers, isInteger) &&
      !areLayerNumbers(layers))
    return emitError() << "expected layers to be a bool or a list of layers, "
                          "but got "
                       << layers;
  return success();
}

static LogicalResult verifyEntries(EmitError emitError, ArrayAttr entries) {
  for (Attribute entry : entries)
    if (!isa<SwapEntryAttr>(entry))
      return emitError() << "expected #mf.swap_entry, but got " << entry;
  return success();
}

LogicalResult OpSwapAttr::verify(EmitError emitError, StringAttr pattern,
                                 ArrayAttr entries, Attribute location) {
  return verifyEntries(emitError, entries);
}

//===----------------------------------------------------------------------===//
// Learning rates
//===----------------------------------------------------------------------===//

LogicalResult LrScheduleAttr::verify(EmitError emitError, StringAttr,
                                     DictionaryAttr parameters) {
  Attribute groups = parameters.get("groups");
  auto isPattern = [](Attribute item) {
    auto text = dyn_cast<StringAttr>(item);
    return text && !text.empty();
  };
  auto isGroup = [&](Attribute item) {
    auto group = dyn_cast<DictionaryAttr>(item);
    Attribute patterns = group ? group.get("params") : Attribute();
    return patterns && isListOf(patterns, isPattern) &&
           !cast<ArrayAttr>(patterns).empty() &&
           isa_and_present<StringAttr>(group.get("type"));
  };
  if (groups && !isListOf(groups, isGroup))
    return emitError() << "expected groups to be a list of schedules with "
                          "'type' and 'params', a list of patterns, but got "
                       << groups;
  return success();
}

SmallVector<ArrayAttr> LrScheduleAttr::getGroupPatterns() {
  SmallVector<ArrayAttr> patterns;
  if (auto groups = getParameters().getAs<ArrayAttr>("groups"))
    for (auto group : groups.getAsRange<DictionaryAttr>())
      patterns.push_back(group.getAs<ArrayAttr>("params"));
  return patterns;
}

bool LrScheduleAttr::matches(StringRef pattern, StringRef parameter) {
  if (parameter.contains(pattern))
    return true;
  // A pattern that is not a valid wildcard matches nothing else.
  llvm::Expected<llvm::GlobPattern> wildcard =
      llvm::GlobPattern::create(pattern);
  if (!wildcard) {
    llvm::consumeError(wildcard.takeError());
    return false;
  }
  // Names in MindSpore Transformers begin with `model.`.
  return wildcard->match(parameter) ||
         wildcard->match(("model." + parameter).str());
}

int64_t LrScheduleAttr::getGroup(StringRef parameter) {
  for (auto [index, patterns] : llvm::enumerate(getGroupPatterns()))
    for (auto pattern : patterns.getAsRange<StringAttr>())
      if (matches(pattern.getValue(), parameter))
        return static_cast<int64_t>(index) + 1;
  return 0;
}
