//===- ProgressLine.cpp - How far a search has come -----------------------===//

#include "tools/terminal/ProgressLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using llvm::errs;
using llvm::formatv;

namespace mf::tools {

ProgressLine::ProgressLine(plan::PlanUnits units)
    : units(std::move(units)), isTerminal(errs().is_displayed()) {}

void ProgressLine::show(const plan::SolveProgress &progress) {
  std::string text = formatv("{0:f0} s", progress.seconds);
  if (std::isfinite(progress.time)) {
    const double gap =
        progress.time > 0 ? 1 - progress.bound / progress.time : 0;
    text += formatv(", best {0}, no plan below {1} (gap {2:f2} %), ^C ends "
                    "with the best",
                    units.showTime(progress.time),
                    units.showTime(progress.bound), gap * 100);
  } else {
    text += ", no plan yet";
  }
  show(text);
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

void ProgressLine::clear() {
  if (isShown)
    errs() << "\r\x1b[K";
  isShown = false;
}

} // namespace mf::tools
