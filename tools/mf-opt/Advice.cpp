//===- Advice.cpp - Advice for a step that does not fit -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Advice.h"
#include "AdviceSearch.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/SettingChanges.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include "mf/Support/NumberText.h"
#include "tools/terminal/Interrupt.h"
#include "tools/terminal/ProgressLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <chrono>

using namespace mf::planner;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;
using llvm::WithColor;

namespace mf::tools {

static std::string showSeconds(double seconds) {
  if (seconds < 1)
    return formatv("{0:f2} ms", seconds * 1e3);
  return formatv("{0:f2} s", seconds);
}

namespace {

class StopWatch {
public:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
};

} // namespace

/// Prints the settings, and that a step was compiled with them.
static void printPlan(const PlanRequest &request, const PlanAnswer &found,
                      StringRef target) {
  const std::vector<StageMeasure> &stages = found.best.measure.stages;
  size_t fullest = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    if (stages[stage].peakBytes > stages[fullest].peakBytes)
      fullest = stage;
  WithColor::note()
      << "proven by compiling it: the step fits with the settings below; "
         "stage "
      << fullest << " needs most, "
      << describeMemorySize(stages[fullest].peakBytes) << " of "
      << describeMemorySize(found.limitBytes) << "; on " << target
      << " it takes " << showSeconds(found.best.measure.seconds) << ", "
      << showSeconds(found.given.seconds) << " if memory had no limit\n"
      << printSettingChanges(StringRef(request.yaml), found.best.yaml, 2);
}

static void printFailure(Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [](const solver::NoPlanError &noPlan) {
        WithColor::note() << noPlan.message() << '\n';
      },
      [](const llvm::ErrorInfoBase &other) {
        WithColor::note() << "cannot search for settings that fit: "
                          << other.message() << '\n';
      });
}

/// Ends the program without waiting for a search that does not stop.
[[noreturn]] static void giveUp(const std::string &reason) {
  WithColor::note() << reason << " before settings were found that fit\n";
  llvm::outs().flush();
  llvm::sys::Process::Exit(EXIT_FAILURE, /*NoCleanup=*/true);
}

/// Waits for a result.
static void await(const AdviceSearch &search, double seconds,
                  const std::atomic<bool> &stop) {
  constexpr double grace = 2;
  const StopWatch clock;
  std::optional<double> stopped;
  ProgressLine line({});
  while (!search.wait(/*milliseconds=*/100)) {
    const double waited = clock.getSeconds();
    if (stop && !stopped)
      stopped = waited;
    if (stopped && waited - *stopped >= grace) {
      line.clear();
      giveUp("the search was interrupted");
    }
    if (waited >= seconds) {
      line.clear();
      giveUp("--advise-time-limit=" + formatRounded(seconds) +
             " ended the search");
    }
    line.show(formatv("looking for settings that fit: {0:f0} of at most {1:f0} "
                      "s, ^C ends it",
                      waited, seconds)
                  .str());
  }
}

void printAdvice(const PlanRequest &request, StringRef target, double seconds) {
  const std::atomic<bool> &stop = catchInterrupt();
  AdviceSearch search(request, seconds, stop);
  await(search, seconds, stop);
  Expected<PlanAnswer> found = search.take();
  if (!found)
    return printFailure(found.takeError());
  // If the result is the given settings, these already fit.
  if (!found->isGiven)
    printPlan(request, *found, target);
}

} // namespace mf::tools
