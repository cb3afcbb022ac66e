//===- Calibrate.h - Targets fitted to profiles -----------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_RUN_CALIBRATE_H
#define MF_TOOLS_MF_RUN_CALIBRATE_H

#include "Options.h"
#include "Processes.h"

namespace mf::tools {

/// --calibrate: fits --target, changed by --set, to a profile, writes it to -o
/// in one step, and prints how well it fits: to standard output, or to standard
/// error if the target goes there. After an error the file of -o is as before.
/// Returns main's exit code.
int calibrateTarget(const Options &options, Messages &messages);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_CALIBRATE_H
