//===- StepLatency.cpp - Step time without device work --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepLatency.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace mf::calibration {

namespace {

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

std::optional<StepLatency> findStepLatency(const Profile &profile) {
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

} // namespace mf::calibration
