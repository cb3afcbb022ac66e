//===- CostFit.cpp - Costs of layers from compiled steps ------------------===//

#include "planner/CostFit.h"
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

using namespace mf;
using namespace mf::planner;

namespace {

/// Consecutive layers of one kind.
struct Run {
  size_t kind = 0;
  int64_t count = 0;
};

/// How many layers of each kind and treatment something has, and which extra.
struct Composition {
  std::map<std::pair<size_t, size_t>, int64_t> layers;
  /// 0 for the first chunk or stage, 1 for the last one.
  std::set<size_t> extras;
};

} // namespace

static std::vector<Run> findRuns(llvm::ArrayRef<ModelLayer> layers) {
  std::vector<Run> runs;
  for (const ModelLayer &layer : layers) {
    if (runs.empty() || runs.back().kind != layer.kind)
      runs.push_back({layer.kind, 0});
    ++runs.back().count;
  }
  return runs;
}

static std::set<size_t> findExtras(size_t chunk, size_t numChunks) {
  std::set<size_t> extras;
  if (chunk == 0)
    extras.insert(0);
  if (chunk + 1 == numChunks)
    extras.insert(1);
  return extras;
}

/// What each chunk of an assignment is made of.
static std::vector<Composition> composeChunks(const PlanContext &context,
                                              const Assignment &assignment) {
  std::vector<Composition> chunks(assignment.layersOfChunk.size());
  size_t layer = 0;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    chunks[chunk].extras = findExtras(chunk, chunks.size());
    for (int64_t index = 0; index < assignment.layersOfChunk[chunk]; ++index) {
      ++chunks[chunk]
            .layers[{context.layers[layer].kind, assignment.treatments[layer]}];
      ++layer;
    }
  }
  return chunks;
}

static std::vector<Composition> composeStages(const PlanContext &context,
                                              const Assignment &assignment) {
  const std::vector<Composition> chunks = composeChunks(context, assignment);
  std::vector<Composition> stages(
      static_cast<size_t>(context.schedule.pipeline.stages));
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    Composition &stage = stages[static_cast<size_t>(
        context.schedule.pipeline.stageOfChunk[chunk])];
    for (const auto &[key, count] : chunks[chunk].layers)
      stage.layers[key] += count;
    stage.extras.insert(chunks[chunk].extras.begin(),
                        chunks[chunk].extras.end());
  }
  return stages;
}

//===----------------------------------------------------------------------===//
// Least squares
//===----------------------------------------------------------------------===//

namespace {

/// Something additive: what layers and extras contribute to it.
class AdditiveCost {
public:
  AdditiveCost(size_t numKinds, size_t numTreatments)
      : numTreatments(numTreatments), ofLayers(numKinds * numTreatments),
        ofExtras(2) {}

  double get(size_t kind, size_t treatment) const {
    return ofLayers[kind * numTreatments + treatment];
  }
  double getExtra(size_t extra) const { return ofExtras[extra]; }

  void add(const Composition &composition, double value) {
    rows.emplace_back(composition, value);
  }

  /// The least squares; of equally good ones the smallest. Costs are not
  /// negative.
  void solve();

  double predict(const Composition &composition) const {
    double sum = 0;
    for (const auto &[key, count] : composition.layers)
      sum += static_cast<double>(count) * get(key.first, key.second);
    for (const size_t extra : composition.extras)
      sum += ofExtras[extra];
    return sum;
  }

private:
  size_t numTreatments;
  std::vector<double> ofLayers, ofExtras;
  std::vector<std::pair<Composition, double>> rows;
};

} // namespace

void AdditiveCost::solve() {
  const auto columns =
      static_cast<Eigen::Index>(ofLayers.size() + ofExtras.size());
  Eigen::MatrixXd matrix =
      Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rows.size()), columns);
  Eigen::VectorXd values(static_cast<Eigen::Index>(rows.size()));
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto at = static_cast<Eigen::Index>(row);
    for (const auto &[key, count] : rows[row].first.layers)
      matrix(at, static_cast<Eigen::Index>(key.first * numTreatments +
                                           key.second)) =
          static_cast<double>(count);
    for (const size_t extra : rows[row].first.extras)
      matrix(at, static_cast<Eigen::Index>(ofLayers.size() + extra)) = 1;
    values(at) = rows[row].second;
  }
  const Eigen::VectorXd solution =
      matrix.completeOrthogonalDecomposition().solve(values);
  for (size_t index = 0; index < ofLayers.size(); ++index)
    ofLayers[index] = std::max(0.0, solution(static_cast<Eigen::Index>(index)));
  for (size_t index = 0; index < ofExtras.size(); ++index)
    ofExtras[index] = std::max(
        0.0, solution(static_cast<Eigen::Index>(ofLayers.size() + index)));
}

