//===- TargetModel.cpp - Times that a target predicts ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TargetModel.h"
#include "mf/Perf/Target/KernelCost.h"
#include "mf/Perf/Target/TargetFields.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using llvm::StringRef;
using mf::target::Range;
using mf::target::Target;
using mf::target::Topology;

namespace mf::calibration {

//===----------------------------------------------------------------------===//
// Beliefs
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Predictions
//===----------------------------------------------------------------------===//

int64_t countRanks(llvm::ArrayRef<Observation> observations) {
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

llvm::Expected<double> predictSeconds(const Target &target,
                                      const Topology *topology,
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

TargetModel::TargetModel(Target start, const target::Compilation &compilation,
                         llvm::ArrayRef<Observation> observations)
    : target(std::move(start)), compilation(compilation),
      observations(observations) {
  if (const int64_t ranks = countRanks(observations); ranks > 0)
    topology = llvm::cantFail(Topology::create(target, ranks),
                              "observations of ranks that are not joined");
  target::forEachField(target, [&](StringRef path, const target::Field &field) {
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

/// An observation depends on a number if its time changes when the number is 20
/// times as large or as small.
void TargetModel::findDependents(size_t parameter) {
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

void TargetModel::setParameter(size_t parameter, double logValue) {
  *numbers[parameter] = std::exp(logValue);
}

double TargetModel::predict(size_t observation) const {
  // Shorter times are taken to be this long, because a time of zero has no
  // logarithm.
  constexpr double shortest = 1e-12;
  const double seconds =
      llvm::cantFail(predictSeconds(target, topology ? &*topology : nullptr,
                                    compilation, observations[observation]),
                     "an observation for which the target has no rate");
  return std::log(std::max(seconds, shortest));
}

} // namespace mf::calibration
