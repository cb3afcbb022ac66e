//===- CannPlan.cpp - What CANN needs of a program ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/cann/CannPlan.h"
#include "mf/Cann/Needs/CannNeeds.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace mf::passes {

CannPlan planForCann(llvm::ArrayRef<LaunchForCann> launches) {
  CannPlan plan;
  std::map<std::string, KernelOnCann> kernels;
  std::map<std::pair<std::string, std::string>, int64_t> missing;
  for (const auto &[number, launch] : llvm::enumerate(launches)) {
    const cann::CannNeeds needs = cann::getCannNeeds(launch.spec);
    if (!needs.isOnCann || !needs.refusal.empty())
      ++missing[{launch.spec.name, needs.refusal}];
    if (needs.bytes == 0)
      continue;
    KernelOnCann &kernel = kernels[launch.spec.name];
    kernel.name = launch.spec.name;
    ++kernel.launches;
    if (needs.bytes > kernel.bytes) {
      kernel.bytes = needs.bytes;
      kernel.temporaries = needs.temporaries;
    }
    if (needs.bytes <= launch.workspaceBytes)
      continue;
    ++kernel.changed;
    plan.workspaces.push_back({number, needs.bytes});
  }
  for (auto &[name, kernel] : kernels)
    plan.kernels.push_back(std::move(kernel));
  for (const auto &[kernel, count] : missing)
    plan.missing.push_back({kernel.first, kernel.second, count});
  return plan;
}

void printCannPlan(const CannPlan &plan, llvm::raw_ostream &os) {
  for (const KernelOnCann &kernel : plan.kernels)
    os << "  " << kernel.launches << " x " << kernel.name << ": up to "
       << kernel.bytes << " bytes, " << kernel.temporaries << "\n";
  for (const MissingKernel &kernel : plan.missing)
    os << "  " << kernel.launches << " x " << kernel.name << ": "
       << (kernel.refusal.empty() ? "CANN has no counterpart" : kernel.refusal)
       << "\n";
}

} // namespace mf::passes
