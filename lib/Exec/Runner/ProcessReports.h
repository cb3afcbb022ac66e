//===- ProcessReports.h - Measurements of all processes -------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_PROCESSREPORTS_H
#define MF_LIB_RUNNER_PROCESSREPORTS_H

#include "mf/Exec/Data/RunReport.h"
#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Exec/Runner/Runner.h"

namespace mf::runner {

/// Makes `reports`, of the ranks of this process, those of all ranks, in all
/// processes.
llvm::Error gatherReports(ProcessGroup &processes, ranks::StepReports &reports);

/// The same for what the ranks measured.
llvm::Error gatherMeasurements(ProcessGroup &processes,
                               std::vector<RankMeasurement> &ranks);

} // namespace mf::runner

#endif // MF_LIB_RUNNER_PROCESSREPORTS_H
