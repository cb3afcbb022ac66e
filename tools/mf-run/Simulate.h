//===- Simulate.h - mf-run --simulate --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_SIMULATE_H
#define MF_TOOLS_MF_RUN_SIMULATE_H

#include "Options.h"
#include "mf/Perf/Target/Target.h"
#include "mf/Program/Program.h"

namespace mf::tools {

/// Simulates a step on a target, prints the table, and writes the requested
/// outputs.
llvm::Error simulateStep(const Options &options,
                         const program::Program &program,
                         const target::Target &target, llvm::raw_ostream &os);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_SIMULATE_H
