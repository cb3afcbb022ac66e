//===- FusionPlan.cpp - Chooses operators to fuse -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/FusionPlan.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

FusionPlan planFusion(std::vector<FusionSite> sites, bool isAsked) {
  FusionPlan plan{std::move(sites)};
  for (FusionSite &site : plan.sites)
    site.isFused = site.isAlways || (isAsked && !site.isNever);
  return plan;
}

int64_t FusionPlan::getNumFused() const {
  return llvm::count_if(sites,
                        [](const FusionSite &site) { return site.isFused; });
}

int64_t FusionPlan::getKernelsSaved() const {
  int64_t saved = 0;
  for (const FusionSite &site : sites)
    saved += site.isFused ? site.kernelsBefore - site.kernelsAfter : 0;
  return saved;
}

int64_t FusionPlan::getBytesSaved() const {
  int64_t saved = 0;
  for (const FusionSite &site : sites)
    saved += site.isFused ? site.keptBefore - site.keptAfter : 0;
  return saved;
}

void FusionPlan::print(llvm::StringRef what, llvm::raw_ostream &os) const {
  os << what << ": " << getNumFused() << " of " << sites.size() << "\n";
  for (const FusionSite &site : sites) {
    os << "  " << site.layer << " " << site.name << ": ";
    if (site.isFused)
      os << site.kernelsAfter << " in place of " << site.kernelsBefore
         << " kernels, keeps " << site.keptAfter << " in place of "
         << site.keptBefore << " bytes\n";
    else if (site.isNever)
      os << "stays, a dense layer beside layers with experts\n";
    else
      os << "stays\n";
  }
}

} // namespace mf::passes
