//===- MeasuredRates.h - What a rank's threads can do ----------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_MEASUREDRATES_H
#define MF_LIB_RUNNER_MEASUREDRATES_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Perf/Timeline/StepTimeline.h"

namespace mf::runner {

/// Measures the rates that a step's kernels could reach on the threads of a
/// rank while nothing else runs: products in the types that the step's are in,
/// and memory that streams. Takes a fraction of a second.
timeline::BoundRates measureRates(const timeline::StepTimeline &timeline,
                                  ThreadPool &pool);

} // namespace mf::runner

#endif // MF_LIB_RUNNER_MEASUREDRATES_H
