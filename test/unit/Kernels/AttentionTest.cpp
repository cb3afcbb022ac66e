//===- AttentionTest.cpp - Flash attention and its gradients --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "lib/Exec/Kernels/MatrixUnit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mf;
using namespace mf::testing;

namespace {

/// The test on a matrix unit, and without any.
class AttentionTest : public ::testing::TestWithParam<MatrixUnit> {
protected:
  void SetUp() override {
    if (getMatrixUnit() != GetParam())
      GTEST_SKIP() << "this processor has no such unit";
  }

private:
  MatrixUnitLimit limit{GetParam()};
};

std::string getUnitName(const ::testing::TestParamInfo<MatrixUnit> &info) {
  switch (info.param) {
  case MatrixUnit::None:
    return "None";
  case MatrixUnit::Avx512:
    return "Avx512";
  case MatrixUnit::Amx:
    return "Amx";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(EveryUnit, AttentionTest,
                         ::testing::Values(MatrixUnit::None, MatrixUnit::Avx512,
                                           MatrixUnit::Amx),
                         getUnitName);

struct Attention {
  int64_t batch, heads, keyHeads, queries, keys, dim, valueDim;
  bool causal;
  double scale = 0.3;
  /// One per head, or none.
  Values slopes = {};

  AttributeMap getAttributes() const {
    return {{"scale", scale}, {"causal", causal}};
  }
  /// `inputs` and the slopes, if there are any.
  Tensors withSlopes(Tensors inputs) const {
    if (slopes.empty())
      return inputs;
    KernelTensor tensor(DType::F32, {heads});
    for (int64_t i = 0; i < heads; ++i)
      tensor.set(i, slopes[i]);
    inputs.push_back(tensor);
    return inputs;
  }
  /// The bias on a scaled score; `head` counts those of all batches.
  double getBias(int64_t head, int64_t query, int64_t key) const {
    auto distance = static_cast<double>(key - query - (keys - queries));
    return slopes.empty() ? 0 : slopes[head % heads] * distance;
  }
  KernelTensor makeQuery(DType type, unsigned seed) const {
    return randomTensor(type, {batch, heads, queries, dim}, seed);
  }
  KernelTensor makeKey(DType type, unsigned seed) const {
    return randomTensor(type, {batch, keyHeads, keys, dim}, seed);
  }
  KernelTensor makeValue(DType type, unsigned seed) const {
    return randomTensor(type, {batch, keyHeads, keys, valueDim}, seed);
  }
  Tensors makeOutputs(DType type) const {
    return {KernelTensor(DType::F32, {batch, heads, queries}),
            KernelTensor(DType::F32, {batch, heads, queries}),
            KernelTensor(type, {batch, heads, queries, valueDim})};
  }
};

struct Result {
  Values max, sum, out;
};

Result attend(const Attention &a, const Values &q, const Values &k,
              const Values &v) {
  Result result;
  for (int64_t head = 0; head < a.batch * a.heads; ++head) {
    int64_t keyHead = head / (a.heads / a.keyHeads);
    for (int64_t i = 0; i < a.queries; ++i) {
      int64_t seen = a.causal ? i + 1 + a.keys - a.queries : a.keys;
      Values scores(seen), row(a.valueDim);
      for (int64_t j = 0; j < seen; ++j) {
        for (int64_t d = 0; d < a.dim; ++d)
          scores[j] += q[(head * a.queries + i) * a.dim + d] *
                       k[(keyHead * a.keys + j) * a.dim + d];
        scores[j] = scores[j] * a.scale + a.getBias(head, i, j);
      }
      double max = *std::max_element(scores.begin(), scores.end()), sum = 0;
      for (int64_t j = 0; j < seen; ++j) {
        double e = std::exp(scores[j] - max);
        sum += e;
        for (int64_t d = 0; d < a.valueDim; ++d)
          row[d] += e * v[(keyHead * a.keys + j) * a.valueDim + d];
      }
      result.max.push_back(max);
      result.sum.push_back(sum);
      for (double value : row)
        result.out.push_back(value / sum);
    }
  }
  return result;
}

const Attention forwardCases[] = {
    {1, 1, 1, 1, 1, 1, 1, true},
    {1, 1, 1, 5, 5, 3, 7, true},
    {1, 2, 1, 64, 64, 16, 16, false},
    {2, 4, 2, 130, 130, 32, 32, true},
    {1, 2, 2, 70, 600, 20, 24, true},
    {1, 1, 1, 1200, 1200, 16, 16, true},
    {1, 3, 1, 65, 1030, 64, 64, false},
    {2, 3, 1, 130, 600, 16, 16, true, 0.3, {0.25, 0.01, 0}},
    {1, 2, 2, 70, 1030, 16, 8, false, 0.3, {-0.002, 0.004}},
    {1, 6, 2, 300, 301, 80, 33, true},
    {2, 2, 1, 40, 70, 7, 65, false, -0.5},
    {1, 1, 1, 33, 33, 16, 16, true, 0},
};

TEST_P(AttentionTest, MatchesSoftmaxOfAllScores) {
  for (DType type : floatTypes)
    for (const Attention &a : forwardCases) {
      KernelTensor q = a.makeQuery(type, 1), k = a.makeKey(type, 2),
                   v = a.makeValue(type, 3);
      Tensors y = runKernel("aclnnFlashAttentionScore", a.withSlopes({q, k, v}),
                            a.makeOutputs(type), a.getAttributes());
      Result expected = attend(a, q.toVector(), k.toVector(), v.toVector());
      expectNear(y[0], expected.max);
      expectNear(y[1], expected.sum, 10);
      expectNear(y[2], expected.out);
    }
}

TEST_P(AttentionTest, LargeScoresDoNotOverflow) {
  Attention a{1, 1, 1, 700, 700, 8, 8, true};
  a.scale = 100;
  KernelTensor q = a.makeQuery(DType::F32, 1), k = a.makeKey(DType::F32, 2),
               v = a.makeValue(DType::F32, 3);
  Tensors y = runKernel("aclnnFlashAttentionScore", {q, k, v},
                        a.makeOutputs(DType::F32), a.getAttributes());
  Result expected = attend(a, q.toVector(), k.toVector(), v.toVector());
  expectNear(y[2], expected.out, 1, 1e-3);
}

/// Rows of query head 0 that are all NaN.
std::vector<bool> findNaNRows(const KernelTensor &out, int64_t rows,
                              int64_t width) {
  std::vector<bool> result;
  for (int64_t i = 0; i < rows; ++i)
    result.push_back(std::isnan(out.get(i * width)));
  return result;
}

TEST_P(AttentionTest, NaNReachesTheRowsThatSeeIt) {
  const Attention a{1, 1, 1, 150, 150, 16, 16, true};
  for (DType type : floatTypes)
    for (double bad : {std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity()}) {
      KernelTensor q = a.makeQuery(type, 1), k = a.makeKey(type, 2),
                   v = a.makeValue(type, 3);
      auto run = [&] {
        return runKernel("aclnnFlashAttentionScore", {q, k, v},
                         a.makeOutputs(type), a.getAttributes())[2];
      };
      const KernelTensor good = run();
      auto check = [&](const std::vector<bool> &expected) {
        const KernelTensor out = run();
        EXPECT_EQ(findNaNRows(out, a.queries, a.valueDim), expected);
        for (int64_t i = 0; i < out.size(); ++i)
          if (!expected[i / a.valueDim])
            EXPECT_EQ(out.get(i), good.get(i)) << "row " << i / a.valueDim;
      };
      std::vector<bool> expected(a.queries, false);
      expected[70] = true;
      const double before = q.get(70 * a.dim + 3);
      q.set(70 * a.dim + 3, bad);
      // Infinite scores of both signs, of which one is the maximum.
      check(expected);
      q.set(70 * a.dim + 3, before);
      if (!std::isnan(bad))
        continue;
      k.set(40 * a.dim + 5, bad);
      std::fill(expected.begin() + 40, expected.end(), true);
      check(expected);
    }
}

/// The gradients in double, by the same formulas as the chain rule gives.
struct Gradients {
  Values dq, dk, dv;
};

Gradients differentiateAttention(const Attention &a, const Values &q,
                                 const Values &k, const Values &v,
                                 const Values &dout) {
  Result forward = attend(a, q, k, v);
  Gradients g{Values(q.size()), Values(k.size()), Values(v.size())};
  for (int64_t head = 0; head < a.batch * a.heads; ++head) {
    int64_t keyHead = head / (a.heads / a.keyHeads);
    for (int64_t i = 0; i < a.queries; ++i) {
      int64_t row = head * a.queries + i;
      int64_t seen = a.causal ? i + 1 + a.keys - a.queries : a.keys;
      double delta = 0;
      for (int64_t d = 0; d < a.valueDim; ++d)
        delta += dout[row * a.valueDim + d] * forward.out[row * a.valueDim + d];
      for (int64_t j = 0; j < seen; ++j) {
        int64_t key = keyHead * a.keys + j;
        double score = 0, slope = 0;
        for (int64_t d = 0; d < a.dim; ++d)
          score += q[row * a.dim + d] * k[key * a.dim + d];
        double p = std::exp(score * a.scale + a.getBias(head, i, j) -
                            forward.max[row]) /
                   forward.sum[row];
        for (int64_t d = 0; d < a.valueDim; ++d) {
          slope += dout[row * a.valueDim + d] * v[key * a.valueDim + d];
          g.dv[key * a.valueDim + d] += p * dout[row * a.valueDim + d];
        }
        double ds = a.scale * p * (slope - delta);
        for (int64_t d = 0; d < a.dim; ++d) {
          g.dq[row * a.dim + d] += ds * k[key * a.dim + d];
          g.dk[key * a.dim + d] += ds * q[row * a.dim + d];
        }
      }
    }
  }
  return g;
}

Tensors runGradient(const Attention &a, const KernelTensor &q,
                    const KernelTensor &k, const KernelTensor &v,
                    const KernelTensor &dout) {
  DType type = q.shape.type;
  Tensors y = runKernel("aclnnFlashAttentionScore", a.withSlopes({q, k, v}),
                        a.makeOutputs(type), a.getAttributes());
  return runKernel("aclnnFlashAttentionScoreGrad",
                   a.withSlopes({q, k, v, dout, y[0], y[1], y[2]}),
                   {KernelTensor(type, q.shape.dims),
                    KernelTensor(type, k.shape.dims),
                    KernelTensor(type, v.shape.dims)},
                   a.getAttributes());
}

TEST(AttentionReferenceTest, MatchesFiniteDifferences) {
  Attention a{1, 2, 1, 3, 5, 4, 3, true, 0.3, {0.5, 0.1}};
  Values q = a.makeQuery(DType::F32, 1).toVector();
  Values k = a.makeKey(DType::F32, 2).toVector();
  Values v = a.makeValue(DType::F32, 3).toVector();
  Values dout = randomTensor(DType::F32, {1, 2, 3, 3}, 4).toVector();
  Gradients g = differentiateAttention(a, q, k, v, dout);
  auto check = [](const Values &actual, const Values &expected) {
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-7);
  };
  check(g.dq,
        differentiate([&](const Values &at) { return attend(a, at, k, v).out; },
                      q, dout));
  check(g.dk,
        differentiate([&](const Values &at) { return attend(a, q, at, v).out; },
                      k, dout));
  check(g.dv,
        differentiate([&](const Values &at) { return attend(a, q, k, at).out; },
                      v, dout));
}

TEST_P(AttentionTest, GradientsMatchTheReferenceInOneSweepAndInTwo) {
  // Eight key heads and more are done in one sweep where its sums fit.
  const Attention cases[] = {
      {1, 1, 1, 1, 1, 1, 1, true},
      {2, 4, 4, 70, 70, 8, 12, true},
      {1, 16, 8, 70, 90, 8, 8, true},
      {1, 2, 1, 130, 600, 16, 16, false},
      {1, 1, 1, 1100, 1100, 16, 16, true},
      {4, 2, 2, 65, 530, 32, 32, true},
      {2, 8, 4, 290, 300, 33, 80, true},
      {1, 6, 2, 150, 150, 65, 7, true, -0.5},
      {1, 8, 8, 20, 1100, 128, 120, false},
      {2, 4, 2, 70, 600, 16, 16, true, 0.3, {0.25, 0.01, 0, 1}},
      {1, 8, 8, 70, 70, 8, 8, true, 0.3, {.5, .3, .2, .1, .05, .03, .02, .01}},
  };
  for (DType type : floatTypes)
    for (const Attention &a : cases) {
      KernelTensor q = a.makeQuery(type, 1), k = a.makeKey(type, 2),
                   v = a.makeValue(type, 3);
      KernelTensor dout =
          randomTensor(type, {a.batch, a.heads, a.queries, a.valueDim}, 4);
      Tensors gradients = runGradient(a, q, k, v, dout);
      Gradients expected = differentiateAttention(
          a, q.toVector(), k.toVector(), v.toVector(), dout.toVector());
      expectNear(gradients[0], expected.dq);
      expectNear(gradients[1], expected.dk, 2);
      expectNear(gradients[2], expected.dv, 2);
    }
}

TEST_P(AttentionTest, LongNarrowSequencesTakeTwoSweeps) {
  // Without a unit the sums of dk and dv would need 1.5 MiB for each key head.
  Attention a{1, 8, 8, 64, 1600, 120, 120, false};
  KernelTensor q = a.makeQuery(DType::BF16, 1), k = a.makeKey(DType::BF16, 2),
               v = a.makeValue(DType::BF16, 3);
  KernelTensor dout = randomTensor(DType::BF16, {1, 8, 64, 120}, 4);
  Tensors gradients = runGradient(a, q, k, v, dout);
  Gradients expected = differentiateAttention(a, q.toVector(), k.toVector(),
                                              v.toVector(), dout.toVector());
  expectNear(gradients[0], expected.dq, 0.2);
  expectNear(gradients[1], expected.dk, 0.2);
  expectNear(gradients[2], expected.dv, 0.2);
}

/// Rows [first, first + count) of each head of [batch, heads, rows, ...].
KernelTensor takeQueries(const KernelTensor &x, int64_t first, int64_t count) {
  Ints dims(x.shape.dims.begin(), x.shape.dims.end());
  const int64_t rows = dims[2], width = dims.size() > 3 ? dims[3] : 1;
  dims[2] = count;
  KernelTensor part(x.shape.type, dims);
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t row = i / width;
    part.set(i, x.get((row / count * rows + first + row % count) * width +
                      i % width));
  }
  return part;
}

const Attention wholeCases[] = {
    {1, 2, 1, 12, 12, 8, 8, true},
    {2, 4, 2, 192, 192, 16, 24, true},
    {1, 8, 8, 600, 600, 16, 16, true},
    {1, 2, 2, 600, 600, 32, 32, true, 0.3, {0.25, 0.01}},
    {1, 2, 1, 96, 96, 16, 16, false, 0.3, {-0.002, 0.004}},
    {1, 2, 1, 1200, 1200, 16, 16, true},
};

/// Parts as ranks of context parallel training have them, and one that begins
/// and ends anywhere.
std::vector<std::pair<int64_t, int64_t>> getParts(int64_t rows) {
  std::vector<std::pair<int64_t, int64_t>> parts = {{rows / 5, rows / 2}};
  for (int64_t ranks : {2, 3, 4})
    for (int64_t rank = 0; rank < ranks; ++rank)
      parts.push_back({rank * (rows / ranks), rows / ranks});
  return parts;
}

TEST_P(AttentionTest, PartsOfTheQueriesHaveTheBitsOfTheWhole) {
  for (DType type : floatTypes)
    for (const Attention &a : wholeCases) {
      KernelTensor q = a.makeQuery(type, 1), k = a.makeKey(type, 2),
                   v = a.makeValue(type, 3);
      Tensors whole =
          runKernel("aclnnFlashAttentionScore", a.withSlopes({q, k, v}),
                    a.makeOutputs(type), a.getAttributes());
      for (auto [first, count] : getParts(a.queries)) {
        Attention part = a;
        part.queries = count;
        KernelTensor position(DType::I32, {1});
        position.set(0, static_cast<double>(first));
        Tensors y = runKernel(
            "mfFlashAttentionPart",
            part.withSlopes({takeQueries(q, first, count), k, v, position}),
            part.makeOutputs(type), a.getAttributes());
        for (size_t i = 0; i < 3; ++i)
          EXPECT_TRUE(y[i] == takeQueries(whole[i], first, count))
              << "output " << i << " of rows from " << first << " of "
              << a.queries;
      }
    }
}

/// Query rows have the bits of the whole; keys and values get a sum over parts.
TEST_P(AttentionTest, GradientsOfPartsAddUpToThoseOfTheWhole) {
  for (DType type : floatTypes)
    for (const Attention &a : wholeCases) {
      KernelTensor q = a.makeQuery(type, 1), k = a.makeKey(type, 2),
                   v = a.makeValue(type, 3);
      KernelTensor dy =
          randomTensor(type, {a.batch, a.heads, a.queries, a.valueDim}, 4);
      Tensors y = runKernel("aclnnFlashAttentionScore", a.withSlopes({q, k, v}),
                            a.makeOutputs(type), a.getAttributes());
      Tensors whole = runKernel("aclnnFlashAttentionScoreGrad",
                                a.withSlopes({q, k, v, dy, y[0], y[1], y[2]}),
                                {q, k, v}, a.getAttributes());
      const int64_t ranks = 3, count = a.queries / ranks;
      std::vector<Values> sums = {Values(k.size()), Values(v.size())};
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Attention part = a;
        part.queries = count;
        auto take = [&](const KernelTensor &x) {
          return takeQueries(x, rank * count, count);
        };
        KernelTensor position(DType::I32, {1});
        position.set(0, static_cast<double>(rank * count));
        Tensors gradients =
            runKernel("mfFlashAttentionPartGrad",
                      part.withSlopes({take(q), k, v, take(dy), take(y[0]),
                                       take(y[1]), take(y[2]), position}),
                      {take(q), k, v}, a.getAttributes());
        EXPECT_TRUE(gradients[0] == take(whole[0])) << "rank " << rank;
        for (size_t i = 0; i < 2; ++i)
          for (int64_t j = 0; j < gradients[1 + i].size(); ++j)
            sums[i][j] += gradients[1 + i].get(j);
      }
      for (size_t i = 0; i < 2; ++i)
        expectNear(whole[1 + i], sums[i], 10, type == DType::F32 ? 1e-6 : 0);
    }
}

TEST_P(AttentionTest, APartLiesInsideOfTheKeys) {
  const Attention a{1, 1, 1, 6, 8, 4, 4, false};
  KernelTensor q = a.makeQuery(DType::F32, 1), k = a.makeKey(DType::F32, 2);
  KernelTensor position(DType::I32, {1});
  Tensors last, outside;
  for (double first : {2.0, 2147483647.0, 0.0, -2147483648.0}) {
    position.set(0, first);
    outside = runKernel("mfFlashAttentionPart", {q, k, k, position},
                        a.makeOutputs(DType::F32), {{"scale", 1.0}});
    if (first == 2.0 || first == 0.0)
      last = outside;
    EXPECT_TRUE(last[2] == outside[2]);
  }
}

} // namespace
