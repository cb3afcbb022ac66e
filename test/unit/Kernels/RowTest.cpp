//===- RowTest.cpp - Norms, softmax, gated unit, rotary -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

Values rmsNorm(const Values &x, const Values &gamma, double epsilon) {
  const size_t columns = gamma.size();
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += columns) {
    double squares = 0;
    for (size_t i = 0; i < columns; ++i)
      squares += x[row + i] * x[row + i];
    double rstd = 1 / std::sqrt(squares / columns + epsilon);
    for (size_t i = 0; i < columns; ++i)
      y[row + i] = x[row + i] * rstd * gamma[i];
  }
  return y;
}

Values layerNorm(const Values &x, const Values &weight, const Values &bias,
                 double epsilon) {
  const size_t columns = weight.size();
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += columns) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < columns; ++i)
      sum += x[row + i];
    const double mean = sum / columns;
    for (size_t i = 0; i < columns; ++i)
      squares += (x[row + i] - mean) * (x[row + i] - mean);
    const double rstd = 1 / std::sqrt(squares / columns + epsilon);
    for (size_t i = 0; i < columns; ++i)
      y[row + i] = (x[row + i] - mean) * rstd * weight[i] + bias[i];
  }
  return y;
}

Values softmax(const Values &x, size_t columns) {
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += columns) {
    double max = *std::max_element(x.begin() + row, x.begin() + row + columns);
    double sum = 0;
    for (size_t i = 0; i < columns; ++i)
      sum += y[row + i] = std::exp(x[row + i] - max);
    for (size_t i = 0; i < columns; ++i)
      y[row + i] /= sum;
  }
  return y;
}

Values swiGlu(const Values &x, size_t half) {
  Values y;
  for (size_t row = 0; row < x.size(); row += 2 * half)
    for (size_t i = 0; i < half; ++i) {
      double gate = x[row + i];
      y.push_back(gate / (1 + std::exp(-gate)) * x[row + half + i]);
    }
  return y;
}

TEST(RmsNormTest, MatchesItsDefinitionAndGammaMayBeOfAnotherType) {
  for (DType type : floatTypes)
    for (DType gammaType : floatTypes)
      for (const Ints &dims : {Ints{1}, Ints{5}, Ints{3, 16}, Ints{2, 40, 100},
                               Ints{70, 768}, Ints{2, 5001}}) {
        KernelTensor x = randomTensor(type, dims, 1, -2, 2);
        KernelTensor gamma = randomTensor(gammaType, {dims.back()}, 2, 0.5, 2);
        Ints rows(dims.begin(), dims.end() - 1);
        Tensors y = runKernel(
            "aclnnRmsNorm", {x, gamma},
            {KernelTensor(type, dims), KernelTensor(DType::F32, rows)},
            {{"epsilon", 1e-5}});
        Values expected = rmsNorm(x.toVector(), gamma.toVector(), 1e-5);
        expectNear(y[0], expected);
        for (int64_t row = 0; row < y[1].size(); ++row) {
          double squares = 0;
          for (int64_t i = 0; i < dims.back(); ++i)
            squares += std::pow(x.get(row * dims.back() + i), 2);
          EXPECT_NEAR(y[1].get(row),
                      1 / std::sqrt(squares / dims.back() + 1e-5), 1e-4);
        }
      }
}

TEST(RmsNormTest, GradientsMatchFiniteDifferences) {
  for (DType type : floatTypes)
    for (const Ints &dims : {Ints{1, 7}, Ints{3, 33}, Ints{41, 20}}) {
      KernelTensor x = randomTensor(type, dims, 1, -2, 2);
      KernelTensor gamma = randomTensor(DType::F32, {dims.back()}, 2, 0.5, 2);
      KernelTensor dy = randomTensor(type, dims, 3);
      Tensors y = runKernel(
          "aclnnRmsNorm", {x, gamma},
          {KernelTensor(type, dims), KernelTensor(DType::F32, {dims[0]})},
          {{"epsilon", 1e-5}});
      Tensors gradients = runKernel(
          "aclnnRmsNormGrad", {dy, x, y[1], gamma},
          {KernelTensor(type, dims), KernelTensor(DType::F32, {dims.back()})});
      expectGradients(
          gradients, {x, gamma},
          [](const std::vector<Values> &at) {
            return rmsNorm(at[0], at[1], 1e-5);
          },
          dy.toVector(), 2);
    }
}

