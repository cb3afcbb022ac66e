//===- KeptValues.h - What operators make, between ranks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_STEP_KEPTVALUES_H
#define MF_LIB_STEP_KEPTVALUES_H

#include "StepRanks.h"
#include "mf/Exec/Ranks/TensorDump.h"

namespace mf::step {

/// Collects what all ranks have kept in the dump of the first rank, which
/// writes the file. `kept` is what this rank has kept.
llvm::Error shareKept(const StepRanks &group,
                      const std::vector<KeptOperator> &kept,
                      ranks::TensorDump &dump);

} // namespace mf::step

#endif // MF_LIB_STEP_KEPTVALUES_H
