//===- MatrixUnit.h - Matrix units of processors ----------------*- C++ -*-===//
//
// The processor's instructions for our own products of blocks. oneDNN is asked
// for them, so that its limit, ONEDNN_MAX_CPU_ISA, is ours too.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_MATRIXUNIT_H
#define MF_LIB_KERNELS_MATRIXUNIT_H

namespace mf {

/// From the least able: each has what those before it have.
enum class MatrixUnit {
  None,
  /// AVX-512's products of f32. Its dot products of bf16 pairs take four times
  /// as long, and so are no unit: bf16 is better made f32.
  Avx512,
  /// Tiles of 16 rows of 64 bytes, for bf16.
  Amx
};

/// The best unit that this process may use.
MatrixUnit getMatrixUnit();

/// The same without the bound of tests.
MatrixUnit getUnlimitedMatrixUnit();

/// For tests: bounds what getMatrixUnit() says as long as it lives. Not while
/// another thread makes kernels.
class MatrixUnitLimit {
public:
  explicit MatrixUnitLimit(MatrixUnit most);
  ~MatrixUnitLimit();
  MatrixUnitLimit(const MatrixUnitLimit &) = delete;
  MatrixUnitLimit &operator=(const MatrixUnitLimit &) = delete;
};

/// Readies the calling thread for products on `unit` as long as it lives. AMX
/// needs a shape for its tiles, and oneDNN leaves behind another or none.
class MatrixUnitUse {
public:
  explicit MatrixUnitUse(MatrixUnit unit);
  ~MatrixUnitUse();
  MatrixUnitUse(const MatrixUnitUse &) = delete;
  MatrixUnitUse &operator=(const MatrixUnitUse &) = delete;

private:
  MatrixUnit unit;
};

} // namespace mf

#endif // MF_LIB_KERNELS_MATRIXUNIT_H
