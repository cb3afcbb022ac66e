//===- LrSchedule.cpp - Learning rate by step -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/LrSchedule.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace llvm;

namespace mf {

namespace {

Error keyError(StringRef key, double value, StringRef expected) {
  return createStringError(inconvertibleErrorCode(),
                           "lr_schedule: %s is %.17g, expected %s", key.data(),
                           value, expected.data());
}

Error checkRate(StringRef key, double value) {
  if (std::isfinite(value) && value >= 0)
    return Error::success();
  return keyError(key, value, "a number of 0 or more");
}

/// Reads a number of steps that is given directly or as a fraction of the
/// total.
Error readSteps(StringRef key, std::optional<int64_t> steps, StringRef ratioKey,
                std::optional<double> ratio, int64_t total, double &result) {
  if (ratio) {
    if (std::isnan(*ratio) || *ratio < 0 || *ratio > 1)
      return keyError(ratioKey, *ratio, "0 to 1");
    if (total == -1)
      return createStringError(inconvertibleErrorCode(),
                               "lr_schedule: %s needs total_steps",
                               ratioKey.data());
    result = std::floor(*ratio * static_cast<double>(total));
  } else if (steps) {
    if (*steps < 0)
      return keyError(key, static_cast<double>(*steps), "0 or more");
    result = static_cast<double>(*steps);
  }
  return Error::success();
}

} // namespace

namespace {
struct ScheduleName {
  StringLiteral name;
  LrScheduleKind kind;
};
} // namespace

/// Class names, and behind them the short forms.
static constexpr ScheduleName scheduleNames[] = {
    {"", LrScheduleKind::Plain},
    {"ConstantWarmUpLR", LrScheduleKind::Constant},
    {"LinearWithWarmUpLR", LrScheduleKind::Linear},
    {"CosineWithWarmUpLR", LrScheduleKind::Cosine},
    {"CosineWithRestartsAndWarmUpLR", LrScheduleKind::CosineWithRestarts},
    {"PolynomialWithWarmUpLR", LrScheduleKind::Polynomial},
    {"WarmUpStableDecayLR", LrScheduleKind::WarmUpStableDecay},
    {"CosineAnnealingLR", LrScheduleKind::CosineAnnealing},
    {"CosineAnnealingWarmRestarts",
     LrScheduleKind::CosineAnnealingWarmRestarts},
    {"constant", LrScheduleKind::Constant},
    {"constant_with_warmup", LrScheduleKind::Constant},
    {"linear", LrScheduleKind::Linear},
    {"cosine", LrScheduleKind::Cosine},
    {"cosine_with_restarts", LrScheduleKind::CosineWithRestarts},
    {"polynomial", LrScheduleKind::Polynomial},
};

std::optional<LrScheduleKind> findLrScheduleKind(StringRef name) {
  for (const ScheduleName &entry : scheduleNames)
    if (name == entry.name)
      return entry.kind;
  return std::nullopt;
}

static Error reportUnknown(StringRef name) {
  std::vector<StringRef> known;
  for (const ScheduleName &entry : scheduleNames)
    if (entry.name != entry.name.lower())
      known.push_back(entry.name);
  return createStringError(inconvertibleErrorCode(),
                           "lr_schedule: unknown type '" + name + "'" +
                               suggestName(name, known));
}

StringRef LrSchedule::getType() const {
  for (const ScheduleName &entry : scheduleNames)
    if (entry.kind == kind)
      return entry.name;
  llvm_unreachable("schedule without a name");
}

bool LrSchedule::hasWarmUp() const {
  return kind != LrScheduleKind::Plain &&
         kind != LrScheduleKind::CosineAnnealing &&
         kind != LrScheduleKind::CosineAnnealingWarmRestarts;
}

Expected<LrSchedule> LrSchedule::create(const LrScheduleConfig &config) {
  const std::optional<LrScheduleKind> kind = findLrScheduleKind(config.type);
  if (!kind)
    return reportUnknown(config.type);
  LrSchedule schedule;
  schedule.kind = *kind;
  schedule.base = config.learningRate;
  schedule.lateSteps = config.lateSteps;
  if (schedule.lateSteps < 0)
    return keyError("late_steps", static_cast<double>(schedule.lateSteps),
                    "0 or more");
  if (Error error = checkRate("learning_rate", config.learningRate))
    return error;
  if (schedule.hasWarmUp()) {
    if (Error error = schedule.setWarmUp(config))
      return error;
    if (Error error = schedule.setDecay(config))
      return error;
  } else if (schedule.kind != LrScheduleKind::Plain) {
    if (Error error = schedule.setAnnealing(config))
      return error;
  }
  return schedule;
}

Error LrSchedule::setWarmUp(const LrScheduleConfig &config) {
  init = config.warmupLrInit.value_or(0);
  if (Error error = checkRate("warmup_lr_init", init))
    return error;
  if (config.totalSteps != -1) {
    total = static_cast<double>(config.totalSteps);
    if (total < 1)
      return keyError("total_steps", total, "1 or more");
  } else if (kind != LrScheduleKind::Constant) {
    return createStringError(inconvertibleErrorCode(),
                             "lr_schedule: %s needs total_steps",
                             getType().data());
  }
  return readSteps("warmup_steps", config.warmupSteps, "warmup_ratio",
                   config.warmupRatio, config.totalSteps, warmup);
}

Error LrSchedule::setDecay(const LrScheduleConfig &config) {
  const bool toTiny = kind == LrScheduleKind::Polynomial ||
                      kind == LrScheduleKind::WarmUpStableDecay;
  end = config.lrEnd.value_or(toTiny ? 1e-7 : 0);
  if (Error error = checkRate("lr_end", end))
    return error;
  if (kind == LrScheduleKind::Polynomial && end >= base)
    return keyError("lr_end", end, "less than learning_rate");

  cycles = config.numCycles.value_or(
      kind == LrScheduleKind::CosineWithRestarts ? 1 : 0.5);
  if (!std::isfinite(cycles) || cycles < 0)
    return keyError("num_cycles", cycles, "a number of 0 or more");
  power = config.power.value_or(1);
  if (!std::isfinite(power) || power <= 0)
    return keyError("power", power, "a number over 0");

  decay = total - warmup;
  if (Error error = readSteps("decay_steps", config.decaySteps, "decay_ratio",
                              config.decayRatio, config.totalSteps, decay))
    return error;
  // If the warm-up is as long as the run, no step decays. The divisor is then
  // 1, so that p is 0 or larger than 1.
  decay = std::max(decay, 1.0);
  decayStart = total;
  if (Error error = readSteps("decay_start_steps", config.decayStartSteps,
                              "decay_start_ratio", config.decayStartRatio,
                              config.totalSteps, decayStart))
    return error;
  if (kind == LrScheduleKind::WarmUpStableDecay && decayStart > total)
    return keyError("decay_start_steps", decayStart,
                    "no more than total_steps");
  return Error::success();
}

Error LrSchedule::setAnnealing(const LrScheduleConfig &config) {
  end = config.etaMin.value_or(0);
  if (Error error = checkRate("eta_min", end))
    return error;
  const bool restarts = kind == LrScheduleKind::CosineAnnealingWarmRestarts;
  const std::optional<int64_t> steps = restarts ? config.t0 : config.tMax;
  const StringRef key = restarts ? "t_0" : "t_max";
  if (!steps)
    return createStringError(inconvertibleErrorCode(),
                             "lr_schedule: %s needs %s", getType().data(),
                             key.data());
  period = static_cast<double>(*steps);
  if (period < 1)
    return keyError(key, period, "1 or more");
  periodFactor = static_cast<double>(config.tMult.value_or(1));
  if (periodFactor < 1)
    return keyError("t_mult", periodFactor, "1 or more");
  return Error::success();
}

float LrSchedule::getLearningRate(int64_t step) const {
  step = std::max<int64_t>(step, 0) - lateSteps;
  return static_cast<float>(evaluate(static_cast<double>(step)));
}

/// Returns the rate at step `t`. It is negative at the start of a schedule
/// whose rates are late; only a warm-up is continued to such steps.
double LrSchedule::evaluate(double t) const {
  if (hasWarmUp() && warmup == 0)
    t = std::max(t, 0.0);
  if (hasWarmUp() && t < warmup)
    return init + (base - init) * t / warmup;
  switch (kind) {
  case LrScheduleKind::Plain:
  case LrScheduleKind::Constant:
    return base;
  case LrScheduleKind::CosineAnnealing:
    return end + (base - end) * (1 + std::cos(M_PI * t / period)) / 2;
  case LrScheduleKind::CosineAnnealingWarmRestarts:
    return evaluateWarmRestarts(t);
  default:
    return evaluateDecay(t);
  }
}

double LrSchedule::evaluateDecay(double t) const {
  const double p = (t - warmup) / decay;
  switch (kind) {
  case LrScheduleKind::Linear:
    return base * std::max(0.0, (total - t) / std::max(1.0, total - warmup));
  case LrScheduleKind::Cosine:
    if (p >= 1)
      return end;
    return end + (base - end) * (1 + std::cos(2 * M_PI * cycles * p)) / 2;
  case LrScheduleKind::CosineWithRestarts:
    if (p >= 1)
      return end;
    return end +
           (base - end) * (1 + std::cos(M_PI * std::fmod(cycles * p, 1.0))) / 2;
  case LrScheduleKind::Polynomial:
    if (p >= 1)
      return end;
    return end + (base - end) * std::pow(1 - p, power);
  default: // WarmUpStableDecay
    if (t >= total)
      return end;
    if (t < decayStart)
      return base;
    return base - (base - end) * (t - decayStart) / (total - decayStart);
  }
}

double LrSchedule::evaluateWarmRestarts(double t) const {
  double length = period;
  if (periodFactor == 1) {
    t = std::fmod(t, period);
  } else {
    // Each period is at least twice as long as the one before, so the loop is
    // short.
    while (t >= length) {
      t -= length;
      length *= periodFactor;
    }
  }
  return end + (base - end) * (1 + std::cos(M_PI * t / length)) / 2;
}

} // namespace mf