TEST(LayerNormTest, MatchesItsDefinitionAndFactorsMayBeOfAnotherType) {
  for (DType type : floatTypes)
    for (DType factorType : floatTypes)
      for (const Ints &dims :
           {Ints{1}, Ints{5}, Ints{3, 16}, Ints{2, 40, 100}, Ints{2, 5001}}) {
        KernelTensor x = randomTensor(type, dims, 1, -1, 3);
        KernelTensor weight =
            randomTensor(factorType, {dims.back()}, 2, 0.5, 2);
        KernelTensor bias = randomTensor(factorType, {dims.back()}, 3);
        Ints rows(dims.begin(), dims.end() - 1);
        Tensors y =
            runKernel("aclnnLayerNorm", {x, weight, bias},
                      {KernelTensor(type, dims), KernelTensor(DType::F32, rows),
                       KernelTensor(DType::F32, rows)},
                      {{"eps", 1e-5}});
        expectNear(y[0], layerNorm(x.toVector(), weight.toVector(),
                                   bias.toVector(), 1e-5));
        for (int64_t row = 0; row < y[1].size(); ++row) {
          double sum = 0;
          for (int64_t i = 0; i < dims.back(); ++i)
            sum += x.get(row * dims.back() + i);
          EXPECT_NEAR(y[1].get(row), sum / dims.back(), 1e-5);
        }
      }
}

TEST(LayerNormTest, GradientsMatchFiniteDifferences) {
  for (DType type : floatTypes)
    for (const Ints &dims : {Ints{2, 7}, Ints{3, 33}, Ints{41, 20}}) {
      KernelTensor x = randomTensor(type, dims, 1, -1, 3);
      KernelTensor weight = randomTensor(DType::F32, {dims.back()}, 2, 0.5, 2);
      KernelTensor bias = randomTensor(DType::F32, {dims.back()}, 3);
      KernelTensor dy = randomTensor(type, dims, 4),
                   rows(DType::F32, {dims[0]});
      Tensors y =
          runKernel("aclnnLayerNorm", {x, weight, bias},
                    {KernelTensor(type, dims), rows, rows}, {{"eps", 1e-5}});
      KernelTensor columns(DType::F32, {dims.back()});
      Tensors gradients =
          runKernel("aclnnLayerNormBackward", {dy, x, y[1], y[2], weight},
                    {KernelTensor(type, dims), columns, columns});
      Tensors alone =
          runKernel("aclnnLayerNormBackward", {dy, x, y[1], y[2], weight},
                    {KernelTensor(type, dims)});
      EXPECT_EQ(alone[0].toVector(), gradients[0].toVector());
      expectGradients(
          gradients, {x, weight, bias},
          [](const std::vector<Values> &at) {
            return layerNorm(at[0], at[1], at[2], 1e-5);
          },
          dy.toVector(), 2);
    }
}

TEST(SoftmaxTest, MatchesItsDefinition) {
  for (DType type : floatTypes)
    for (const Ints &dims : {Ints{1}, Ints{5}, Ints{3, 16}, Ints{2, 3, 5, 129},
                             Ints{300, 512}, Ints{2, 70000}}) {
      KernelTensor x = randomTensor(type, dims, 1, -20, 20);
      expectNear(runOne("aclnnSoftmax", {x}, KernelTensor(type, dims)),
                 softmax(x.toVector(), dims.back()), 0.1);
    }
}

