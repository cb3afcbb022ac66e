//===- ProgressLine.cpp - Progress of a search ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/terminal/ProgressLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using llvm::errs;
using llvm::formatv;

namespace mf::tools {

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
