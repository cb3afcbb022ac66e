//===- MatrixUnit.cpp - Matrix units of processors ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MatrixUnit.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

namespace mf {
namespace {

/// Requests the registers of AMX, which Linux lets a process use only after
/// that.
bool askForTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

MatrixUnit findUnit() {
  const MatrixUnit unit = findMatrixUnit();
  return unit == MatrixUnit::Amx && !askForTiles() ? MatrixUnit::Avx512 : unit;
}

std::atomic<MatrixUnit> limit = MatrixUnit::Amx;

/// The operand of LDTILECFG.
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0;
  std::array<uint8_t, 14> reserved{};
  std::array<uint16_t, 16> rowBytes{};
  std::array<uint8_t, 16> rows{};

  TileShapes() {
    std::fill_n(rowBytes.begin(), 8, uint16_t{64});
    std::fill_n(rows.begin(), 8, uint8_t{16});
  }
};
static_assert(sizeof(TileShapes) == 64);

} // namespace

MatrixUnit getUnlimitedMatrixUnit() {
  static const MatrixUnit unit = findUnit();
  return unit;
}

MatrixUnit getMatrixUnit() {
  return std::min(getUnlimitedMatrixUnit(), limit.load());
}

MatrixUnitLimit::MatrixUnitLimit(MatrixUnit most) { limit = most; }
MatrixUnitLimit::~MatrixUnitLimit() { limit = MatrixUnit::Amx; }

// Assembly, because the compiler may drop stores to memory that the intrinsic
// reads.
MatrixUnitUse::MatrixUnitUse(MatrixUnit unit) : unit(unit) {
  static const TileShapes shapes;
  if (unit == MatrixUnit::Amx)
    asm volatile("ldtilecfg %0" ::"m"(shapes));
}

MatrixUnitUse::~MatrixUnitUse() {
  if (unit == MatrixUnit::Amx)
    asm volatile("tilerelease");
}

} // namespace mf
