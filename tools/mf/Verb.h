//===- Verb.h - The verbs of mf ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_VERB_H
#define MF_TOOLS_MF_VERB_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mf::tools {

/// The target on which steps are timed if none is given.
inline constexpr llvm::StringLiteral defaultTarget = "atlas-800t-a2";

/// A verb. `run` parses the command line, whose first word is "mf VERB", and
/// returns the exit code.
struct Verb {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  int (*run)(int argc, char **argv);
};

int runCheck(int argc, char **argv);
int runMemory(int argc, char **argv);
int runSimulate(int argc, char **argv);
int runPlan(int argc, char **argv);
int runCompare(int argc, char **argv);
int runTrain(int argc, char **argv);
int runSchedule(int argc, char **argv);
int runImport(int argc, char **argv);
int runExport(int argc, char **argv);
int runTargets(int argc, char **argv);
int runCalibrate(int argc, char **argv);

} // namespace mf::tools

#endif // MF_TOOLS_MF_VERB_H
