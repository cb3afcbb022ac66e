//===- AllocationPlan.cpp - Entry point of the allocators -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/AllocationPlan.h"
#include "lib/Program/Memory/search/PackSearch.h"

namespace mf::memory {

Placement solveFirstFit(const AllocationProblem &problem, int64_t work) {
  // Rounding sizes up avoids gaps that are too small or misaligned for use.
  PackProblem pack = compressLifetimes(problem.buffers);
  int64_t granule = getGranule(pack);
  for (PackItem &item : pack.items)
    item.size = alignUp(item.size, granule);
  WorkBudget budget(work);
  PackResult result =
      packInBestOrder(pack, alignUp(problem.maxLive().bytes, granule), budget);
  int64_t peak = problem.getPeak(result.offsets);
  return {std::move(result.offsets), peak};
}

double AllocationPlan::getGap() const {
  if (bound.bytes == 0)
    return 0;
  return static_cast<double>(peak - bound.bytes) /
         static_cast<double>(bound.bytes);
}

namespace {

using Status = CapacitySearchResult::Status;

/// Searches within `capacity` and stores the plan that is found. Long problems
/// are searched in successive windows of time.
Status search(const AllocationProblem &problem, int64_t capacity, int64_t work,
              AllocationPlan &plan) {
  constexpr size_t manyBuffers = 1000;
  if (capacity < plan.bound.bytes)
    return Status::Infeasible;
  PackProblem pack = compressLifetimes(problem.buffers);
  CapacitySearchResult result;
  if (pack.items.size() > manyBuffers) {
    WorkBudget budget(work);
    if (std::optional<PackResult> found =
            packInWindows(pack, capacity, budget)) {
      result.status = Status::Fit;
      result.offsets = std::move(found->offsets);
    }
  } else {
    result = searchWithin(pack, capacity, work);
  }
  if (result.status == Status::Fit) {
    plan.offsets = std::move(result.offsets);
    plan.peak = problem.getPeak(plan.offsets);
  }
  return result.status;
}

/// Searches for a lower peak: first at the bound, then by bisection. The last
/// search is for a peak just below the current one; if it ends, no lower peak
/// exists.
void improve(const AllocationProblem &problem, AllocationPlan &plan,
             const AllocationPlanOptions &options) {
  constexpr int attempts = 6;
  // No peak is below `proven`. Peaks below `lowest` are not worth more work.
  int64_t proven = plan.bound.bytes;
  if (plan.isProvenInfeasible)
    proven = std::max(proven, *problem.capacity + 1);
  plan.isOptimal = plan.peak <= proven;
  int64_t lowest = proven;
  auto attemptAt = [&](int64_t capacity) {
    Status status =
        search(problem, capacity, options.improvementWork / attempts, plan);
    if (status == Status::Infeasible)
      proven = std::max(proven, capacity + 1);
    if (status != Status::Fit)
      lowest = capacity + 1;
    plan.isOptimal = plan.peak <= proven;
  };
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (plan.getGap() <= options.acceptableGap || plan.isOptimal)
      return;
    if (lowest >= plan.peak)
      break;
    attemptAt(attempt == 0 ? lowest : lowest + (plan.peak - lowest) / 2);
  }
  if (plan.getGap() > options.acceptableGap && !plan.isOptimal &&
      lowest < plan.peak)
    attemptAt(plan.peak - 1);
}

} // namespace

llvm::Expected<AllocationPlan>
planAllocation(const AllocationProblem &problem,
               const AllocationPlanOptions &options) {
  if (llvm::Error error = problem.check())
    return std::move(error);
  AllocationPlan plan;
  plan.bound = problem.maxLive();
  Placement placement = solveFirstFit(problem, options.heuristicWork);
  plan.offsets = std::move(placement.offsets);
  plan.peak = placement.peak;

  auto exceeds = [&] {
    return problem.capacity && plan.peak > *problem.capacity;
  };
  if (exceeds() && options.fitWork > 0)
    plan.isProvenInfeasible =
        search(problem, *problem.capacity, options.fitWork, plan) ==
        Status::Infeasible;
  plan.fits = !exceeds();
  plan.isOptimal = plan.peak <= plan.bound.bytes;
  if (options.improvementWork > 0)
    improve(problem, plan, options);
  return plan;
}

} // namespace mf::memory
