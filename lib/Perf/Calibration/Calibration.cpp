//===- Calibration.cpp - Targets fitted to profiles -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Calibration/Calibration.h"
#include "mf/Perf/Calibration/LogFit.h"
#include "mf/Perf/Calibration/Observations.h"
#include "mf/Perf/Calibration/Profile.h"
#include "mf/Perf/Target/KernelCost.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Perf/Target/Topology.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

using llvm::Error;
using llvm::StringRef;
using mf::target::Range;
using mf::target::Target;
using mf::target::Topology;

namespace mf::calibration {

namespace {

/// The uncertainty of numbers of a name before a profile is read, as a standard
/// deviation of their logarithms.
struct Belief {
  StringRef section;
  StringRef name;
  double deviation;
};

} // namespace

/// Efficiencies may be off by a factor of 2; properties of the hardware and
/// conventions of counting by less.
static constexpr Belief beliefs[] = {
    {"memory", "bytes_per_second", 0.5},
    {"memory", "cache_gain", 0.5},
    {"memory", "cache_bytes", 0.3},
    {"kernels", "peak_share", 0.7},
    {"kernels", "passes", 0.5},
    {"kernels", "fused_passes", 0.5},
    {"kernels", "latency", 1.0},
    {"kernels", "half", 0.7},
    {"kernels", "full", 0.5},
    {"kernels", "power", 0.3},
    {"networks", "collective_share", 0.7},
    {"networks", "message_share", 0.7},
    {"networks", "collective_latency", 1.0},
    {"networks", "message_latency", 1.0},
    {"networks", "hidden", 0.7},
    {"networks", "beside_kernels", 0.3},
};

/// Only the rate of memory divided by a kind's passes affects times. A target
/// with one pass is probably exact, so the rate gets the error that all such
/// kinds share.
static constexpr double beliefInOnePass = 0.1;

/// The belief in the peak of a further element type: shares are relative to an
/// engine's first peak, and times show only the product of peak and share.
static constexpr double beliefInPeak = 0.1;

/// Returns none if the number is not fitted.
static std::optional<double> getBelief(StringRef path, double value) {
  const auto [section, rest] = path.split('.');
  const StringRef name =
      rest.rsplit('.').second.empty() ? rest : rest.rsplit('.').second;
  if (section == "engines")
    return beliefInPeak;
  if (section == "kernels" && name == "passes" && value == 1)
    return beliefInOnePass;
  for (const Belief &belief : beliefs)
    if (belief.section == section && belief.name == name)
      return belief.deviation;
  return std::nullopt;
}

/// Returns whether the number is the first peak of an engine. Shares and
/// utilisations are relative to it, so it is not fitted.
static bool isReferencePeak(const Target &target, const double *number) {
  return llvm::any_of(target.engines, [&](const target::ComputeEngine &engine) {
    return !engine.peaks.empty() &&
           &engine.peaks.front().flopsPerSecond == number;
  });
}

/// Returns the number of ranks of the largest group, or 0.
static int64_t countRanks(llvm::ArrayRef<Observation> observations) {
  int64_t count = 0;
  auto add = [&](const ObservedTransfer &transfer) {
    for (int64_t rank : transfer.ranks)
      count = std::max(count, rank + 1);
  };
  for (const Observation &observation : observations) {
    if (const auto *transfer = std::get_if<ObservedTransfer>(&observation.what))
      add(*transfer);
    else if (const auto &launch = std::get<ObservedLaunch>(observation.what);
             launch.beside)
      add(*launch.beside);
  }
  return count;
}

static target::TransferCost getCost(const Topology &topology,
                                    const ObservedTransfer &transfer) {
  return transfer.collective
             ? topology.getCollective(*transfer.collective, transfer.bytes,
                                      transfer.ranks)
             : topology.getMessage(transfer.bytes, transfer.ranks[0],
                                   transfer.ranks[1]);
}

/// Returns the factor by which work takes longer if it keeps the share `speed`
/// of its speed during the share `share` of its time.
static double getSlowdown(double speed, double share) {
  return 1 / (1 - share * (1 - speed));
}

static llvm::Error notJoined() {
  return llvm::createStringError("the target does not join the ranks");
}

/// Returns the time that a target predicts. Fails if the target has no rate for
/// the kernel's kind or does not join the ranks. `topology` may be null if
/// there are no transfers.
static llvm::Expected<double>
predictSeconds(const Target &target, const Topology *topology,
               const target::Compilation &compilation,
               const Observation &observation) {
  if (const auto *launch = std::get_if<ObservedLaunch>(&observation.what)) {
    llvm::Expected<target::KernelCost> cost = target::getKernelCost(
        target, *launch->signature, launch->spec, compilation);
    if (!cost)
      return cost.takeError();
    if (!launch->beside)
      return cost->seconds;
    if (!topology)
      return notJoined();
    return cost->seconds *
           getSlowdown(getCost(*topology, *launch->beside).hidden,
                       launch->besideExchange);
  }
  if (!topology)
    return notJoined();
  const auto &transfer = std::get<ObservedTransfer>(observation.what);
  const target::TransferCost cost = getCost(*topology, transfer);
  return cost.latency +
         cost.seconds * getSlowdown(cost.besideKernels, transfer.besideKernels);
}

namespace {

/// A target with variable numbers, and its predictions for observations.
class TargetModel : public FitModel {
public:
  /// `predictSeconds` must succeed for all observations, which must outlive the
  /// model. Then it succeeds with any numbers, because it only fails if the
  /// target lacks a rate or a network.
  TargetModel(Target start, const target::Compilation &compilation,
              llvm::ArrayRef<Observation> observations)
      : target(std::move(start)), compilation(compilation),
        observations(observations) {
    if (const int64_t ranks = countRanks(observations); ranks > 0)
      topology = llvm::cantFail(Topology::create(target, ranks),
                                "observations of ranks that are not joined");
    target::forEachField(target, [&](StringRef path,
                                     const target::Field &field) {
      auto *const *number = std::get_if<double *>(&field.value);
      // Zero has no logarithm: a number that is absent is not fitted.
      if (!number || **number <= 0 || isReferencePeak(target, *number))
        return;
      const std::optional<double> belief = getBelief(path, **number);
      if (!belief)
        return;
      FitParameter parameter;
      parameter.start = std::log(**number);
      parameter.belief = *belief;
      if (field.range == Range::Share || field.range == Range::PositiveShare)
        parameter.upper = 0;
      paths.push_back(path.str());
      numbers.push_back(*number);
      parameters.push_back(std::move(parameter));
    });
    for (size_t i = 0; i < parameters.size(); ++i)
      findDependents(i);
  }

