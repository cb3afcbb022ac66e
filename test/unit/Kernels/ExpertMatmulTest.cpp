//===- ExpertMatmulTest.cpp - Products of experts and their gradients -----===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

constexpr const char *productNames[] = {"mfExpertMatmul", "aclnnGroupedMatmul"};
constexpr const char *gradientNames[] = {"mfExpertMatmulWeightGrad",
                                         "mfGroupedMatmulWeightGrad"};

struct ExpertProduct {
  int64_t groups, ranks, rows, in, out;
  /// Counts of rows for each expert of each rank of each group.
  Values counts;

  int64_t countExperts() const {
    return static_cast<int64_t>(counts.size()) / (groups * ranks);
  }
  Ints xDims() const { return {groups, ranks, rows, in}; }
  Ints outDims() const { return {groups, ranks, rows, out}; }
  Ints weightDims(bool transposed) const {
    return {ranks, countExperts(), transposed ? out : in,
            transposed ? in : out};
  }
  KernelTensor getCounts() const {
    return makeTensor(DType::F32, {groups, ranks, countExperts()}, counts);
  }

  /// Calls `use(row over all, expert over all ranks)` for rows that have one.
  void forEachRow(llvm::function_ref<void(int64_t, int64_t)> use) const {
    const double *count = counts.data();
    for (int64_t part = 0; part < groups * ranks; ++part) {
      int64_t row = 0;
      for (int64_t i = 0; i < countExperts(); ++i, ++count) {
        const double last = static_cast<double>(row) + std::floor(*count);
        for (; row < rows && static_cast<double>(row) < last; ++row)
          use(part * rows + row, part % ranks * countExperts() + i);
      }
    }
  }
};

/// In every way that counts may lie.
std::vector<ExpertProduct> getProblems() {
  const double infinity = INFINITY;
  return {
      {1, 1, 12, 8, 5, {3, 3, 3, 3}},
      // An expert without rows, first, between and last; rows behind.
      {1, 1, 40, 16, 24, {0, 17, 0, 1, 9, 0}},
      {2, 2, 21, 9, 7, {4, 0, 5, 21, 0, 0, 0, 0, 20, 1, 1, 1}},
      // All rows to one expert, and none to any.
      {1, 3, 33, 32, 40, {0, 33, 33, 0, 0, 0}},
      {3, 1, 5, 4, 6, {0, 0, 0, 0, 0, 0}},
      // One row, one column.
      {1, 1, 1, 1, 1, {1}},
      // Counts that are none, and more than there are rows.
      {1, 2, 20, 6, 3, {-4, 7.9, NAN, 100, 0.5, -infinity, 6, infinity}},
      {2, 1, 300, 64, 96, {1, 128, 63, 64, 65, 2}},
  };
}

Values multiply(const ExpertProduct &p, const KernelTensor &x,
                const KernelTensor &weight, bool transposed) {
  const Values a = x.toVector(), b = weight.toVector();
  Values c(p.groups * p.ranks * p.rows * p.out);
  p.forEachRow([&](int64_t row, int64_t expert) {
    for (int64_t i = 0; i < p.out; ++i)
      for (int64_t k = 0; k < p.in; ++k)
        c[row * p.out + i] +=
            a[row * p.in + k] * b[expert * p.in * p.out +
                                  (transposed ? i * p.in + k : k * p.out + i)];
  });
  return c;
}

Values differentiateWeight(const ExpertProduct &p, const KernelTensor &x,
                           const KernelTensor &dy) {
  const Values a = x.toVector(), b = dy.toVector();
  Values gradient(p.ranks * p.countExperts() * p.in * p.out);
  p.forEachRow([&](int64_t row, int64_t expert) {
    for (int64_t k = 0; k < p.in; ++k)
      for (int64_t i = 0; i < p.out; ++i)
        gradient[(expert * p.in + k) * p.out + i] +=
            a[row * p.in + k] * b[row * p.out + i];
  });
  return gradient;
}

