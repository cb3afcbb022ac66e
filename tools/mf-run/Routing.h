//===- Routing.h - mf-run --routing -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_ROUTING_H
#define MF_TOOLS_MF_RUN_ROUTING_H

#include "Options.h"
#include "mf/Exec/Runner/RouterChoices.h"
#include "mf/Perf/Target/Target.h"
#include "mf/Program/Program.h"

namespace mf::tools {

/// For each scenario of --routing, prints the duration of steps, the rows of
/// the fullest rank, and the steps that would overflow. It is an error if a
/// name is unknown or the program's ranks do not shard experts.
llvm::Error simulateRouting(const Options &options,
                            const program::Program &program,
                            const target::Target &target,
                            llvm::raw_ostream &os);

/// Returns the choices of an execution's routers. Prints those of the first
/// steps: the loads of experts and ranks, and if a rank has room for its rows.
/// It is an error if --routing does not name exactly one scenario, or if the
/// program has no router.
llvm::Expected<std::shared_ptr<runner::RouterChoices>>
chooseRouting(const Options &options, const program::Program &program,
              llvm::raw_ostream &os);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_ROUTING_H
