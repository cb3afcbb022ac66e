//===- LearningRate.cpp - The schedule of a program -----------------------===//

#include "mf/Exec/Ranks/LearningRate.h"
#include <cmath>

namespace mf::ranks {

namespace {

/// Takes values out of the program's attributes by their keys.
class RuleReader {
public:
  explicit RuleReader(const program::LearningRateRule &schedule)
      : schedule(schedule) {}

  void read(const char *key, double &value) {
    std::optional<double> number;
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
  LrScheduleOptions options;
  options.type = schedule.type;
  reader.read("base_lr", options.learningRate);
  reader.read("learning_rate", options.learningRate);
  reader.read("warmup_lr_init", options.warmupLrInit);
  reader.read("warmup_steps", options.warmupSteps);
  reader.read("warmup_ratio", options.warmupRatio);
  reader.read("total_steps", options.totalSteps);
  reader.read("lr_end", options.lrEnd);
  reader.read("num_cycles", options.numCycles);
  reader.read("power", options.power);
  reader.read("decay_steps", options.decaySteps);
  reader.read("decay_ratio", options.decayRatio);
  reader.read("decay_start_steps", options.decayStartSteps);
  reader.read("decay_start_ratio", options.decayStartRatio);
  reader.read("t_max", options.tMax);
  reader.read("t_0", options.t0);
  reader.read("t_mult", options.tMult);
  reader.read("eta_min", options.etaMin);
  reader.read("late_steps", options.lateSteps);
  if (llvm::Error error = reader.takeError())
    return error;
  if (!options.totalSteps || *options.totalSteps < 0)
    options.totalSteps = totalSteps;
  return mf::LrSchedule::create(options);
}

} // namespace mf::ranks
