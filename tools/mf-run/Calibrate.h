//===- Calibrate.h - Targets fitted to profiles -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_CALIBRATE_H
#define MF_TOOLS_MF_RUN_CALIBRATE_H

#include "Options.h"
#include "Processes.h"

namespace mf::tools {

/// Implements --calibrate. Fits --target, as changed by --set, to a profile,
/// writes it to -o atomically, and prints the quality of the fit on standard
/// output, or on standard error if the target is written to standard output.
/// After an error the file of -o is unchanged. Returns the exit code.
int calibrateTarget(const Options &options, Messages &messages);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_CALIBRATE_H
