//===- LayoutSearch.cpp - Search for the best layouts ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/LayoutSearch.h"
#include "lib/Plan/Settings/ArenaPlans.h"
#include "lib/Plan/Settings/LayoutPlanner.h"
#include "lib/Plan/Settings/ParallelWork.h"
#include "lib/Plan/Settings/PipelineShape.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>
#include <map>
#include <mutex>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

bool PlannedLayout::isLimitedByMemory() const {
  return llvm::any_of(plan.chunks, [](const solver::ChunkPlan &chunk) {
    return llvm::any_of(chunk.counts, [](const std::vector<int64_t> &counts) {
      // The last treatment neither recomputes nor swaps anything.
      return std::any_of(counts.begin(), counts.end() - 1,
                         [](int64_t count) { return count > 0; });
    });
  });
}

size_t PlannedLayout::getFullestStage() const { return measure.findFullest(); }

/// The number of layouts that are processed concurrently. It does not depend on
/// the number of processors, so that the same layouts are examined on all
/// machines.
static constexpr size_t mostAtOnce = 2;

/// Returns the number of layers up to the first one whose kind all further
/// layers have; at least one for each of two stages. 0 if that number cannot be
/// written into the YAML.
static int64_t findShallowDepth(llvm::ArrayRef<ModelLayer> layers,
                                const LayoutBounds &bounds) {
  if (bounds.depthPath.empty() ||
      bounds.depth > static_cast<int64_t>(layers.size()))
    return 0;
  const auto body = layers.take_front(static_cast<size_t>(bounds.depth));
  size_t depth = body.size();
  while (depth > 1 && body[depth - 2].kind == body.back().kind)
    --depth;
  return std::max<int64_t>(2, static_cast<int64_t>(depth));
}

namespace {

class LayoutSearch {
public:
  LayoutSearch(const PlanRequest &asked, int64_t devices)
      : request(asked), devices(devices) {
    if (asked.progress)
      request.progress = [this, &asked](llvm::StringRef text) {
        const std::scoped_lock lock(progressMutex);
        asked.progress(describeProgress() + text.str());
      };
  }

  Expected<LayoutSearchResult> run() {
    Expected<LayoutBounds> read = readLayoutBounds(request, devices);
    if (!read)
      return read.takeError();
    bounds = *read;
    if (Error error = readGiven())
      return error;
    if (Error error = dropLists())
      return error;
    const LayoutSetting setting{request, bounds, layers, answer.limitBytes,
                                findShallowDepth(layers, bounds)};
    if (Error error = list(setting))
      return error;
    search();
    if (Error error = checkAnswer())
      return error;
    const std::vector<const LayoutPlanner *> distinct = findDistinct();
    for (const LayoutPlanner *planner :
         llvm::ArrayRef(distinct).take_front(numBestLayouts))
      answer.best.push_back(makePlanned(*planner));
    answerGiven();
    for (auto &[reason, layouts] : skipped)
      answer.skipped.push_back({reason, std::move(layouts)});
    answer.numPlanned = distinct.size();
    sortOpen();
    for (const LayoutPlanner *planner : open)
      answer.outpaced.push_back(
          {planner->getLayout(), planner->hasRecomputeTasks(),
           planner->getExpectedSeconds(flops), planner->getPromise()});
    for (const std::unique_ptr<LayoutPlanner> &planner : planners)
      answer.compiledSteps += planner->getCompiledSteps();
    return std::move(answer);
  }

private:
  PlanRequest request;
  const int64_t devices;
  std::mutex progressMutex;
  LayoutBounds bounds;
  LayoutSearchResult answer;
  std::vector<ModelLayer> layers;
  std::map<std::string, LayerClass> classes;
  std::vector<std::unique_ptr<LayoutPlanner>> planners;
  /// The members of `planners` about which more can be learned.
  std::vector<LayoutPlanner *> open;
  std::vector<const LayoutPlanner *> planned;
  /// The FLOPs of a step without recompute.
  double flops = 0;
  std::map<std::string, std::vector<DeviceLayout>> skipped;

  std::string describeProgress() const {
    std::string text = std::to_string(planners.size() - open.size()) + " of " +
                       std::to_string(planners.size()) + " layouts";
    if (!planned.empty())
      text += llvm::formatv(", best {0:f3} s",
                            planned.front()->getBest()->measure.seconds);
    return text + ": ";
  }

