//===- Advice.cpp - Advice for a step that does not fit -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Advice.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/SettingChanges.h"
#include "mf/Plan/Settings/MemoryWays.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

using namespace mf::planner;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;
using llvm::WithColor;

namespace mf::tools {

namespace {

/// Searches in a separate thread, because a compile cannot be interrupted.
class AdviceSearch {
public:
  /// Starts the search. It ends soon after `stop` is set. The request's own
  /// kept settings are ignored.
  AdviceSearch(PlanRequest request, const std::atomic<bool> &stop) {
    request.stop = &stop;
    std::packaged_task<Result()> task([this, request = std::move(request)] {
      return std::make_shared<Expected<WaySearchResult>>(
          searchWays(request, [this](WaySearchResult partial) {
            const std::lock_guard<std::mutex> lock(isFinding);
            found = std::move(partial);
          }));
    });
    result = task.get_future();
    thread = std::thread(std::move(task));
  }

  AdviceSearch(const AdviceSearch &) = delete;
  AdviceSearch &operator=(const AdviceSearch &) = delete;
  /// Waits for the end.
  ~AdviceSearch() { thread.join(); }

  /// Waits at most this long. Returns true if there is a result.
  bool wait(int milliseconds) const {
    return result.wait_for(std::chrono::milliseconds(milliseconds)) ==
           std::future_status::ready;
  }

  /// Waits for the result and returns it.
  llvm::Expected<planner::WaySearchResult> take() {
    return std::move(*result.get());
  }

  /// Returns what was found so far.
  std::optional<planner::WaySearchResult> getFound() {
    const std::lock_guard<std::mutex> lock(isFinding);
    return found;
  }

private:
  std::mutex isFinding;
  std::optional<planner::WaySearchResult> found;
  // A future cannot hold an llvm::Expected by value.
  using Result = std::shared_ptr<llvm::Expected<planner::WaySearchResult>>;
  std::future<Result> result;
  std::thread thread;
};

} // namespace

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

/// The unit of sizes in tables: GiB, or MiB for steps of less than one GiB.
struct SizeUnit {
  explicit SizeUnit(int64_t largest) : isLarge(largest >= gib) {}

  const char *getName() const { return isLarge ? "GiB" : "MiB"; }
  std::string show(int64_t bytes) const {
    return formatv("{0:f2}", static_cast<double>(bytes) /
                                 static_cast<double>(isLarge ? gib : mib));
  }

private:
  static constexpr int64_t gib = 1 << 30, mib = 1 << 20;
  bool isLarge;
};

} // namespace

static int64_t getPeak(const StepMeasure &measure) {
  return measure.stages[measure.findFullest()].peakBytes;
}

/// Prints steps with what they need and take, compared with the given one. Of
/// several values only the last is named.
static void printSteps(llvm::ArrayRef<WayStep> steps,
                       const WaySearchResult &found) {
  const int64_t given = getPeak(found.given);
  const SizeUnit unit(given);
  const std::string name = unit.getName();
  TextTable table({"way", name, "saves, " + name, "step, s", "costs", "fits"});
  for (const WayStep &step : steps) {
    const int64_t peak = getPeak(*step.measure);
    const double costs = step.measure->seconds / found.given.seconds - 1;
    table.addRow({step.taken.back().describe() +
                      (step.taken.size() > 1 ? ", and the nearest's" : ""),
                  unit.show(peak), unit.show(given - peak),
                  formatDigits(step.measure->seconds, 4),
                  formatv("{0}{1:f1} %", costs >= 0 ? "+" : "", 100 * costs),
                  step.fits(found.limitBytes) ? "yes" : "no"});
  }
  table.print(llvm::errs());
}

/// Prints the settings of a step that fits, and what it needs and takes.
static void printProven(StringRef start, const WayStep &step,
                        const PlanRequest &request,
                        const WaySearchResult &found, StringRef target) {
  const StepMeasure &measure = *step.measure;
  const size_t fullest = measure.findFullest();
  WithColor::note() << start << "; stage " << fullest << " needs most, "
                    << describeMemorySize(measure.stages[fullest].peakBytes)
                    << " of " << describeMemorySize(found.limitBytes) << "; on "
                    << target << " it takes " << showSeconds(measure.seconds)
                    << ", as given " << showSeconds(found.given.seconds) << '\n'
                    << printSettingChanges(StringRef(request.yaml), step.yaml,
                                           2);
  // Without a file of its own the model is made of the YAML at each run.
  if (step.changesModel() && request.input.model)
    WithColor::note() << "they change the model, too: make it again by "
                         "mf-translate --import-mindformers\n";
}

static void printNothingFits(const WaySearchResult &found) {
  const StepMeasure &nearest = *found.nearest.measure;
  const size_t fullest = nearest.findFullest();
  const std::string taken = found.nearest.describe();
  WithColor::note()
      << (found.isCutShort
              ? "the search ended before it compiled a step that fits; give it "
                "more time"
              : "no settings fit into " + describeMemorySize(found.limitBytes))
      << ": of " << found.compiledSteps
      << " steps that were compiled, the nearest misses "
      << describeMemorySize(
             nearest.stages[fullest].getMissingBytes(found.limitBytes))
      << " on stage " << fullest << ", "
      << (taken.empty() ? "with the given settings" : "with " + taken) << '\n';
  if (found.larger.empty())
    return;
  WithColor::note()
      << "with twice the devices, alone and with the nearest settings:\n";
  printSteps(found.larger, found);
}

