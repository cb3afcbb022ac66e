//===- PlanUnits.cpp - Units of times and memory --------------------------===//

#include "mf/Plan/PlanUnits.h"
#include "mf/Text/TextTable.h"

namespace mf::plan {

static std::string name(const std::string &what, const std::string &unit) {
  return unit.empty() ? what : what + ", " + unit;
}

static std::string show(double value, const std::string &unit) {
  return formatRounded(value) + (unit.empty() ? "" : " " + unit);
}

std::string PlanUnits::showTime(double value) const {
  return show(value * timeScale, time);
}

std::string PlanUnits::showMemory(double value) const {
  return show(value * memoryScale, memory);
}

std::string PlanUnits::nameTime(const std::string &what) const {
  return name(what, time);
}

std::string PlanUnits::nameMemory(const std::string &what) const {
  return name(what, memory);
}

} // namespace mf::plan
