//===- ReferenceChecks.cpp - Checks of gradients and updates --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ComparedSteps.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Data/Initializer.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <random>
#include <set>

using namespace mlir;

namespace mf::interpreter {

namespace {

/// A step of one parameter, with all its elements at once.
struct Move {
  std::string parameter;
  std::vector<double> direction;
  double length = 0;
};

} // namespace

/// Adds N(0, 0.3^2) to a parameter, so that no gradient is tiny, and `move` to
/// the parameter that it moves.
static llvm::Error spread(uint64_t seed, const Move *move, llvm::StringRef name,
                          const TensorShape &shape,
                          llvm::MutableArrayRef<uint8_t> bytes) {
  std::vector<float> values(shape.getNumElements()), noise(values.size());
  auto getBytes = [](std::vector<float> &floats) {
    return llvm::MutableArrayRef<uint8_t>(
        reinterpret_cast<uint8_t *>(floats.data()),
        floats.size() * sizeof(float));
  };
  if (llvm::Error error =
          convertElements(shape.type, bytes, DType::F32, getBytes(values)))
    return error;
  if (llvm::Error error = initializeElements(Initializer::normal(0.3), seed,
                                             (name + ".spread").str(), 0,
                                             DType::F32, getBytes(noise)))
    return error;
  for (size_t i = 0; i < values.size(); ++i) {
    double sum = static_cast<double>(values[i]) + noise[i];
    if (move && move->parameter == name)
      sum += move->direction[i] * move->length;
    values[i] = static_cast<float>(sum);
  }
  return convertElements(DType::F32, getBytes(values), shape.type, bytes);
}

/// Runs one step with spread parameters, moved if `move` is given.
static FailureOr<ComparedSteps>
runMoved(ModuleOp module, ranks::TrainingOptions options, const Move *move) {
  const uint64_t seed = options.seed;
  options.changeParameter = [seed, move](llvm::StringRef name,
                                         const TensorShape &shape,
                                         llvm::MutableArrayRef<uint8_t> bytes) {
    return spread(seed, move, name, shape, bytes);
  };
  FailureOr<std::unique_ptr<ModuleEngine>> engine =
      ModuleEngine::create(module, options);
  if (failed(engine))
    return failure();
  return runSteps(**engine, /*steps=*/1, seed, /*lossScale=*/1);
}

/// Gradients by owner: that of a tied parameter is added to its owner's.
static std::map<std::string, std::vector<double>>
sumByOwner(ModuleOp module, const ranks::TensorValues &gradients) {
  std::map<std::string, std::string> owners;
  module.walk([&](ir::ParamOp param) {
    if (param.getTied())
      owners[param.getSymName().str()] = param.getTied()->str();
  });
  std::map<std::string, std::vector<double>> sums;
  for (const auto &[name, gradient] : gradients) {
    auto owner = owners.find(name);
    std::vector<double> &sum =
        sums[owner == owners.end() ? name : owner->second];
    std::vector<double> numbers = getNumbers(gradient);
    sum.resize(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
      sum[i] += numbers[i];
  }
  return sums;
}

/// Chooses a direction with a component along the gradient, which reveals wrong
/// factors, and one across it, which reveals missing terms.
static Move chooseMove(const std::string &parameter,
                       llvm::ArrayRef<double> gradient, double norm,
                       std::mt19937_64 &random) {
  Move move{parameter, {}, 0};
  const double across = 1 / std::sqrt(static_cast<double>(gradient.size()));
  for (double element : gradient)
    move.direction.push_back((random() & 1 ? across : -across) +
                             (norm > 0 ? element / norm : 0));
  move.length = 0.003 / std::max(norm, 0.1);
  return move;
}

static double getProduct(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip_equal(a, b))
    sum += x * y;
  return sum;
}

/// Returns whether any value is rounded to less than fp32.
static bool roundsValues(ModuleOp module) {
  return module
      .walk([](ir::ComputeOpInterface op) {
        for (Type type : op->getResultTypes())
          if (Type element = getElementTypeOrSelf(type);
              element.isBF16() || element.isF16())
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// The loss is a mean over copies of the model, whereas the gradient is that of
/// their sum.
static double countCopies(ModuleOp module) {
  double copies = 1;
  module.walk([&](ir::ModelOp model) {
    if (ir::TrainingAttr training = model.getTrainingAttr())
      copies = static_cast<double>(training.getParallel().getCopies());
  });
  return copies;
}

/// Returns the parameters for which backward computes a statistic instead of a
/// gradient.
static std::set<std::string> getStatistics(ModuleOp module) {
  std::set<std::string> names;
  module.walk([&](ir::ParamOp param) {
    if (param.getUpdateRule())
      names.insert(param.getSymName().str());
  });
  return names;
}

void compareWithDifferences(ModuleOp before, ModuleOp after,
                            const ranks::TrainingOptions &base,
                            Comparison &comparison) {
  if (roundsValues(before)) {
    comparison.skipped.emplace_back(
        "gradients, as a loss in bf16 or fp16 is too coarse for differences");
    return;
  }
  FailureOr<ComparedSteps> outcome = runMoved(after, base, nullptr);
  if (failed(outcome)) {
    comparison.differences.push_back("the rewritten module cannot be run");
    return;
  }
  const double copies = countCopies(after);
  const std::set<std::string> statistics = getStatistics(after);
  std::mt19937_64 random(base.seed);
  size_t numWrong = 0;
  for (const auto &[name, gradient] : sumByOwner(after, outcome->gradients)) {
    if (statistics.count(name) != 0)
      continue;
    const double norm = getNorm(gradient);
    Move move = chooseMove(name, gradient, norm, random);
    const double length = move.length;
    FailureOr<ComparedSteps> ahead = runMoved(before, base, &move);
    move.length = -length;
    FailureOr<ComparedSteps> behind = runMoved(before, base, &move);
    if (failed(ahead) || failed(behind)) {
      comparison.differences.push_back("the module before cannot be run");
      return;
    }
    const double loss = ahead->losses.front();
    const double expected =
        copies * (loss - behind->losses.front()) / (2 * length);
    const double actual = getProduct(gradient, move.direction);
    // The loss is known to about 4 units in the last place of fp32.
    const double allowed =
        0.02 * std::max(norm, std::abs(expected)) + 5e-7 * loss / length;
    if (std::abs(actual - expected) <= allowed)
      continue;
    ++numWrong;
    comparison.differences.push_back(
        llvm::formatv("gradient of '{0}': its slope is {1:f6}, but the loss "
                      "changes by {2:f6}",
                      name, actual, expected));
  }
  if (numWrong == 0)
    comparison.same.push_back("gradients as finite differences of the loss");
}

//===----------------------------------------------------------------------===//
// Updates against AdamW in plain doubles
//===----------------------------------------------------------------------===//

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
