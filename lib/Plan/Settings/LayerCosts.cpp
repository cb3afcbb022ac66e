//===- LayerCosts.cpp - Costs of layers from compiled steps ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayerCosts.h"
#include "llvm/ADT/STLExtras.h"
#include <Eigen/QR>
#include <algorithm>
#include <limits>
#include <numeric>

using namespace mf;
using namespace mf::planner;

/// The weight of the number that all treatments of a kind have in common,
/// relative to those of single treatments: deviations from expected differences
/// are attributed to it rather than to a treatment.
static constexpr double commonWeight = 10;

void LinearCost::solve() {
  const size_t extras = ofLayers.size(), kinds = extras + ofExtras.size();
  const double weight = hasExpected ? commonWeight : 1;
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(
      static_cast<Eigen::Index>(rows.size()),
      static_cast<Eigen::Index>(kinds + (hasExpected ? numKinds : 0)));
  Eigen::VectorXd values(static_cast<Eigen::Index>(rows.size()));
  auto at = [&](size_t row, size_t column) -> double & {
    return matrix(static_cast<Eigen::Index>(row),
                  static_cast<Eigen::Index>(column));
  };
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto &[composition, value] = rows[row];
    for (const auto &[key, count] : composition.layers) {
      at(row, key.first * numTreatments + key.second) =
          static_cast<double>(count);
      if (hasExpected)
        at(row, kinds + key.first) += weight * static_cast<double>(count);
    }
    for (const size_t extra : composition.extras)
      at(row, extras + extra) = weight;
    values(static_cast<Eigen::Index>(row)) = value - predict(composition);
  }
  const Eigen::VectorXd solution =
      matrix.completeOrthogonalDecomposition().solve(values);
  auto get = [&](size_t column) {
    return solution(static_cast<Eigen::Index>(column));
  };
  for (size_t index = 0; index < ofLayers.size(); ++index) {
    const double common =
        hasExpected ? weight * get(kinds + index / numTreatments) : 0;
    ofLayers[index] = std::max(0.0, ofLayers[index] + common + get(index));
  }
  for (size_t index = 0; index < ofExtras.size(); ++index)
    ofExtras[index] = std::max(0.0, weight * get(extras + index));
}

