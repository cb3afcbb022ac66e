//===- ElementwiseTest.cpp - Elementwise kernels and broadcasting ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mf;
using namespace mf::testing;

namespace {

const std::vector<Ints> shapes = {{},         {1},        {7},    {16},
                                  {3, 5, 33}, {257, 131}, {70001}};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double fastGelu(double x) { return x * sigmoid(1.702 * x); }

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

void checkUnary(llvm::StringRef name, double (*reference)(double), double low,
                double high, const AttributeMap &attributes = {}) {
  for (DType type : floatTypes)
    for (const Ints &dims : shapes) {
      KernelTensor x = randomTensor(type, dims, 1, low, high);
      Tensors y = runKernel(name, {x}, {KernelTensor(type, dims)}, attributes);
      Values expected;
      for (double value : x.toVector())
        expected.push_back(reference(value));
      expectNear(y[0], expected, 1e-3);
    }
}

TEST(ElementwiseTest, UnaryKernelsMatchTheirDefinition) {
  checkUnary("aclnnNeg", [](double x) { return -x; }, -3, 3);
  checkUnary("aclnnSqrt", [](double x) { return std::sqrt(x); }, 0, 9);
  checkUnary("aclnnReciprocal", [](double x) { return 1 / x; }, 0.1, 9);
  checkUnary("aclnnSilu", [](double x) { return x * sigmoid(x); }, -9, 9);
  checkUnary("aclnnGelu", gelu, -6, 6);
  checkUnary("aclnnFastGelu", fastGelu, -6, 6);
  checkUnary("aclnnAdds", [](double x) { return x + 1.5; }, -9, 9,
             {{"value", 1.5}});
  checkUnary("aclnnMuls", [](double x) { return x * 0.25; }, -9, 9,
             {{"value", 0.25}});
  checkUnary("aclnnClampMin", [](double x) { return std::max(x, 0.5); }, -9, 9,
             {{"value", 0.5}});
  checkUnary("aclnnClampMax", [](double x) { return std::min(x, 0.5); }, -9, 9,
             {{"value", 0.5}});
  checkUnary("aclnnSigmoid", sigmoid, -9, 9);
  checkUnary("aclnnExp", [](double x) { return std::exp(x); }, -9, 9);
  checkUnary("aclnnLog", [](double x) { return std::log(x); }, 0.01, 9);
  checkUnary(
      "aclnnSoftplus", [](double x) { return std::log1p(std::exp(x)); }, -9, 9);
  checkUnary(
      "mfSqrtSoftplus",
      [](double x) { return std::sqrt(std::log1p(std::exp(x))); }, -9, 9);
}

TEST(ElementwiseTest, SqrtSoftplusAndItsGradientAreFinite) {
  const KernelTensor x = makeRow(DType::F32, {-200, -100, -80, 0, 100, 3e38});
  const KernelTensor dy = makeRow(DType::F32, Values(6, 2));
  const KernelTensor y = runOne("mfSqrtSoftplus", {x}, x);
  const KernelTensor dx = runOne("mfSqrtSoftplusBackward", {dy, x}, x);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(std::isfinite(y.get(i)) && y.get(i) >= 0) << i;
    EXPECT_TRUE(std::isfinite(dx.get(i)) && dx.get(i) >= 0) << i;
  }
  EXPECT_EQ(y.get(0), 0);
  EXPECT_EQ(dx.get(0), 0);
  EXPECT_NEAR(y.get(4), 10, 1e-6);
  // The slope is sigmoid(x) / y / 2.
  EXPECT_NEAR(dx.get(3), 0.5 / std::sqrt(std::log(2.0)), 1e-6);
  EXPECT_NEAR(dx.get(4), 0.1, 1e-7);
}

TEST(ElementwiseTest, ActivationGradientsMatchFiniteDifferences) {
  auto check = [](llvm::StringRef name, double (*forward)(double)) {
    for (DType type : floatTypes) {
      KernelTensor x = randomTensor(type, {5, 33}, 1, -5, 5);
      KernelTensor dy = randomTensor(type, {5, 33}, 2);
      expectGradients(
          runKernel(name, {dy, x}, {KernelTensor(type, {5, 33})}), {x},
          [&](const std::vector<Values> &at) {
            Values y;
            for (double value : at[0])
              y.push_back(forward(value));
            return y;
          },
          dy.toVector());
    }
  };
  check("aclnnSiluBackward", [](double v) { return v * sigmoid(v); });
  check("aclnnGeluBackward", gelu);
  check("aclnnFastGeluBackward", fastGelu);
}

TEST(ElementwiseTest, TheGradientOfTheSigmoidTakesItsOutput) {
  for (DType type : floatTypes)
    for (const Ints &dims : shapes) {
      KernelTensor y = randomTensor(type, dims, 1, 0, 1);
      KernelTensor dy = randomTensor(type, dims, 2);
      Values expected;
      for (int64_t i = 0; i < y.size(); ++i)
        expected.push_back(dy.get(i) * y.get(i) * (1 - y.get(i)));
      expectNear(runOne("aclnnSigmoidBackward", {dy, y}, dy), expected, 0.1);
    }
}

