//===- MemoryCurve.h - Memory of a step over time -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_SIMULATOR_MEMORYCURVE_H
#define MF_PERF_SIMULATOR_MEMORYCURVE_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mf::simulator {

/// Returns the start time of an instruction of the step. If it is a call, the
/// time is that of `instruction` of the called routine.
using StartTime =
    llvm::function_ref<double(uint32_t position, uint32_t instruction)>;

/// Returns the live bytes of a stage's arena over time, by the lifetimes that
/// it was planned with (mf/Program/Liveness.h). Points within `resolution`
/// seconds of each other are merged to the one with the most bytes, so that the
/// peak is preserved.
std::vector<timeline::MemoryPoint>
computeMemoryCurve(const program::StageProgram &stage, StartTime getStart,
                   double resolution);

} // namespace mf::simulator

#endif // MF_PERF_SIMULATOR_MEMORYCURVE_H
