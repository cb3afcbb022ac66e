//===- SearchTerminal.cpp - Searches that users watch and end -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/terminal/SearchTerminal.h"
#include "mf/Support/NumberText.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>

using llvm::errs;
using llvm::formatv;

namespace mf::tools {

static std::atomic<bool> isStopped = false;
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may not wait");

Interrupt::Interrupt(std::optional<double> seconds, std::string option)
    : seconds(seconds), option(std::move(option)) {
  // LLVM calls the function only once, and removes its signal handlers before.
  llvm::sys::SetInterruptFunction([] { isStopped = true; });
  if (!seconds)
    return;
  timer = std::thread([this] {
    std::unique_lock<std::mutex> lock(mutex);
    if (ended.wait_for(lock, std::chrono::duration<double>(*this->seconds),
                       [this] { return isEnded; }) ||
        isStopped)
      return;
    isLate = true;
    isStopped = true;
  });
}

Interrupt::~Interrupt() {
  if (!timer.joinable())
    return;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    isEnded = true;
  }
  ended.notify_one();
  timer.join();
}

const std::atomic<bool> &Interrupt::getFlag() const { return isStopped; }

std::string Interrupt::describe() const {
  return isLate ? option + "=" + formatRounded(*seconds) + " ended the search"
                : "the search was interrupted";
}

ProgressLine::ProgressLine(solver::PlanUnits units)
    : units(std::move(units)), isTerminal(errs().is_displayed()) {}

void ProgressLine::show(const solver::SolveProgress &progress) {
  std::string text = formatv("{0:f0} s", getSeconds());
  if (!std::isfinite(progress.time)) {
    show(text + ", no plan yet");
    return;
  }
  text += ", best " + units.showTime(progress.time);
  if (progress.bound > 0)
    text += formatv(", no plan below {0} (gap {1:f2} %)",
                    units.showTime(progress.bound),
                    100 * (1 - progress.bound / progress.time));
  show(text + ", ^C ends with the best");
}

void ProgressLine::show(llvm::StringRef text) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (!isTerminal || (isShown && now - last < 100ms))
    return;
  errs() << "\r\x1b[K" << text;
  errs().flush();
  isShown = true;
  last = now;
}

double ProgressLine::getSeconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

void ProgressLine::showTimed(llvm::StringRef text) {
  show(formatv("{0:f0} s: {1}", getSeconds(), text).str());
}

void ProgressLine::showPart(size_t number, size_t count, llvm::StringRef name) {
  const double seconds = getSeconds();
  std::string text =
      formatv("{0} of {1}: {2}; {3:f0} s", number + 1, count, name, seconds);
  if (number > 0)
    text += formatv(", about {0:f0} s left",
                    seconds / static_cast<double>(number) *
                        static_cast<double>(count - number));
  show(text);
}

void ProgressLine::clear() {
  if (isShown)
    errs() << "\r\x1b[K";
  isShown = false;
}

} // namespace mf::tools
