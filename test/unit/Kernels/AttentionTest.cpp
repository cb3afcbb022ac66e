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
  /// Where the documents of each sample begin: a query sees no key before its
  /// own. None if each sample is one.
  std::vector<Ints> documents = {};
  /// The share of probabilities that are dropped.
  double rate = 0;

  AttributeMap getAttributes() const {
    AttributeMap attributes = {{"scale", scale}, {"causal", causal}};
    if (rate > 0)
      attributes["rate"] = rate;
    return attributes;
  }
  /// Which probabilities are kept.
  KernelTensor makeMask() const {
    KernelTensor mask(DType::I1, {batch, heads, queries, keys});
    std::mt19937 random(9);
    for (int64_t i = 0; i < mask.size(); ++i)
      mask.set(i, random() % 2);
    return mask;
  }
  int64_t getStart(int64_t sample, int64_t query) const {
    int64_t start = 0;
    if (!documents.empty())
      for (int64_t first : documents[sample])
        start = first <= query ? first : start;
    return start;
  }
  /// `inputs` and the optional operands of queries from `first` on.
  Tensors withOptional(Tensors inputs, int64_t first = 0) const {
    if (!slopes.empty())
      inputs.push_back(makeRow(DType::F32, slopes));
    if (rate > 0)
      inputs.push_back(makeMask());
    if (!documents.empty()) {
      KernelTensor &starts =
          inputs.emplace_back(DType::I32, Ints{batch, queries});
      for (int64_t i = 0; i < starts.size(); ++i)
        starts.set(
            i, static_cast<double>(getStart(i / queries, first + i % queries)));
    }
    return inputs;
  }
  /// The keys that a query sees: from the first on, and before the second.
  std::pair<int64_t, int64_t> getSeen(int64_t head, int64_t query) const {
    return {getStart(head / heads, query),
            causal ? query + 1 + keys - queries : keys};
  }
  /// The factors of probabilities, by head, query and key.
  Values getKept() const {
    Values kept(batch * heads * queries * keys, 1.0);
    if (rate > 0)
      kept = makeMask().toVector();
    for (double &factor : kept)
      factor /= 1 - rate;
    return kept;
  }
  /// The bias on a scaled score; `head` counts those of all batches.
  double getBias(int64_t head, int64_t query, int64_t key) const {
    auto distance = static_cast<double>(key - query - (keys - queries));
    return slopes.empty() ? 0 : slopes[head % heads] * distance;
  }
  /// The first query and their number of parts, as ranks of context parallel
  /// training have them, and of one that begins and ends anywhere.
  std::vector<std::pair<int64_t, int64_t>> getParts() const {
    if (queries != keys || queries < 3 || rate > 0)
      return {};
    return {{queries / 5, queries / 2},
            {0, queries / 3},
            {queries - queries / 3, queries / 3}};
  }
  Attention getPart(int64_t count) const {
    Attention part = *this;
    part.queries = count;
    return part;
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
  const Values kept = a.getKept();
  for (int64_t head = 0; head < a.batch * a.heads; ++head) {
    int64_t keyHead = head / (a.heads / a.keyHeads);
    for (int64_t i = 0; i < a.queries; ++i) {
      const auto [first, end] = a.getSeen(head, i);
      const int64_t query = head * a.queries + i;
      Values scores(end), row(a.valueDim);
      for (int64_t j = first; j < end; ++j) {
        for (int64_t d = 0; d < a.dim; ++d)
          scores[j] +=
              q[query * a.dim + d] * k[(keyHead * a.keys + j) * a.dim + d];
        scores[j] = scores[j] * a.scale + a.getBias(head, i, j);
      }
      double max = *std::max_element(scores.begin() + first, scores.end()),
             sum = 0;
      for (int64_t j = first; j < end; ++j) {
        double e = std::exp(scores[j] - max);
        sum += e;
        e *= kept[query * a.keys + j];
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

/// Of two samples of about 700 tokens.
const std::vector<Ints> documents = {{0, 1, 64, 100, 620}, {0, 650}};

const Attention forwardCases[] = {
    {1, 1, 1, 1, 1, 1, 1, true},
    {1, 1, 1, 5, 5, 3, 7, true},
    {1, 2, 1, 64, 64, 16, 16, false, 0.3, {-0.002, 0.004}},
    {2, 4, 2, 130, 130, 32, 32, true},
    {1, 2, 2, 70, 600, 20, 24, true},
    {1, 1, 1, 1200, 1200, 16, 16, true},
    {1, 3, 1, 65, 1030, 64, 64, false},
    {2, 3, 1, 130, 600, 16, 16, true, 0.3, {0.25, 0.01, 0}},
    {1, 2, 2, 70, 1030, 16, 8, false, 0.3, {-0.002, 0.004}},
    {1, 6, 2, 300, 301, 80, 33, true},
    {2, 2, 1, 40, 70, 7, 65, false, -0.5},
    {1, 1, 1, 33, 33, 16, 16, true, 0},
    {2, 4, 2, 700, 700, 16, 24, true, 0.3, {}, documents},
    {2, 2, 1, 700, 700, 16, 24, true, 0.3, {0.1, 0.02}, documents},
    {1, 2, 2, 70, 530, 16, 16, true, 0.3, {}, {}, 0.5},
};

/// Parts of the queries have the bits of the whole.
TEST_P(AttentionTest, MatchesSoftmaxOfAllScores) {
  for (DType type : floatTypes)
    for (const Attention &a : forwardCases) {
      KernelTensor q = a.makeQuery(type, 1), k = a.makeKey(type, 2),
                   v = a.makeValue(type, 3);
      Tensors y =
          runKernel("aclnnFlashAttentionScore", a.withOptional({q, k, v}),
                    a.makeOutputs(type), a.getAttributes());
      Result expected = attend(a, q.toVector(), k.toVector(), v.toVector());
      expectNear(y[0], expected.max);
      expectNear(y[1], expected.sum, 10);
      expectNear(y[2], expected.out);
      for (auto [first, count] : a.getParts()) {
        const Attention part = a.getPart(count);
        const Tensors ofPart =
            runKernel("mfFlashAttentionPart",
                      part.withOptional({takeRange(q, 2, first, count), k, v,
                                         makePosition(first)},
                                        first),
                      part.makeOutputs(type), a.getAttributes());
        for (size_t i = 0; i < 3; ++i)
          EXPECT_TRUE(ofPart[i] == takeRange(y[i], 2, first, count))
              << "output " << i << " of rows from " << first << " of "
              << a.queries;
      }
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
  const Values kept = a.getKept();
  Gradients g{Values(q.size()), Values(k.size()), Values(v.size())};
  for (int64_t head = 0; head < a.batch * a.heads; ++head) {
    int64_t keyHead = head / (a.heads / a.keyHeads);
    for (int64_t i = 0; i < a.queries; ++i) {
      int64_t row = head * a.queries + i;
      const auto [first, end] = a.getSeen(head, i);
      double delta = 0;
      for (int64_t d = 0; d < a.valueDim; ++d)
        delta += dout[row * a.valueDim + d] * forward.out[row * a.valueDim + d];
      for (int64_t j = first; j < end; ++j) {
        int64_t key = keyHead * a.keys + j;
        double score = 0, slope = 0;
        for (int64_t d = 0; d < a.dim; ++d)
          score += q[row * a.dim + d] * k[key * a.dim + d];
        double p = std::exp(score * a.scale + a.getBias(head, i, j) -
                            forward.max[row]) /
                   forward.sum[row];
        const double factor = kept[row * a.keys + j];
        for (int64_t d = 0; d < a.valueDim; ++d) {
          slope +=
              factor * dout[row * a.valueDim + d] * v[key * a.valueDim + d];
          g.dv[key * a.valueDim + d] += p * factor * dout[row * a.valueDim + d];
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

/// Gradients of the parts of two ranks: query rows have the bits of the whole,
/// keys and values get a sum over parts.
void expectGradientsOfParts(const Attention &a, const Tensors &inputs,
                            const Tensors &whole) {
  const int64_t count = a.queries / 2;
  const Attention part = a.getPart(count);
  std::vector<Values> sums = {Values(whole[1].size()), Values(whole[2].size())};
  for (int64_t first : {int64_t{0}, count}) {
    Tensors own = inputs;
    // All but keys and values.
    for (size_t i : {0, 3, 4, 5, 6})
      own[i] = takeRange(inputs[i], 2, first, count);
    own.push_back(makePosition(first));
    const Tensors gradients =
        runKernel("mfFlashAttentionPartGrad", part.withOptional(own, first),
                  {own[0], own[1], own[2]}, a.getAttributes());
    EXPECT_TRUE(gradients[0] == takeRange(whole[0], 2, first, count))
        << "rows from " << first << " of " << a.queries;
    for (size_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < gradients[1 + i].size(); ++j)
        sums[i][j] += gradients[1 + i].get(j);
  }
  for (size_t i = 0; i < 2; ++i)
    expectNear(whole[1 + i], sums[i], 10,
               inputs[0].shape.type == DType::F32 ? 1e-6 : 0);
}

TEST(AttentionReferenceTest, MatchesFiniteDifferences) {
  Attention a{1, 2, 1, 3, 5, 4, 3, true, 0.3, {0.5, 0.1}, {{0, 1}}, 0.25};
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
      // Without a unit the sums of dk and dv would need 1.5 MiB for each head.
      {1, 8, 8, 64, 1600, 120, 120, false},
      {2, 4, 2, 700, 700, 16, 24, true, 0.3, {}, documents},
      {2, 2, 1, 700, 700, 16, 24, true, 0.3, {0.1, 0.02}, documents},
      {1, 2, 2, 70, 530, 16, 16, true, 0.3, {}, {}, 0.5},
  };
  for (DType type : floatTypes)
    for (const Attention &a : cases) {
      KernelTensor q = a.makeQuery(type, 1), k = a.makeKey(type, 2),
                   v = a.makeValue(type, 3);
      KernelTensor dout =
          randomTensor(type, {a.batch, a.heads, a.queries, a.valueDim}, 4);
      const Tensors y =
          runKernel("aclnnFlashAttentionScore", a.withOptional({q, k, v}),
                    a.makeOutputs(type), a.getAttributes());
      const Tensors inputs = {q, k, v, dout, y[0], y[1], y[2]};
      const Tensors gradients =
          runKernel("aclnnFlashAttentionScoreGrad", a.withOptional(inputs),
                    {q, k, v}, a.getAttributes());
      if (!a.getParts().empty())
        expectGradientsOfParts(a, inputs, gradients);
      Gradients expected = differentiateAttention(
          a, q.toVector(), k.toVector(), v.toVector(), dout.toVector());
      expectNear(gradients[0], expected.dq);
      expectNear(gradients[1], expected.dk, 2);
      expectNear(gradients[2], expected.dv, 2);
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
