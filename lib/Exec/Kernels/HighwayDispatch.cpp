//===- HighwayDispatch.cpp - Which instructions Highway's loops use -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions of hwy/targets.h by which loops choose their instructions. All
// else of Highway that kernels use is in its headers. Its library has these
// functions too, but measures the resolution of the processor's clock whenever
// a process loads it: 6 ms, of the 9 ms in which mf-run starts.
//
//===----------------------------------------------------------------------===//

#include "HighwayTargets.h"
#include "hwy/targets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include <atomic>

/// Returns the targets that loops are compiled for whose instructions the
/// processor and the system have.
static int64_t findTargets() {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](llvm::ArrayRef<llvm::StringRef> names) {
    return llvm::all_of(
        names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  // The functions of HWY_AVX2 are compiled with these.
  if (!hasAll({"sse4.2", "pclmul", "aes", "avx", "avx2", "bmi", "bmi2", "fma",
               "f16c"}))
    return 0;
  return hasAll({"avx512f", "avx512vl", "avx512dq", "avx512bw"})
             ? HWY_AVX2 | HWY_AVX3
             : HWY_AVX2;
}

static std::atomic<int64_t> enabledTargets{~int64_t{0}};
static std::atomic<int64_t> pretendedTargets{0};

namespace hwy {

int64_t SupportedTargets() {
  static const int64_t found = findTargets();
  const int64_t pretended = pretendedTargets;
  return (pretended ? pretended : found) & enabledTargets;
}

// The next loop asks again what is supported.
void DisableTargets(int64_t targets) {
  enabledTargets = ~targets;
  GetChosenTarget().DeInit();
}

void SetSupportedTargetsForTest(int64_t targets) {
  pretendedTargets = targets;
  GetChosenTarget().DeInit();
}

ChosenTarget &GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

} // namespace hwy
