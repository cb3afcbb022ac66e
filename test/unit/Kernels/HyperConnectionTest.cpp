//===- HyperConnectionTest.cpp - Sites of residual streams ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

/// A site by its definition, in double.
struct Site {
  int64_t tokens = 1, count = 1, hidden = 1, iterations = 1;
  DType type = DType::F32;
  double least = 1e-6, epsilon = 1e-5;

  int64_t getWidth() const { return count * hidden; }
  int64_t getNumNumbers() const { return count * (count + 2); }
  int64_t getHalves() const { return 2 * std::max<int64_t>(iterations, 1); }

  /// What the layer reads, the shares and the matrices, one behind the other.
  Values run(const Values &x, const Values &weight, const Values &factors,
             const Values &bias) const;
  void normalize(Values &matrix) const;
  /// The new streams.
  Values mix(const Values &x, const Values &mixing, const Values &output,
             const Values &shares) const;

  AttributeMap getAttributes() const {
    return {{"count", count},
            {"iterations", iterations},
            {"least", least},
            {"epsilon", epsilon}};
  }
  KernelTensor wide(Ints last, unsigned seed) const {
    Ints dims = {1, tokens};
    dims.insert(dims.end(), last.begin(), last.end());
    return randomTensor(DType::F32, dims, seed);
  }
  Tensors makeInputs() const {
    return {randomTensor(type, {1, tokens, getWidth()}, 1, -2, 2),
            randomTensor(DType::F32, {getNumNumbers(), getWidth()}, 2),
            randomTensor(DType::F32, {3}, 3),
            randomTensor(DType::F32, {getNumNumbers()}, 4)};
  }
  Tensors makeOutputs() const {
    auto saved = [&](Ints last) {
      Ints dims = {getHalves(), 1, tokens};
      dims.insert(dims.end(), last.begin(), last.end());
      return KernelTensor(DType::F32, dims);
    };
    return {KernelTensor(type, {1, tokens, hidden}),
            wide({count}, 5),
            wide({count, count}, 6),
            wide({count}, 7),
            wide({getNumNumbers()}, 8),
            wide({}, 9),
            saved({count}),
            saved({count, count})};
  }
};

double getGate(double x) { return 1 / (1 + std::exp(-x)); }

void Site::normalize(Values &matrix) const {
  for (int64_t row = 0; row < count; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += std::exp(matrix[row * count + i]);
    for (int64_t i = 0; i < count; ++i)
      matrix[row * count + i] = std::exp(matrix[row * count + i]) / sum + least;
  }
  for (int64_t division = 1; division < getHalves(); ++division) {
    const bool byColumn = division % 2 == 1;
    for (int64_t group = 0; group < count; ++group) {
      auto at = [&](int64_t i) -> double & {
        return matrix[byColumn ? i * count + group : group * count + i];
      };
      double sum = least;
      for (int64_t i = 0; i < count; ++i)
        sum += at(i);
      for (int64_t i = 0; i < count; ++i)
        at(i) /= sum;
    }
  }
}

Values Site::run(const Values &x, const Values &weight, const Values &factors,
                 const Values &bias) const {
  Values result, shares, matrices;
  for (int64_t token = 0; token < tokens; ++token) {
    const double *streams = &x[token * getWidth()];
    double squares = 0;
    for (int64_t i = 0; i < getWidth(); ++i)
      squares += streams[i] * streams[i];
    const double rstd =
        1 / std::sqrt(squares / static_cast<double>(getWidth()) + epsilon);
    Values numbers(getNumNumbers());
    for (int64_t number = 0; number < getNumNumbers(); ++number) {
      double sum = 0;
      for (int64_t i = 0; i < getWidth(); ++i)
        sum += streams[i] * weight[number * getWidth() + i];
      numbers[number] =
          factors[std::min<int64_t>(number / count, 2)] * sum * rstd +
          bias[number];
    }
    for (int64_t i = 0; i < hidden; ++i) {
      double sum = 0;
      for (int64_t stream = 0; stream < count; ++stream)
        sum +=
            (getGate(numbers[stream]) + least) * streams[stream * hidden + i];
      result.push_back(sum);
    }
    for (int64_t stream = 0; stream < count; ++stream)
      shares.push_back(2 * getGate(numbers[count + stream]));
    Values matrix(numbers.begin() + 2 * count, numbers.end());
    normalize(matrix);
    matrices.insert(matrices.end(), matrix.begin(), matrix.end());
  }
  result.insert(result.end(), shares.begin(), shares.end());
  result.insert(result.end(), matrices.begin(), matrices.end());
  return result;
}