TEST(SoftmaxTest, GradientMatchesFiniteDifferences) {
  for (DType type : floatTypes)
    for (const Ints &dims : {Ints{2, 7}, Ints{3, 40}}) {
      KernelTensor x = randomTensor(DType::F32, dims, 1, -2, 2);
      KernelTensor dy = randomTensor(type, dims, 2);
      KernelTensor y(type, dims);
      Values exact = softmax(x.toVector(), dims.back());
      for (int64_t i = 0; i < y.size(); ++i)
        y.set(i, exact[i]);
      KernelTensor dx =
          runOne("aclnnSoftmaxBackward", {dy, y}, KernelTensor(type, dims));
      expectNear(dx,
                 differentiate(
                     [&](const Values &at) { return softmax(at, dims.back()); },
                     x.toVector(), dy.toVector()),
                 0.5);
    }
}

/// Sinkhorn's iterations on matrices of `size` rows, in double.
static Values sinkhorn(Values values, int64_t size, int64_t iterations) {
  const double epsilon = 1e-6;
  values = softmax(values, size);
  for (double &value : values)
    value += epsilon;
  auto divide = [&](int64_t step, int64_t next) {
    for (size_t matrix = 0; matrix < values.size();
         matrix += static_cast<size_t>(size * size))
      for (int64_t group = 0; group < size; ++group) {
        double *first = &values[matrix] + group * next;
        double sum = epsilon;
        for (int64_t i = 0; i < size; ++i)
          sum += first[i * step];
        for (int64_t i = 0; i < size; ++i)
          first[i * step] /= sum;
      }
  };
  divide(size, 1);
  for (int64_t i = 1; i < iterations; ++i) {
    divide(1, size);
    divide(size, 1);
  }
  return values;
}

TEST(SinkhornTest, MatchesItsDefinitionAndItsGradient) {
  for (int64_t size : {1, 2, 3, 4, 7})
    for (int64_t iterations : {0, 1, 2, 20}) {
      const Ints dims = {3, 5, size, size};
      const AttributeMap attributes = {{"iterations", iterations},
                                       {"epsilon", 1e-6}};
      KernelTensor x = randomTensor(DType::F32, dims, 1, -3, 3);
      KernelTensor dy = randomTensor(DType::F32, dims, 2);
      KernelTensor y = runOne("mfSinkhorn", {x}, x, attributes);
      expectNear(y, sinkhorn(x.toVector(), size, iterations), 0.5);
      KernelTensor dx = runOne("mfSinkhornBackward", {dy, x}, x, attributes);
      expectNear(
          dx,
          differentiate(
              [&](const Values &at) { return sinkhorn(at, size, iterations); },
              x.toVector(), dy.toVector()),
          0.5);
      // Columns sum to 1 but for epsilon.
      for (int64_t column = 0; column < size; ++column) {
        double sum = 0;
        for (int64_t row = 0; row < size; ++row)
          sum += y.get(row * size + column);
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    }
}

TEST(SinkhornTest, AStrongDiagonalIsTheIdentity) {
  KernelTensor x(DType::F32, {4, 4});
  for (int64_t i = 0; i < 16; ++i)
    x.set(i, i % 5 == 0 ? 0 : -80);
  KernelTensor y = runOne("mfSinkhorn", {x}, x,
                          {{"iterations", int64_t{20}}, {"epsilon", 1e-6}});
  for (int64_t i = 0; i < 16; ++i)
    EXPECT_NEAR(y.get(i), i % 5 == 0 ? 1 : 0, 1e-5);
}

TEST(SwiGluTest, MatchesItsDefinitionAndItsGradient) {
  for (DType type : floatTypes)
    for (const Ints &dims :
         {Ints{2}, Ints{3, 14}, Ints{4, 70}, Ints{33, 160}}) {
      Ints half = dims;
      half.back() /= 2;
      KernelTensor x = randomTensor(type, dims, 1, -4, 4);
      KernelTensor dy = randomTensor(type, half, 2);
      expectNear(runOne("aclnnSwiGlu", {x}, KernelTensor(type, half)),
                 swiGlu(x.toVector(), half.back()));
      if (x.size() > 400)
        continue;
      expectNear(runOne("aclnnSwiGluGrad", {dy, x}, KernelTensor(type, dims)),
                 differentiate(
                     [&](const Values &at) { return swiGlu(at, half.back()); },
                     x.toVector(), dy.toVector()));
    }
}

TEST(SwiGluTest, TakesGateAndValueAsRows) {
  for (DType type : floatTypes) {
    const Ints packed = {5, 12}, rows = {5, 2, 6}, half = {5, 6};
    KernelTensor x = randomTensor(type, packed, 1, -4, 4);
    KernelTensor dy = randomTensor(type, half, 2);
    KernelTensor same = randomTensor(type, rows, 1, -4, 4);
    EXPECT_EQ(
        runOne("aclnnSwiGlu", {same}, KernelTensor(type, half)).toVector(),
        runOne("aclnnSwiGlu", {x}, KernelTensor(type, half)).toVector());
    EXPECT_EQ(runOne("aclnnSwiGluGrad", {dy, same}, KernelTensor(type, rows))
                  .toVector(),
              runOne("aclnnSwiGluGrad", {dy, x}, KernelTensor(type, packed))
                  .toVector());
  }
}

/// Rotates columns of x by tables, which repeat over their dimensions of one
/// element, and over dimensions that they do not have.
struct RotaryCase {
  Ints dims, table;
  int64_t start = 0;
  bool interleaved = false;

  Values run(const Values &x, const Values &cos, const Values &sin) const {
    const int64_t columns = dims.back(), rotated = table.back();
    Values y = x;
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
      const int64_t column = i % columns - start;
      if (column < 0 || column >= rotated)
        continue;
      int64_t place = column, row = i / columns, step = rotated;
      for (size_t dim = dims.size() - 1; dim-- > 0; row /= dims[dim]) {
        const size_t missing = dims.size() - table.size();
        const int64_t count = dim < missing ? 1 : table[dim - missing];
        place += count == 1 ? 0 : row % dims[dim] * step;
        step *= count;
      }
      const bool isFirst = interleaved ? column % 2 == 0 : column < rotated / 2;
      const int64_t distance = interleaved ? 1 : rotated / 2;
      const double other = isFirst ? -x[i + distance] : x[i - distance];
      y[i] = x[i] * cos[place] + other * sin[place];
    }
    return y;
  }
};