static void printFound(const PlanRequest &request, const WaySearchResult &found,
                       StringRef target) {
  // A value with which the step needs as much is no way to lower it.
  std::vector<WayStep> helpful;
  llvm::copy_if(found.alone, std::back_inserter(helpful),
                [&](const WayStep &step) {
                  return getPeak(*step.measure) < getPeak(found.given);
                });
  if (!helpful.empty()) {
    const SizeUnit unit(getPeak(found.given));
    WithColor::note()
        << "ways to lower it, each compiled alone; as given the step needs "
        << unit.show(getPeak(found.given)) << " of "
        << unit.show(found.limitBytes) << ' ' << unit.getName() << " and takes "
        << showSeconds(found.given.seconds) << " on " << target << ":\n";
    printSteps(helpful, found);
  }
  if (!found.best)
    return printNothingFits(found);
  printProven("proven by compiling it: the step fits with the settings below",
              *found.best, request, found, target);
  if (found.shorter)
    printProven("shorter, and compiled as well: recompute as planned",
                *found.shorter, request, found, target);
}

/// Compiles the steps of a dynamic graph's YAML on twice the ranks. Their
/// number is no key of the YAML but follows from the environment's RANK_SIZE.
static void addTwiceTheRanks(const PlanRequest &request,
                             WaySearchResult &found) {
  DiagnosticList ignored;
  const TrainingConfig config =
      parseTrainingConfig(request.yaml, request.input.fileName, ignored);
  if (!config.isOfDynamicGraph() || !hasOwnModel(request.input, request.yaml))
    return;
  constexpr const char *variable = "RANK_SIZE";
  const std::optional<std::string> before =
      llvm::sys::Process::GetEnv(variable);
  const int64_t ranks = config.parallel.getDeviceCount();
  const MemoryChoice choice{variable, std::to_string(ranks),
                            std::to_string(2 * ranks)};
  std::vector<WayStep> steps = {{{}, request.yaml, std::nullopt}};
  if (!found.nearest.taken.empty())
    steps.push_back(found.nearest);
  CompilerInput input = request.input;
  input.model.reset();
  setenv(variable, choice.instead.c_str(), /*overwrite=*/1);
  for (WayStep &step : steps) {
    Expected<CompiledStep> compiled =
        compileStep(input, step.yaml, PlanEffort::Full);
    Expected<StepMeasure> measure =
        compiled ? measureStep(*compiled, request.target)
                 : Expected<StepMeasure>(compiled.takeError());
    if (!measure) {
      llvm::consumeError(measure.takeError());
      continue;
    }
    step.measure = std::move(*measure);
    step.taken.push_back(choice);
    found.larger.push_back(std::move(step));
  }
  if (before)
    setenv(variable, before->c_str(), /*overwrite=*/1);
  else
    unsetenv(variable);
}

/// Prints what was found so far, and ends the program without waiting for a
/// search that does not stop.
[[noreturn]] static void giveUp(AdviceSearch &search,
                                const AdviceOptions &options,
                                const std::string &reason) {
  const std::optional<WaySearchResult> found = search.getFound();
  if (!found || found->given.fits(found->limitBytes))
    WithColor::note() << reason << " before settings were found that fit\n";
  else if (found->best)
    WithColor::note() << reason
                      << ": a way that costs less may have been missed\n";
  if (found && !found->given.fits(found->limitBytes))
    printFound(options.request, *found, options.target);
  llvm::outs().flush();
  llvm::sys::Process::Exit(options.exitCode, /*NoCleanup=*/true);
}

/// Waits for a result.
static void await(AdviceSearch &search, const AdviceOptions &options,
                  const Interrupt &stop) {
  constexpr double grace = 2;
  const StopWatch clock;
  std::optional<double> stopped;
  ProgressLine line({});
  while (!search.wait(/*milliseconds=*/100)) {
    const double waited = clock.getSeconds();
    if (stop.isSet() && !stopped)
      stopped = waited;
    if (stopped && waited - *stopped >= grace) {
      line.clear();
      giveUp(search, options, stop.describe());
    }
    line.show(
        formatv("looking for settings that fit: {0:f0} s, ^C ends it", waited)
            .str());
  }
}

llvm::Error checkAdviceTime(double seconds) {
  constexpr double mostSeconds = 1e6;
  if (std::isfinite(seconds) && seconds > 0 && seconds <= mostSeconds)
    return llvm::Error::success();
  return llvm::createStringError(
      "--advise-time-limit: expected seconds from above 0 to 1000000; "
      "--advise=false looks for nothing");
}

void printAdvice(const AdviceOptions &options) {
  const Interrupt stop(options.seconds, "--advise-time-limit");
  AdviceSearch search(options.request, stop.getFlag());
  await(search, options, stop);
  Expected<WaySearchResult> found = search.take();
  if (!found) {
    WithColor::note() << "cannot search for settings that fit: "
                      << toString(found.takeError()) << '\n';
    return;
  }
  // If the given settings fit after all, no others are needed.
  if (found->given.fits(found->limitBytes))
    return;
  if (!found->best && !found->isCutShort && !stop.isSet())
    addTwiceTheRanks(options.request, *found);
  if (found->isCutShort && found->best)
    WithColor::note() << stop.describe()
                      << ": a way that costs less may have been missed\n";
  printFound(options.request, *found, options.target);
}

} // namespace mf::tools