TEST(ElementwiseTest, BinaryKernelsBroadcastAsNumpyDoes) {
  struct Case {
    Ints x, y, z;
  };
  const Case cases[] = {
      {{}, {}, {}},
      {{17}, {17}, {17}},
      {{300, 129}, {300, 129}, {300, 129}},
      {{300, 129}, {129}, {300, 129}},
      {{129}, {300, 129}, {300, 129}},
      {{2, 3, 40, 17}, {40, 17}, {2, 3, 40, 17}},
      {{2, 3, 40, 17}, {1, 1, 40, 17}, {2, 3, 40, 17}},
      {{2, 3, 40, 17}, {2, 1, 40, 1}, {2, 3, 40, 17}},
      {{2, 3, 40, 17}, {}, {2, 3, 40, 17}},
      {{1}, {70000}, {70000}},
      {{5, 1}, {1, 7}, {5, 7}},
      {{5, 1, 9}, {4, 1}, {5, 4, 9}},
      {{33, 1, 64}, {33, 5, 64}, {33, 5, 64}},
  };
  auto broadcast = [](const KernelTensor &tensor, const Ints &to,
                      int64_t index) {
    int64_t offset = 0, stride = 1, axis = tensor.shape.dims.size();
    for (size_t i = to.size(); i-- > 0;) {
      int64_t position = index % to[i];
      index /= to[i];
      if (--axis < 0)
        break;
      if (tensor.shape.dims[axis] != 1)
        offset += position * stride;
      stride *= tensor.shape.dims[axis];
    }
    return tensor.get(offset);
  };
  for (DType type : floatTypes)
    for (const Case &c : cases) {
      KernelTensor x = randomTensor(type, c.x, 1),
                   y = randomTensor(type, c.y, 2);
      KernelTensor divisor = randomTensor(type, c.y, 3, 0.5, 2);
      Values sum, difference, product, quotient, isReached, larger;
      KernelTensor z(type, c.z);
      for (int64_t i = 0; i < z.size(); ++i) {
        double a = broadcast(x, c.z, i), b = broadcast(y, c.z, i);
        sum.push_back(a + b);
        difference.push_back(a - b);
        product.push_back(a * b);
        quotient.push_back(a / broadcast(divisor, c.z, i));
        isReached.push_back(a >= b ? 1 : 0);
        larger.push_back(std::max(a, b));
      }
      expectNear(runOne("aclnnAdd", {x, y}, z), sum);
      expectNear(runOne("aclnnSub", {x, y}, z), difference);
      expectNear(runOne("aclnnMul", {x, y}, z), product);
      expectNear(runOne("aclnnDiv", {x, divisor}, z), quotient);
      EXPECT_EQ(runOne("aclnnGeTensor", {x, y}, z).toVector(), isReached);
      EXPECT_EQ(runOne("aclnnMaximum", {x, y}, z).toVector(), larger);
    }
}

TEST(ElementwiseTest, TheLargerOfNaNAndANumberIsNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (DType type : floatTypes) {
    KernelTensor x = randomTensor(type, {37}, 1),
                 y = randomTensor(type, {37}, 2);
    x.set(3, nan);
    y.set(35, nan);
    const KernelTensor z =
        runOne("aclnnMaximum", {x, y}, KernelTensor(type, {37}));
    for (int64_t i = 0; i < 37; ++i)
      EXPECT_EQ(std::isnan(z.get(i)), i == 3 || i == 35) << i;
  }
}

TEST(CastTest, GoesBetweenAnyTwoTypes) {
  for (DType from :
       {DType::F32, DType::BF16, DType::F16, DType::I32, DType::I64})
    for (DType to :
         {DType::F32, DType::BF16, DType::F16, DType::I32, DType::I64}) {
      KernelTensor x(from, {3, 1000});
      for (int64_t i = 0; i < x.size(); ++i)
        x.set(i, static_cast<double>(i % 200) - 100);
      KernelTensor y = runOne("aclnnCast", {x}, KernelTensor(to, {3, 1000}));
      EXPECT_EQ(y.toVector(), x.toVector())
          << getName(from).str() << " to " << getName(to).str();
    }
}

TEST(CastTest, ToIntegersTruncatesAndSaturates) {
  const KernelTensor x =
      makeRow(DType::F32, {1.9, -1.9, 1e20, -1e20, NAN, 2147483648.0});
  EXPECT_EQ(runOne("aclnnCast", {x}, KernelTensor(DType::I32, {6})).toVector(),
            (Values{1, -1, 2147483647.0, -2147483648.0, 0, 2147483647.0}));
  KernelTensor wide = runOne("aclnnCast", {x}, KernelTensor(DType::I64, {6}));
  EXPECT_EQ(wide.get(2), 9223372036854775807.0);
  EXPECT_EQ(wide.get(5), 2147483648.0);
}

} // namespace