/// The result of both forms, which must have the same bits.
KernelTensor runBoth(llvm::ArrayRef<const char *> names, const Tensors &inputs,
                     const KernelTensor &output,
                     const AttributeMap &attributes = {}) {
  const KernelTensor loop = runOne(names[0], inputs, output, attributes);
  const KernelTensor grouped = runOne(names[1], inputs, output, attributes);
  EXPECT_TRUE(loop == grouped)
      << names[1] << " has other bits than " << names[0];
  return grouped;
}

void checkProduct(const ExpertProduct &p, DType type, DType result,
                  bool transposed) {
  const KernelTensor x = randomTensor(type, p.xDims(), 1);
  const KernelTensor weight = randomTensor(type, p.weightDims(transposed), 2);
  KernelTensor out(result, p.outDims());
  out.fill(NAN);
  const Tensors inputs = {x, weight, p.getCounts()};
  const AttributeMap attributes = {{"transpose_weight", transposed}};
  const Values expected = multiply(p, x, weight, transposed);
  for (const char *name : productNames)
    expectNear(runOne(name, inputs, out, attributes), expected,
               std::sqrt(p.in));
  // Few rows in f32 are added up in another order.
  if (type != DType::F32 || transposed)
    runBoth(productNames, inputs, out, attributes);
}

void checkGradient(const ExpertProduct &p, DType type, DType result) {
  const KernelTensor x = randomTensor(type, p.xDims(), 1);
  const KernelTensor dy = randomTensor(type, p.outDims(), 2);
  KernelTensor gradient(result, p.weightDims(false));
  gradient.fill(NAN);
  expectNear(runBoth(gradientNames, {x, dy, p.getCounts()}, gradient),
             differentiateWeight(p, x, dy), std::sqrt(p.rows));
}

TEST(ExpertMatmulTest, MatchesTheReferenceForAnyCounts) {
  for (const ExpertProduct &p : getProblems())
    for (DType type : floatTypes)
      for (bool transposed : {false, true})
        for (DType result : {type, DType::F32})
          checkProduct(p, type, result, transposed);
}

TEST(ExpertMatmulTest, SeveralTilesOfOneExpertAndFewRows) {
  for (DType type : floatTypes) {
    checkProduct({1, 1, 1101, 40, 600, {530, 3, 0, 560, 1}}, type, type, false);
    checkProduct({1, 1, 70, 30, 2100, {3, 67}}, type, type, true);
  }
  const DType f32 = DType::F32;
  for (int64_t in : {1, 63, 64, 65, 130})
    for (int64_t out : {1, 15, 16, 17, 80, 95, 96, 97, 200, 1030})
      checkProduct({1, 1, 160, in, out, {1, 2, 3, 4, 5, 9, 0, 128}}, f32, f32,
                   false);
  // Where few rows end.
  checkProduct({1, 1, 390, 70, 40, {129, 128, 130}}, f32, f32, false);
}

TEST(ExpertMatmulTest, RowsOfOthersDoNotMatter) {
  // A product may take in rows that follow and drop what comes of them.
  const ExpertProduct p{1, 2, 10, 16, 8, {3, 5, 7, 1}};
  for (const char *name : productNames)
    for (bool transposed : {false, true}) {
      const AttributeMap attributes = {{"transpose_weight", transposed}};
      KernelTensor x = randomTensor(DType::F32, p.xDims(), 1);
      const KernelTensor weight =
          randomTensor(DType::F32, p.weightDims(transposed), 2);
      const KernelTensor out(DType::F32, p.outDims());
      const KernelTensor before =
          runOne(name, {x, weight, p.getCounts()}, out, attributes);
      for (int64_t row : {8, 9, 18, 19})
        for (int64_t i = 0; i < p.in; ++i)
          x.set(row * p.in + i, NAN);
      EXPECT_TRUE(runOne(name, {x, weight, p.getCounts()}, out, attributes) ==
                  before);
    }
}

