//===- KeptValues.h - What operators make, between ranks --------*- C++ -*-===//

#ifndef MF_LIB_STEP_KEPTVALUES_H
#define MF_LIB_STEP_KEPTVALUES_H

#include "StepRanks.h"
#include "mf/Exec/Ranks/TensorDump.h"

namespace mf::step {

/// Adds what all ranks have kept to the dump of the first one, which writes it.
/// `kept` is this rank's.
llvm::Error shareKept(const StepRanks &group,
                      const std::vector<KeptOperator> &kept,
                      ranks::TensorDump &dump);

} // namespace mf::step

#endif // MF_LIB_STEP_KEPTVALUES_H
