//===- CastPlan.h - Chooses parameters to convert once ----------*- C++ -*-===//
//
// A converted copy of a parameter takes memory up to its last reader in the
// step, and saves all conversions but one. This decides which are worth it. No
// IR.
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

/// A parameter that readers convert.
struct ConvertedParameter {
  std::string name;
  /// Conversions in a step.
  int64_t casts = 0;
  /// Bytes that one of them reads and writes.
  int64_t bytesMoved = 0;
  /// Bytes of its copy.
  int64_t bytesKept = 0;

  int64_t getBytesSaved() const { return (casts - 1) * bytesMoved; }
};

struct CastPlan {
  /// Indices of the parameters that get a copy, in their order.
  std::vector<size_t> copied;
  int64_t castsSaved = 0;
  int64_t bytesSaved = 0;
  int64_t bytesKept = 0;
  /// Parameters that are converted several times and get none, for want of
  /// memory.
  int64_t withoutRoom = 0;
};

/// Chooses copies in the order of bytes saved per byte kept, the first of
/// equals first, as far as `room` goes, in bytes; without it, all. A copy that
/// has no room leaves it to smaller ones behind it. A parameter that is
/// converted once gets none.
CastPlan planCasts(llvm::ArrayRef<ConvertedParameter> parameters,
                   std::optional<int64_t> room);

void printCasts(llvm::ArrayRef<ConvertedParameter> parameters,
                const CastPlan &plan, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_CAST_CASTPLAN_H
