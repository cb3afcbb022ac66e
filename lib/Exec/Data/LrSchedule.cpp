//===- LrSchedule.cpp - Learning rate by step -----------------------------===//

#include "mf/Exec/Data/LrSchedule.h"
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
                std::optional<double> ratio, std::optional<int64_t> total,
                double &result) {
  if (ratio) {
    if (std::isnan(*ratio) || *ratio < 0 || *ratio > 1)
      return keyError(ratioKey, *ratio, "0 to 1");
    if (!total)
      return createStringError(inconvertibleErrorCode(),
                               "lr_schedule: %s needs total_steps",
                               ratioKey.data());
    result = std::floor(*ratio * static_cast<double>(*total));
  } else if (steps) {
    if (*steps < 0)
      return keyError(key, static_cast<double>(*steps), "0 or more");
    result = static_cast<double>(*steps);
  }
  return Error::success();
}

} // namespace

const LrSchedule::Name LrSchedule::classNames[] = {
    {"", Kind::Plain},
    {"ConstantWarmUpLR", Kind::ConstantWarmUp},
    {"LinearWithWarmUpLR", Kind::LinearWithWarmUp},
    {"CosineWithWarmUpLR", Kind::CosineWithWarmUp},
    {"CosineWithRestartsAndWarmUpLR", Kind::CosineWithRestartsAndWarmUp},
    {"PolynomialWithWarmUpLR", Kind::PolynomialWithWarmUp},
    {"WarmUpStableDecayLR", Kind::WarmUpStableDecay},
    {"CosineAnnealingLR", Kind::CosineAnnealing},
    {"CosineAnnealingWarmRestarts", Kind::CosineAnnealingWarmRestarts},
};

const LrSchedule::Name LrSchedule::shortNames[] = {
    {"constant", Kind::ConstantWarmUp},
    {"constant_with_warmup", Kind::ConstantWarmUp},
    {"linear", Kind::LinearWithWarmUp},
    {"cosine", Kind::CosineWithWarmUp},
    {"cosine_with_restarts", Kind::CosineWithRestartsAndWarmUp},
    {"polynomial", Kind::PolynomialWithWarmUp},
};

Expected<LrSchedule::Kind> LrSchedule::parseKind(StringRef name) {
  std::vector<StringRef> known;
  for (const Name &entry : classNames) {
    if (name == entry.name)
      return entry.kind;
    known.push_back(entry.name);
  }
  for (const Name &entry : shortNames)
    if (name == entry.name)
      return entry.kind;
  return createStringError(inconvertibleErrorCode(),
                           "lr_schedule: unknown type '" + name + "'" +
                               suggestName(name, known));
}

StringRef LrSchedule::getType() const {
  for (const Name &entry : classNames)
    if (entry.kind == kind)
      return entry.name;
  llvm_unreachable("schedule without a name");
}

bool LrSchedule::hasWarmUp() const {
  return kind != Kind::Plain && kind != Kind::CosineAnnealing &&
         kind != Kind::CosineAnnealingWarmRestarts;
}

Expected<LrSchedule> LrSchedule::create(const LrScheduleOptions &options) {
  Expected<Kind> kind = parseKind(options.type);
  if (!kind)
    return kind.takeError();
  LrSchedule schedule;
  schedule.kind = *kind;
  schedule.base = options.learningRate;
  schedule.lateSteps = options.lateSteps.value_or(0);
  if (schedule.lateSteps < 0)
    return keyError("late_steps", static_cast<double>(schedule.lateSteps),
                    "0 or more");
  if (Error error = checkRate("learning_rate", options.learningRate))
    return error;
  if (schedule.hasWarmUp()) {
    if (Error error = schedule.setWarmUp(options))
      return error;
    if (Error error = schedule.setDecay(options))
      return error;
  } else if (schedule.kind != Kind::Plain) {
    if (Error error = schedule.setAnnealing(options))
      return error;
  }
  return schedule;
}

