//===- MemoryCurve.h - Memory of a step over time -------------*- C++ -*-===//

#ifndef MF_SIMULATOR_MEMORYCURVE_H
#define MF_SIMULATOR_MEMORYCURVE_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mf::simulator {

/// When an instruction starts: of the step at `position`, or, of the call
/// there, `instruction` of its routine.
using StartTime =
    llvm::function_ref<double(uint32_t position, uint32_t instruction)>;

/// Bytes live in a stage's arena, by the lifetimes that it was planned with
/// (mf/Program/Liveness.h). Points that follow within `resolution` seconds are
/// joined to one with the most bytes among them, so that the peak is kept.
std::vector<timeline::MemoryPoint>
computeMemoryCurve(const program::StageProgram &stage, StartTime getStart,
                   double resolution);

} // namespace mf::simulator

#endif // MF_SIMULATOR_MEMORYCURVE_H
