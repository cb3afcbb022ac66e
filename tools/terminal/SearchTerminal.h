//===- SearchTerminal.h - Searches that users watch and end -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_TERMINAL_SEARCHTERMINAL_H
#define MF_TOOLS_TERMINAL_SEARCHTERMINAL_H

#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/Solver.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace mf::tools {

/// Sets a flag, which searches check, at the first ^C (or SIGTERM), and when
/// the time is over that the user gave, if any. The second ^C ends the program.
/// Searches read no clock of their own.
class Interrupt {
public:
  /// `option` is the name of the option that gave the seconds.
  explicit Interrupt(std::optional<double> seconds = {},
                     std::string option = "--time-limit");
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;
  ~Interrupt();

  const std::atomic<bool> &getFlag() const;
  bool isSet() const { return getFlag(); }
  /// Returns what set the flag, as "--time-limit=5 ended the search".
  std::string describe() const;

private:
  const std::optional<double> seconds;
  const std::string option;
  std::atomic<bool> isLate = false;
  std::mutex mutex;
  std::condition_variable ended;
  bool isEnded = false;
  std::thread timer;
};

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

#endif // MF_TOOLS_TERMINAL_SEARCHTERMINAL_H
