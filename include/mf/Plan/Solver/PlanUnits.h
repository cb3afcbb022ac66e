//===- PlanUnits.h - Units of times and memory ----------------*- C++ -*-===//

#ifndef MF_PLAN_PLANUNITS_H
#define MF_PLAN_PLANUNITS_H

#include <string>

namespace mf::plan {

/// In what times and memory of a problem are shown: those of the problem,
/// unless they are known to be seconds and bytes.
struct PlanUnits {
  /// The names of the units; empty if they are not known.
  std::string time, memory;
  /// By what numbers of the problem are multiplied.
  double timeScale = 1, memoryScale = 1;

  /// "1.25 s"; "1.25" if the unit is not known.
  std::string showTime(double value) const;
  std::string showMemory(double value) const;
  /// Without the unit, for a column or axis that has it.
  std::string countTime(double value) const;
  std::string countMemory(double value) const;
  /// "limit, GiB"; "limit" if the unit is not known.
  std::string nameTime(const std::string &what) const;
  std::string nameMemory(const std::string &what) const;
};

} // namespace mf::plan

#endif // MF_PLAN_PLANUNITS_H
