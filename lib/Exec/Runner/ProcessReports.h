//===- ProcessReports.h - What processes measured ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_PROCESSREPORTS_H
#define MF_LIB_EXEC_RUNNER_PROCESSREPORTS_H

#include "mf/Exec/Data/RunReport.h"
#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Exec/Runner/Runner.h"
#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Program/Program.h"

namespace mf::runner {

/// Extends `reports` from the ranks of this process to all ranks, in all
/// processes.
llvm::Error gatherReports(ProcessGroup &processes, ranks::StepReports &reports);

/// Does the same for the measurements of ranks.
llvm::Error gatherMeasurements(ProcessGroup &processes,
                               std::vector<RankMeasurement> &ranks);

/// Gathers the records of all processes in all of them. The processes must be
/// on one machine, because their clocks must agree.
llvm::Error gatherRecords(ProcessGroup &processes, StepRecord &record);

/// Moves the starts of messages and collectives to the arrival of their last
/// rank, which a communicator may not know. The record must have all ranks.
void alignExchanges(const program::Program &program, StepRecord &record);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_PROCESSREPORTS_H