  TargetModel(const TargetModel &) = delete;
  TargetModel &operator=(const TargetModel &) = delete;

  /// Returns the numbers that are fitted.
  llvm::ArrayRef<FitParameter> getParameters() const { return parameters; }
  /// Returns the paths of the numbers.
  llvm::ArrayRef<std::string> getPaths() const { return paths; }

  void setParameter(size_t parameter, double logValue) override {
    *numbers[parameter] = std::exp(logValue);
  }

  double predict(size_t observation) const override {
    // Shorter times are taken to be this long, because a time of zero has no
    // logarithm.
    constexpr double shortest = 1e-12;
    const double seconds =
        llvm::cantFail(predictSeconds(target, topology ? &*topology : nullptr,
                                      compilation, observations[observation]),
                       "an observation for which the target has no rate");
    return std::log(std::max(seconds, shortest));
  }

  /// Sets a number to an exact value.
  void assign(size_t parameter, double value) { *numbers[parameter] = value; }
  double getNumber(size_t parameter) const { return *numbers[parameter]; }

  const target::Target &getTarget() const { return target; }

private:
  /// An observation depends on a number if its time changes when the number is
  /// 20 times as large or as small.
  void findDependents(size_t parameter) {
    constexpr double far = 20;
    const double number = *numbers[parameter];
    std::vector<double> before(observations.size());
    for (size_t i = 0; i < observations.size(); ++i)
      before[i] = predict(i);
    std::vector<bool> depends(observations.size(), false);
    for (double factor : {far, 1 / far}) {
      *numbers[parameter] = number * factor;
      for (size_t i = 0; i < observations.size(); ++i)
        depends[i] = depends[i] || predict(i) != before[i];
    }
    *numbers[parameter] = number;
    for (uint32_t i = 0; i < observations.size(); ++i)
      if (depends[i])
        parameters[parameter].observations.push_back(i);
  }

