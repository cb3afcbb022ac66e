//===- MfOptimizerAttributes.cpp - AdamW, Muon and their matrices ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/AttributeForms.h"
#include "dialects/mf/MfDialect.h"
#include <numeric>

using namespace mlir;
using namespace mf::ir;

using EmitError = function_ref<InFlightDiagnostic()>;

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
