//===- WaySearch.cpp - Search for settings with which a step fits ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/ArenaPlans.h"
#include "lib/Plan/Settings/ParallelWork.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Layers/LayerSettings.h"
#include "mf/Plan/Settings/MemoryWays.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>
#include <map>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// For each way the number of the value that is taken, from 1; 0 for the given
/// one.
using Combination = std::vector<size_t>;

/// The steps that are compiled at once, whatever the machine has, so that all
/// machines try the same.
constexpr size_t mostAtOnce = 2;

class WaySearch {
public:
  explicit WaySearch(const PlanRequest &request, WayProgress progress = {})
      : request(request), progress(std::move(progress)) {}

  Error begin() {
    DiagnosticList ignored;
    const TrainingConfig config =
        parseTrainingConfig(request.yaml, request.input.fileName, ignored);
    result.limitBytes =
        request.limitBytes.value_or(config.context.maxDeviceMemory);
    if (auto settings = readSettings(config))
      canSwap = true;
    else
      llvm::consumeError(settings.takeError());
    request.report("compiling the given settings");
    Expected<CompiledStep> step =
        planner::compileStep(request.input, request.yaml, PlanEffort::Quick);
    if (!step)
      return step.takeError();
    Expected<StepMeasure> measure = measureStep(*step, request.target);
    if (!measure)
      return measure.takeError();
    if (Error error = refineArenas(request.input, step->arenas, *measure))
      return error;
    result.given = *measure;
    Expected<std::vector<MemoryWay>> found =
        listWays(request.input, request.yaml);
    if (!found)
      return found.takeError();
    ways = std::move(*found);
    ++result.compiledSteps;
    compiled[makeGiven()] = {{}, request.yaml, std::move(*measure)};
    return Error::success();
  }

  void tryAlone() {
    std::vector<Combination> all;
    for (size_t way = 0; way < ways.size(); ++way)
      for (size_t value = 1; value <= ways[way].values.size(); ++value)
        if (!ways[way].addsDevices) {
          all.push_back(makeGiven());
          all.back()[way] = value;
        }
    request.report(llvm::formatv("compiling {0} ways alone", all.size()).str());
    // What is compiled by then counts if the rest takes too long.
    for (llvm::ArrayRef<Combination> rest = all; !rest.empty();
         rest = rest.drop_front(std::min(mostAtOnce, rest.size()))) {
      const llvm::ArrayRef<Combination> now =
          rest.take_front(std::min(mostAtOnce, rest.size()));
      compileAll(now);
      for (const Combination &one : now)
        if (auto found = compiled.find(one);
            found != compiled.end() && found->second.measure) {
          result.alone.push_back(found->second);
          take(found->second);
        }
      sortSteps(result.alone);
      report();
    }
  }

  /// Plans recompute, and offset and swap unless they are kept, and takes the
  /// plan if it is the shortest step so far.
  void tryPlan(const WayStep &from, bool keepsOffsetAndSwap) {
    PlanRequest planned = request;
    planned.yaml = from.yaml;
    planned.limitBytes = result.limitBytes;
    planned.keep = KeptSettings();
    planned.keep.offset = keepsOffsetAndSwap;
    planned.keep.swap = keepsOffsetAndSwap || !canSwap;
    if (from.changesModel())
      planned.input.model.reset();
    if (request.isStopped())
      return;
    Expected<PlanAnswer> found = planStep(planned);
    if (!found) {
      llvm::consumeError(found.takeError());
      return;
    }
    result.compiledSteps += found->compiledSteps;
    const StepMeasure &measure = found->best.measure;
    if (!measure.fits(result.limitBytes) ||
        (result.best && measure.seconds >= result.best->measure->seconds))
      return;
    // A key that alone makes the difference is the smaller change, and says
    // more about the cause.
    const bool isKept =
        result.best &&
        !llvm::all_of(result.best->taken, [](const MemoryChoice &choice) {
          return choice.isPlannable;
        });
    (isKept ? result.shorter : result.best) =
        WayStep{from.taken, found->best.yaml, measure};
  }

  /// Combines values until the step fits. Returns the combination that misses
  /// least.
  void combine() {
    request.report("combining ways");
    Combination current = startTogether();
    auto doesFit = [&] { return compile(current).fits(result.limitBytes); };
    while (!doesFit() && !request.isStopped() &&
           (improve(current) || addOpened(current)))
      ;
    if (doesFit()) {
      // What is left out makes no step longer.
      leaveOut(current);
      take(compile(current));
    }
    const WayStep step = compile(current);
    if (step.measure)
      tryPlan(step, /*keepsOffsetAndSwap=*/false);
  }

