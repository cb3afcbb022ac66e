//===- LimitRange.h - The limits of --frontier -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_LIMITRANGE_H
#define MF_TOOLS_MF_PLAN_LIMITRANGE_H

#include "llvm/Support/Error.h"
#include <vector>

namespace mf::tools {

/// Limits on memory from a lowest to a highest.
struct LimitRange {
  double low = 0, high = 0, step = 0;

  /// Parses `40GB:60GB`, `40GB:60GB:2GB`, or numbers in the unit of a problem.
  static llvm::Expected<LimitRange> parse(llvm::StringRef text);

  /// Returns the limits in ascending order. The highest one is always included,
  /// even if it is not a multiple of the step.
  std::vector<double> list() const;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_LIMITRANGE_H
