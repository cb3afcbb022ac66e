//===- LearningRate.cpp - The schedule of a program -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/LearningRate.h"
#include <cmath>

namespace mf::ranks {

namespace {

/// Takes values out of the program's attributes by their keys.
class RuleReader {
public:
  explicit RuleReader(const program::LearningRateRule &schedule)
      : schedule(schedule) {}

  template <typename Value> void read(const char *key, Value &value) {
    std::optional<Value> number;
    read(key, number);
    if (number)
      value = *number;
  }

  void read(const char *key, std::optional<double> &value) {
    const program::ScheduleValue *given = find(key);
    if (!given)
      return;
    if (const auto *number = std::get_if<double>(given))
      value = *number;
    else if (const auto *integer = std::get_if<int64_t>(given))
      value = static_cast<double>(*integer);
    else
      fail(key, "a number");
  }

  void read(const char *key, std::optional<int64_t> &value) {
    const program::ScheduleValue *given = find(key);
    if (!given)
      return;
    if (const auto *integer = std::get_if<int64_t>(given))
      value = *integer;
    else
      fail(key, "an integer");
  }

  llvm::Error takeError() {
    if (error.empty())
      return llvm::Error::success();
    return llvm::createStringError(error);
  }

private:
  const program::ScheduleValue *find(const char *key) const {
    auto found = schedule.parameters.find(key);
    return found == schedule.parameters.end() ? nullptr : &found->second;
  }

  void fail(const char *key, const char *expected) {
    if (error.empty())
      error = std::string("lr_schedule: expected ") + expected + " as '" + key +
              "'";
  }

  const program::LearningRateRule &schedule;
  std::string error;
};

} // namespace

llvm::Expected<mf::LrSchedule>
makeLrSchedule(const program::LearningRateRule &schedule, int64_t totalSteps) {
  RuleReader reader(schedule);
  LrScheduleConfig config;
  config.type = schedule.type;
  config.learningRate = 0;
  reader.read("base_lr", config.learningRate);
  reader.read("learning_rate", config.learningRate);
  reader.read("warmup_lr_init", config.warmupLrInit);
  reader.read("warmup_steps", config.warmupSteps);
  reader.read("warmup_ratio", config.warmupRatio);
  reader.read("total_steps", config.totalSteps);
  reader.read("lr_end", config.lrEnd);
  reader.read("num_cycles", config.numCycles);
  reader.read("power", config.power);
  reader.read("decay_steps", config.decaySteps);
  reader.read("decay_ratio", config.decayRatio);
  reader.read("decay_start_steps", config.decayStartSteps);
  reader.read("decay_start_ratio", config.decayStartRatio);
  reader.read("t_max", config.tMax);
  reader.read("t_0", config.t0);
  reader.read("t_mult", config.tMult);
  reader.read("eta_min", config.etaMin);
  reader.read("late_steps", config.lateSteps);
  if (llvm::Error error = reader.takeError())
    return error;
  if (config.totalSteps < 0)
    config.totalSteps = totalSteps;
  return mf::LrSchedule::create(config);
}

} // namespace mf::ranks
