//===- CastPlan.cpp - Chooses parameters to convert once ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/cast/CastPlan.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

/// Compares exactly: the bytes of a step may have more digits than a double.
static bool isWorthMore(const ConvertedParameter &a,
                        const ConvertedParameter &b) {
  return static_cast<__int128>(a.getBytesSaved()) * b.bytesKept >
         static_cast<__int128>(b.getBytesSaved()) * a.bytesKept;
}

CastPlan planCasts(llvm::ArrayRef<ConvertedParameter> parameters,
                   std::optional<int64_t> room) {
  std::vector<size_t> order;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].casts > 1)
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    const bool isMore = isWorthMore(parameters[a], parameters[b]);
    const bool isLess = isWorthMore(parameters[b], parameters[a]);
    return isMore || (!isLess && a < b);
  });
  CastPlan plan;
  for (size_t i : order) {
    const ConvertedParameter &parameter = parameters[i];
    if (room && plan.bytesKept + parameter.bytesKept > *room) {
      ++plan.withoutRoom;
      continue;
    }
    plan.copied.push_back(i);
    plan.castsSaved += parameter.casts - 1;
    plan.bytesSaved += parameter.getBytesSaved();
    plan.bytesKept += parameter.bytesKept;
  }
  llvm::sort(plan.copied);
  return plan;
}

void printCasts(llvm::ArrayRef<ConvertedParameter> parameters,
                const CastPlan &plan, llvm::raw_ostream &os) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ConvertedParameter &parameter = parameters[i];
    os << parameter.name << ": " << parameter.casts
       << (parameter.casts == 1 ? " conversion" : " conversions");
    if (llvm::is_contained(plan.copied, i))
      os << ", once with a copy of " << parameter.bytesKept << " bytes";
    else if (parameter.casts > 1)
      os << ", no room for a copy of " << parameter.bytesKept << " bytes";
    os << '\n';
  }
}

} // namespace mf::passes
