//===- MatmulTest.cpp - Matrix products -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

struct MatmulProblem {
  int64_t batch, m, n, k;
  bool transposeA, transposeB;
};

Values multiply(const MatmulProblem &p, const KernelTensor &a,
                const KernelTensor &b) {
  Values x = a.toVector(), y = b.toVector();
  Values c(p.batch * p.m * p.n);
  for (int64_t i = 0; i < p.batch; ++i)
    for (int64_t row = 0; row < p.m; ++row)
      for (int64_t k = 0; k < p.k; ++k) {
        double left =
            x[i * p.m * p.k + (p.transposeA ? k * p.m + row : row * p.k + k)];
        for (int64_t column = 0; column < p.n; ++column)
          c[(i * p.m + row) * p.n + column] +=
              left * y[i * p.k * p.n +
                       (p.transposeB ? column * p.k + k : k * p.n + column)];
      }
  return c;
}

Ints dimsOf(bool transposed, int64_t rows, int64_t columns) {
  return transposed ? Ints{columns, rows} : Ints{rows, columns};
}

AttributeMap attributesOf(const MatmulProblem &p) {
  return {{"transpose_a", p.transposeA}, {"transpose_b", p.transposeB}};
}

/// `leading` dimensions are those of both operands and of the result.
void check(const MatmulProblem &p, DType type, DType result,
           const Ints &leading = {}) {
  auto make = [&](DType elements, const Ints &matrix, unsigned seed) {
    Ints dims = leading;
    dims.insert(dims.end(), matrix.begin(), matrix.end());
    return randomTensor(elements, dims, seed);
  };
  const KernelTensor a = make(type, dimsOf(p.transposeA, p.m, p.k), 1);
  const KernelTensor b = make(type, dimsOf(p.transposeB, p.k, p.n), 2);
  expectNear(runOne("aclnnMatmul", {a, b}, make(result, {p.m, p.n}, 3),
                    attributesOf(p)),
             multiply(p, a, b), std::sqrt(p.k));
}

TEST(MatmulTest, MatchesTheReferenceInEveryTypeAndTransposition) {
  const MatmulProblem problems[] = {
      {1, 1, 1, 1, false, false},      {1, 1, 64, 5, false, false},
      {1, 7, 1, 33, false, false},     {1, 5, 3, 17, false, false},
      {1, 64, 48, 32, false, false},   {1, 130, 67, 259, false, false},
      {1, 300, 200, 520, false, false}};
  for (DType type : floatTypes)
    for (MatmulProblem p : problems)
      for (bool transposeA : {false, true})
        for (bool transposeB : {false, true})
          for (DType result : {type, DType::F32}) {
            p.transposeA = transposeA;
            p.transposeB = transposeB;
            check(p, type, result);
          }
}

TEST(MatmulTest, SeveralTilesAndALongContraction) {
  for (DType type : floatTypes) {
    check({1, 700, 2600, 96, false, true}, type, type);
    check({1, 64, 40, 9000, true, false}, type, DType::F32);
  }
}

TEST(MatmulTest, BatchesOfEqualLeadingDimensions) {
  const MatmulProblem problems[] = {{6, 33, 17, 9, false, false},
                                    {6, 64, 64, 64, false, true},
                                    {6, 128, 200, 150, true, false},
                                    {6, 3, 4, 5, true, true}};
  for (DType type : floatTypes)
    for (const MatmulProblem &p : problems)
      check(p, type, type, {2, 3});
}

TEST(MatmulTest, AMatrixAsTheSecondOperandFlattensTheFirst) {
  for (DType type : floatTypes) {
    MatmulProblem p{1, 2 * 3 * 50, 40, 30, false, true};
    KernelTensor a = randomTensor(type, {2, 3, 50, 30}, 1);
    KernelTensor b = randomTensor(type, {40, 30}, 2);
    KernelTensor c =
        runOne("aclnnMatmul", {a, b}, KernelTensor(type, {2, 3, 50, 40}),
               attributesOf(p));
    expectNear(c, multiply(p, a, b), std::sqrt(p.k));
  }
}

TEST(MatmulTest, ContractBatchSumsOverLeadingDimensions) {
  for (DType type : floatTypes) {
    MatmulProblem p{1, 70, 90, 3 * 100, true, false};
    KernelTensor a = randomTensor(type, {3, 100, 70}, 1);
    KernelTensor b = randomTensor(type, {3, 100, 90}, 2);
    AttributeMap attributes = {{"transpose_a", true}, {"contract_batch", true}};
    KernelTensor c = runOne("aclnnMatmul", {a, b},
                            KernelTensor(DType::F32, {70, 90}), attributes);
    expectNear(c, multiply(p, a, b), std::sqrt(p.k), 4e-6);
  }
}

TEST(MatmulTest, AccumulatesInSinglePrecision) {
  // 1 + 4096 * 2^-12 would stay 1 if the sum were kept in bf16.
  for (DType type : {DType::BF16, DType::F16}) {
    KernelTensor a(type, {1, 4097}), b(type, {4097, 1});
    a.fill(1.0);
    b.fill(1.0 / 4096);
    b.set(0, 1);
    KernelTensor c = runOne("aclnnMatmul", {a, b}, KernelTensor(type, {1, 1}));
    EXPECT_EQ(c.get(0), 2);
  }
}

} // namespace
