//===- KernelTable.cpp - Kernels and their lower bounds -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Timeline/KernelTable.h"
#include "TimelineParts.h"
#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <functional>
#include <tuple>

namespace mf::timeline {

namespace {

/// The totals over the spans of an activity.
struct KernelUse {
  int64_t calls = 0;
  double seconds = 0;
};

} // namespace

/// Sums the spans of kernels by activity.
static std::vector<KernelUse> sumSpans(const StepTimeline &timeline) {
  std::vector<KernelUse> uses(timeline.activities.size());
  for (const StageTimeline &stage : timeline.stages)
    for (const StreamTimeline &stream : stage.streams)
      for (const Span &span : stream.spans)
        if (timeline.activities[span.activity].category == Category::Kernel) {
          ++uses[span.activity].calls;
          uses[span.activity].seconds += span.end - span.start;
        }
  return uses;
}

DType getWorkType(const Activity &kernel) {
  KernelSpec spec;
  spec.inputs.assign(kernel.inputs.begin(), kernel.inputs.end());
  spec.outputs.assign(kernel.outputs.begin(), kernel.outputs.end());
  return mf::getWorkType(spec);
}

static double getProductRate(const Activity &activity,
                             const BoundRates &rates) {
  for (const DType type : {getWorkType(activity), DType::F32})
    if (auto found = rates.flopsPerSecond.find(type);
        found != rates.flopsPerSecond.end())
      return found->second;
  return 0;
}

static int64_t getMovedBytes(const Activity &activity) {
  // A copy within the device moves the bytes of the message twice: they are
  // read and written.
  return activity.engine == Engine::Copy ? 2 * activity.bytes : activity.bytes;
}

/// Returns the lower bound of one call, in seconds.
static double getBound(const Activity &activity, const BoundRates &rates) {
  auto divide = [](int64_t work, double rate) {
    return rate > 0 ? static_cast<double>(work) / rate : 0;
  };
  return std::max(divide(activity.flops, getProductRate(activity, rates)),
                  divide(getMovedBytes(activity), rates.bytesPerSecond));
}

void KernelWork::add(const KernelWork &work) {
  calls += work.calls;
  seconds += work.seconds;
  flops += work.flops;
  bytes += work.bytes;
  bound += work.bound;
}

/// Returns the values of a map in descending order of excess, and in the map's
/// order if that is equal.
template <typename Key>
static std::vector<KernelWork> sortWorks(std::map<Key, KernelWork> works) {
  std::multimap<double, KernelWork, std::greater<>> byExcess;
  for (auto &[key, work] : works)
    byExcess.emplace(work.getExcess(), std::move(work));
  std::vector<KernelWork> sorted;
  for (auto &[excess, work] : byExcess)
    sorted.push_back(std::move(work));
  return sorted;
}

std::vector<KernelWork> listKernels(const StepTimeline &timeline,
                                    const BoundRates &rates) {
  std::map<std::tuple<std::string, std::string, std::string>, KernelWork> works;
  for (const auto &[use, activity] :
       llvm::zip_equal(sumSpans(timeline), timeline.activities)) {
    if (use.calls == 0)
      continue;
    KernelWork &work =
        works[{activity.kind, activity.name, getShapes(activity)}];
    work.kind = activity.kind;
    work.name = activity.name;
    work.inputs = activity.inputs;
    work.outputs = activity.outputs;
    KernelWork more;
    more.calls = use.calls;
    more.seconds = use.seconds;
    more.flops = use.calls * activity.flops;
    more.bytes = use.calls * getMovedBytes(activity);
    more.bound = static_cast<double>(use.calls) * getBound(activity, rates);
    work.add(more);
  }
  return sortWorks(std::move(works));
}

std::vector<KernelWork> sumByKind(llvm::ArrayRef<KernelWork> kernels) {
  std::map<std::string, KernelWork> works;
  for (const KernelWork &kernel : kernels) {
    KernelWork &work = works[kernel.kind];
    work.kind = kernel.kind;
    work.add(kernel);
  }
  return sortWorks(std::move(works));
}

} // namespace mf::timeline
