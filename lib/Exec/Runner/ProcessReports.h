//===- ProcessReports.h - Measurements of all processes -------*- C++ -*-===//

#ifndef MF_LIB_EXEC_RUNNER_PROCESSREPORTS_H
#define MF_LIB_EXEC_RUNNER_PROCESSREPORTS_H

#include "mf/Exec/Data/RunReport.h"
#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Exec/Runner/Runner.h"

namespace mf::runner {

/// Extends `reports` from the ranks of this process to all ranks, in all
/// processes.
llvm::Error gatherReports(ProcessGroup &processes, ranks::StepReports &reports);

/// Does the same for the measurements of ranks.
llvm::Error gatherMeasurements(ProcessGroup &processes,
                               std::vector<RankMeasurement> &ranks);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_PROCESSREPORTS_H