std::vector<size_t> planner::findHull(llvm::ArrayRef<double> memory,
                                      llvm::ArrayRef<double> time) {
  std::vector<size_t> order(memory.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    return std::tuple(time[one], memory[one], one) <
           std::tuple(time[other], memory[other], other);
  });
  std::vector<size_t> hull;
  for (const size_t next : order) {
    if (!hull.empty() && memory[next] >= memory[hull.back()])
      continue;
    // The last point is above the line from the previous one to the next.
    while (hull.size() > 1) {
      const size_t last = hull.back(), before = hull[hull.size() - 2];
      const double share =
          (memory[before] - memory[last]) / (memory[before] - memory[next]);
      if (time[last] < time[before] + share * (time[next] - time[before]))
        break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

/// Removes points of a hull until `most` are left, starting with those whose
/// neighbours are nearly as good.
static void thin(std::vector<size_t> &hull, llvm::ArrayRef<double> memory,
                 llvm::ArrayRef<double> time, size_t most) {
  while (hull.size() > most) {
    size_t least = 1;
    double leastLoss = std::numeric_limits<double>::infinity();
    for (size_t index = 1; index + 1 < hull.size(); ++index) {
      const size_t before = hull[index - 1], at = hull[index],
                   next = hull[index + 1];
      const double share =
          (memory[before] - memory[at]) / (memory[before] - memory[next]);
      const double loss =
          time[before] + share * (time[next] - time[before]) - time[at];
      if (loss < leastLoss) {
        leastLoss = loss;
        least = index;
      }
    }
    hull.erase(hull.begin() + static_cast<std::ptrdiff_t>(least));
  }
}

/// Returns the kind with the most layers.
static const solver::LayerKind &findMainKind(const solver::Problem &problem) {
  return *std::max_element(
      problem.kinds.begin(), problem.kinds.end(),
      [](const solver::LayerKind &one, const solver::LayerKind &other) {
        return one.count < other.count;
      });
}

/// Restricts the numbers of layers. If stages have several chunks, a chunk may
/// have one layer more or less than the average, because their combinations are
/// many. Otherwise it may have up to twice the average.
static void restrictLayers(solver::Problem &problem) {
  const schedule::Pipeline &pipeline = problem.schedule.pipeline;
  const int64_t numChunks = pipeline.getNumChunks();
  const int64_t layers = problem.getNumLayers();
  const int64_t most = (layers + numChunks - 1) / numChunks;
  if (numChunks == pipeline.stages) {
    problem.maxLayersPerChunk = pipeline.stages == 1 ? layers : 2 * most;
    return;
  }
  problem.maxLayersPerChunk = most + 1;
  problem.minLayersPerChunk = std::max<int64_t>(1, layers / numChunks - 1);
}

void planner::restrictMixtures(const PlanContext &context,
                               solver::Problem &problem) {
  const std::vector<solver::Treatment> &treatments =
      findMainKind(problem).treatments;
  std::vector<size_t> numbers;
  std::vector<double> memory, time;
  for (size_t index = 0; index < treatments.size(); ++index)
    if (context.treatments[index].prefetch == 0) {
      numbers.push_back(index);
      memory.push_back(treatments[index].activationMemory);
      time.push_back(treatments[index].forward + treatments[index].backward);
    }
  // A chunk of many layers can mix treatments in many ways.
  const int64_t layersOfChunk =
      problem.getNumLayers() / problem.schedule.pipeline.getNumChunks();
  std::vector<size_t> points = findHull(memory, time);
  thin(points, memory, time, layersOfChunk > 12 ? 4 : points.size());
  std::vector<size_t> hull;
  for (const size_t index : points)
    hull.push_back(numbers[index]);
  const std::vector<int64_t> never(
      problem.schedule.pipeline.stageOfChunk.size());
  problem.fixedTreatments.resize(treatments.size());
  for (const size_t number : numbers)
    if (!llvm::is_contained(hull, number))
      problem.fixedTreatments[number] = never;
  for (size_t one = 0; one < hull.size(); ++one)
    for (size_t other = one + 2; other < hull.size(); ++other)
      problem.exclusive.emplace_back(std::min(hull[one], hull[other]),
                                     std::max(hull[one], hull[other]));
  restrictLayers(problem);
}

/// Returns whether observations show each kind of layer under each treatment.
static bool showEverything(const PlanContext &context,
                           llvm::ArrayRef<LayerObservation> observations) {
  std::set<std::pair<size_t, size_t>> shown;
  for (const LayerObservation &observation : observations)
    for (size_t layer = 0; layer < context.layers.size(); ++layer)
      shown.insert({context.layers[layer].kind,
                    observation.assignment.treatments[layer]});
  return shown.size() == context.getNumKinds() * context.treatments.size();
}

/// For kinds and treatments that no step has shown, tells the costs which
/// differences between treatments follow from the graphs of layers.
static void expectDifferences(const PlanContext &context,
                              AdditiveCosts &costs) {
  const size_t none = context.treatments.size() - 1;
  const bool hasTasks = !context.schedule.pipeline.recomputed.empty();
  for (size_t kind = 0; kind < context.getNumKinds(); ++kind)
    for (size_t index = 0; index <= none; ++index) {
      const LayerTreatment &treatment = context.treatments[index];
      if (treatment.keptBytes.empty())
        return;
      const double seconds = treatment.repeatedSeconds[kind];
      const double bytes = treatment.keptBytes[kind];
      const bool isTask = hasTasks && treatment.prefetch == 0;
      costs.forward.expect(kind, index, 0);
      costs.backward.expect(kind, index, seconds);
      costs.weightGradient.expect(kind, index, 0);
      costs.recompute.expect(kind, index, isTask ? seconds : 0);
      costs.frame.expect(kind, index, bytes);
      costs.recomputed.expect(
          kind, index,
          isTask ? context.treatments[none].keptBytes[kind] - bytes : 0);
    }
}

static AdditiveCosts
fitAdditive(const PlanContext &context,
            llvm::ArrayRef<LayerObservation> observations) {
  AdditiveCosts costs(context.getNumKinds(), context.treatments.size());
  if (!showEverything(context, observations))
    expectDifferences(context, costs);
  for (const LayerObservation &observation : observations) {
    const std::vector<Composition> chunks =
        composeChunks(context, observation.assignment);
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      const ChunkMeasure &measure = observation.measure.chunks[chunk];
      costs.forward.add(chunks[chunk], measure.forward);
      costs.backward.add(chunks[chunk], measure.backward);
      costs.weightGradient.add(chunks[chunk], measure.weightGradient);
      costs.recompute.add(chunks[chunk], measure.recompute);
      costs.frame.add(
          chunks[chunk],
          static_cast<double>(measure.frameBytes - measure.recomputedBytes));
      costs.recomputed.add(chunks[chunk],
                           static_cast<double>(measure.recomputedBytes));
    }
    const std::vector<Composition> stages =
        composeStages(context, observation.assignment);
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      const StageMeasure &measure = observation.measure.stages[stage];
      const Composition bare = stages[stage].dropTreatments();
      costs.parameters.add(bare, static_cast<double>(measure.staticBytes));
      costs.update.add(bare, measure.updateTime);
    }
  }
  for (LinearCost *cost :
       {&costs.forward, &costs.backward, &costs.weightGradient,
        &costs.recompute, &costs.frame, &costs.recomputed, &costs.parameters,
        &costs.update})
    cost->solve();
  return costs;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

static solver::ChunkExtra makeExtra(const AdditiveCosts &costs, size_t extra,
                                    size_t chunk) {
  solver::ChunkExtra made;
  made.chunk = static_cast<int64_t>(chunk);
  made.forward = costs.forward.getExtra(extra);
  made.backward = costs.backward.getExtra(extra);
  made.weightGradient =
      std::min(made.backward, costs.weightGradient.getExtra(extra));
  made.parameterMemory = costs.parameters.getExtra(extra);
  made.activationMemory = costs.frame.getExtra(extra);
  made.updateTime = costs.update.getExtra(extra);
  return made;
}

/// Returns the time of the forward. Only copies change it: other differences
/// between treatments are noise.
static double getForward(const PlanContext &context, const LinearCost &cost,
                         size_t kind, size_t treatment) {
  if (context.treatments[treatment].prefetch > 0)
    return cost.get(kind, treatment);
  double sum = 0, count = 0;
  for (size_t index = 0; index < context.treatments.size(); ++index)
    if (context.treatments[index].prefetch == 0) {
      sum += cost.get(kind, index);
      ++count;
    }
  return sum / count;
}

/// `first` is the number of the first layer of the run.
static solver::LayerKind makeKind(const PlanContext &context,
                                  const AdditiveCosts &costs,
                                  const LayerRun &run, int64_t first) {
  solver::LayerKind kind;
  kind.name = run.count == 1 ? "layer " + std::to_string(first)
                             : "layers " + std::to_string(first) + " to " +
                                   std::to_string(first + run.count - 1);
  kind.count = run.count;
  kind.parameterMemory = costs.parameters.get(run.kind, 0);
  kind.updateTime = costs.update.get(run.kind, 0);
  for (size_t index = 0; index < context.treatments.size(); ++index) {
    solver::Treatment treatment;
    treatment.name = context.treatments[index].name;
    treatment.forward = getForward(context, costs.forward, run.kind, index);
    treatment.backward = costs.backward.get(run.kind, index);
    treatment.weightGradient =
        std::min(treatment.backward, costs.weightGradient.get(run.kind, index));
    treatment.recompute =
        std::min(treatment.backward - treatment.weightGradient,
                 costs.recompute.get(run.kind, index));
    treatment.activationMemory = costs.frame.get(run.kind, index);
    treatment.recomputedMemory = costs.recomputed.get(run.kind, index);
    treatment.copyOut = context.treatments[index].copyOut[run.kind];
    treatment.copyIn = context.treatments[index].copyIn[run.kind];
    kind.treatments.push_back(std::move(treatment));
  }
  return kind;
}

/// Makes the problem without transient memory, which is not known yet.
static solver::Problem makeProblem(const PlanContext &context,
                                   const AdditiveCosts &costs) {
  solver::Problem problem;
  problem.name = "step";
  problem.schedule = context.schedule;
  problem.treatmentsInOrder = true;
  int64_t first = 0;
  const auto leaders =
      static_cast<int64_t>(context.layers.size() - context.numFollowers);
  for (const LayerRun &run : findRuns(context)) {
    problem.kinds.push_back(makeKind(context, costs, run, first));
    problem.numFollowers += first >= leaders ? 1 : 0;
    first += run.count;
  }
  const size_t numChunks = context.schedule.pipeline.stageOfChunk.size();
  problem.extras = {makeExtra(costs, 0, 0), makeExtra(costs, 1, numChunks - 1)};
  problem.stages.resize(static_cast<size_t>(context.schedule.pipeline.stages));
  for (solver::StageMemory &stage : problem.stages)
    stage.limit = static_cast<double>(context.limitBytes);
  return problem;
}

solver::Problem planner::makeProblem(const PlanContext &context,
                                     const LayerCosts &costs) {
  solver::Problem problem = ::makeProblem(context, costs.additive);
  problem.transferTime = costs.transferTime;
  const std::vector<LayerRun> runs = findRuns(context);
  for (size_t index = 0; index < runs.size(); ++index)
    for (size_t treatment = 0; treatment < context.treatments.size();
         ++treatment)
      if (auto found =
              costs.transient.ofLayers.find({runs[index].kind, treatment});
          found != costs.transient.ofLayers.end())
        problem.kinds[index].treatments[treatment].transientMemory =
            found->second;
  for (const size_t extra : {0, 1})
    problem.extras[extra].transientMemory = costs.transient.ofExtras[extra];
  restrictMixtures(context, problem);
  return problem;
}

//===----------------------------------------------------------------------===//
// Memory that does not add up
//===----------------------------------------------------------------------===//

/// Returns the part of a stage's peak that exceeds `known`.
static double getRest(const StepMeasure &measure, size_t stage, double known) {
  // A quick plan wastes memory that a full one does not. A full plan typically
  // is this close to the live bytes.
  constexpr double usualGap = 1.002;
  const StageMeasure &own = measure.stages[stage];
  const auto peak = static_cast<double>(own.peakBytes);
  const double likely =
      own.isExact
          ? peak
          : std::min(peak, usualGap * static_cast<double>(own.liveBytes));
  return likely - known;
}

/// Returns the peaks of a problem, by stage, without transients, which are not
/// known yet.
static std::vector<double> getKnownPeaks(const PlanContext &context,
                                         const solver::Problem &problem,
                                         const LayerObservation &observation) {
  return solver::evaluatePeaks(problem,
                               toPlan(context, observation.assignment));
}

namespace {

/// The memory of a stage beyond the parts that add up, and the stage's
/// composition.
struct TransientRow {
  Composition composition;
  double rest = 0;
};

} // namespace

static std::vector<TransientRow>
findTransients(const PlanContext &context, const solver::Problem &problem,
               llvm::ArrayRef<LayerObservation> observations) {
  std::vector<TransientRow> rows;
  for (const LayerObservation &observation : observations) {
    const std::vector<double> known =
        getKnownPeaks(context, problem, observation);
    std::vector<Composition> stages =
        composeStages(context, observation.assignment);
    for (size_t stage = 0; stage < stages.size(); ++stage)
      rows.push_back({std::move(stages[stage]),
                      getRest(observation.measure, stage, known[stage])});
  }
  return rows;
}

/// Fits transient costs. Inner stages of one kind and treatment show its cost.
/// If other stages need more than their known parts, the unknown kinds and
/// treatments are the reason, or else the extras.
static TransientCosts
fitTransient(const PlanContext &context, const solver::Problem &problem,
             llvm::ArrayRef<LayerObservation> observations) {
  const std::vector<TransientRow> rows =
      findTransients(context, problem, observations);
  TransientCosts costs;
  for (const TransientRow &row : rows)
    if (row.composition.extras.empty() && row.composition.layers.size() == 1) {
      double &cost = costs.ofLayers[row.composition.layers.begin()->first];
      cost = std::max(cost, row.rest);
    }
  const std::map<std::pair<size_t, size_t>, double> known = costs.ofLayers;
  for (const bool hasExtras : {false, true})
    for (const TransientRow &row : rows) {
      if (row.composition.extras.empty() == hasExtras)
        continue;
      double explained = 0;
      for (const auto &entry : row.composition.layers)
        if (auto found = known.find(entry.first); found != known.end())
          explained = std::max(explained, found->second);
      bool hasUnknown = false;
      for (const auto &entry : row.composition.layers) {
        if (known.count(entry.first) > 0)
          continue;
        hasUnknown = true;
        double &cost = costs.ofLayers[entry.first];
        cost = std::max(cost, row.rest > explained ? row.rest : 0);
      }
      for (const size_t extra : row.composition.extras)
        if (!hasUnknown && row.rest > explained)
          costs.ofExtras[extra] = std::max(costs.ofExtras[extra], row.rest);
    }
  return costs;
}

/// Returns for each stage whether layers are swapped.
static std::vector<bool> findSwapping(const PlanContext &context,
                                      const Assignment &assignment) {
  std::vector<bool> swapping;
  for (const Composition &stage : composeStages(context, assignment)) {
    swapping.push_back(false);
    for (const auto &entry : stage.layers)
      if (context.treatments[entry.first.second].prefetch > 0)
        swapping.back() = true;
  }
  return swapping;
}

void planner::correctPeaks(const PlanContext &context,
                           llvm::ArrayRef<LayerObservation> observations,
                           size_t numProbes, solver::Problem &problem) {
  std::vector<std::vector<double>> rests(problem.stages.size());
  for (size_t index = 0; index < observations.size(); ++index) {
    const LayerObservation &observation = observations[index];
    const std::vector<double> peaks =
        getKnownPeaks(context, problem, observation);
    const std::vector<bool> isSwapping =
        findSwapping(context, observation.assignment);
    for (size_t stage = 0; stage < peaks.size(); ++stage) {
      const bool isProbe = index < numProbes;
      if (isProbe && isSwapping[stage])
        continue;
      if (!isProbe)
        rests[stage].clear();
      rests[stage].push_back(getRest(observation.measure, stage, peaks[stage]));
    }
  }
  for (size_t stage = 0; stage < rests.size(); ++stage) {
    llvm::sort(rests[stage]);
    if (!rests[stage].empty())
      problem.stages[stage].constant += rests[stage][rests[stage].size() / 2];
  }
}

LayerCosts planner::fitCosts(const PlanContext &context,
                             llvm::ArrayRef<LayerObservation> observations) {
  AdditiveCosts additive = fitAdditive(context, observations);
  TransientCosts transient =
      fitTransient(context, ::makeProblem(context, additive), observations);
  double transferTime = 0;
  for (const LayerObservation &observation : observations)
    transferTime += observation.measure.transferTime;
  return {std::move(additive), std::move(transient),
          transferTime / static_cast<double>(observations.size())};
}
