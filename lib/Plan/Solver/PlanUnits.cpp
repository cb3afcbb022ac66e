//===- PlanUnits.cpp - Units of times and memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/PlanUnits.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"

namespace mf::solver {

static std::string name(const std::string &what, const std::string &unit) {
  return unit.empty() ? what : what + ", " + unit;
}

/// Formats a number of a problem exactly, and a measured number with a few
/// digits.
static std::string count(double value, const std::string &unit) {
  return unit.empty() ? formatAmount(value) : formatRounded(value);
}

std::string PlanUnits::countTime(double value) const {
  return count(value * timeScale, time);
}

std::string PlanUnits::countMemory(double value) const {
  return count(value * memoryScale, memory);
}

std::string PlanUnits::showTime(double value) const {
  return countTime(value) + (time.empty() ? "" : " " + time);
}

std::string PlanUnits::showMemory(double value) const {
  return countMemory(value) + (memory.empty() ? "" : " " + memory);
}

std::string PlanUnits::nameTime(const std::string &what) const {
  return name(what, time);
}

std::string PlanUnits::nameMemory(const std::string &what) const {
  return name(what, memory);
}

} // namespace mf::solver
