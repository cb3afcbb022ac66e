//===- Verb.h - The verbs of mf ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_VERB_H
#define MF_TOOLS_MF_VERB_H

#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

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

/// The option --json, which all verbs have.
struct JsonFile {
  explicit JsonFile(llvm::cl::OptionCategory &category)
      : path("json", llvm::cl::value_desc("file"), llvm::cl::cat(category),
             llvm::cl::desc("Write what is found as JSON; - is standard "
                            "output, which then has nothing else")) {}

  llvm::cl::opt<std::string> path;

  bool isStandardOutput() const { return path == "-"; }

  /// Returns the stream for text: standard error if JSON is on standard output.
  llvm::raw_ostream &getText() const {
    return isStandardOutput() ? llvm::errs() : llvm::outs();
  }

  llvm::Error write(llvm::json::Value value) const {
    if (path.empty())
      return llvm::Error::success();
    const std::string text = llvm::formatv("{0:2}\n", value);
    if (!isStandardOutput())
      return writeFileAtomically(path, text);
    llvm::outs() << text;
    return llvm::Error::success();
  }
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_VERB_H