  /// Compiles what more devices would change, beside the ways that miss least.
  void tryLarger() {
    request.report("compiling steps on more devices");
    Combination nearest = makeGiven();
    for (const auto &[combination, step] : compiled)
      if (getMiss(step) < getMiss(compiled[nearest]))
        nearest = combination;
    std::vector<Combination> larger;
    for (size_t way = 0; way < ways.size(); ++way)
      if (ways[way].addsDevices)
        for (const Combination &base : {makeGiven(), nearest}) {
          larger.push_back(base);
          larger.back()[way] = 1;
        }
    compileAll(larger);
    for (const Combination &one : larger)
      if (auto found = compiled.find(one);
          found != compiled.end() && found->second.measure)
        result.larger.push_back(found->second);
    sortSteps(result.larger);
  }

  /// Plans the arenas of the step of the answer as mf-opt does.
  llvm::Error finish() {
    result.isCutShort = request.isStopped();
    findNearest();
    WayStep &answer = result.best ? *result.best : result.nearest;
    if (answer.measure->isExact())
      return Error::success();
    CompilerInput input = request.input;
    if (answer.changesModel())
      input.model.reset();
    Expected<CompiledStep> step =
        planner::compileStep(input, answer.yaml, PlanEffort::Full);
    if (!step)
      return step.takeError();
    Expected<StepMeasure> measure = measureStep(*step, request.target);
    if (!measure)
      return measure.takeError();
    answer.measure = std::move(*measure);
    return Error::success();
  }
  WaySearchResult take() { return std::move(result); }
  /// Passes on what was found so far.
  void report() {
    if (!progress)
      return;
    findNearest();
    WaySearchResult found = result;
    found.isCutShort = true;
    progress(std::move(found));
  }

  const WaySearchResult &getResult() const { return result; }
  /// Returns whether a step that fits takes hardly longer than the given one.
  bool isCheap() const {
    constexpr double cheap = 1.01;
    return result.best &&
           result.best->measure->seconds <= cheap * result.given.seconds;
  }

private:
  const PlanRequest &request;
  const WayProgress progress;
  WaySearchResult result;
  std::vector<MemoryWay> ways;
  std::map<Combination, WayStep> compiled;
  /// Swap is written as layer indices. A YAML with only some sections may not
  /// contain the number of layers.
  bool canSwap = false;

  /// Returns the ways of a YAML without those whose keys are kept.
  Expected<std::vector<MemoryWay>> listWays(const CompilerInput &input,
                                            StringRef yaml) const {
    Expected<std::vector<MemoryWay>> found = findWays(input, yaml);
    if (!found)
      return found;
    llvm::erase_if(*found, [&](const MemoryWay &way) {
      const StringRef key = StringRef(way.name).rsplit('.').second.empty()
                                ? StringRef(way.name)
                                : StringRef(way.name).rsplit('.').second;
      return (request.keep.recompute && key == getName(LayerKey::Recompute)) ||
             (request.keep.selectCommRecompute &&
              key == getName(LayerKey::SelectCommRecompute)) ||
             (request.keep.swap && (key == "swap" || key == "swap_config"));
    });
    return found;
  }

  Combination makeGiven() const { return Combination(ways.size(), 0); }
  /// Compiles a step. If it does not fit by a quick plan of its arenas but
  /// could, the arenas of the stages that miss are planned as mf-opt does.
  WayStep compileStep(const Combination &combination) const {
    WayStep step;
    CompilerInput input = request.input;
    step.yaml = request.yaml;
    for (const auto &[way, value] : llvm::zip(ways, combination)) {
      if (value == 0)
        continue;
      const MemoryChoice &choice = way.values[value - 1];
      Expected<std::string> yaml =
          applyChoice(step.yaml, input.fileName, choice);
      if (!yaml) {
        llvm::consumeError(yaml.takeError());
        return step;
      }
      step.yaml = std::move(*yaml);
      step.taken.push_back(choice);
      if (choice.changesModel)
        input.model.reset();
    }
    Expected<CompiledStep> made =
        planner::compileStep(input, step.yaml, PlanEffort::Quick);
    if (!made) {
      llvm::consumeError(made.takeError());
      return step;
    }
    Expected<StepMeasure> measure = measureStep(*made, request.target);
    if (!measure) {
      llvm::consumeError(measure.takeError());
      return step;
    }
    std::vector<size_t> misfits;
    bool mayFit = true;
    for (const auto &[index, stage] : llvm::enumerate(measure->stages)) {
      mayFit &= stage.mayFit(result.limitBytes);
      if (stage.getMissingBytes(result.limitBytes) > 0)
        misfits.push_back(index);
    }
    // A step that fits by the quick plan also fits by the better one.
    if (mayFit && !misfits.empty())
      if (Error error = refineArenas(input, made->arenas, misfits, *measure, 1))
        llvm::consumeError(std::move(error));
    // The text says how much the fullest stage needs or misses.
    const size_t fullest = measure->findFullest();
    if (!measure->stages[fullest].isExact)
      if (Error error =
              refineArenas(input, made->arenas, {fullest}, *measure, 1))
        llvm::consumeError(std::move(error));
    step.measure = std::move(*measure);
    return step;
  }