Values Site::mix(const Values &x, const Values &mixing, const Values &output,
                 const Values &shares) const {
  Values result;
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t j = 0; j < count; ++j)
      for (int64_t column = 0; column < hidden; ++column) {
        double sum =
            shares[token * count + j] * output[token * hidden + column];
        for (int64_t i = 0; i < count; ++i)
          sum += mixing[(token * count + i) * count + j] *
                 x[token * getWidth() + i * hidden + column];
        result.push_back(sum);
      }
  return result;
}

Values concatenate(const Tensors &tensors, size_t count) {
  Values all;
  for (size_t i = 0; i < count; ++i) {
    const Values own = tensors[i].toVector();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

TEST(HyperConnectionTest, ReadsAndMixesByDefinition) {
  for (DType type : floatTypes)
    for (int64_t count : {1, 2, 4})
      for (int64_t iterations : {0, 1, 3}) {
        const Site site{5, count, 6, iterations, type};
        const Tensors inputs = site.makeInputs();
        const Tensors outputs =
            runKernel("aclnnMhcPreSinkhorn", inputs, site.makeOutputs(),
                      site.getAttributes());
        const Values expected =
            site.run(inputs[0].toVector(), inputs[1].toVector(),
                     inputs[2].toVector(), inputs[3].toVector());
        size_t begin = 0;
        for (size_t i : {0, 1, 2}) {
          const auto size = static_cast<size_t>(outputs[i].size());
          expectNear(outputs[i], {&expected[begin], &expected[begin] + size}, 1,
                     outputs[i].shape.type == DType::F32 ? 1e-5 : 0);
          begin += size;
        }
        // The last matrices are the result, and the first are not divided.
        const int64_t size = outputs[2].size();
        for (int64_t i = 0; i < size; ++i)
          EXPECT_EQ(outputs[7].get(outputs[7].size() - size + i),
                    outputs[2].get(i));

        const Tensors gradients = {
            randomTensor(type, outputs[0].shape.dims, 10),
            randomTensor(DType::F32, outputs[1].shape.dims, 11),
            randomTensor(DType::F32, outputs[2].shape.dims, 12)};
        Tensors backward = gradients;
        backward.insert(backward.end(), inputs.begin(), inputs.end());
        backward.insert(backward.end(), outputs.begin() + 3, outputs.end());
        if (type != DType::F32)
          continue;
        expectGradients(
            runKernel("aclnnMhcPreSinkhornBackward", backward, inputs,
                      {{"least", site.least}}),
            inputs,
            [&](const std::vector<Values> &at) {
              return site.run(at[0], at[1], at[2], at[3]);
            },
            concatenate(gradients, 3), 4, 1e-5);
      }
}

TEST(HyperConnectionTest, AddsSharesToMixedStreams) {
  for (DType type : floatTypes)
    for (int64_t count : {1, 2, 5}) {
      const Site site{4, count, 7, 1, type};
      const Tensors inputs = {randomTensor(type, {1, 4, site.getWidth()}, 1),
                              site.wide({count, count}, 2),
                              randomTensor(type, {1, 4, 7}, 3),
                              site.wide({count}, 4)};
      const Tensors outputs =
          runKernel("aclnnMhcPost", inputs, {inputs[0]}, {});
      expectNear(outputs[0],
                 site.mix(inputs[0].toVector(), inputs[1].toVector(),
                          inputs[2].toVector(), inputs[3].toVector()));
      const KernelTensor gradient =
          randomTensor(type, outputs[0].shape.dims, 5);
      expectGradients(
          runKernel("aclnnMhcPostBackward",
                    {gradient, inputs[0], inputs[1], inputs[2], inputs[3]},
                    inputs, {}),
          inputs,
          [&](const std::vector<Values> &at) {
            return site.mix(at[0], at[1], at[2], at[3]);
          },
          gradient.toVector(), 4, type == DType::F32 ? 1e-5 : 0);
    }
}

} // namespace
