//===- UpdateCheck.cpp - Updates against AdamW in plain doubles -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ComparedSteps.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace mf::interpreter {

/// Returns the unscaled gradients of all parameters that are not tied.
static std::map<std::string, std::vector<double>>
sumGradients(ir::ModelOp model, const ranks::TensorValues &gradients,
             float lossScale) {
  std::map<std::string, std::vector<double>> sums;
  for (auto param : model.getBody().getOps<ir::ParamOp>()) {
    auto found = gradients.find(param.getSymName().str());
    if (found == gradients.end())
      continue;
    std::vector<double> numbers = getNumbers(found->second);
    std::vector<double> &sum =
        sums[param.getTied().value_or(param.getSymName()).str()];
    sum.resize(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
      sum[i] += numbers[i] / lossScale;
  }
  return sums;
}

/// Returns the factor by which clipping multiplies all gradients.
static double
getClipFactor(ir::TrainingAttr training,
              const std::map<std::string, std::vector<double>> &gradients) {
  if (!training.getClipping())
    return 1;
  double squares = 0;
  for (const auto &[name, gradient] : gradients)
    squares += std::pow(getNorm(gradient), 2);
  const double limit = training.getClipping().getMaxNorm().convertToDouble();
  return std::min(1.0, limit / (std::max(std::sqrt(squares), limit) + 1e-6));
}

/// Returns an element after its first AdamW step.
static double update(ir::OptimizerAttr optimizer, bool decays, double value,
                     double gradient) {
  const double rate = comparedLearningRate;
  double first = (1 - optimizer.getBeta1().convertToDouble()) * gradient;
  double second =
      (1 - optimizer.getBeta2().convertToDouble()) * gradient * gradient;
  if (optimizer.getBiasCorrection()) {
    first = gradient;
    second = gradient * gradient;
  }
  double eps = optimizer.getEps().convertToDouble();
  if (optimizer.getCorrectsEps())
    eps /= std::sqrt(1 - optimizer.getBeta2().convertToDouble());
  const double step = first / (std::sqrt(second) + eps);
  const double decay =
      decays ? optimizer.getWeightDecay().convertToDouble() : 0;
  const double updated = value - rate * (step + decay * value);
  // If the first step applies the average of the parameter, the parameter is
  // set to its share in that average.
  if (!optimizer.getAverage())
    return updated;
  ir::WeightAverageAttr average = optimizer.getAverage();
  if (average.getInterval() != 1 || average.getFused() != 1 ||
      average.getSums())
    return updated;
  return average.getShare().convertToDouble() * updated;
}

void compareWithAdamW(ir::ModelOp model, const ComparedSteps &before,
                      const ranks::TensorValues &updated, float lossScale,
                      Comparison &comparison) {
  ir::TrainingAttr training = model.getTrainingAttr();
  const auto gradients = sumGradients(model, before.gradients, lossScale);
  const double factor = getClipFactor(training, gradients);
  const size_t numBefore = comparison.differences.size();
  // Came's and Muon's steps are compared with PyTorch's, not here.
  if (training.getOptimizer().getCame())
    return;
  ir::MuonAttr muon = training.getOptimizer().getMuon();
  for (const auto &[name, gradient] : gradients) {
    auto found = updated.find(name);
    auto old = before.parameters.find(name);
    if (found == updated.end() || old == before.parameters.end()) {
      comparison.differences.push_back("parameter '" + name +
                                       "' is not updated");
      continue;
    }
    if (muon && muon.trains(name, static_cast<int64_t>(
                                      found->second.shape.dims.size())))
      continue;
    const std::vector<double> values = getNumbers(old->second);
    const std::vector<double> actual = getNumbers(found->second);
    const bool decays = found->second.shape.dims.size() > 1;
    const double roundOff =
        found->second.shape.type == DType::F32 ? 2e-7 : 1e-2;
    double worst = 0, worstExpected = 0, worstActual = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = update(training.getOptimizer(), decays, values[i],
                                     gradient[i] * factor);
      const double allowed =
          1e-4 * comparedLearningRate + roundOff * std::abs(expected);
      const double excess = std::abs(actual[i] - expected) / allowed;
      if (excess <= worst)
        continue;
      worst = excess;
      worstExpected = expected;
      worstActual = actual[i];
    }
    if (worst > 1)
      comparison.differences.push_back(
          llvm::formatv("parameter '{0}': AdamW makes {1:f8} of an element, "
                        "but it is {2:f8}",
                        name, worstExpected, worstActual));
  }
  if (comparison.differences.size() == numBefore)
    comparison.same.push_back("update as AdamW");
}

} // namespace mf::interpreter
