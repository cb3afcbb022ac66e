//===- NoMatrixUnit.cpp - Processors without a matrix unit ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Stands for the files of matrix units, which are x86-64's, on other
// processors.
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"
#include "MatrixUnit.h"
#include "PackedAttention.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf {

MatrixUnit getMatrixUnit() { return MatrixUnit::None; }
MatrixUnit getUnlimitedMatrixUnit() { return MatrixUnit::None; }

MatrixUnitLimit::MatrixUnitLimit(MatrixUnit /*most*/) {}
MatrixUnitLimit::~MatrixUnitLimit() = default;

MatrixUnitUse::MatrixUnitUse(MatrixUnit unit) : unit(unit) {}
MatrixUnitUse::~MatrixUnitUse() = default;

std::shared_ptr<const Product> getPackedProduct(const ProductSpec & /*spec*/) {
  return nullptr;
}

std::unique_ptr<Kernel> makePackedAttention(const AttentionShape & /*shape*/,
                                            MatrixUnit /*unit*/) {
  llvm_unreachable("there is no matrix unit");
}

std::unique_ptr<Kernel>
makePackedAttentionGrad(const AttentionShape & /*shape*/, MatrixUnit /*unit*/) {
  llvm_unreachable("there is no matrix unit");
}

} // namespace mf
