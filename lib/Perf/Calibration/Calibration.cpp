//===- Calibration.cpp - Targets fitted to profiles -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Calibration/Calibration.h"
#include "StepLatency.h"
#include "TargetModel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using llvm::Error;
using llvm::StringRef;
using mf::target::Target;

namespace mf::calibration {

namespace {

class Calibrator {
public:
  Calibrator(const Target &start, const Profile &profile)
      : start(start), profile(profile), observations(observe(profile)) {}

  llvm::Expected<Calibration> run();

private:
  void dropWithoutRate();
  Error checkAny() const;
  std::vector<FitObservation> weigh() const;
  void addNumbers(const TargetModel &before, const FitResult &fit,
                  TargetModel &after);
  void addKinds(const TargetModel &before, const TargetModel &after);
  void addStepLatency();

  const Target &start;
  const Profile &profile;
  Observations observations;
  Calibration calibration;
};

} // namespace

/// Returns a number for each kind of observation.
static std::map<std::string, uint32_t>
numberKinds(llvm::ArrayRef<Observation> observations) {
  std::map<std::string, uint32_t> kinds;
  for (const Observation &observation : observations)
    kinds.try_emplace(observation.kind, static_cast<uint32_t>(kinds.size()));
  return kinds;
}

static double getSeconds(const Observation &observation) {
  double seconds = 0;
  for (double time : observation.logSeconds)
    seconds += std::exp(time);
  return seconds;
}

/// Drops observations for which the target has no rate, because nothing can be
/// fitted to them.
void Calibrator::dropWithoutRate() {
  std::optional<target::Topology> topology;
  if (const int64_t ranks = countRanks(observations.all); ranks > 0) {
    auto created = target::Topology::create(start, ranks);
    if (created)
      topology = std::move(*created);
    else
      llvm::consumeError(created.takeError());
  }
  llvm::erase_if(observations.all, [&](const Observation &observation) {
    llvm::Expected<double> seconds =
        predictSeconds(start, topology ? &*topology : nullptr,
                       profile.compilation, observation);
    if (seconds)
      return false;
    llvm::consumeError(seconds.takeError());
    calibration.withoutRate[observation.kind] +=
        static_cast<int64_t>(observation.logSeconds.size());
    return true;
  });
}

/// Describes the rows that exist instead, most frequent first: "MatMulV9 (12
/// rows)".
static std::string describeRows(const std::map<std::string, int64_t> &rows) {
  constexpr size_t shown = 5;
  std::vector<std::pair<int64_t, StringRef>> order;
  for (const auto &[name, count] : rows)
    order.emplace_back(-count, name);
  llvm::sort(order);
  std::string text;
  for (const auto &[index, entry] : llvm::enumerate(order)) {
    if (index == shown)
      return text + ", ...";
    text += (index ? ", " : "") +
            (entry.second + " (" + llvm::Twine(-entry.first) + ")").str();
  }
  return text;
}

Error Calibrator::checkAny() const {
  if (!observations.all.empty())
    return Error::success();
  std::string message =
      profile.folders.front() +
      ": nothing to fit: expected rows of kernels that the target has rates "
      "for";
  auto add = [&](StringRef what, const std::map<std::string, int64_t> &rows) {
    if (!rows.empty())
      message += ("; " + what + " are ").str() + describeRows(rows);
  };
  add("of unknown type", observations.unknownTypes);
  add("not clear by their operands", observations.unclear);
  add("without a rate", calibration.withoutRate);
  return llvm::createStringError(message);
}

/// All kinds are weighted by their number of launches. Within a kind, launches
/// that take more time have more weight, because they determine the time of a
/// step.
std::vector<FitObservation> Calibrator::weigh() const {
  constexpr double least = 0.25, most = 4;
  const auto kinds = numberKinds(observations.all);
  std::vector<double> seconds(kinds.size(), 0), counts(kinds.size(), 0),
      weights(kinds.size(), 0);
  std::vector<FitObservation> fitted;
  for (const Observation &observation : observations.all) {
    const uint32_t set = kinds.at(observation.kind);
    seconds[set] += getSeconds(observation);
    counts[set] += 1;
  }
  for (const Observation &observation : observations.all) {
    FitObservation &added = fitted.emplace_back();
    added.logSeconds = observation.location.logSeconds;
    added.error = observation.location.error;
    added.set = kinds.at(observation.kind);
    const double mean = seconds[added.set] / counts[added.set];
    added.weight = std::clamp(getSeconds(observation) / mean, least, most);
    weights[added.set] += added.weight;
  }
  for (FitObservation &observation : fitted)
    observation.weight *= counts[observation.set] / weights[observation.set];
  return fitted;
}

void Calibrator::addNumbers(const TargetModel &before, const FitResult &fit,
                            TargetModel &after) {
  for (const auto &[index, fitted] : llvm::enumerate(fit.parameters)) {
    CalibratedNumber &number = calibration.numbers.emplace_back();
    number.path = before.getPaths()[index];
    number.before = before.getNumber(index);
    number.state = fitted.state;
    number.relativeError = fitted.deviation;
    number.isOpenAbove = fitted.isOpenAbove;
    number.isOpenBelow = fitted.isOpenBelow;
    // The exponential of a logarithm is off by a last bit.
    if (fitted.logValue == before.getParameters()[index].start)
      after.assign(index, number.before);
    number.after = after.getNumber(index);
    for (uint32_t i : before.getParameters()[index].observations)
      number.rows +=
          static_cast<int64_t>(observations.all[i].logSeconds.size());
  }
}

static Misfit getMisfit(std::vector<double> errors) {
  constexpr double most = 0.9;
  Misfit misfit;
  llvm::sort(errors);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(errors.size() - 1);
    return std::expm1(errors[static_cast<size_t>(std::llround(place))]);
  };
  misfit.median = at(0.5);
  misfit.most = at(most);
  return misfit;
}

