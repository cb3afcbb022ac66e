//===- LogFitTest.cpp - Fitting numbers to times
//
// SPDX-License-Identifier: Apache-2.0
//---------------------------===//

#include "mf/Perf/Calibration/LogFit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mf::calibration;

namespace {

/// Launches that take the longer of work / rate and bytes / bandwidth, and a
/// latency. Parameters: rate, bandwidth, latency.
class Launches : public FitModel {
public:
  struct Launch {
    double work, bytes;
  };

  explicit Launches(std::vector<Launch> launches)
      : launches(std::move(launches)) {}

  void setParameter(size_t parameter, double logValue) override {
    numbers[parameter] = std::exp(logValue);
  }
  double predict(size_t observation) const override {
    const Launch &launch = launches[observation];
    return std::log(
        std::max(launch.work / numbers[0], launch.bytes / numbers[1]) +
        numbers[2]);
  }

  size_t size() const { return launches.size(); }

private:
  std::vector<Launch> launches;
  double numbers[3] = {1, 1, 1};
};

std::vector<uint32_t> getAll(size_t count) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < count; ++i)
    all.push_back(i);
  return all;
}

std::vector<FitParameter> getParameters(const Launches &model,
                                        const std::vector<double> &starts) {
  std::vector<FitParameter> parameters;
  for (double start : starts) {
    FitParameter parameter;
    parameter.start = std::log(start);
    parameter.observations = getAll(model.size());
    parameters.push_back(parameter);
  }
  return parameters;
}

/// Measures the launches on a device with these numbers.
std::vector<FitObservation> measure(Launches &model,
                                    const std::vector<double> &numbers) {
  std::vector<FitObservation> observations(model.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    model.setParameter(i, std::log(numbers[i]));
  for (size_t i = 0; i < observations.size(); ++i)
    observations[i].logSeconds = model.predict(i);
  return observations;
}

Launches getMixedLaunches(std::mt19937 &random, int count) {
  std::uniform_real_distribution<double> size(-3, 3);
  std::vector<Launches::Launch> launches;
  launches.reserve(count);
  for (int i = 0; i < count; ++i)
    launches.push_back({std::exp(size(random)), std::exp(size(random))});
  return Launches(launches);
}

TEST(LogFitTest, OutliersHardlyMoveIt) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 0.03);
  std::uniform_real_distribution<double> outlier(1, 3);
  int tooFar = 0;
  for (int round = 0; round < 30; ++round) {
    Launches model = getMixedLaunches(random, 60);
    const std::vector<double> truth = {2, 0.6, 0.05};
    auto observations = measure(model, truth);
    for (size_t i = 0; i < observations.size(); ++i)
      observations[i].logSeconds +=
          i % 15 == 7 ? outlier(random) : noise(random);
    const FitResult result =
        fitLogarithms(model, getParameters(model, {1, 1, 0.1}), observations);
    for (size_t i = 0; i < 2; ++i) {
      const FittedParameter &fitted = result.parameters[i];
      EXPECT_NEAR(fitted.logValue, std::log(truth[i]), 0.04);
      tooFar +=
          std::abs(fitted.logValue - std::log(truth[i])) > 2 * fitted.deviation;
    }
  }
  // Errors are what they are said to be: 3 of 60 would be beyond 2 deviations.
  EXPECT_LE(tooFar, 9);
}

TEST(LogFitTest, TellsBoundsFromValues) {
  // All are limited by bytes, so the rate of work is so high or higher.
  Launches model({{1, 1}, {2, 2}, {5, 5}});
  const auto observations = measure(model, {10, 1, 1e-6});
  const auto parameters = getParameters(model, {0.5, 1, 1e-6});
  const FitResult result = fitLogarithms(model, parameters, observations);
  const FittedParameter &rate = result.parameters[0];
  EXPECT_EQ(rate.state, FitState::Fitted);
  EXPECT_NEAR(rate.logValue, 0, 0.02);
  EXPECT_TRUE(rate.isOpenAbove);
  EXPECT_FALSE(rate.isOpenBelow);
  EXPECT_FALSE(result.parameters[1].isOpenAbove);
}

TEST(LogFitTest, KeepsToItsBounds) {
  Launches model({{1e3, 1e-3}, {2e3, 1e-3}});
  const auto observations = measure(model, {3, 1, 1e-6});
  auto parameters = getParameters(model, {1, 1, 1e-6});
  parameters[0].upper = std::log(2.0);
  const FitResult result = fitLogarithms(model, parameters, observations);
  EXPECT_EQ(result.parameters[0].state, FitState::AtBound);
  EXPECT_EQ(result.parameters[0].logValue, parameters[0].upper);
}

} // namespace
