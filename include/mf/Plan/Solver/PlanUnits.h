//===- PlanUnits.h - Units of times and memory ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PLAN_SOLVER_PLANUNITS_H
#define MF_PLAN_SOLVER_PLANUNITS_H

#include <string>

namespace mf::solver {

/// The units in which a problem's times and memory are printed. They are those
/// of the problem, unless these are known to be seconds and bytes.
struct PlanUnits {
  /// The names of the units; empty if they are not known.
  std::string time, memory;
  /// The factors by which values of the problem are multiplied.
  double timeScale = 1, memoryScale = 1;

  /// Formats a value with its unit, for example "1.25 s", or "1.25" if the unit
  /// is not known.
  std::string showTime(double value) const;
  std::string showMemory(double value) const;
  /// Formats a value without its unit, for a column or an axis whose title has
  /// it.
  std::string countTime(double value) const;
  std::string countMemory(double value) const;
  /// Formats a title, for example "limit, GiB", or "limit" if the unit is not
  /// known.
  std::string nameTime(const std::string &what) const;
  std::string nameMemory(const std::string &what) const;
};

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_PLANUNITS_H