  /// Returns the step of a combination; without a measure if it does not
  /// compile or the search was stopped.
  const WayStep &compile(const Combination &combination) {
    compileAll(combination);
    return compiled[combination];
  }

  void compileAll(llvm::ArrayRef<Combination> combinations) {
    std::vector<Combination> missing;
    for (const Combination &combination : combinations)
      if (!compiled.count(combination) &&
          !llvm::is_contained(missing, combination))
        missing.push_back(combination);
    std::vector<std::optional<WayStep>> steps(missing.size());
    runInParallel(
        missing.size(),
        [&](size_t index) -> Error {
          if (!request.isStopped())
            steps[index] = compileStep(missing[index]);
          return Error::success();
        },
        mostAtOnce);
    for (const auto &[combination, step] : llvm::zip(missing, steps))
      if (step) {
        compiled[combination] = std::move(*step);
        ++result.compiledSteps;
      }
  }

  /// Returns the bytes that the fullest stage misses, and those of all stages.
  std::tuple<int64_t, int64_t> getMiss(const WayStep &step) const {
    if (!step.measure)
      return {std::numeric_limits<int64_t>::max(), 0};
    int64_t most = std::numeric_limits<int64_t>::min(), sum = 0;
    for (const StageMeasure &stage : step.measure->stages) {
      const int64_t bytes = stage.getMissingBytes(result.limitBytes);
      most = std::max(most, bytes);
      sum += std::max<int64_t>(0, bytes);
    }
    return {most, sum};
  }

  bool isLess(const Combination &a, const Combination &b) {
    return getMiss(compile(a)) < getMiss(compile(b));
  }

  /// Returns all ways together, each with the value that needs least alone.
  /// Ways that need more, or that do not compile together, are left out.
  Combination startTogether() {
    std::vector<std::pair<std::tuple<int64_t, int64_t>, size_t>> order;
    Combination together = makeGiven();
    for (size_t way = 0; way < ways.size(); ++way) {
      Combination best = makeGiven();
      for (size_t value = 1;
           value <= ways[way].values.size() && !ways[way].addsDevices;
           ++value) {
        Combination one = makeGiven();
        one[way] = value;
        if (isLess(one, best))
          best = one;
      }
      together[way] = best[way];
      if (best[way] > 0)
        order.emplace_back(getMiss(compile(best)), way);
    }
    if (compile(together).measure || request.isStopped())
      return together;
    llvm::sort(order);
    Combination current = makeGiven();
    for (const auto &[miss, way] : order) {
      Combination more = current;
      more[way] = together[way];
      if (isLess(more, current))
        current = std::move(more);
    }
    return current;
  }

  /// Adds the ways that only the taken values make possible, as levels of the
  /// optimizer once it is parallel. Returns false if there are none.
  bool addOpened(Combination &current) {
    const WayStep &step = compile(current);
    CompilerInput input = request.input;
    if (step.changesModel())
      input.model.reset();
    Expected<std::vector<MemoryWay>> found = listWays(input, step.yaml);
    if (!found) {
      llvm::consumeError(found.takeError());
      return false;
    }
    const size_t before = ways.size();
    for (MemoryWay &opened : *found)
      if (!opened.addsDevices &&
          llvm::none_of(ways, [&](const MemoryWay &known) {
            return known.name == opened.name && !known.addsDevices;
          }))
        ways.push_back(std::move(opened));
    if (ways.size() == before)
      return false;
    std::map<Combination, WayStep> extended;
    for (auto &[combination, known] : compiled) {
      Combination longer = combination;
      longer.resize(ways.size(), 0);
      extended.emplace(std::move(longer), std::move(known));
    }
    compiled = std::move(extended);
    current.resize(ways.size(), 0);
    return true;
  }

