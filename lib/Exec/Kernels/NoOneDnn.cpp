//===- NoOneDnn.cpp - What programs without oneDNN link -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MatrixProduct.h"
#include "MatrixUnit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <cstdlib>

namespace mf {

std::shared_ptr<const Product> getOneDnnProduct(const ProductSpec & /*spec*/) {
  return nullptr;
}

/// Returns the unit that ONEDNN_MAX_CPU_ISA allows. As in oneDNN, another
/// value is no limit.
static MatrixUnit getLimit() {
  const char *name = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (!name)
    return MatrixUnit::Amx;
  return llvm::StringSwitch<MatrixUnit>(name)
      .CasesLower({"sse41", "avx", "avx2", "avx2_vnni"}, MatrixUnit::None)
      .CasesLower({"avx512_core", "avx512_core_vnni", "avx512_core_bf16"},
                  MatrixUnit::Avx512)
      .Default(MatrixUnit::Amx);
}

MatrixUnit findMatrixUnit() {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](llvm::ArrayRef<llvm::StringRef> names) {
    return llvm::all_of(
        names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  MatrixUnit unit = MatrixUnit::None;
  if (hasAll({"avx512f", "avx512bw", "avx512vl", "avx512dq"}))
    unit =
        hasAll({"amx-tile", "amx-bf16"}) ? MatrixUnit::Amx : MatrixUnit::Avx512;
  return std::min(unit, getLimit());
}

} // namespace mf