  /// Compiles the unchanged YAML, with full effort if it is for the requested
  /// number of devices.
  Error readGiven() {
    const bool isOwn = bounds.given.getNumRanks() == devices;
    request.report("compiling the given settings");
    Expected<CompiledStep> step =
        compileStep(request.input, request.yaml, PlanEffort::Quick);
    if (!step)
      return step.takeError();
    Expected<PipelineShape> shape =
        readShape(request.input, request.yaml, step->layers.size());
    if (!shape)
      return shape.takeError();
    layers = std::move(step->layers);
    bounds.rules.layers = shape->numCounted;
    answer.limitBytes = request.limitBytes.value_or(shape->memoryLimit);
    answer.compiledSteps = 1;
    if (!isOwn)
      return Error::success();
    Expected<StepMeasure> measure = measureStep(*step, request.target);
    if (!measure)
      return measure.takeError();
    if (Error error = refineArenas(request.input, step->arenas, *measure))
      return error;
    GivenLayout given;
    given.layout = bounds.given;
    given.measure = std::move(*measure);
    given.fits = given.measure.fits(answer.limitBytes);
    answer.given = std::move(given);
    return Error::success();
  }

  /// Removes lists by stage, which are meaningless for other numbers of stages.
  Error dropLists() {
    MemorySettings settings;
    settings.recompute = StageTable(
        static_cast<size_t>(bounds.interleave),
        std::vector<int64_t>(static_cast<size_t>(bounds.given.stages)));
    settings.selectRecompute.emplace();
    settings.selectCommRecompute.emplace();
    if (!request.keep.swap)
      settings.swap.emplace();
    Expected<std::string> yaml =
        applySettings(request.yaml, request.input.fileName, settings);
    if (!yaml)
      return yaml.takeError();
    request.yaml = std::move(*yaml);
    return Error::success();
  }

  Error list(const LayoutSetting &setting) {
    std::vector<DeviceLayout> layouts = listLayouts(bounds.rules);
    if (answer.given && !llvm::is_contained(layouts, bounds.given))
      layouts.push_back(bounds.given);
    if (layouts.empty())
      return llvm::createStringError(llvm::formatv(
          "--devices={0}: no layout of so many is legal: expected sizes that "
          "divide {1} heads, {2} samples of a step and {3} rows of a sequence, "
          "and no more stages than {4} layers",
          devices, bounds.rules.keyValueHeads, bounds.rules.samples,
          bounds.rules.sequenceLength, bounds.rules.layers));
    answer.numLegal = layouts.size();
    answer.samples = bounds.rules.samples;
    auto add = [&](const DeviceLayout &layout, bool hasTasks) {
      const std::string name =
          layout.describeLayers() + (hasTasks ? " with recompute tasks" : "");
      planners.push_back(std::make_unique<LayoutPlanner>(
          setting, layout, hasTasks, classes[name]));
      open.push_back(planners.back().get());
    };
    for (const DeviceLayout &layout : layouts) {
      add(layout, false);
      // With a single stage, recompute tasks would not wait for any gradient.
      if (request.recomputeTasks && layout.stages > 1)
        add(layout, true);
    }
    return Error::success();
  }

  bool isGiven(const LayoutPlanner &planner) const {
    return answer.given && planner.getLayout() == bounds.given;
  }
  /// Returns the time by which layouts are ordered. The given layout is planned
  /// regardless of its estimate.
  double getKey(const LayoutPlanner &planner) const {
    return isGiven(planner) ? 0 : planner.getExpectedSeconds(flops);
  }

  /// Returns the planned layouts, the shortest step first, and each only once:
  /// either with recompute tasks or without.
  std::vector<const LayoutPlanner *> findDistinct() const {
    std::vector<const LayoutPlanner *> distinct;
    for (const LayoutPlanner *planner : planned)
      if (llvm::none_of(distinct, [&](const LayoutPlanner *other) {
            return other->getLayout() == planner->getLayout();
          }))
        distinct.push_back(planner);
    return distinct;
  }

  /// Returns the time from which on a layout is not of interest: a little above
  /// that of the best plan, because estimates by costs are not exact, and
  /// layouts that are nearly as good are worth knowing. If there are many of
  /// these, it is the time of the last one that is reported.
  double getCutoff() const {
    constexpr double marginOfEstimates = 0.05;
    const std::vector<const LayoutPlanner *> distinct = findDistinct();
    if (distinct.empty())
      return std::numeric_limits<double>::infinity();
    const double near =
        (1 + marginOfEstimates) * distinct.front()->getBest()->measure.seconds;
    return distinct.size() < numBestLayouts
               ? near
               : std::min(
                     near,
                     distinct[numBestLayouts - 1]->getBest()->measure.seconds);
  }

  void sortOpen() {
    std::vector<std::pair<double, LayoutPlanner *>> keyed;
    for (LayoutPlanner *planner : open)
      keyed.emplace_back(getKey(*planner), planner);
    llvm::sort(keyed, [](const auto &a, const auto &b) {
      return a.first != b.first ? a.first < b.first
                                : a.second->getOrder() < b.second->getOrder();
    });
    llvm::copy(llvm::make_second_range(keyed), open.begin());
  }

