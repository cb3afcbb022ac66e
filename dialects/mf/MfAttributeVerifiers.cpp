//===- MfAttributeVerifiers.cpp - Verifiers of marks and configurations ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Some parameters are untyped attributes, and numbers have ranges. These
// verifiers define what is valid.
//
//===----------------------------------------------------------------------===//

#include "dialects/mf/MfDialect.h"
#include "llvm/Support/GlobPattern.h"
#include <numeric>

using namespace mlir;
using namespace mf::ir;

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Forms of parameters
//===----------------------------------------------------------------------===//

static bool isInteger(Attribute attribute) {
  auto integer = dyn_cast<IntegerAttr>(attribute);
  return integer && integer.getType().isSignlessInteger(64);
}

static bool isListOf(Attribute attribute,
                     llvm::function_ref<bool(Attribute)> isItem) {
  auto items = dyn_cast<ArrayAttr>(attribute);
  return items && llvm::all_of(items, isItem);
}

/// Returns the elements of a list of integers; none if it is null.
static std::vector<int64_t> getNumbers(Attribute list) {
  std::vector<int64_t> numbers;
  if (list)
    for (auto number : cast<ArrayAttr>(list).getAsRange<IntegerAttr>())
      numbers.push_back(number.getInt());
  return numbers;
}

/// Reports a parameter that is not a number of at least `smallest`.
static LogicalResult verifyNumber(EmitError emitError, StringRef name,
                                  int64_t number, int64_t smallest) {
  if (number >= smallest)
    return success();
  return emitError() << "expected " << name << " to be an int of at least "
                     << smallest << ", but got " << number;
}

/// Reports a parameter that is not a number with a property, `what`.
static LogicalResult verifyNumber(EmitError emitError, StringRef name,
                                  const llvm::APFloat &number, StringRef what,
                                  llvm::function_ref<bool(double)> isValid) {
  const double value = number.convertToDouble();
  if (number.isFinite() && isValid(value))
    return success();
  return emitError() << "expected " << name << " to be " << what << ", but got "
                     << value;
}

static bool isPositive(double value) { return value > 0; }
static bool isNotNegative(double value) { return value >= 0; }
static bool isRatio(double value) { return value >= 0 && value <= 1; }
static constexpr StringLiteral positive = "a positive number";
static constexpr StringLiteral notNegative = "a number of at least 0";
static constexpr StringLiteral ratio = "a number from 0 to 1";

