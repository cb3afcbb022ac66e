//===- CrossEntropyTest.cpp - The loss and its gradient
//
// SPDX-License-Identifier: Apache-2.0
//--------------------===//

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

struct ExpectedLoss {
  double loss = 0, count = 0;
  Values logSumExp;
};

ExpectedLoss crossEntropy(const Values &logits, const KernelTensor &labels,
                          int64_t classes, int64_t ignoreIndex) {
  ExpectedLoss result;
  for (int64_t row = 0; row < labels.size(); ++row) {
    auto begin = logits.begin() + row * classes;
    double max = *std::max_element(begin, begin + classes), sum = 0;
    for (int64_t i = 0; i < classes; ++i)
      sum += std::exp(begin[i] - max);
    result.logSumExp.push_back(max + std::log(sum));
    int64_t label = static_cast<int64_t>(labels.get(row));
    if (label == ignoreIndex || label < 0 || label >= classes)
      continue;
    result.loss += result.logSumExp.back() - begin[label];
    ++result.count;
  }
  result.loss /= result.count + 1e-8;
  return result;
}

TEST(CrossEntropyTest, MatchesItsDefinitionAndItsGradient) {
  for (DType type : floatTypes)
    for (const Ints &dims :
         {Ints{1, 1}, Ints{4, 5}, Ints{7, 100}, Ints{90, 1000}})
      for (int64_t ignoreIndex : {-100, 2}) {
        const int64_t rows = dims[0], classes = dims[1];
        KernelTensor logits = randomTensor(type, dims, 1, -5, 5);
        KernelTensor labels = randomIndices({rows}, 2, 0, classes - 1);
        if (rows > 4) {
          labels.set(1, static_cast<double>(ignoreIndex));
          labels.set(2, -3);
          labels.set(3, static_cast<double>(classes));
        }
        AttributeMap attributes = {{"ignore_index", ignoreIndex}};
        Tensors y = runKernel("aclnnCrossEntropyLoss", {logits, labels},
                              {KernelTensor(DType::F32, {}),
                               KernelTensor(DType::F32, {rows}),
                               KernelTensor(DType::F32, {})},
                              attributes);
        ExpectedLoss expected =
            crossEntropy(logits.toVector(), labels, classes, ignoreIndex);
        EXPECT_NEAR(y[0].get(0), expected.loss, 1e-5 * (1 + expected.loss));
        expectNear(y[1], expected.logSumExp);
        EXPECT_EQ(y[2].get(0), expected.count);
        if (logits.size() > 1000)
          continue;
        KernelTensor scale(DType::F32, {});
        scale.set(0, 3);
        KernelTensor dx = runOne("aclnnCrossEntropyLossGrad",
                                 {scale, logits, labels, y[1], y[2]},
                                 KernelTensor(type, dims), attributes);
        expectNear(
            dx,
            differentiate(
                [&](const Values &at) {
                  return Values{
                      crossEntropy(at, labels, classes, ignoreIndex).loss};
                },
                logits.toVector(), {3}),
            0.5);
      }
}

/// Columns [first, first + count) of logits.
KernelTensor takeColumns(const KernelTensor &x, int64_t first, int64_t count) {
  const int64_t rows = x.shape.dims[0], columns = x.shape.dims[1];
  KernelTensor part(x.shape.type, {rows, count});
  for (int64_t i = 0; i < rows * count; ++i)
    part.set(i, x.get(i / count * columns + first + i % count));
  return part;
}

/// The loss on `parts` ranks that share the classes out, with sums between them
/// made here; then logarithms and count.
Tensors runLossOfParts(const KernelTensor &logits, const KernelTensor &labels,
                       int64_t parts, int64_t ignoreIndex) {
  const int64_t rows = logits.shape.dims[0], classes = logits.shape.dims[1];
  const int64_t size = classes / parts;
  const KernelTensor none(DType::F32, {rows});
  KernelTensor max = none, sum = none, picked = none;
  max.fill(-1e30);
  Tensors own;
  for (int64_t part = 0; part < parts; ++part) {
    own.push_back(takeColumns(logits, part * size, size));
    KernelTensor of = runOne("mfRowMax", {own.back()}, none);
    for (int64_t row = 0; row < rows; ++row)
      max.set(row, std::max(max.get(row), of.get(row)));
  }
  for (int64_t part = 0; part < parts; ++part) {
    KernelTensor first(DType::I32, {1});
    first.set(0, static_cast<double>(part * size));
    KernelTensor e = runOne("mfRowExponentialSum", {own[part], max}, none);
    KernelTensor p = runOne("mfPickLogit", {own[part], labels, first}, none);
    for (int64_t row = 0; row < rows; ++row) {
      sum.set(row, sum.get(row) + e.get(row));
      picked.set(row, picked.get(row) + p.get(row));
    }
  }
  Tensors loss =
      runKernel("mfCrossEntropyRows", {labels, max, sum, picked},
                {KernelTensor(DType::F32, {2}), none},
                {{"ignore_index", ignoreIndex}, {"classes", classes}});
  Tensors mean =
      runKernel("mfMeanLoss", {loss[0]},
                {KernelTensor(DType::F32, {}), KernelTensor(DType::F32, {})});
  return {mean[0], loss[1], mean[1]};
}

