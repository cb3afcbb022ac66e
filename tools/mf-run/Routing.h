//===- Routing.h - mf-run --simulate --routing ------------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_RUN_ROUTING_H
#define MF_TOOLS_MF_RUN_ROUTING_H

#include "Options.h"
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

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_ROUTING_H
