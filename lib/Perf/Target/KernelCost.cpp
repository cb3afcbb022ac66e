//===- KernelCost.cpp - The time of a launch ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/KernelCost.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>

using namespace llvm;

namespace mf::target {

/// Returns, for example, "kernel 'aclnnMatmul' of kind 'matmul'".
static std::string describe(const KernelSignature &signature) {
  return ("kernel '" + signature.name + "' of kind '" + signature.kind + "'")
      .str();
}

/// Returns the share of the peak that remains at a measure. Empty operands
/// count as one element, so that their share is not 0, by which a time of no
/// work would be divided.
static double getShare(const Saturation &saturation, double measure) {
  const double amount = std::max(measure, 1.0);
  double share = amount / (amount + saturation.half);
  if (saturation.full > 0)
    share *=
        std::pow(std::min(1.0, amount / saturation.full), saturation.power);
  return share;
}

/// Returns the share of a kernel's rows that are filled.
static double getFilledRows(const KernelSignature &signature,
                            const Compilation &compilation) {
  const bool takesCounts =
      any_of(signature.inputs, [](const OperandSignature &input) {
        return input.name == "counts";
      });
  return takesCounts ? compilation.filledRows : 1;
}

/// Returns whether a measure grows with the number of rows.
static bool isOfRows(StringRef measure) {
  return is_contained({"rows", "flops", "full_flops"}, measure);
}

static Expected<double> getComputeSeconds(const Target &target,
                                          const KernelRate &rate,
                                          const KernelSignature &signature,
                                          const KernelSpec &spec,
                                          const Compilation &compilation) {
  if (rate.peakShare == 0)
    return 0;
  const DType type = getWorkType(spec);
  const double peak = target.getPeak(signature.engine, type);
  if (peak == 0)
    return createStringError(
        "target '" + target.name + "' has no rate of its " +
        getName(signature.engine) + " engine for " + getName(type) +
        ", nor for f32, which " + describe(signature) + " needs");
  const double filled = getFilledRows(signature, compilation);
  double share = rate.peakShare;
  for (const Saturation &saturation : rate.saturations) {
    const std::optional<int64_t> measure =
        signature.getMeasure(spec, saturation.measure);
    if (!measure) {
      auto names = map_range(signature.measures,
                             [](const MeasureSignature &m) { return m.name; });
      return createStringError(
          "target '" + target.name + "' has the rate of kind '" + rate.kind +
          "' depend on '" + saturation.measure + "', which " +
          describe(signature) + " does not have; it has " + join(names, ", "));
    }
    share *=
        getShare(saturation, static_cast<double>(*measure) *
                                 (isOfRows(saturation.measure) ? filled : 1));
  }
  return filled * static_cast<double>(signature.getFlops(spec)) /
         (peak * share);
}

/// Products of matrices stream through the cube's own buffers; operands of the
/// vector units may still be in the cache.
static double getMemoryRate(const Memory &memory,
                            const KernelSignature &signature,
                            const KernelSpec &spec) {
  if (signature.engine != Engine::Vector || memory.cacheGain == 0)
    return memory.bytesPerSecond;
  const std::optional<int64_t> largest =
      signature.getMeasure(spec, "largest_operand_bytes");
  const double fill =
      static_cast<double>(largest.value_or(0)) / memory.cacheBytes;
  return memory.bytesPerSecond * (1 + memory.cacheGain / (1 + fill * fill));
}

static double getMemorySeconds(const Target &target, const KernelRate &rate,
                               const KernelSignature &signature,
                               const KernelSpec &spec,
                               const Compilation &compilation) {
  const double passes = compilation.graphKernelFusion && rate.fusedPasses > 0
                            ? rate.fusedPasses
                            : rate.passes;
  return passes * static_cast<double>(signature.getBytes(spec)) /
         getMemoryRate(target.memory, signature, spec);
}

static Expected<KernelCost> getCostAlone(const Target &target,
                                         const KernelSignature &signature,
                                         const KernelSpec &spec,
                                         const Compilation &compilation) {
  const KernelRate *rate = target.findKernelRate(signature.kind);
  if (!rate)
    return createStringError("target '" + target.name +
                             "' has no rate for kind '" + signature.kind +
                             "', which kernel '" + signature.name +
                             "' is of; add one to its kernels");
  Expected<double> compute =
      getComputeSeconds(target, *rate, signature, spec, compilation);
  if (!compute)
    return compute.takeError();
  const double memory =
      getMemorySeconds(target, *rate, signature, spec, compilation);
  const double busy = std::max(*compute, memory);
  KernelCost cost;
  cost.seconds = busy + rate->latency;
  if (busy > rate->latency)
    cost.limit = *compute >= memory ? Limit::Compute : Limit::Memory;
  for (const KernelSpec &product : getProductsOfFactors(signature, spec)) {
    Expected<KernelCost> more = getKernelCost(
        target, *findKernelSignature(product.name), product, compilation);
    if (!more)
      return more.takeError();
    cost.seconds += more->seconds;
  }
  return cost;
}

Expected<KernelCost> getKernelCost(const Target &target,
                                   const KernelSignature &signature,
                                   const KernelSpec &spec,
                                   const Compilation &compilation) {
  std::vector<KernelSpec> members;
  if (signature.getMembers)
    members = signature.getMembers(spec);
  if (members.empty())
    return getCostAlone(target, signature, spec, compilation);
  KernelCost sum;
  double longest = 0;
  for (const KernelSpec &kernel : members) {
    Expected<KernelCost> cost = getKernelCost(
        target, *findKernelSignature(kernel.name), kernel, compilation);
    if (!cost)
      return cost.takeError();
    sum.seconds += cost->seconds;
    if (cost->seconds > longest) {
      longest = cost->seconds;
      sum.limit = cost->limit;
    }
  }
  return sum;
}

} // namespace mf::target
