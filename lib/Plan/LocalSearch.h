//===- LocalSearch.h - Better plans near good ones ------------*- C++ -*-===//

#ifndef MF_LIB_PLAN_LOCALSEARCH_H
#define MF_LIB_PLAN_LOCALSEARCH_H

#include "Incumbent.h"

namespace mf::plan {

/// Looks for whole plans near durations that no plan need have, and from the
/// best of them for better ones nearby, along their longest paths. Offers all
/// that it sees. Returns the best, with its ticks.
struct LocalResult {
  OptionList options;
  int64_t ticks = 0;
};
LocalResult searchNearby(OptionChain &chain, StepGraph &graph,
                         const TickProblem &problem, Incumbent &incumbent,
                         llvm::ArrayRef<double> center, int64_t rounds);

} // namespace mf::plan

#endif // MF_LIB_PLAN_LOCALSEARCH_H
