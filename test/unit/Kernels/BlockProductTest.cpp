//===- BlockProductTest.cpp - Packed blocks and their products ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Exec/Kernels/BlockProduct.h"
#include "KernelTesting.h"
#include "lib/Exec/Kernels/BlockPacking.h"
#include "lib/Exec/Kernels/MatrixUnit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace mf;
using namespace mf::testing;

namespace {

/// The form that a tensor's rows are packed into, and the unit that multiplies
/// them.
struct Way {
  DType type, cellType;
  MatrixUnit unit;
};

class BlockProductTest : public ::testing::TestWithParam<Way> {
protected:
  void SetUp() override {
    if (getMatrixUnit() < GetParam().unit)
      GTEST_SKIP() << "this processor has no such unit";
  }

  int64_t getElements() const { return getCellElements(GetParam().cellType); }

  /// Element `index` of cells.
  double get(const std::vector<Cell> &cells, int64_t index) const {
    if (getElements() == 1) {
      float value;
      std::memcpy(&value, &cells[index], sizeof(value));
      return value;
    }
    const uint32_t bits = cells[index / 2] >> (index % 2 * 16) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  /// Element (row, column) of rows of cells.
  double getOfRows(const std::vector<Cell> &cells, int64_t stride, int64_t row,
                   int64_t column) const {
    return get(cells, row * stride * getElements() + column);
  }
  /// Element (row, column) of panels, where rows are summed over.
  double getOfPanels(const std::vector<Cell> &cells, int64_t stride,
                     int64_t row, int64_t column) const {
    const int64_t cell =
        column / 16 * stride + row / getElements() * 16 + column % 16;
    return get(cells, cell * getElements() + row % getElements());
  }
};

INSTANTIATE_TEST_SUITE_P(
    EveryWay, BlockProductTest,
    ::testing::Values(Way{DType::F32, DType::F32, MatrixUnit::Avx512},
                      Way{DType::BF16, DType::F32, MatrixUnit::Avx512},
                      Way{DType::F16, DType::F32, MatrixUnit::Avx512},
                      Way{DType::BF16, DType::BF16, MatrixUnit::Amx}));

/// Some rows of a block of 64 rows are there, of columns that fill no vector.
TEST_P(BlockProductTest, PacksWhatIsThereAndZeros) {
  constexpr int64_t rows = 64, begin = 3, end = 50, columns = 45,
                    allColumns = 64;
  const auto [type, cellType, unit] = GetParam();
  const KernelTensor x = randomTensor(type, {end - begin, columns}, 1);
  const RowBlock block = {type, cellType, x.data(), begin, end, columns};
  auto expected = [&](int64_t row, int64_t column) {
    return row < begin || row >= end || column >= columns
               ? 0
               : x.get((row - begin) * columns + column);
  };
  const int64_t stride = 64;
  std::vector<Cell> a(rows * stride), aOfColumns(allColumns * stride);
  std::vector<Cell> b(allColumns * rows / getElements());
  std::vector<Cell> bOfRows(rows * allColumns / getElements());
  packRows(block, a.data(), rows, stride);
  packRowsOfColumns(block, aOfColumns.data(), rows, stride);
  const int64_t panel = rows / getElements() * panelColumns;
  packPanels(block, b.data(), rows, panel);
  const int64_t panelOfRows = allColumns / getElements() * panelColumns;
  packPanelsOfRows(block, bOfRows.data(), rows, panelOfRows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < 48; ++j) {
      ASSERT_EQ(getOfRows(a, stride, i, j), expected(i, j));
      ASSERT_EQ(getOfRows(aOfColumns, stride, j, i), expected(i, j));
      ASSERT_EQ(getOfPanels(b, panel, i, j), expected(i, j));
      ASSERT_EQ(getOfPanels(bOfRows, panelOfRows, j, i), expected(i, j));
    }
}

TEST_P(BlockProductTest, MultipliesEverySizeOfBlock) {
  const auto [type, cellType, unit] = GetParam();
  const MatrixUnitUse use(unit);
  for (int64_t rows : {16, 32, 48})
    for (int64_t columns : {16, 32, 48, 80, 112})
      for (int64_t depth : {32, 96, 160}) {
        const KernelTensor x = randomTensor(type, {rows, depth}, 1),
                           y = randomTensor(type, {depth, columns}, 2);
        const int64_t cells = depth / getElements();
        std::vector<Cell> a(rows * cells), b(roundUpTo(columns, 32) * cells);
        packRows({type, cellType, x.data(), 0, rows, depth}, a.data(), rows,
                 cells);
        packPanels({type, cellType, y.data(), 0, depth, columns}, b.data(),
                   depth, cells * panelColumns);
        const int64_t stride = columns + 16;
        std::vector<float> c(rows * stride, 7);
        for (bool accumulate : {false, true})
          runBlockProduct(cellType,
                          {a.data(), cells, b.data(), cells * panelColumns,
                           c.data(), stride, rows, columns, cells, accumulate});
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < depth; ++k)
              sum += 2 * x.get(i * depth + k) * y.get(k * columns + j);
            ASSERT_NEAR(c[i * stride + j], sum, 1e-4);
          }
          ASSERT_EQ(c[i * stride + columns], 7);
        }
      }
}

} // namespace