Error LrSchedule::setWarmUp(const LrScheduleOptions &options) {
  init = options.warmupLrInit;
  if (Error error = checkRate("warmup_lr_init", init))
    return error;
  if (options.totalSteps) {
    total = static_cast<double>(*options.totalSteps);
    if (total < 1)
      return keyError("total_steps", total, "1 or more");
  } else if (kind != Kind::ConstantWarmUp) {
    return createStringError(inconvertibleErrorCode(),
                             "lr_schedule: %s needs total_steps",
                             getType().data());
  }
  return readSteps("warmup_steps", options.warmupSteps, "warmup_ratio",
                   options.warmupRatio, options.totalSteps, warmup);
}

Error LrSchedule::setDecay(const LrScheduleOptions &options) {
  const bool toTiny =
      kind == Kind::PolynomialWithWarmUp || kind == Kind::WarmUpStableDecay;
  end = options.lrEnd.value_or(toTiny ? 1e-7 : 0);
  if (Error error = checkRate("lr_end", end))
    return error;
  if (kind == Kind::PolynomialWithWarmUp && end >= base)
    return keyError("lr_end", end, "less than learning_rate");

  cycles = options.numCycles.value_or(
      kind == Kind::CosineWithRestartsAndWarmUp ? 1 : 0.5);
  if (!std::isfinite(cycles) || cycles < 0)
    return keyError("num_cycles", cycles, "a number of 0 or more");
  power = options.power.value_or(1);
  if (!std::isfinite(power) || power <= 0)
    return keyError("power", power, "a number over 0");

  decay = total - warmup;
  if (Error error = readSteps("decay_steps", options.decaySteps, "decay_ratio",
                              options.decayRatio, options.totalSteps, decay))
    return error;
  // If the warm-up is as long as the run, no step decays. The divisor is then
  // 1, so that p is 0 or larger than 1.
  decay = std::max(decay, 1.0);
  decayStart = total;
  if (Error error = readSteps("decay_start_steps", options.decayStartSteps,
                              "decay_start_ratio", options.decayStartRatio,
                              options.totalSteps, decayStart))
    return error;
  if (kind == Kind::WarmUpStableDecay && decayStart > total)
    return keyError("decay_start_steps", decayStart,
                    "no more than total_steps");
  return Error::success();
}

Error LrSchedule::setAnnealing(const LrScheduleOptions &options) {
  end = options.etaMin;
  if (Error error = checkRate("eta_min", end))
    return error;
  const bool restarts = kind == Kind::CosineAnnealingWarmRestarts;
  const std::optional<int64_t> steps = restarts ? options.t0 : options.tMax;
  const StringRef key = restarts ? "t_0" : "t_max";
  if (!steps)
    return createStringError(inconvertibleErrorCode(),
                             "lr_schedule: %s needs %s", getType().data(),
                             key.data());
  period = static_cast<double>(*steps);
  if (period < 1)
    return keyError(key, period, "1 or more");
  periodFactor = static_cast<double>(options.tMult.value_or(1));
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
  case Kind::Plain:
  case Kind::ConstantWarmUp:
    return base;
  case Kind::CosineAnnealing:
    return end + (base - end) * (1 + std::cos(M_PI * t / period)) / 2;
  case Kind::CosineAnnealingWarmRestarts:
    return evaluateWarmRestarts(t);
  default:
    return evaluateDecay(t);
  }
}

double LrSchedule::evaluateDecay(double t) const {
  const double p = (t - warmup) / decay;
  switch (kind) {
  case Kind::LinearWithWarmUp:
    return base * std::max(0.0, (total - t) / std::max(1.0, total - warmup));
  case Kind::CosineWithWarmUp:
    if (p >= 1)
      return end;
    return end + (base - end) * (1 + std::cos(2 * M_PI * cycles * p)) / 2;
  case Kind::CosineWithRestartsAndWarmUp:
    if (p >= 1)
      return end;
    return end +
           (base - end) * (1 + std::cos(M_PI * std::fmod(cycles * p, 1.0))) / 2;
  case Kind::PolynomialWithWarmUp:
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
