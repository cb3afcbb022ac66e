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

/// Memory for the loss, the logarithms of rows and their number.
Tensors makeLoss(int64_t rows) {
  return {makeScalar(0), KernelTensor(DType::F32, {rows}), makeScalar(0)};
}

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

/// The loss of the kernels for ranks that share the classes out, on a rank that
/// has all classes; then logarithms and count. PartsTest has some of them.
Tensors runLossOfParts(const KernelTensor &logits, const KernelTensor &labels,
                       const AttributeMap &attributes) {
  const KernelTensor none(DType::F32, {labels.size()});
  const KernelTensor max = runOne("mfRowMax", {logits}, none);
  const KernelTensor sum = runOne("mfRowExponentialSum", {logits, max}, none);
  const KernelTensor picked =
      runOne("mfPickLogit", {logits, labels, makePosition(0)}, none);
  const Tensors rows =
      runKernel("mfCrossEntropyRows", {labels, max, sum, picked},
                {KernelTensor(DType::F32, {2}), none}, attributes);
  const Tensors mean =
      runKernel("mfMeanLoss", {rows[0]}, {makeScalar(0), makeScalar(0)});
  return {mean[0], rows[1], mean[1]};
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
                              makeLoss(rows), attributes);
        ExpectedLoss expected =
            crossEntropy(logits.toVector(), labels, classes, ignoreIndex);
        EXPECT_NEAR(y[0].get(0), expected.loss, 1e-5 * (1 + expected.loss));
        expectNear(y[1], expected.logSumExp);
        EXPECT_EQ(y[2].get(0), expected.count);

        AttributeMap partAttributes = attributes;
        partAttributes["classes"] = classes;
        const Tensors ofParts = runLossOfParts(logits, labels, partAttributes);
        EXPECT_NEAR(ofParts[0].get(0), y[0].get(0), 1e-6 * y[0].get(0));
        expectNear(ofParts[1], y[1].toVector(), 1, 1e-6);
        EXPECT_TRUE(ofParts[2] == y[2]);
        if (logits.size() > 1000)
          continue;
        const KernelTensor scale = makeScalar(3);
        KernelTensor dx = runOne("aclnnCrossEntropyLossGrad",
                                 {scale, logits, labels, y[1], y[2]},
                                 KernelTensor(type, dims), attributes);
        EXPECT_TRUE(runOne("mfCrossEntropyPartGrad",
                           {scale, logits, labels, y[1], y[2], makePosition(0)},
                           dx, partAttributes) == dx);
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

/// Rows that ranks share out: the sums are those that the whole divides.
TEST(CrossEntropyTest, TheSumDividedIsTheLoss) {
  for (DType type : floatTypes) {
    KernelTensor logits = randomTensor(type, {29, 40}, 1, -5, 5);
    KernelTensor labels = randomIndices({29}, 2, -1, 40);
    const KernelTensor scalar = makeScalar(0), rows(DType::F32, {29});
    Tensors whole =
        runKernel("aclnnCrossEntropyLoss", {logits, labels}, makeLoss(29));
    Tensors sum = runKernel("mfCrossEntropySum", {logits, labels},
                            {KernelTensor(DType::F32, {2}), rows});
    Tensors mean = runKernel("mfMeanLoss", {sum[0]}, {scalar, scalar});
    EXPECT_TRUE(mean[0] == whole[0] && sum[1] == whole[1] &&
                mean[1] == whole[2]);
  }
}

/// Rows with the ignored label, and with none of the classes, do not count.
TEST(CrossEntropyTest, LabelsOfTheWholeAreCounted) {
  const KernelTensor labels = makeRow(DType::I32, {0, 3, 2, 4, -1, 1});
  const KernelTensor sums = makeRow(DType::F32, {7, 1});
  EXPECT_EQ(runOne("mfCountLabels", {labels}, sums,
                   {{"ignore_index", int64_t{2}}, {"classes", int64_t{4}}})
                .toVector(),
            (Values{7, 3}));
}

TEST(CrossEntropyTest, NothingCountsAndTheLossIsZero) {
  KernelTensor logits = randomTensor(DType::F32, {3, 9}, 1);
  KernelTensor labels(DType::I32, {3});
  labels.fill(-100);
  Tensors y = runKernel("aclnnCrossEntropyLoss", {logits, labels}, makeLoss(3));
  EXPECT_EQ(y[0].get(0), 0);
  const KernelTensor scale = makeScalar(1);
  KernelTensor dx =
      runOne("aclnnCrossEntropyLossGrad", {scale, logits, labels, y[1], y[2]},
             KernelTensor(DType::F32, {3, 9}));
  EXPECT_EQ(dx.toVector(), Values(27, 0.0));
}

} // namespace
