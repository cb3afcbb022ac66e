//===- Routing.h - mf-run --routing -----------------------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_RUN_ROUTING_H
#define MF_TOOLS_MF_RUN_ROUTING_H

#include "Options.h"
#include "mf/Exec/Runner/RouterChoices.h"
#include "mf/Perf/Target/Target.h"
#include "mf/Program/Program.h"

namespace mf::tools {

/// Prints for each scenario of --routing how long steps take, what the fullest
/// rank gets, and which steps would overflow. An error if a name is unknown or
/// the program's ranks do not share out experts.
llvm::Error simulateRouting(const Options &options,
                            const program::Program &program,
                            const target::Target &target,
                            llvm::raw_ostream &os);

/// The choices of an execution's routers, of which it prints the first steps:
/// loads of experts and ranks, and whether a rank has room for its rows. An
/// error if --routing names no scenario or several, or if the program has no
/// router.
llvm::Expected<std::shared_ptr<runner::RouterChoices>>
chooseRouting(const Options &options, const program::Program &program,
              llvm::raw_ostream &os);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_ROUTING_H
