//===- CastPlan.h - Chooses parameters to convert once ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A converted copy of a parameter uses memory until its last reader in the
// step, and saves all conversions but one. This file decides which copies are
// worth it. It does not depend on IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CAST_CASTPLAN_H
#define MF_PASSES_CAST_CASTPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf::passes {

/// A parameter that its readers convert.
struct ConvertedParameter {
  std::string name;
  /// The number of conversions in a step.
  int64_t casts = 0;
  /// The bytes that one conversion reads and writes.
  int64_t bytesMoved = 0;
  /// The bytes of a copy.
  int64_t bytesKept = 0;

  int64_t getBytesSaved() const { return (casts - 1) * bytesMoved; }
};

struct CastPlan {
  /// The indices of the parameters that get a copy, in their order.
  std::vector<size_t> copied;
  int64_t castsSaved = 0;
  int64_t bytesSaved = 0;
  int64_t bytesKept = 0;
  /// The number of parameters that are converted several times but get no copy
  /// for lack of memory.
  int64_t withoutRoom = 0;
};

/// Chooses copies in descending order of bytes saved per byte kept, ties in
/// their order, until `room` bytes are used; all copies if there is no limit. A
/// copy that does not fit is skipped, so that smaller ones may still fit. A
/// parameter that is converted once gets none.
CastPlan planCasts(llvm::ArrayRef<ConvertedParameter> parameters,
                   std::optional<int64_t> room);

void printCasts(llvm::ArrayRef<ConvertedParameter> parameters,
                const CastPlan &plan, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_CAST_CASTPLAN_H