void Calibrator::addKinds(const TargetModel &before, const TargetModel &after) {
  const auto numbers = numberKinds(observations.all);
  std::vector<CalibratedKind> kinds(numbers.size());
  std::vector<std::vector<double>> errorsBefore(kinds.size()),
      errorsAfter(kinds.size());
  for (const auto &[index, observation] : llvm::enumerate(observations.all)) {
    const uint32_t number = numbers.at(observation.kind);
    CalibratedKind &kind = kinds[number];
    kind.kind = observation.kind;
    kind.rows += static_cast<int64_t>(observation.logSeconds.size());
    kind.shapes += 1;
    kind.outliers += observation.location.outliers;
    kind.seconds += getSeconds(observation);
    for (double time : observation.logSeconds) {
      errorsBefore[number].push_back(std::abs(before.predict(index) - time));
      errorsAfter[number].push_back(std::abs(after.predict(index) - time));
    }
  }
  for (auto [kind, old, now] : llvm::zip(kinds, errorsBefore, errorsAfter)) {
    kind.before = getMisfit(old);
    kind.after = getMisfit(now);
  }
  llvm::sort(kinds, [](const CalibratedKind &a, const CalibratedKind &b) {
    return std::tie(b.seconds, a.kind) < std::tie(a.seconds, b.kind);
  });
  calibration.kinds = std::move(kinds);
}

void Calibrator::addStepLatency() {
  CalibratedNumber &number = calibration.numbers.emplace_back();
  number.path = "step_latency";
  number.before = number.after = start.stepLatency;
  const std::optional<StepLatency> found = findStepLatency(profile);
  if (!found)
    return;
  number.state = FitState::Fitted;
  // Profilers round times to nanoseconds, and this one is a difference of
  // several.
  constexpr double resolution = 5e-9;
  if (std::abs(found->seconds - start.stepLatency) > resolution)
    number.after = calibration.target.stepLatency = found->seconds;
  number.relativeError = found->relativeError;
  number.rows = found->steps;
}

llvm::Expected<Calibration> Calibrator::run() {
  dropWithoutRate();
  if (Error error = checkAny())
    return std::move(error);
  const TargetModel before(start, profile.compilation, observations.all);
  TargetModel after(start, profile.compilation, observations.all);
  const FitResult fit = fitLogarithms(after, after.getParameters(), weigh());
  addNumbers(before, fit, after);
  addKinds(before, after);
  calibration.target = after.getTarget();
  addStepLatency();
  if (Error error = target::check(calibration.target))
    return std::move(error);
  calibration.unknownTypes = observations.unknownTypes;
  calibration.unclear = observations.unclear;
  calibration.sharedLinks = observations.sharedLinks;
  calibration.warmUpRows = observations.warmUpRows;
  calibration.rows = profile.rows;
  calibration.folders = static_cast<int64_t>(profile.folders.size());
  return std::move(calibration);
}

llvm::Expected<Calibration> calibrate(const Target &target,
                                      const Profile &profile) {
  if (Error error = target::check(target))
    return std::move(error);
  return Calibrator(target, profile).run();
}

} // namespace mf::calibration