TEST(CrossEntropyTest, PartsOfTheClassesGiveTheLossAndGradientOfTheWhole) {
  for (DType type : floatTypes)
    for (int64_t parts : {1, 2, 3, 4})
      for (const int64_t ignoreIndex : {-100, 2}) {
        const int64_t rows = 37, classes = 12 * parts, size = 12;
        KernelTensor logits = randomTensor(type, {rows, classes}, 1, -5, 5);
        KernelTensor labels = randomIndices({rows}, 2, -1, classes);
        const AttributeMap attributes = {{"ignore_index", ignoreIndex}};
        const Tensors outputs = {KernelTensor(DType::F32, {}),
                                 KernelTensor(DType::F32, {rows}),
                                 KernelTensor(DType::F32, {})};
        Tensors whole = runKernel("aclnnCrossEntropyLoss", {logits, labels},
                                  outputs, attributes);
        Tensors y = runLossOfParts(logits, labels, parts, ignoreIndex);
        EXPECT_NEAR(y[0].get(0), whole[0].get(0), 1e-6 * whole[0].get(0));
        expectNear(y[1], whole[1].toVector(), 1, 1e-6);
        EXPECT_TRUE(y[2] == whole[2]);

        KernelTensor scale(DType::F32, {});
        scale.set(0, 3);
        KernelTensor dx = runOne("aclnnCrossEntropyLossGrad",
                                 {scale, logits, labels, whole[1], whole[2]},
                                 logits, attributes);
        for (int64_t part = 0; part < parts; ++part) {
          KernelTensor first(DType::I32, {1});
          first.set(0, static_cast<double>(part * size));
          KernelTensor own = takeColumns(logits, part * size, size);
          EXPECT_TRUE(
              runOne("mfCrossEntropyPartGrad",
                     {scale, own, labels, whole[1], whole[2], first}, own,
                     {{"ignore_index", ignoreIndex}, {"classes", classes}}) ==
              takeColumns(dx, part * size, size));
        }
      }
}

/// Rows that ranks share out: the sums are those that the whole divides.
TEST(CrossEntropyTest, TheSumDividedIsTheLoss) {
  for (DType type : floatTypes) {
    KernelTensor logits = randomTensor(type, {29, 40}, 1, -5, 5);
    KernelTensor labels = randomIndices({29}, 2, -1, 40);
    const KernelTensor scalar(DType::F32, {}), rows(DType::F32, {29});
    Tensors whole = runKernel("aclnnCrossEntropyLoss", {logits, labels},
                              {scalar, rows, scalar});
    Tensors sum = runKernel("mfCrossEntropySum", {logits, labels},
                            {KernelTensor(DType::F32, {2}), rows});
    Tensors mean = runKernel("mfMeanLoss", {sum[0]}, {scalar, scalar});
    EXPECT_TRUE(mean[0] == whole[0] && sum[1] == whole[1] &&
                mean[1] == whole[2]);
  }
}

/// Rows with the ignored label, and with none of the classes, do not count.
TEST(CrossEntropyTest, LabelsOfTheWholeAreCounted) {
  KernelTensor labels(DType::I32, {6}), sums(DType::F32, {2});
  const double values[] = {0, 3, 2, 4, -1, 1};
  for (int64_t row = 0; row < 6; ++row)
    labels.set(row, values[row]);
  sums.set(0, 7);
  sums.set(1, 1);
  EXPECT_EQ(runOne("mfCountLabels", {labels}, sums,
                   {{"ignore_index", int64_t{2}}, {"classes", int64_t{4}}})
                .toVector(),
            (Values{7, 3}));
}

TEST(CrossEntropyTest, NothingCountsAndTheLossIsZero) {
  KernelTensor logits = randomTensor(DType::F32, {3, 9}, 1);
  KernelTensor labels(DType::I32, {3});
  labels.fill(-100);
  Tensors y =
      runKernel("aclnnCrossEntropyLoss", {logits, labels},
                {KernelTensor(DType::F32, {}), KernelTensor(DType::F32, {3}),
                 KernelTensor(DType::F32, {})});
  EXPECT_EQ(y[0].get(0), 0);
  KernelTensor scale(DType::F32, {});
  scale.set(0, 1);
  KernelTensor dx =
      runOne("aclnnCrossEntropyLossGrad", {scale, logits, labels, y[1], y[2]},
             KernelTensor(DType::F32, {3, 9}));
  EXPECT_EQ(dx.toVector(), Values(27, 0.0));
}

} // namespace