namespace {

/// All costs that add up over layers.
struct AdditiveCosts {
  AdditiveCost forward, backward, weightGradient, frame, parameters, update;

  AdditiveCosts(size_t kinds, size_t treatments)
      : forward(kinds, treatments), backward(kinds, treatments),
        weightGradient(kinds, treatments), frame(kinds, treatments),
        parameters(kinds, 1), update(kinds, 1) {}
};

} // namespace

/// The same without treatments, on which parameters do not depend.
static Composition dropTreatments(const Composition &composition) {
  Composition dropped;
  dropped.extras = composition.extras;
  for (const auto &[key, count] : composition.layers)
    dropped.layers[{key.first, 0}] += count;
  return dropped;
}

static AdditiveCosts fitAdditive(const PlanContext &context, size_t numKinds,
                                 llvm::ArrayRef<Observation> observations) {
  AdditiveCosts costs(numKinds, context.treatments.size());
  for (const Observation &observation : observations) {
    const std::vector<Composition> chunks =
        composeChunks(context, observation.assignment);
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      const ChunkMeasure &measure = observation.measure.chunks[chunk];
      costs.forward.add(chunks[chunk], measure.forward);
      costs.backward.add(chunks[chunk], measure.backward);
      costs.weightGradient.add(chunks[chunk], measure.weightGradient);
      costs.frame.add(chunks[chunk], static_cast<double>(measure.frameBytes));
    }
    const std::vector<Composition> stages =
        composeStages(context, observation.assignment);
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      const StageMeasure &measure = observation.measure.stages[stage];
      const Composition bare = dropTreatments(stages[stage]);
      costs.parameters.add(bare, static_cast<double>(measure.staticBytes));
      costs.update.add(bare, measure.updateTime);
    }
  }
  for (AdditiveCost *cost :
       {&costs.forward, &costs.backward, &costs.weightGradient, &costs.frame,
        &costs.parameters, &costs.update})
    cost->solve();
  return costs;
}

//===----------------------------------------------------------------------===//
// Memory that does not add up
//===----------------------------------------------------------------------===//

namespace {

/// What stages need beside what adds up: for each kind and treatment as much as
/// the stages that have it need at most; a stage needs the most of its parts.
struct TransientCosts {
  std::map<std::pair<size_t, size_t>, double> ofLayers;
  std::vector<double> ofExtras = {0, 0};
};

} // namespace

/// What the peak of a stage is beyond `known`.
static double getRest(const StageMeasure &stage, double known) {
  return static_cast<double>(stage.peakBytes) - known;
}

/// Peaks of a problem whose transients are not known yet, by stage.
static std::vector<double> getKnownPeaks(const PlanContext &context,
                                         const plan::Problem &problem,
                                         const Observation &observation) {
  return plan::evaluate(problem, toPlan(context, observation.assignment)).peaks;
}

namespace {

/// What a stage needs beside what adds up, and what it is made of.
struct TransientRow {
  Composition composition;
  double rest = 0;
};

} // namespace

static std::vector<TransientRow>
findTransients(const PlanContext &context, const plan::Problem &problem,
               llvm::ArrayRef<Observation> observations) {
  std::vector<TransientRow> rows;
  for (const Observation &observation : observations) {
    const std::vector<double> known =
        getKnownPeaks(context, problem, observation);
    std::vector<Composition> stages =
        composeStages(context, observation.assignment);
    for (size_t stage = 0; stage < stages.size(); ++stage)
      rows.push_back(
          {std::move(stages[stage]),
           getRest(observation.measure.stages[stage], known[stage])});
  }
  return rows;
}