  target::Target target;
  target::Compilation compilation;
  llvm::ArrayRef<Observation> observations;
  std::optional<target::Topology> topology;
  std::vector<std::string> paths;
  std::vector<double *> numbers;
  std::vector<FitParameter> parameters;
};

//===----------------------------------------------------------------------===//
// Predictions
//===----------------------------------------------------------------------===//

struct StepLatency {
  double seconds = 0;
  /// The standard error relative to the latency; 0 for a single step.
  double relativeError = 0;
  /// The number of steps whose median is taken.
  int64_t steps = 0;
};

/// An interval in which a device is busy.
struct BusySpan {
  double start = 0;
  double end = 0;
  bool isCommunication = false;
};
using Spans = std::vector<BusySpan>;

} // namespace

/// Adds the copies, which have no step: each belongs to the last step whose
/// first row starts before it, or to the first step.
static void addCopies(const Profile &profile, std::map<int64_t, Spans> &spans) {
  std::vector<std::pair<double, Spans *>> starts;
  for (auto &[step, rows] : spans)
    starts.emplace_back(
        llvm::min_element(rows,
                          [](const BusySpan &a, const BusySpan &b) {
                            return a.start < b.start;
                          })
            ->start,
        &rows);
  llvm::sort(starts);
  for (const ProfiledCopy &copy : profile.copies) {
    auto later = llvm::partition_point(
        starts, [&](const auto &step) { return step.first <= copy.start; });
    if (later != starts.begin())
      --later;
    if (later != starts.end())
      later->second->push_back(
          {copy.start, copy.start + copy.seconds, /*isCommunication=*/false});
  }
}

/// Returns the intervals in which devices are busy, by step. Returns none if a
/// row has no start time.
static std::optional<std::map<int64_t, Spans>>
getBusySpans(const Profile &profile) {
  std::map<int64_t, Spans> spans;
  for (const ProfiledLaunch &launch : profile.launches)
    for (const ProfiledTime &time : launch.times) {
      if (!time.start)
        return std::nullopt;
      spans[time.step].push_back(
          {*time.start, *time.start + time.seconds, launch.isCommunication()});
    }
  addCopies(profile, spans);
  return spans;
}

/// Returns the time in which a device is busy, or waits after communication.
/// The latter is attributed to the networks, not to the host.
static double getBusyLength(Spans spans) {
  llvm::sort(spans, [](const BusySpan &a, const BusySpan &b) {
    return std::tie(a.start, a.end, a.isCommunication) <
           std::tie(b.start, b.end, b.isCommunication);
  });
  double length = 0;
  BusySpan last = spans.front();
  last.end = last.start;
  for (const BusySpan &span : spans) {
    const bool isHeld = last.isCommunication && span.start > last.end;
    const double from = isHeld ? last.end : std::max(span.start, last.end);
    length += std::max(0.0, span.end - from);
    if (span.end >= last.end)
      last = span;
  }
  return length;
}

/// Returns the time of each step in which no device is busy. Empty if the files
/// do not contain it.
static std::map<int64_t, double> getIdleTimes(const Profile &profile) {
  const auto spans = getBusySpans(profile);
  if (!spans)
    return {};
  std::map<int64_t, double> idle;
  for (const ProfiledStep &step : profile.steps) {
    const auto found = spans->find(step.step);
    if (!step.length || found == spans->end())
      return {};
    idle[step.step] = std::max(idle[step.step], *step.length);
  }
  for (auto &[step, seconds] : idle)
    seconds = std::max(0.0, seconds - getBusyLength(spans->at(step)));
  return idle;
}

static StepLatency summarize(const std::map<int64_t, double> &seconds) {
  constexpr size_t enough = 3;
  std::vector<double> times;
  for (const auto &[step, time] : seconds)
    times.push_back(time);
  if (times.size() >= enough)
    times.erase(times.begin());
  llvm::sort(times);
  StepLatency latency;
  latency.seconds = times[times.size() / 2];
  latency.steps = static_cast<int64_t>(times.size());
  const double spread = (times.back() - times.front()) / 2;
  if (latency.seconds > 0)
    latency.relativeError =
        spread / latency.seconds / std::sqrt(static_cast<double>(times.size()));
  return latency;
}

/// Returns the part of a step in which no rank's device is busy or copies,
/// except after a communication, as the median over steps. A rank that waits
/// for another or for a network is not delayed by its host. With three or more
/// steps the first one is ignored. Without start times, it is the smallest free
/// time of any rank. Returns none if there is no step_trace_time.csv.
static std::optional<StepLatency> findStepLatency(const Profile &profile) {
  if (profile.steps.empty())
    return std::nullopt;
  if (const auto idle = getIdleTimes(profile); !idle.empty())
    return summarize(idle);
  std::map<uint32_t, std::map<int64_t, double>> free;
  for (const ProfiledStep &step : profile.steps)
    free[step.folder][step.step] = step.free;
  std::optional<StepLatency> least;
  for (const auto &[folder, times] : free) {
    const StepLatency latency = summarize(times);
    if (!least || latency.seconds < least->seconds)
      least = latency;
  }
  return least;
}

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

namespace {

class Calibrator {
public:
  Calibrator(const Target &start, const Profile &profile)
      : start(start), profile(profile), observations(observe(profile)) {}

  llvm::Expected<Calibration> run() {
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

private:
  /// Drops observations for which the target has no rate, because nothing can
  /// be fitted to them.
  void dropWithoutRate() {
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

  Error checkAny() const {
    if (!observations.all.empty())
      return Error::success();
    std::string message = profile.folders.front() +
                          ": nothing to fit: expected rows of kernels "
                          "that the target has rates for";
    auto add = [&](StringRef what, const std::map<std::string, int64_t> &rows) {
      if (!rows.empty())
        message += ("; " + what + " are ").str() + describeRows(rows);
    };
    add("of unknown type", observations.unknownTypes);
    add("not clear by their operands", observations.unclear);
    add("without a rate", calibration.withoutRate);
    return llvm::createStringError(message);
  }

  /// All kinds are weighted by their number of launches. Within a kind,
  /// launches that take more time have more weight, because they determine the
  /// time of a step.
  std::vector<FitObservation> weigh() const {
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

  void addNumbers(const TargetModel &before, const FitResult &fit,
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

  void addKinds(const TargetModel &before, const TargetModel &after) {
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

  void addStepLatency() {
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

  const Target &start;
  const Profile &profile;
  Observations observations;
  Calibration calibration;
};

} // namespace

llvm::Expected<Calibration> calibrate(const Target &target,
                                      const Profile &profile) {
  if (Error error = target::check(target))
    return std::move(error);
  return Calibrator(target, profile).run();
}

} // namespace mf::calibration
