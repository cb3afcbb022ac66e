//===- Ticks.cpp - Problems in whole numbers ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Ticks.h"
#include "mf/Pipeline/TaskGraph.h"
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace mf::solver {

using schedule::Phase;

/// With at most this many ticks, sums of them times small factors are exact in
/// doubles, and rounding errors of bounds stay far below a tick.
static constexpr double maxTimeTicks = 1e12;
static constexpr double maxMemoryTicks = 1e15;

void TickCosts::add(const TickCosts &other) {
  for (size_t phase = 0; phase < times.size(); ++phase)
    times[phase] += other.times[phase];
  activation += other.activation;
  recomputed += other.recomputed;
  transient = std::max(transient, other.transient);
  parameters += other.parameters;
  copyOut += other.copyOut;
  copyIn += other.copyIn;
  update += other.update;
}

/// Returns the largest power of ten that keeps a total within a bound.
static double getScale(double total, double bound) {
  if (!(total > 0))
    return 1;
  double exponent = std::floor(std::log10(bound / total));
  return std::pow(10.0, std::clamp(exponent, -300.0, 300.0));
}

void TickProblem::setScales() {
  double layerTime = 0, otherTime = 0, memory = 0;
  auto runs = static_cast<double>(problem.schedule.pipeline.microBatches);
  auto numChunks = static_cast<double>(getNumChunks());
  double held = runs * numChunks;
  for (const LayerKind &kind : problem.kinds) {
    auto count = static_cast<double>(kind.count);
    double time = 0, activation = 0, transient = 0;
    for (const Treatment &treatment : kind.treatments) {
      time = std::max({time, treatment.forward + treatment.backward,
                       treatment.copyOut, treatment.copyIn});
      activation = std::max(activation, treatment.activationMemory +
                                            treatment.recomputedMemory);
      transient = std::max(transient, treatment.transientMemory);
    }
    layerTime += count * time;
    otherTime += count * kind.updateTime;
    memory += count * (kind.parameterMemory + held * activation) + transient;
  }
  for (const ChunkExtra &extra : problem.extras) {
    layerTime += extra.forward + extra.backward;
    otherTime += extra.updateTime;
    memory += extra.parameterMemory + held * extra.activationMemory +
              extra.transientMemory;
  }
  otherTime += 2 * runs * numChunks * problem.transferTime;
  for (const StageMemory &stage : problem.stages)
    memory = std::max({memory, std::abs(stage.constant)});
  auto pieces = static_cast<double>(problem.schedule.pipeline.pieces);
  // A tick is a share of a piece, so that pieces of whole ticks add up to whole
  // micro-batches.
  // With slots, times of tasks are rounded to a hundred ticks, so ticks are
  // shorter.
  const double most =
      problem.schedule.pairs.empty() ? maxTimeTicks : 10 * maxTimeTicks;
  ticksPerTime =
      getScale(pieces * (runs * layerTime + otherTime), most) * pieces;
  ticksPerMemory = getScale(pieces * memory, maxMemoryTicks) * pieces;
}

static int64_t roundTicks(double ticks) {
  constexpr double most = 4e18;
  return std::llround(std::clamp(ticks, -most, most));
}

int64_t TickProblem::toTime(double time) const {
  const auto unit = static_cast<double>(timeUnit);
  return roundTicks(time * ticksPerTime / unit) * timeUnit;
}

int64_t TickProblem::toMemory(double memory) const {
  return roundTicks(memory * ticksPerMemory);
}

int64_t TickProblem::getTicksBelow(double time) const {
  int64_t ticks = roundTicks(time * ticksPerTime);
  while (getTime(ticks) > time)
    --ticks;
  return ticks;
}

/// Returns the costs of the tasks and activations of a piece, which has its
/// fraction of those of a micro-batch. Extras do not recompute.
template <typename Cost>
TickCosts TickProblem::convert(const Cost &cost) const {
  const auto pieces = static_cast<double>(problem.schedule.pipeline.pieces);
  int64_t recompute = 0, weight = 0;
  TickCosts ticks;
  if constexpr (std::is_same_v<Cost, Treatment>)
    if (hasRecomputeTasks()) {
      recompute = toTime(cost.recompute / pieces);
      ticks.recomputed = toMemory(cost.recomputedMemory / pieces);
    }
  if (problem.schedule.splitsBackward)
    weight = toTime(cost.weightGradient / pieces);
  // Roundings of the parts must not make the rest negative.
  const int64_t rest =
      std::max<int64_t>(0, toTime(cost.backward / pieces) - weight - recompute);
  for (auto [phase, time] : llvm::zip(phases, ticks.times))
    time = phase == Phase::Forward          ? toTime(cost.forward / pieces)
           : phase == Phase::WeightGradient ? weight
           : phase == Phase::Recompute      ? recompute
                                            : rest;
  ticks.activation = toMemory(cost.activationMemory / pieces);
  ticks.transient = toMemory(cost.transientMemory);
  return ticks;
}

TickProblem::TickProblem(const Problem &problem)
    : problem(problem),
      phases(schedule::TaskGraph(problem.schedule.pipeline,
                                 problem.schedule.splitsBackward)
                 .getPhases()),
      chunksOfStages(problem.schedule.pipeline.getChunksOfStages()),
      extras(problem.schedule.pipeline.getNumChunks()) {
  setScales();
  if (!problem.schedule.pairs.empty()) {
    timeUnit = slotParts;
    shown = std::llround((1 - problem.pairHidden) * slotParts);
  }
  const auto pieces = static_cast<double>(problem.schedule.pipeline.pieces);
  for (const LayerKind &kind : problem.kinds) {
    std::vector<TickCosts> &ofKind = layers.emplace_back();
    for (const Treatment &treatment : kind.treatments) {
      TickCosts &ticks = ofKind.emplace_back(convert(treatment));
      ticks.parameters = toMemory(kind.parameterMemory);
      ticks.update = toTime(kind.updateTime);
      ticks.copyOut = toTime(treatment.copyOut / pieces);
      ticks.copyIn = toTime(treatment.copyIn / pieces);
    }
  }
  for (const ChunkExtra &extra : problem.extras) {
    TickCosts ticks = convert(extra);
    ticks.parameters = toMemory(extra.parameterMemory);
    ticks.update = toTime(extra.updateTime);
    extras[extra.chunk].add(ticks);
  }
  transfer = toTime(problem.transferTime);
  setLimits();
  setInFlight();
}

void TickProblem::setLimits() {
  for (const StageMemory &stage : problem.stages) {
    int64_t limit = toMemory(stage.limit);
    // If the limit is between two ticks, it is rounded down.
    if (exceeds(getMemory(limit), stage.limit))
      --limit;
    limits.push_back(limit);
    constants.push_back(toMemory(stage.constant));
  }
}

/// Adds a combination of memory that a stage holds at once, unless another one
/// holds at least as much of everything.
void TickProblem::addHeld(int64_t stage, llvm::ArrayRef<HeldMemory> held) {
  auto covers = [](llvm::ArrayRef<HeldMemory> one,
                   llvm::ArrayRef<HeldMemory> other) {
    return llvm::all_of(llvm::zip_equal(one, other), [](auto both) {
      const auto &[ofOne, ofOther] = both;
      return ofOne.activations >= ofOther.activations &&
             ofOne.recomputed >= ofOther.recomputed;
    });
  };
  std::vector<std::vector<HeldMemory>> &most = inFlight[stage];
  if (llvm::any_of(most, [&](auto &other) { return covers(other, held); }))
    return;
  llvm::erase_if(most, [&](auto &other) { return covers(held, other); });
  most.push_back(held.vec());
}

void TickProblem::setInFlight() {
  const schedule::Pipeline &pipeline = problem.schedule.pipeline;
  const Phase last =
      problem.schedule.splitsBackward ? Phase::WeightGradient : Phase::Backward;
  inFlight.resize(getNumStages());
  for (int64_t stage = 0; stage < getNumStages(); ++stage) {
    llvm::ArrayRef<int32_t> chunks = chunksOfStages[stage];
    std::vector<HeldMemory> held(chunks.size());
    for (const schedule::Task &task : problem.schedule.stages[stage]) {
      HeldMemory &ofChunk =
          held[llvm::find(chunks, task.chunk) - chunks.begin()];
      if (!pipeline.runs(last, task.chunk))
        continue;
      if (task.phase == last) {
        --ofChunk.activations;
        --ofChunk.recomputed;
        continue;
      }
      const bool isForward = task.phase == Phase::Forward;
      const bool recomputes = pipeline.recomputes(task.chunk, task.microBatch);
      if (!isForward && task.phase != Phase::Recompute)
        continue;
      ofChunk.activations += isForward ? 1 : 0;
      ofChunk.recomputed += isForward && recomputes ? 0 : 1;
      addHeld(stage, held);
    }
  }
}

TickCosts TickProblem::getCosts(int64_t chunk, const ChunkPlan &plan) const {
  TickCosts costs = extras[chunk];
  for (size_t kind = 0; kind < plan.counts.size(); ++kind)
    for (size_t treatment = 0; treatment < plan.counts[kind].size();
         ++treatment) {
      int64_t count = plan.counts[kind][treatment];
      if (count == 0)
        continue;
      TickCosts layer = layers[kind][treatment];
      for (int64_t &time : layer.times)
        time *= count;
      for (int64_t *cost :
           {&layer.activation, &layer.recomputed, &layer.parameters,
            &layer.copyOut, &layer.copyIn, &layer.update})
        *cost *= count;
      costs.add(layer);
    }
  return costs;
}

std::vector<int64_t>
TickProblem::getDurations(llvm::ArrayRef<TickCosts> chunks) const {
  std::vector<int64_t> durations(getNumDurations(), 0);
  for (auto [chunk, costs] : llvm::enumerate(chunks)) {
    for (int64_t phase = 0; phase < getNumPhases(); ++phase)
      durations[getDuration(static_cast<int64_t>(chunk), phase)] =
          costs.times[phase];
    durations[getUpdate(problem.schedule.pipeline.stageOfChunk[chunk])] +=
        costs.update;
  }
  return durations;
}

int64_t TickProblem::getPeak(int64_t stage,
                             llvm::ArrayRef<TickCosts> chunks) const {
  int64_t base = constants[stage], transient = 0, most = 0;
  for (const TickCosts &chunk : chunks) {
    base += chunk.parameters;
    transient = std::max(transient, chunk.transient);
  }
  for (llvm::ArrayRef<HeldMemory> held : inFlight[stage]) {
    int64_t activations = 0;
    for (auto [ofChunk, costs] : llvm::zip_equal(held, chunks))
      activations += ofChunk.get(costs);
    most = std::max(most, activations);
  }
  return base + most + transient;
}

} // namespace mf::solver
