//===- RowTest.cpp - Norm, softmax, gated unit, rotary
//
// SPDX-License-Identifier: Apache-2.0
//---------------------===//

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
      expectNear(gradients[0], differentiate(
                                   [&](const Values &at) {
                                     return rmsNorm(at, gamma.toVector(), 1e-5);
                                   },
                                   x.toVector(), dy.toVector()));
      expectNear(
          gradients[1],
          differentiate(
              [&](const Values &at) { return rmsNorm(x.toVector(), at, 1e-5); },
              gamma.toVector(), dy.toVector()),
          2, 1e-5);
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
      const Values at[] = {x.toVector(), weight.toVector(), bias.toVector()};
      for (size_t index = 0; index < 3; ++index) {
        Values expected = differentiate(
            [&](const Values &value) {
              Values operands[] = {at[0], at[1], at[2]};
              operands[index] = value;
              return layerNorm(operands[0], operands[1], operands[2], 1e-5);
            },
            at[index], dy.toVector());
        if (index == 0)
          expectNear(gradients[index], expected);
        else
          expectNear(gradients[index], expected, 2, 1e-5);
      }
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

TEST(SoftmaxTest, MaskedColumnsGetZeroAndLargeScoresDoNotOverflow) {
  KernelTensor x(DType::F32, {1, 20});
  x.fill(-INFINITY);
  x.set(3, 5000);
  x.set(7, 5000);
  KernelTensor y = runOne("aclnnSoftmax", {x}, x);
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(y.get(i), i == 3 || i == 7 ? 0.5 : 0);
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

/// The bits must not change when the operators are fused.
TEST(SwiGluTest, HasTheBitsOfItsTwoOperators) {
  const Ints rows = {7, 2, 19}, half = {7, 19};
  KernelTensor x = randomTensor(DType::F32, rows, 1, -4, 4);
  KernelTensor dy = randomTensor(DType::F32, half, 2);
  KernelTensor gate(DType::F32, half), up(DType::F32, half);
  for (int64_t i = 0; i < gate.size(); ++i) {
    gate.set(i, x.get(i / 19 * 38 + i % 19));
    up.set(i, x.get(i / 19 * 38 + 19 + i % 19));
  }
  KernelTensor silu = runOne("aclnnSilu", {gate}, gate);
  EXPECT_EQ(runOne("aclnnSwiGlu", {x}, gate).toVector(),
            runOne("aclnnMul", {silu, up}, gate).toVector());
  KernelTensor dsilu = runOne("aclnnMul", {dy, up}, gate);
  KernelTensor dgate = runOne("aclnnSiluBackward", {dsilu, gate}, gate);
  KernelTensor dup = runOne("aclnnMul", {dy, silu}, gate);
  KernelTensor dx = runOne("aclnnSwiGluGrad", {dy, x}, x);
  for (int64_t i = 0; i < gate.size(); ++i) {
    EXPECT_EQ(dx.get(i / 19 * 38 + i % 19), dgate.get(i));
    EXPECT_EQ(dx.get(i / 19 * 38 + 19 + i % 19), dup.get(i));
  }
}

Values rotate(const Values &x, const Values &cos, const Values &sin,
              int64_t headsPerTable, int64_t sequence, int64_t dim) {
  Values y(x.size());
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    int64_t column = i % dim, position = i / dim % sequence;
    int64_t head = i / dim / sequence;
    int64_t table = (head / headsPerTable * sequence + position) * dim + column;
    double other = column < dim / 2 ? -x[i + dim / 2] : x[i - dim / 2];
    y[i] = x[i] * cos[table] + other * sin[table];
  }
  return y;
}

