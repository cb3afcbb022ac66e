//===- KernelTable.cpp - Kernels and their lower bounds -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Timeline/KernelTable.h"
#include "TimelineText.h"
#include "mf/Program/Signatures/KernelSpec.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
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

namespace {

/// The share of the time of all kernels below which a kernel has no line of its
/// own, unless it exceeds its bound by as much.
constexpr double smallestRowShare = 0.005;

/// Returns, for example, "1190 GFLOP/s in bf16, 30.1 GB/s (measured on 2
/// threads with AVX2)".
std::string describeRates(const BoundRates &rates) {
  constexpr double giga = 1e9;
  auto format = [&](double rate) {
    return formatFixed(rate / giga, getDecimals(10 * rate / giga, 0));
  };
  std::string text;
  for (const auto &[type, rate] : rates.flopsPerSecond)
    text += format(rate) + " GFLOP/s in " + getName(type).str() + ", ";
  return text + format(rates.bytesPerSecond) + " GB/s (" + rates.source + ")";
}

/// Lines of one table, with percents of the time of all kernels.
class WorkTable {
public:
  WorkTable(llvm::StringRef title, double allSeconds)
      : table({title.str(), "calls", "time in s", "%", "bound in s",
               "% of the time", "above it in s"}),
        allSeconds(allSeconds), decimals(getDecimals(allSeconds, 3)) {}

  void add(std::string title, const KernelWork &work) {
    table.addRow(
        {std::move(title), std::to_string(work.calls),
         formatFixed(work.seconds, decimals),
         formatFixed(allSeconds > 0 ? 100 * work.seconds / allSeconds : 0, 1),
         formatFixed(work.bound, decimals),
         formatFixed(100 * work.getBoundShare(), 0),
         formatFixed(work.getExcess(), decimals)});
  }

  void print(llvm::raw_ostream &os) const { table.print(os); }

private:
  TextTable table;
  double allSeconds;
  int decimals;
};

/// Returns the sum over several kernels.
KernelWork sum(llvm::ArrayRef<KernelWork> kernels) {
  KernelWork total;
  for (const KernelWork &kernel : kernels)
    total.add(kernel);
  return total;
}

std::string describe(const KernelWork &kernel) {
  Activity activity;
  activity.inputs = kernel.inputs;
  activity.outputs = kernel.outputs;
  const std::string shapes = getShapes(activity);
  return shapes.empty() ? kernel.name : kernel.name + " " + shapes;
}

} // namespace

void printKernels(llvm::ArrayRef<KernelWork> kernels, const BoundRates &rates,
                  llvm::raw_ostream &os) {
  const KernelWork all = sum(kernels);
  os << "bounds of kernels at " << describeRates(rates) << "\n";
  WorkTable kinds("kernels by kind", all.seconds);
  for (const KernelWork &kind : sumByKind(kernels))
    kinds.add(kind.kind, kind);
  kinds.add("all", all);
  kinds.print(os);
  if (kernels.empty())
    return;
  os << "\n";
  WorkTable shapes("kernels by name and shapes", all.seconds);
  std::vector<KernelWork> others;
  for (const KernelWork &kernel : kernels) {
    const double smallest = smallestRowShare * all.seconds;
    if (kernel.seconds < smallest && kernel.getExcess() < smallest)
      others.push_back(kernel);
    else
      shapes.add(describe(kernel), kernel);
  }
  if (!others.empty())
    shapes.add(std::to_string(others.size()) +
                   (others.size() == 1 ? " other" : " others"),
               sum(others));
  shapes.print(os);
}

} // namespace mf::timeline
