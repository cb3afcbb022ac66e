//===- Advice.h - Advice for a step that does not fit -----------*- C++ -*-===//

#ifndef MF_TOOLS_MFOPT_ADVICE_H
#define MF_TOOLS_MFOPT_ADVICE_H

#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::tools {

/// Looks for the cheapest change of a step's settings with which it fits into
/// `limitBytes` of the request, and prints it as a note on standard error; or
/// why there is none. `target` is the name of the request's target.
///
/// Takes `seconds` at most; ^C ends it. Where a compile does not end in time it
/// ends the program, with a failure: nothing may be left to write.
void printAdvice(const planner::PlanRequest &request, llvm::StringRef target,
                 double seconds);

} // namespace mf::tools

#endif // MF_TOOLS_MFOPT_ADVICE_H
