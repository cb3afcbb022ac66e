//===- SelectionTest.cpp - The largest elements, and rows in order --------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace mf;
using namespace mf::testing;

namespace {

/// NaN is larger than all else.
bool isLess(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

/// The indices of a row in a stable order.
Ints orderRow(llvm::ArrayRef<double> row, bool descending) {
  Ints order(row.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    if (isLess(row[a], row[b]) || isLess(row[b], row[a]))
      return descending ? isLess(row[b], row[a]) : isLess(row[a], row[b]);
    return a < b;
  });
  return order;
}

/// The same number, which may be NaN, of the same sign.
bool isSame(double a, double b) {
  return (a == b || (std::isnan(a) && std::isnan(b))) &&
         std::signbit(a) == std::signbit(b);
}

/// Expects that row after row the outputs have the elements of `x` in this
/// order.
void expectOrder(const KernelTensor &x, const Tensors &outputs,
                 bool descending) {
  const int64_t columns = x.shape.dims.back();
  const int64_t kept = outputs[0].shape.dims.back();
  const Values numbers = x.toVector();
  const Values values = outputs[0].toVector();
  for (int64_t row = 0; row < x.size() / columns; ++row) {
    auto elements = llvm::ArrayRef(numbers).slice(row * columns, columns);
    const Ints order = orderRow(elements, descending);
    for (int64_t i = 0; i < kept; ++i) {
      ASSERT_EQ(outputs[1].get(row * kept + i), static_cast<double>(order[i]))
          << "row " << row << " place " << i;
      ASSERT_TRUE(isSame(values[row * kept + i], elements[order[i]]))
          << "row " << row << " place " << i;
    }
  }
}

void checkTopk(const KernelTensor &x, int64_t k) {
  Ints dims(x.shape.dims.begin(), x.shape.dims.end());
  dims.back() = k;
  expectOrder(x,
              runKernel("aclnnTopk", {x},
                        {KernelTensor(x.shape.type, dims),
                         KernelTensor(DType::I32, dims)},
                        {{"k", k}}),
              true);
}

void checkSort(const KernelTensor &x) {
  const Ints dims(x.shape.dims.begin(), x.shape.dims.end());
  expectOrder(x,
              runKernel("aclnnSort", {x},
                        {KernelTensor(x.shape.type, dims),
                         KernelTensor(DType::I32, dims)}),
              false);
}

/// Few different values, of both signs, so that many are equal.
KernelTensor tiedTensor(DType type, const Ints &dims, unsigned seed) {
  KernelTensor tensor(type, dims);
  KernelTensor numbers = randomIndices(dims, seed, -4, 4);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, numbers.get(i) / 4);
  return tensor;
}

TEST(TopkTest, PicksTheLargestInOrder) {
  struct Case {
    Ints dims;
    int64_t k;
  };
  const Case cases[] = {
      {{1}, 1},        {{7}, 1},        {{7}, 7},          {{3, 4, 16}, 2},
      {{2, 5, 17}, 9}, {{300, 256}, 8}, {{4, 3000}, 6},    {{3, 1}, 1},
      {{2, 400}, 400}, {{5, 33}, 32},   {{2, 1, 1, 5}, 3},
  };
  for (DType type : floatTypes)
    for (const Case &c : cases) {
      checkTopk(randomTensor(type, c.dims, 1, -3, 3), c.k);
      checkTopk(randomTensor(type, c.dims, 2, -3, -1), c.k);
      checkTopk(tiedTensor(type, c.dims, 3), c.k);
      KernelTensor equal(type, c.dims);
      equal.fill(-0.25);
      checkTopk(equal, c.k);
    }
}

TEST(TopkTest, NaNComesFirstAndZerosAreEqual) {
  for (DType type : floatTypes) {
    KernelTensor x = tiedTensor(type, {50, 37}, 4);
    for (int64_t i = 0; i < x.size(); ++i) {
      if (i % 11 == 3)
        x.set(i, NAN);
      if (i % 13 == 4)
        x.set(i, -0.0);
      if (i % 17 == 5)
        x.set(i, i % 2 ? INFINITY : -INFINITY);
    }
    for (int64_t k : {1, 8, 37})
      checkTopk(x, k);
    checkSort(x);
    KernelTensor lowest(type, {3, 20});
    lowest.fill(-INFINITY);
    checkTopk(lowest, 5);
    lowest.fill(NAN);
    checkTopk(lowest, 5);
    checkSort(lowest);
  }
}

TEST(SortTest, IsStableAndAscends) {
  const Ints shapes[] = {{1},     {2, 3},       {5, 128},  {3, 129},
                         {40, 7}, {2, 2, 5000}, {18, 1500}};
  for (DType type : floatTypes)
    for (const Ints &dims : shapes) {
      checkSort(randomTensor(type, dims, 1, -3, 3));
      checkSort(tiedTensor(type, dims, 2));
      KernelTensor equal(type, dims);
      equal.fill(2);
      checkSort(equal);
    }
}

TEST(SortTest, TakesIntegers) {
  for (const Ints &dims : {Ints{4, 9}, Ints{2, 3000}}) {
    checkSort(randomIndices(dims, 1, -5, 5));
    checkSort(randomIndices(dims, 2, INT32_MIN, INT32_MAX));
  }
}

} // namespace