  /// Takes the other value of one way with which the step misses least. Returns
  /// false if none is better.
  bool improve(Combination &current) {
    std::vector<Combination> others;
    for (size_t way = 0; way < ways.size(); ++way)
      for (size_t value = 0;
           value <= ways[way].values.size() && !ways[way].addsDevices; ++value)
        if (value != current[way]) {
          others.push_back(current);
          others.back()[way] = value;
        }
    compileAll(others);
    const Combination before = current;
    for (const Combination &other : others)
      if (isLess(other, current))
        current = other;
    return current != before && !request.isStopped();
  }

  /// Leaves out what a step that fits does not need, the most expensive first.
  void leaveOut(Combination &current) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t way = 0; way < ways.size(); ++way)
      if (current[way] > 0) {
        Combination one = makeGiven();
        one[way] = current[way];
        const WayStep &alone = compile(one);
        order.emplace_back(alone.measure ? -alone.measure->seconds : 0, way);
      }
    llvm::sort(order);
    for (const auto &[seconds, way] : order) {
      Combination without = current;
      without[way] = 0;
      const WayStep &step = compile(without);
      if (step.fits(result.limitBytes) &&
          step.measure->seconds <= compile(current).measure->seconds)
        current = without;
    }
  }

  /// Finds the step that misses least on the given devices.
  void findNearest() {
    const auto addsDevices = [&](const Combination &combination) {
      for (const auto &[way, value] : llvm::zip(ways, combination))
        if (way.addsDevices && value > 0)
          return true;
      return false;
    };
    result.nearest = compiled[makeGiven()];
    for (const auto &[combination, step] : compiled)
      if (!addsDevices(combination) && getMiss(step) < getMiss(result.nearest))
        result.nearest = step;
  }

  /// Sorts those that fit first, and then by seconds.
  void sortSteps(std::vector<WayStep> &steps) const {
    llvm::sort(steps, [&](const WayStep &a, const WayStep &b) {
      return std::make_tuple(!a.fits(result.limitBytes), a.measure->seconds,
                             a.yaml) <
             std::make_tuple(!b.fits(result.limitBytes), b.measure->seconds,
                             b.yaml);
    });
  }

  void take(const WayStep &step) {
    if (step.fits(result.limitBytes) &&
        (!result.best ||
         step.measure->seconds < result.best->measure->seconds)) {
      result.best = step;
    }
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

Expected<WaySearchResult> planner::searchWays(const PlanRequest &request,
                                              const WayProgress &progress) {
  WaySearch search(request, progress);
  if (Error error = search.begin())
    return std::move(error);
  search.report();
  search.tryAlone();
  const WayStep given = {{}, request.yaml, search.getResult().given};
  if (!search.isCheap())
    search.tryPlan(given, /*keepsOffsetAndSwap=*/true);
  if (!search.getResult().best)
    search.tryPlan(given, /*keepsOffsetAndSwap=*/false);
  search.report();
  if (!search.getResult().best)
    search.combine();
  search.report();
  if (!search.getResult().best)
    search.tryLarger();
  if (Error error = search.finish())
    return std::move(error);
  return search.take();
}

Expected<PlanAnswer> planner::planStepWithWays(const PlanRequest &request) {
  Expected<PlanAnswer> found = planStep(request);
  if (found)
    return found;
  Error error = found.takeError();
  if (!error.isA<solver::NoPlanError>() || request.isStopped())
    return error;
  WaySearch search(request);
  if (Error failed = search.begin())
    return llvm::joinErrors(std::move(error), std::move(failed));
  search.tryAlone();
  if (!search.getResult().best)
    search.combine();
  if (Error failed = search.finish())
    return llvm::joinErrors(std::move(error), std::move(failed));
  const WaySearchResult ways = search.take();
  if (!ways.best && ways.nearest.taken.empty())
    return error;
  if (!ways.best) {
    const StepMeasure &nearest = *ways.nearest.measure;
    const size_t fullest = nearest.findFullest();
    return llvm::make_error<solver::NoPlanError>(
        toString(std::move(error)) + "; the nearest with other keys misses " +
        describeMemorySize(
            nearest.stages[fullest].getMissingBytes(ways.limitBytes)) +
        " on stage " + std::to_string(fullest) + ", with " +
        ways.nearest.describe());
  }
  llvm::consumeError(std::move(error));
  PlanRequest again = request;
  again.yaml = ways.best->yaml;
  again.limitBytes = ways.limitBytes;
  if (ways.best->changesModel())
    again.input.model.reset();
  Expected<PlanAnswer> answer = planStep(again);
  if (!answer)
    return answer.takeError();
  answer->given = ways.given;
  answer->givenFits = false;
  answer->isGiven = false;
  answer->compiledSteps += ways.compiledSteps;
  for (const MemoryChoice &choice : ways.best->taken)
    answer->otherChanges.push_back(choice.describe());
  return answer;
}
