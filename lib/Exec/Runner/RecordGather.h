//===- RecordGather.h - Records of several processes -----------*- C++ -*-===//

#ifndef MF_LIB_EXEC_RUNNER_RECORDGATHER_H
#define MF_LIB_EXEC_RUNNER_RECORDGATHER_H

#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Program/Program.h"

namespace mf::runner {

/// Puts the records of all processes together, in all of them. Their clocks
/// must be one: they are of one machine.
llvm::Error gatherRecords(ProcessGroup &processes, StepRecord &record);

/// Moves the starts of messages and collectives to the arrival of their last
/// rank, which a communicator may not know. The record must have all ranks.
void alignExchanges(const program::Program &program, StepRecord &record);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_RECORDGATHER_H