TEST(ExpertMatmulTest, RowsHaveTheBitsOfTheirProductAlone) {
  // An expert's rows do not depend on where they lie or what else there is.
  for (const char *name : productNames)
    for (DType type : floatTypes) {
      const ExpertProduct p{1, 1, 60, 70, 50, {5, 32, 0, 23}};
      const KernelTensor x = randomTensor(type, p.xDims(), 1);
      const KernelTensor weight = randomTensor(type, p.weightDims(false), 2);
      const KernelTensor all = runOne(name, {x, weight, p.getCounts()},
                                      KernelTensor(type, p.outDims()));
      const ExpertProduct one{1, 1, 32, 70, 50, {32}};
      const KernelTensor ownX = takeRange(x, 2, 5, 32),
                         ownWeight = takeRange(weight, 1, 1, 1);
      const KernelTensor own = runOne(name, {ownX, ownWeight, one.getCounts()},
                                      KernelTensor(type, one.outDims()));
      EXPECT_EQ(own.toVector(), takeRange(all, 2, 5, 32).toVector());
    }
}

TEST(ExpertMatmulTest, ManyCountsOneKernel) {
  // Products are made when a count first needs them.
  const int64_t rows = 40;
  KernelSpec spec{"aclnnGroupedMatmul",
                  {{DType::F32, {1, 1, rows, 12}},
                   {DType::F32, {1, 2, 12, 9}},
                   {DType::F32, {1, 1, 2}}},
                  {{DType::F32, {1, 1, rows, 9}}},
                  {}};
  llvm::Expected<std::unique_ptr<Kernel>> kernel = makeKernel(spec);
  ASSERT_TRUE(static_cast<bool>(kernel)) << llvm::toString(kernel.takeError());
  ThreadPool pool(2);
  for (int64_t first = 0; first <= rows; ++first) {
    const ExpertProduct p{
        1, 1, rows, 12, 9, {static_cast<double>(first), rows - first - 1.0}};
    KernelTensor x = randomTensor(DType::F32, p.xDims(), 1);
    KernelTensor weight = randomTensor(DType::F32, p.weightDims(false), 2);
    KernelTensor counts = p.getCounts(), out(DType::F32, p.outDims());
    void *inputs[] = {x.data(), weight.data(), counts.data()};
    void *outputs[] = {out.data()};
    (*kernel)->run({inputs, outputs}, pool);
    expectNear(out, multiply(p, x, weight, false), 4);
  }
}

TEST(ExpertMatmulTest, AccumulatesInSinglePrecision) {
  // 1 + 4096 * 2^-12 would stay 1 if the sum were kept in bf16.
  for (DType type : {DType::BF16, DType::F16}) {
    KernelTensor x(type, {1, 1, 1, 4097}), weight(type, {1, 1, 4097, 1});
    KernelTensor counts(DType::F32, {1, 1, 1}), rows(type, {1, 1, 4097, 1});
    x.fill(1.0);
    weight.fill(1.0 / 4096);
    weight.set(0, 1);
    counts.fill(1);
    EXPECT_EQ(runBoth(productNames, {x, weight, counts},
                      KernelTensor(type, {1, 1, 1, 1}))
                  .get(0),
              2);
    counts.fill(4097);
    rows.fill(1.0 / 4096);
    rows.set(0, 1);
    KernelTensor ones(type, {1, 1, 4097, 1});
    ones.fill(1);
    EXPECT_EQ(runBoth(gradientNames, {ones, rows, counts},
                      KernelTensor(type, {1, 1, 1, 1}))
                  .get(0),
              2);
  }
}

TEST(ExpertMatmulTest, GradientMatchesTheReferenceForAnyCounts) {
  std::vector<ExpertProduct> problems = getProblems();
  // Blocks inside of a group, over the end of one, and exactly to it.
  problems.push_back({1, 1, 900, 24, 40, {700, 0, 200}});
  problems.push_back({3, 1, 400, 24, 40, {100, 300, 200, 20, 380, 0}});
  problems.push_back({2, 2, 600, 8, 12, {256, 344, 512, 1, 256, 300, 88, 512}});
  // Several tiles of one gradient.
  problems.push_back({2, 1, 50, 600, 530, {10, 25, 40, 3}});
  for (const ExpertProduct &p : problems)
    for (DType type : floatTypes)
      for (DType result : {type, DType::F32})
        checkGradient(p, type, result);
}

} // namespace
