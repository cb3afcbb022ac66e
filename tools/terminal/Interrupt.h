//===- Interrupt.h - Users end searches, not the program -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_TERMINAL_INTERRUPT_H
#define MF_TOOLS_TERMINAL_INTERRUPT_H

#include <atomic>
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

} // namespace mf::tools

#endif // MF_TOOLS_TERMINAL_INTERRUPT_H
