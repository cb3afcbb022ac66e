//===- ReductionPlan.cpp - Reductions of gradients over ranks -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/ReductionPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mf::passes {

llvm::StringRef getName(ReductionPlace place) {
  switch (place) {
  case ReductionPlace::Nowhere:
    return "nowhere";
  case ReductionPlace::Backward:
    return "in backward";
  case ReductionPlace::MicroBatch:
    return "by micro-batch";
  case ReductionPlace::Step:
    return "at the step's end";
  }
  return "";
}

static ReductionPlace decide(int64_t runs, const ReducedParameter &parameter) {
  if (parameter.summands == 1 && !parameter.isShared)
    return ReductionPlace::Nowhere;
  if (runs == 1 && !parameter.isGatheredOnce)
    return ReductionPlace::Backward;
  return parameter.scattersGradients ? ReductionPlace::MicroBatch
                                     : ReductionPlace::Step;
}

std::vector<ReductionPlace>
planReductions(int64_t runs, llvm::ArrayRef<ReducedParameter> parameters) {
  std::vector<ReductionPlace> places;
  for (const ReducedParameter &parameter : parameters)
    places.push_back(decide(runs, parameter));
  return places;
}

void printReductions(llvm::ArrayRef<ReducedParameter> parameters,
                     llvm::ArrayRef<ReductionPlace> places,
                     llvm::raw_ostream &os) {
  for (auto [parameter, place] : llvm::zip_equal(parameters, places))
    os << parameter.name << ": gradient of " << parameter.summands
       << (parameter.summands == 1 ? " rank" : " ranks") << " summed "
       << getName(place) << '\n';
}

} // namespace mf::passes