TEST(RotaryTest, MatchesItsDefinitionAndItsGradient) {
  for (DType type : floatTypes)
    for (DType tableType : {type, DType::F32})
      for (int64_t dim : {2, 8, 34, 64, 128})
        for (const Ints &leading : {Ints{}, Ints{1, 1}, Ints{2, 1}}) {
          const Ints dims = {2, 3, 5, dim};
          Ints table = leading;
          table.insert(table.end(), {5, dim});
          int64_t headsPerTable = leading == Ints{2, 1} ? 3 : 6;
          KernelTensor x = randomTensor(type, dims, 1);
          KernelTensor cos = randomTensor(tableType, table, 2);
          KernelTensor sin = randomTensor(tableType, table, 3);
          auto forward = [&](const Values &at) {
            return rotate(at, cos.toVector(), sin.toVector(), headsPerTable, 5,
                          dim);
          };
          expectNear(runOne("aclnnRotaryPositionEmbedding", {x, cos, sin},
                            KernelTensor(type, dims)),
                     forward(x.toVector()));
          if (dim > 34)
            continue;
          KernelTensor dy = randomTensor(type, dims, 4);
          expectNear(runOne("aclnnRotaryPositionEmbeddingGrad", {dy, cos, sin},
                            KernelTensor(type, dims)),
                     differentiate(forward, x.toVector(), dy.toVector()));
        }
}

/// x is [batch, sequence, heads, dim], the tables are [sequence, 1, dim]: those
/// of heads in another order.
TEST(RotaryTest, RepeatsTablesOverDimensionsOfOneElement) {
  for (DType type : floatTypes) {
    KernelTensor x = randomTensor(type, {2, 5, 3, 8}, 1);
    KernelTensor cos = randomTensor(DType::F32, {5, 1, 8}, 2);
    KernelTensor sin = randomTensor(DType::F32, {5, 1, 8}, 3);
    KernelTensor y = runOne("aclnnRotaryPositionEmbedding", {x, cos, sin}, x);
    for (int64_t i = 0; i < x.size(); ++i) {
      int64_t column = i % 8, table = i / 24 % 5 * 8 + column;
      double other = column < 4 ? -x.get(i + 4) : x.get(i - 4);
      EXPECT_NEAR(y.get(i), x.get(i) * cos.get(table) + other * sin.get(table),
                  type == DType::BF16 ? 1e-2 : 1e-3);
    }
  }
}

/// x is [2, 5, 3, columns], the tables are [5, 1, rotated].
Values rotatePart(const Values &x, const Values &cos, const Values &sin,
                  int64_t columns, int64_t start, int64_t rotated,
                  bool interleaved) {
  Values y = x;
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    const int64_t column = i % columns - start;
    if (column < 0 || column >= rotated)
      continue;
    const bool isFirst = interleaved ? column % 2 == 0 : column < rotated / 2;
    const int64_t distance = interleaved ? 1 : rotated / 2;
    const double other = isFirst ? -x[i + distance] : x[i - distance];
    const int64_t table = i / columns / 3 % 5 * rotated + column;
    y[i] = x[i] * cos[table] + other * sin[table];
  }
  return y;
}

TEST(RotaryTest, RotatesAPartOfEachRow) {
  for (DType type : floatTypes)
    for (DType tableType : {type, DType::F32})
      for (int64_t rotated : {2, 6, 34, 64})
        for (int64_t start : {0, 3})
          for (bool interleaved : {false, true}) {
            const int64_t columns = rotated + 5;
            const Ints dims = {2, 5, 3, columns};
            KernelTensor x = randomTensor(type, dims, 1);
            KernelTensor cos = randomTensor(tableType, {5, 1, rotated}, 2);
            KernelTensor sin = randomTensor(tableType, {5, 1, rotated}, 3);
            auto forward = [&](const Values &at) {
              return rotatePart(at, cos.toVector(), sin.toVector(), columns,
                                start, rotated, interleaved);
            };
            const AttributeMap attributes = {{"interleaved", interleaved},
                                             {"start", start}};
            expectNear(runKernel("aclnnRotaryPositionEmbedding", {x, cos, sin},
                                 {KernelTensor(type, dims)}, attributes)[0],
                       forward(x.toVector()));
            if (rotated > 6)
              continue;
            KernelTensor dy = randomTensor(type, dims, 4);
            expectNear(runKernel("aclnnRotaryPositionEmbeddingGrad",
                                 {dy, cos, sin}, {KernelTensor(type, dims)},
                                 attributes)[0],
                       differentiate(forward, x.toVector(), dy.toVector()));
          }
}

} // namespace
