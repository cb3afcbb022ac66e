//===- MeasuredRates.h - Measured rates of a rank's threads -----*- C++ -*-===//

#ifndef MF_LIB_EXEC_RUNNER_MEASUREDRATES_H
#define MF_LIB_EXEC_RUNNER_MEASUREDRATES_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Perf/Timeline/StepTimeline.h"

namespace mf::runner {

/// Measures the rates that a step's kernels could reach on the threads of a
/// rank while nothing else runs: matrix products in the types that the step
/// has, and memory streaming. Takes a fraction of a second.
timeline::BoundRates measureRates(const timeline::StepTimeline &timeline,
                                  ThreadPool &pool);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_MEASUREDRATES_H