/// Returns whether this is an offset of a stage. It is limited, because larger
/// values are not numbers of layers and their sums could overflow.
static bool isOffset(Attribute attribute) {
  return isInteger(attribute) &&
         llvm::isInt<32>(cast<IntegerAttr>(attribute).getInt());
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult
mf::ir::verifySwapDistance(function_ref<InFlightDiagnostic()> emitError,
                           int64_t distance) {
  if (distance >= 1 && distance <= maximumSwapDistance)
    return success();
  return emitError() << "expected a distance from 1 to " << maximumSwapDistance
                     << " kernels, but got " << distance;
}

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
    bool gradientsMean, bool fullBatch, int64_t rowBlocks, int64_t copies,
    bool gathersAgain) {
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

LogicalResult OptimizerShardAttr::verify(EmitError emitError, int64_t level,
                                         int64_t threshold,
                                         int64_t weightShardSize) {
  if (level < 1 || level > 3)
    return emitError() << "expected level to be an int from 1 to 3, but got "
                       << level;
  if (failed(verifyNumber(emitError, "threshold", threshold, 0)))
    return failure();
  return weightShardSize == -1
             ? success()
             : verifyNumber(emitError, "weight_shard_size", weightShardSize, 1);
}

// NOLINTBEGIN(performance-unnecessary-value-param): tablegen declares it.
LogicalResult WeightAverageAttr::verify(EmitError emitError, int64_t interval,
                                        int64_t fused, llvm::APFloat share,
                                        bool sums) {
  if (failed(verifyNumber(emitError, "interval", interval, 1)) ||
      failed(verifyNumber(emitError, "fused", fused, 1)))
    return failure();
  return verifyNumber(emitError, "share", share, "a number above 0 and below 1",
                      [](double value) { return value > 0 && value < 1; });
}

LogicalResult MuonAttr::verify(EmitError emitError, llvm::APFloat momentum,
                               bool nesterov, llvm::APFloat rms,
                               llvm::APFloat eps, ArrayAttr coefficients,
                               ArrayAttr adamwInclude, bool spreads,
                               FloatAttr logitThreshold) {
  auto isTriple = [](Attribute item) {
    return isListOf(item, llvm::IsaPred<FloatAttr>) &&
           cast<ArrayAttr>(item).size() == 3;
  };
  if (coefficients.empty() || !isListOf(coefficients, isTriple))
    return emitError() << "expected coefficients to be a list of three numbers "
                          "for each step, but got "
                       << coefficients;
  if (!areNames(adamwInclude))
    return emitError() << "expected adamw_include to be a list of texts, but "
                          "got "
                       << adamwInclude;
  if (logitThreshold &&
      failed(verifyNumber(emitError, "logit_threshold",
                          logitThreshold.getValue(), positive, isPositive)))
    return failure();
  return success(
      succeeded(
          verifyNumber(emitError, "momentum", momentum, ratio, isRatio)) &&
      succeeded(verifyNumber(emitError, "rms", rms, positive, isPositive)) &&
      succeeded(
          verifyNumber(emitError, "eps", eps, notNegative, isNotNegative)));
}

LogicalResult CameAttr::verify(EmitError emitError, llvm::APFloat eps,
                               llvm::APFloat instabilityEps,
                               llvm::APFloat clipThreshold,
                               llvm::APFloat decayRate, llvm::APFloat beta3) {
  return success(
      succeeded(
          verifyNumber(emitError, "eps", eps, notNegative, isNotNegative)) &&
      succeeded(verifyNumber(emitError, "instability_eps", instabilityEps,
                             notNegative, isNotNegative)) &&
      succeeded(verifyNumber(emitError, "clip_threshold", clipThreshold,
                             positive, isPositive)) &&
      succeeded(
          verifyNumber(emitError, "decay_rate", decayRate, ratio, isRatio)) &&
      succeeded(verifyNumber(emitError, "beta3", beta3, ratio, isRatio)));
}

LogicalResult ClippingAttr::verify(EmitError emitError, llvm::APFloat maxNorm) {
  return verifyNumber(emitError, "max_norm", maxNorm, positive, isPositive);
}
// NOLINTEND(performance-unnecessary-value-param)

LogicalResult LossScaleUpdateAttr::verify(EmitError emitError, int64_t factor,
                                          int64_t window) {
  return success(succeeded(verifyNumber(emitError, "factor", factor, 1)) &&
                 succeeded(verifyNumber(emitError, "window", window, 1)));
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

static bool isAnyOf(ArrayAttr patterns, StringRef parameter) {
  return patterns &&
         llvm::any_of(
             patterns.getAsRange<StringAttr>(), [&](StringAttr pattern) {
               return LrScheduleAttr::matches(pattern.getValue(), parameter);
             });
}

//===----------------------------------------------------------------------===//
// MatricesAttr
//===----------------------------------------------------------------------===//

/// No tensor has larger parts, and their sum fits 64 bits.
static constexpr int64_t largestPart = int64_t(1) << 40;

static bool areSizes(ArrayAttr sizes) {
  return llvm::all_of(sizes, [](Attribute size) {
    auto number = dyn_cast<IntegerAttr>(size);
    return number && number.getInt() > 0 && number.getInt() <= largestPart;
  });
}

LogicalResult MatricesAttr::verify(EmitError emitError, int64_t dim,
                                   ArrayAttr sizes, ArrayAttr rest) {
  if (dim != 0 && dim != 1)
    return emitError() << "expected dim to be 0 for rows or 1 for columns, but "
                          "got "
                       << dim;
  if (sizes.empty() || !areSizes(sizes))
    return emitError()
           << "expected sizes to be positive numbers of at most 2^40, but got "
           << sizes;
  if (rest && !areSizes(rest))
    return emitError()
           << "expected rest to be positive numbers of at most 2^40, but got "
           << rest;
  return success();
}

std::vector<int64_t> MatricesAttr::getPeriod() {
  return getNumbers(getSizes());
}
std::vector<int64_t> MatricesAttr::getTail() { return getNumbers(getRest()); }

std::optional<int64_t> MatricesAttr::countPeriods(int64_t extent) {
  auto sum = [](ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  };
  const int64_t period = sum(getPeriod()), filled = extent - sum(getTail());
  if (filled <= 0 || filled % period != 0)
    return std::nullopt;
  return filled / period;
}

//===----------------------------------------------------------------------===//
// OptimizerAttr
//===----------------------------------------------------------------------===//

// NOLINTBEGIN(performance-unnecessary-value-param): ODS declares it so.
LogicalResult OptimizerAttr::verify(EmitError emitError, StringAttr type,
                                    llvm::APFloat beta1, llvm::APFloat beta2,
                                    llvm::APFloat eps, llvm::APFloat decay,
                                    bool biasCorrection,
                                    WeightAverageAttr average, MuonAttr muon,
                                    bool correctsEps, CameAttr came,
                                    ArrayAttr decayInclude,
                                    ArrayAttr decayExclude) {
  // NOLINTEND(performance-unnecessary-value-param)
  for (ArrayAttr patterns : {decayInclude, decayExclude})
    if (patterns && !llvm::all_of(patterns, llvm::IsaPred<StringAttr>))
      return emitError() << "expected patterns of weight decay to be a list of "
                            "texts, but got "
                         << patterns;
  return success();
}

bool OptimizerAttr::decays(StringRef parameter, int64_t rank) {
  return isAnyOf(getDecayInclude(), parameter) ||
         (!isAnyOf(getDecayExclude(), parameter) && rank > 1);
}

//===----------------------------------------------------------------------===//
// MuonAttr
//===----------------------------------------------------------------------===//

bool MuonAttr::trains(StringRef parameter, int64_t rank) {
  return (rank == 2 || rank == 3) && !isAnyOf(getAdamwInclude(), parameter);
}
