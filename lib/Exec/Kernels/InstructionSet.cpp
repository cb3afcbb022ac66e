//===- InstructionSet.cpp - Processor features that kernels use -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Kernels/InstructionSet.h"
#include "LoopDispatch.h"
#include "MatrixUnit.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf {

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
