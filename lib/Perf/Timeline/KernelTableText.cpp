//===- KernelTableText.cpp - Kernels and bounds as lines of text ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "TimelineParts.h"
#include "mf/Perf/Timeline/KernelTable.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include <cmath>

namespace mf::timeline {

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