std::vector<RotaryCase> getRotaryCases() {
  std::vector<RotaryCase> cases;
  for (int64_t dim : {2, 8, 34, 64, 128})
    for (const Ints &table :
         {Ints{5, dim}, Ints{1, 1, 5, dim}, Ints{2, 1, 5, dim}})
      cases.push_back({{2, 3, 5, dim}, table});
  // Rows of another order of dimensions, of which a part is rotated.
  for (int64_t rotated : {2, 6, 34, 64})
    for (int64_t start : {0, 3})
      for (bool interleaved : {false, true})
        cases.push_back(
            {{2, 5, 3, rotated + 5}, {5, 1, rotated}, start, interleaved});
  cases.push_back({{2, 5, 3, 8}, {5, 1, 8}});
  return cases;
}

TEST(RotaryTest, MatchesItsDefinitionAndItsGradient) {
  for (const RotaryCase &rotary : getRotaryCases())
    for (DType type : floatTypes)
      for (DType tableType : {type, DType::F32}) {
        const KernelTensor x = randomTensor(type, rotary.dims, 1),
                           cos = randomTensor(tableType, rotary.table, 2),
                           sin = randomTensor(tableType, rotary.table, 3);
        AttributeMap attributes;
        if (rotary.dims.back() != rotary.table.back())
          attributes = {{"interleaved", rotary.interleaved},
                        {"start", rotary.start}};
        auto forward = [&](const Values &at) {
          return rotary.run(at, cos.toVector(), sin.toVector());
        };
        expectNear(runOne("aclnnRotaryPositionEmbedding", {x, cos, sin}, x,
                          attributes),
                   forward(x.toVector()));
        if (rotary.table.back() > 34)
          continue;
        const KernelTensor dy = randomTensor(type, rotary.dims, 4);
        expectNear(runOne("aclnnRotaryPositionEmbeddingGrad", {dy, cos, sin}, x,
                          attributes),
                   differentiate(forward, x.toVector(), dy.toVector()));
      }
}

} // namespace