  /// Chooses the layouts that promise most, except those that would learn the
  /// same. Until there is a plan, which sets the limit for others, one of them
  /// is ready to be planned, if there is such a layout. Later a layout is
  /// planned only when no bound of another is below its estimate.
  std::vector<LayoutPlanner *> chooseNext() const {
    std::vector<LayoutPlanner *> chosen;
    auto choose = [&](LayoutPlanner *planner) {
      const bool isApart =
          llvm::none_of(chosen, [&](const LayoutPlanner *other) {
            return other == planner ||
                   (&other->getClass() == &planner->getClass() &&
                    (other->teachesClass() || planner->teachesClass()));
          });
      if (isApart && chosen.size() < mostAtOnce &&
          getKey(*planner) < getCutoff())
        chosen.push_back(planner);
    };
    for (LayoutPlanner *planner : open)
      if (planned.empty() && chosen.empty() && planner->getEstimate())
        choose(planner);
    for (LayoutPlanner *planner : open)
      choose(planner);
    return chosen;
  }

  void advance(llvm::ArrayRef<LayoutPlanner *> chosen) {
    const double cutoff = planned.empty() ? 0 : getCutoff();
    const std::vector<std::string> errors = runInParallel(
        chosen.size(),
        [&](size_t index) { return chosen[index]->advance(cutoff); },
        chosen.size());
    for (size_t index = 0; index < chosen.size(); ++index)
      take(*chosen[index], errors[index].empty()
                               ? Error::success()
                               : llvm::createStringError(errors[index]));
    llvm::sort(planned, [](const LayoutPlanner *a, const LayoutPlanner *b) {
      return std::make_tuple(a->getBest()->measure.seconds, a->getOrder()) <
             std::make_tuple(b->getBest()->measure.seconds, b->getOrder());
    });
  }

  /// Takes over the results of advancing a layout.
  void take(LayoutPlanner &planner, Error error) {
    flops = flops == 0 ? planner.getFlops() : flops;
    if (error) {
      std::vector<DeviceLayout> &alike = skipped[toString(std::move(error))];
      if (!llvm::is_contained(alike, planner.getLayout()))
        alike.push_back(planner.getLayout());
    } else if (planner.isPlanned())
      planned.push_back(&planner);
    else
      return;
    llvm::erase(open, &planner);
  }

  void search() {
    for (const std::unique_ptr<LayoutPlanner> &planner : planners)
      if (Error error = planner->checkBytes())
        take(*planner, std::move(error));
    while (!request.isStopped()) {
      sortOpen();
      const std::vector<LayoutPlanner *> chosen = chooseNext();
      if (chosen.empty()) {
        answer.isComplete = true;
        return;
      }
      advance(chosen);
    }
  }

  PlannedLayout makePlanned(const LayoutPlanner &planner) const {
    const CompiledPlan &best = *planner.getBest();
    PlannedLayout made;
    made.layout = planner.getLayout();
    made.recomputeTasks = planner.hasRecomputeTasks();
    made.settings = makeLayoutSettings(made.layout, bounds.rules.layers,
                                       bounds.interleave, request.keep.swap);
    const MemorySettings &chosen = best.settings;
    made.settings.offset = chosen.offset;
    made.settings.recompute = chosen.recompute;
    made.settings.selectRecompute = chosen.selectRecompute;
    made.settings.selectCommRecompute = chosen.selectCommRecompute;
    made.settings.swap = chosen.swap;
    made.yaml = best.yaml;
    made.measure = best.measure;
    made.problem = planner.getProblem();
    made.plan = best.plan;
    return made;
  }

  void answerGiven() {
    if (!answer.given)
      return;
    GivenLayout &given = *answer.given;
    for (const auto &[index, planner] : llvm::enumerate(findDistinct()))
      if (isGiven(*planner)) {
        given.planned = makePlanned(*planner);
        given.rank = index + 1;
      }
    if (given.rank == 0)
      return;
    const double seconds = given.planned->measure.seconds;
    for (const LayoutPlanner *planner : open) {
      const bool isShorter = planner->getExpectedSeconds(flops) < seconds;
      if (isShorter && planner->isCosted())
        ++given.rank;
      else if (isShorter)
        given.isRankLeast = true;
    }
  }

  /// Returns an error if no layout was planned.
  Error checkAnswer() const {
    if (!planned.empty())
      return Error::success();
    if (!answer.isComplete)
      return llvm::make_error<solver::NoPlanError>(
          "no layout was planned before the search was stopped; give it more "
          "time");
    // The most frequent error explains why no layout fits.
    const auto most =
        llvm::max_element(skipped, [](const auto &a, const auto &b) {
          return a.second.size() < b.second.size();
        });
    return llvm::make_error<solver::NoPlanError>(llvm::formatv(
        "none of {0} layouts of {1} devices can be; {2}, as {3} others: {4}",
        answer.numLegal, devices, most->second.front().describe(),
        most->second.size() - 1, most->first));
  }
};

} // namespace

Expected<LayoutSearchResult> planner::searchLayouts(const PlanRequest &request,
                                                    int64_t devices) {
  return LayoutSearch(request, devices).run();
}
