//===- Comparison.cpp - Checks that a rewrite preserves results -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Interpreter/Comparison.h"
#include "ComparedSteps.h"
#include "mf/Exec/Data/LossMonitor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace mf::interpreter {

void Comparison::print(llvm::raw_ostream &os) const {
  llvm::ListSeparator separator("; ");
  if (!same.empty())
    os << separator << "same " << llvm::join(same, ", ");
  if (!skipped.empty())
    os << separator << "not compared: " << llvm::join(skipped, ", ");
  if (!differences.empty())
    os << separator << "different: " << llvm::join(differences, "; ");
}

namespace {

/// Compares two modules.
class Comparer {
public:
  Comparer(ModuleOp before, ModuleOp after, const ComparisonOptions &options)
      : beforeModule(before), afterModule(after), options(options) {
    engineOptions.threads = options.threads;
    engineOptions.seed = options.seed;
  }

  Comparison run() {
    if (createEngines())
      compareSteps();
    return std::move(comparison);
  }

private:
  std::unique_ptr<ModuleEngine> createEngine(ModuleOp module,
                                             llvm::StringRef which) {
    FailureOr<std::unique_ptr<ModuleEngine>> engine =
        ModuleEngine::create(module, engineOptions);
    if (succeeded(engine))
      return std::move(*engine);
    differ("the module " + which + " cannot be run");
    return nullptr;
  }

  /// A model without a training configuration takes the other's micro-batches.
  bool createEngines() {
    after = createEngine(afterModule, "after");
    if (!after)
      return false;
    engineOptions.microBatches = after->getProperties().batch.microBatches;
    before = createEngine(beforeModule, "before");
    if (!before)
      return false;
    if (after->knowsMicroBatches() || !before->knowsMicroBatches())
      return true;
    engineOptions.microBatches = before->getProperties().batch.microBatches;
    after = createEngine(afterModule, "after");
    return after != nullptr;
  }

  /// Values that only one of the two computes are compared by their own rules.
  void compareSteps() {
    const bool bothUpdate =
        before->getProperties().hasUpdate && after->getProperties().hasUpdate;
    const bool sameLevel =
        before->getProperties().hasUpdate == after->getProperties().hasUpdate;
    const int64_t steps = sameLevel ? options.steps : 1;
    const float scale = after->getProperties().hasBackward
                            ? after->getProperties().lossScale.value
                            : before->getProperties().lossScale.value;
    FailureOr<ComparedSteps> expected =
        runSteps(*before, steps, options.seed, scale);
    FailureOr<ComparedSteps> actual =
        runSteps(*after, steps, options.seed, scale);
    if (failed(expected) || failed(actual))
      return differ(llvm::Twine("the module ") +
                    (failed(expected) ? "before" : "after") + " cannot be run");
    compareLosses(expected->losses, actual->losses);

    if (before->getProperties().hasBackward &&
        after->getProperties().hasBackward)
      compareTensors("gradient", expected->gradients, actual->gradients);
    else if (before->getProperties().hasBackward)
      differ("gradients are gone");
    else if (after->getProperties().hasBackward)
      compareWithDifferences(beforeModule, afterModule, engineOptions,
                             comparison);

    if (bothUpdate) {
      compareTensors("parameter", expected->parameters, actual->parameters);
      if (expected->globalNorms != actual->globalNorms)
        differ("the global norm of a step");
    } else if (before->getProperties().hasUpdate) {
      differ("the update is gone");
    } else if (after->getProperties().hasUpdate &&
               before->getProperties().hasBackward) {
      auto models = beforeModule.getOps<ir::ModelOp>();
      if (models.empty() || !(*models.begin()).getTrainingAttr())
        return differ("an update where nothing says which");
      compareWithAdamW(*models.begin(), *expected, actual->parameters, scale,
                       comparison);
    }
  }

  void compareLosses(llvm::ArrayRef<float> expected,
                     llvm::ArrayRef<float> actual) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool isSame = options.tolerance > 0
                              ? std::abs(expected[i] - actual[i]) <=
                                    options.tolerance * std::abs(expected[i])
                              : llvm::bit_cast<uint32_t>(expected[i]) ==
                                    llvm::bit_cast<uint32_t>(actual[i]);
      if (isSame)
        continue;
      differ(llvm::formatv("loss of step {0}: {1} before and {2} after", i + 1,
                           formatFloat32(expected[i]), formatFloat32(actual[i]))
                 .str());
      return;
    }
    comparison.same.push_back("losses");
  }

  void compareTensors(llvm::StringRef what, const ranks::TensorValues &expected,
                      const ranks::TensorValues &actual) {
    const size_t numBefore = comparison.differences.size();
    for (const auto &[name, value] : expected)
      if (actual.count(name) == 0)
        differ(what + " '" + name + "' is gone");
    for (const auto &[name, value] : actual) {
      auto found = expected.find(name);
      double difference = 0;
      if (found == expected.end())
        differ(what + " '" + name + "' is new");
      else if (found->second.shape != value.shape)
        differ(what + " '" + name + "' has another shape");
      else if (!isNear(found->second, value, difference))
        differ(what + " '" + name + "': " +
               llvm::formatv("relative difference {0:e2}", difference).str());
    }
    if (comparison.differences.size() == numBefore)
      comparison.same.push_back((what + "s").str());
  }

  /// Returns whether the values differ by at most the tolerance.
  bool isNear(const ranks::TensorValue &expected,
              const ranks::TensorValue &actual, double &difference) const {
    if (expected.bytes == actual.bytes)
      return true;
    std::vector<double> a = getNumbers(expected), b = getNumbers(actual);
    const double norm = getNorm(a);
    for (auto [x, y] : llvm::zip_equal(a, b))
      x -= y;
    difference = getNorm(a) / (norm > 0 ? norm : 1);
    return difference <= options.tolerance && options.tolerance > 0;
  }

  void differ(const llvm::Twine &what) {
    comparison.differences.push_back(what.str());
  }

  ModuleOp beforeModule, afterModule;
  const ComparisonOptions &options;
  ranks::TrainingOptions engineOptions;
  std::unique_ptr<ModuleEngine> before, after;
  Comparison comparison;
};

} // namespace

Comparison compareModules(ModuleOp before, ModuleOp after,
                          const ComparisonOptions &options) {
  return Comparer(before, after, options).run();
}

} // namespace mf::interpreter
