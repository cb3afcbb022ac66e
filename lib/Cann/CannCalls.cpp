//===- CannCalls.cpp - Kernels that CANN has ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CannCalls.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::cann {

static constexpr CannCall calls[] = {
#include "CannCalls.inc"
};

const CannCall *findCannCall(llvm::StringRef kernel) {
  const auto *found = llvm::find_if(
      calls, [&](const CannCall &call) { return call.kernel == kernel; });
  return found == std::end(calls) ? nullptr : found;
}

} // namespace mf::cann
