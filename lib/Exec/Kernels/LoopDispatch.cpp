//===- LoopDispatch.cpp - Which version of a loop runs --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LoopDispatch.h"
#include "MatrixUnit.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <atomic>

namespace mf {

#if defined(__x86_64__)
static LoopSet findLoopSet() {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](llvm::ArrayRef<llvm::StringRef> names) {
    return llvm::all_of(
        names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  // Highway's functions for AVX2 are compiled with these.
  if (!hasAll({"sse4.2", "pclmul", "aes", "avx", "avx2", "bmi", "bmi2", "fma",
               "f16c"}))
    return LoopSet::None;
  const bool hasAvx512 =
      getUnlimitedMatrixUnit() != MatrixUnit::None &&
      hasAll({"avx512f", "avx512vl", "avx512dq", "avx512bw"});
  return hasAvx512 ? LoopSet::Avx512 : LoopSet::EightLanes;
}
#else
// NEON is in AArch64's smallest instruction set.
static LoopSet findLoopSet() { return LoopSet::EightLanes; }
#endif

static std::atomic<LoopSet> loopLimit = LoopSet::Avx512;

LoopSet getLoopSet() {
  static const LoopSet found = findLoopSet();
  return std::min(found, loopLimit.load(std::memory_order_relaxed));
}

LoopSetLimit::LoopSetLimit(LoopSet most) { loopLimit = most; }
LoopSetLimit::~LoopSetLimit() { loopLimit = LoopSet::Avx512; }

llvm::Error prepareInstructionSet() {
  if (getLoopSet() != LoopSet::None)
    return llvm::Error::success();
  return llvm::createStringError(
      "this processor has no AVX2 (with FMA, F16C and BMI2), which all kernels "
      "need: run on an x86-64 processor that has it, as Intel's since 2013 and "
      "AMD's since 2015");
}

llvm::StringRef getInstructionSetName() {
  switch (getMatrixUnit()) {
  case MatrixUnit::None:
#if defined(__x86_64__)
    return "AVX2";
#else
    return "NEON";
#endif
  case MatrixUnit::Avx512:
    return "AVX-512";
  case MatrixUnit::Amx:
    return "AVX-512 and AMX";
  }
  llvm_unreachable("unknown matrix unit");
}

} // namespace mf
