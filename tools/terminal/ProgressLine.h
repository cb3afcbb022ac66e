//===- ProgressLine.h - Progress of a search --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_TERMINAL_PROGRESSLINE_H
#define MF_TOOLS_TERMINAL_PROGRESSLINE_H

#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/Solver.h"
#include <chrono>

namespace mf::tools {

/// A line on standard error that is overwritten repeatedly, if standard error
/// is a terminal. The destructor clears it.
class ProgressLine {
public:
  explicit ProgressLine(solver::PlanUnits units);
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
  ~ProgressLine() { clear(); }

  void show(const solver::SolveProgress &progress);
  /// Shows other text in the same place.
  void show(llvm::StringRef text);
  /// Shows text behind the time so far.
  void showTimed(llvm::StringRef text);
  /// Shows that part `number` of `count` is under way, the time so far and,
  /// from the time of the parts before, the time that is left.
  void showPart(size_t number, size_t count, llvm::StringRef name);
  void clear();

private:
  double getSeconds() const;

  solver::PlanUnits units;
  bool isTerminal;
  bool isShown = false;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last;
};

} // namespace mf::tools

#endif // MF_TOOLS_TERMINAL_PROGRESSLINE_H
