//===- InstructionSet.cpp - Processor features that kernels use -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Kernels/InstructionSet.h"
#include "MatrixUnit.h"
#include "hwy/targets.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf {

/// The sets that loops are compiled for beyond AVX2, and that imply it.
static constexpr int64_t beyondAvx2 = HWY_AVX3 | HWY_AVX3_DL;

/// Returns whether the processor has the instructions that every loop needs.
static bool limitLoops() {
  if (getUnlimitedMatrixUnit() == MatrixUnit::None)
    hwy::DisableTargets(beyondAvx2);
  return (hwy::SupportedTargets() & (HWY_AVX2 | beyondAvx2)) != 0;
}

llvm::Error prepareInstructionSet() {
  static const bool isAble = limitLoops();
  if (isAble)
    return llvm::Error::success();
  return llvm::createStringError(
      "this processor has no AVX2 (with FMA, F16C and BMI2), which all kernels "
      "need: run on an x86-64 processor that has it, as Intel's since 2013 and "
      "AMD's since 2015");
}

llvm::StringRef getInstructionSetName() {
  switch (getMatrixUnit()) {
  case MatrixUnit::None:
    return "AVX2";
  case MatrixUnit::Avx512:
    return "AVX-512";
  case MatrixUnit::Amx:
    return "AVX-512 and AMX";
  }
  llvm_unreachable("unknown matrix unit");
}

} // namespace mf
