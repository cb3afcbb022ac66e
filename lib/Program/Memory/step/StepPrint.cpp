//===- StepPrint.cpp - Text form of a step's memory plan ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FrameInstances.h"
#include "mf/Program/Memory/StepPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf::memory {

void StepPlan::print(const StepProblem &problem, llvm::raw_ostream &os) const {
  const FrameInstances owners(problem);
  os << llvm::formatv("arena {0} bytes, bound {1} bytes at instruction {2} of "
                      "task {3}, gap {4:f3} %\n",
                      arenaSize, bound.bytes, bound.moment.instruction,
                      bound.moment.task, getGap() * 100);
  for (const auto &[buffer, offset] :
       llvm::zip(problem.persistentBuffers, persistentOffsets))
    os << "persistent '" << buffer.name << "' at " << offset << " size "
       << buffer.size << "\n";
  for (const auto &[frame, layout] : llvm::zip(problem.frames, frames)) {
    os << "frame '" << frame.name << "' size " << layout.size << "\n";
    if (layout.parts.size() > 1)
      for (const FramePart &part : layout.parts)
        os << "  part at " << part.begin << " size " << part.size << " from "
           << part.first.instruction << " of phase " << part.first.phase
           << " to " << part.last.instruction << " of phase " << part.last.phase
           << "\n";
    for (const auto &[residual, offset] :
         llvm::zip(frame.residuals, layout.residualOffsets))
      os << "  residual '" << residual.name << "' at " << offset << " size "
         << residual.size << "\n";
  }
  for (const auto &[routine, layout] : llvm::zip(problem.routines, routines)) {
    os << "routine '" << routine.name << "' scratch " << layout.scratchSize
       << "\n";
    for (const auto &[temporary, place] :
         llvm::zip(routine.temporaries, layout.temporaries))
      os << "  temporary '" << temporary.name << "' at "
         << (place.isInFrame ? "frame " : "scratch ") << place.offset
         << " size " << temporary.size << "\n";
  }
  for (const auto &[index, task] : llvm::enumerate(problem.tasks)) {
    os << "task " << index << " '" << problem.routines[task.routine].name
       << "'";
    const int64_t instance = owners.getInstance(static_cast<int64_t>(index));
    if (instance >= 0) {
      os << " instance " << task.instance << " frame";
      for (int64_t base : instances[instance].bases)
        os << " " << base;
    }
    if (routines[task.routine].scratchSize > 0)
      os << " scratch " << scratchBases[index];
    os << "\n";
  }
  for (const auto &[buffer, offset] :
       llvm::zip(problem.taskBuffers, taskBufferOffsets))
    os << "task buffer '" << buffer.name << "' at " << offset << " size "
       << buffer.size << "\n";
}

} // namespace mf::memory
