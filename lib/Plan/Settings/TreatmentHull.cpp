//===- TreatmentHull.cpp - Treatments that are worth mixing ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/TreatmentHull.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <numeric>

using namespace mf;
using namespace mf::planner;

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