/// Inner stages of one kind and treatment say what that needs. Of what others
/// need more than their known parts, the unknown ones are the reason, or else
/// the extras.
static TransientCosts fitTransient(const PlanContext &context,
                                   const plan::Problem &problem,
                                   llvm::ArrayRef<Observation> observations) {
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

/// The last of the observations is the one that the next plans are most like:
/// what the model has wrong there is corrected.
static void correctPeaks(const PlanContext &context,
                         const Observation &observation,
                         plan::Problem &problem) {
  const std::vector<double> peaks =
      getKnownPeaks(context, problem, observation);
  for (size_t stage = 0; stage < peaks.size(); ++stage)
    problem.stages[stage].constant +=
        getRest(observation.measure.stages[stage], peaks[stage]);
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

static plan::ChunkExtra makeExtra(const AdditiveCosts &costs, size_t extra,
                                  size_t chunk) {
  plan::ChunkExtra made;
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

static plan::LayerKind makeKind(const PlanContext &context,
                                const AdditiveCosts &costs, const Run &run) {
  plan::LayerKind kind;
  kind.name = "kind " + std::to_string(run.kind);
  kind.count = run.count;
  kind.parameterMemory = costs.parameters.get(run.kind, 0);
  kind.updateTime = costs.update.get(run.kind, 0);
  for (size_t index = 0; index < context.treatments.size(); ++index) {
    plan::Treatment treatment;
    treatment.name = context.treatments[index].name;
    treatment.forward = costs.forward.get(run.kind, index);
    treatment.backward = costs.backward.get(run.kind, index);
    treatment.weightGradient =
        std::min(treatment.backward, costs.weightGradient.get(run.kind, index));
    treatment.activationMemory = costs.frame.get(run.kind, index);
    treatment.copyOut = context.treatments[index].copyOut[run.kind];
    treatment.copyIn = context.treatments[index].copyIn[run.kind];
    kind.treatments.push_back(std::move(treatment));
  }
  return kind;
}

plan::Problem planner::fitCosts(const PlanContext &context,
                                llvm::ArrayRef<Observation> observations) {
  const std::vector<Run> runs = findRuns(context.layers);
  size_t numKinds = 0;
  for (const Run &run : runs)
    numKinds = std::max(numKinds, run.kind + 1);
  const AdditiveCosts costs = fitAdditive(context, numKinds, observations);
  plan::Problem problem;
  problem.name = "step";
  problem.schedule = context.schedule;
  problem.treatmentsInOrder = true;
  for (const Run &run : runs)
    problem.kinds.push_back(makeKind(context, costs, run));
  const size_t numChunks = context.schedule.pipeline.stageOfChunk.size();
  problem.extras = {makeExtra(costs, 0, 0), makeExtra(costs, 1, numChunks - 1)};
  problem.stages.resize(static_cast<size_t>(context.schedule.pipeline.stages));
  for (plan::StageMemory &stage : problem.stages)
    stage.limit = static_cast<double>(context.limitBytes);
  const TransientCosts transient = fitTransient(context, problem, observations);
  for (size_t index = 0; index < runs.size(); ++index)
    for (size_t treatment = 0; treatment < context.treatments.size();
         ++treatment)
      if (auto found = transient.ofLayers.find({runs[index].kind, treatment});
          found != transient.ofLayers.end())
        problem.kinds[index].treatments[treatment].transientMemory =
            found->second;
  for (const size_t extra : {0, 1})
    problem.extras[extra].transientMemory = transient.ofExtras[extra];
  if (!observations.empty())
    correctPeaks(context, observations.back(), problem);
  return problem;
}

plan::Plan planner::toPlan(const PlanContext &context,
                           const Assignment &assignment) {
  const std::vector<Run> runs = findRuns(context.layers);
  plan::Plan plan;
  size_t layer = 0, run = 0;
  int64_t inRun = 0;
  for (const int64_t layers : assignment.layersOfChunk) {
    plan::ChunkPlan chunk;
    chunk.counts.assign(runs.size(),
                        std::vector<int64_t>(context.treatments.size()));
    for (int64_t index = 0; index < layers; ++index, ++layer, ++inRun) {
      if (inRun == runs[run].count) {
        ++run;
        inRun = 0;
      }
      ++chunk.counts[run][assignment.treatments[layer]];
    }
    plan.chunks.push_back(std::move(chunk));
  }
  return plan;
}

Assignment planner::toAssignment(const PlanContext &context,
                                 const plan::Plan &plan) {
  Assignment assignment;
  for (const plan::ChunkPlan &chunk : plan.chunks) {
    assignment.layersOfChunk.push_back(chunk.getNumLayers());
    for (const std::vector<int64_t> &byTreatment : chunk.counts)
      for (size_t treatment = 0; treatment < byTreatment.size(); ++treatment)
        assignment.treatments.insert(
            assignment.treatments.end(),
            static_cast<size_t>(byTreatment[treatment]), treatment);
  }
  return assignment;
}
