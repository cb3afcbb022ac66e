//===- MemoryPage.h - A step's memory as a page -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_TIMELINE_MEMORYPAGE_H
#define MF_PERF_TIMELINE_MEMORYPAGE_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::timeline {

/// Writes a self-contained HTML page about the planned memory of each stage:
/// what each layer keeps and swaps, the arena over time, and the buffers by
/// name. The map of a stage shows the buffers with the largest product of size
/// and lifetime, and states how many others there are. Time is counted in
/// instructions, or is that of `timeline`, a simulation of the program.
llvm::Error writeMemoryPage(llvm::StringRef path,
                            const program::Program &program,
                            llvm::StringRef name,
                            const StepTimeline *timeline = nullptr);

} // namespace mf::timeline

#endif // MF_PERF_TIMELINE_MEMORYPAGE_H
