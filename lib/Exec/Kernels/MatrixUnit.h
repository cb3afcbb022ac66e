//===- MatrixUnit.h - Matrix units of processors ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The processor's instructions for our own products of blocks. They are queried
// from oneDNN, if it is linked, so that its limit, ONEDNN_MAX_CPU_ISA, applies
// to them too.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_MATRIXUNIT_H
#define MF_LIB_EXEC_KERNELS_MATRIXUNIT_H

namespace mf {

/// In ascending order: each unit supports all that the previous ones do.
enum class MatrixUnit {
  None,
  /// AVX-512's products of f32. Its dot products of bf16 pairs take four times
  /// as long and are not used: bf16 is converted to f32 instead.
  Avx512,
  /// Tiles of 16 rows of 64 bytes, for bf16.
  Amx
};

/// Returns the best unit of this processor within the limit of
/// ONEDNN_MAX_CPU_ISA.
MatrixUnit findMatrixUnit();

/// Returns the best unit that this process may use.
MatrixUnit getMatrixUnit();

/// Returns the best unit that this process may use, without the limit that
/// tests set.
MatrixUnit getUnlimitedMatrixUnit();

/// For tests: limits the result of getMatrixUnit() for its lifetime. Kernels
/// that another thread makes meanwhile may have either unit.
class MatrixUnitLimit {
public:
  explicit MatrixUnitLimit(MatrixUnit most);
  ~MatrixUnitLimit();
  MatrixUnitLimit(const MatrixUnitLimit &) = delete;
  MatrixUnitLimit &operator=(const MatrixUnitLimit &) = delete;
};

/// Prepares the calling thread for products on `unit` for its lifetime. AMX
/// needs a shape for its tiles, and oneDNN leaves another or none.
class MatrixUnitUse {
public:
  explicit MatrixUnitUse(MatrixUnit unit);
  ~MatrixUnitUse();
  MatrixUnitUse(const MatrixUnitUse &) = delete;
  MatrixUnitUse &operator=(const MatrixUnitUse &) = delete;

private:
  [[maybe_unused]] MatrixUnit unit;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_MATRIXUNIT_H
