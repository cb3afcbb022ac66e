//===- ProgramComparison.h - Compares with a program on CANN ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_PROGRAMCOMPARISON_H
#define MF_TOOLS_MF_RUN_PROGRAMCOMPARISON_H

#include "Options.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"

namespace mf::tools {

/// Implements --compare-with: repeats the run with a program that mf-translate
/// wrote, and compares the results of operators in the last step.
class ProgramComparison {
public:
  /// Finds the program and creates a folder for its files, which the destructor
  /// removes.
  static llvm::Expected<std::unique_ptr<ProgramComparison>>
  create(const Options &options);
  ~ProgramComparison();

  /// Returns the file to which mf-run's own run writes the results of
  /// operators.
  const std::string &getOwnPath() const { return ownPath; }
  /// Runs the program with one process per rank and prints the first
  /// difference. Returns the exit code: 0, or 2 if a tensor is wrong.
  llvm::Expected<int> run(int64_t numRanks, llvm::raw_ostream &os) const;

private:
  explicit ProgramComparison(const Options &options) : options(options) {}

  std::string getPath(llvm::StringRef name) const;
  llvm::Error runProgram(int64_t numRanks) const;

  const Options &options;
  std::string program, ownPath;
  llvm::SmallString<128> folder;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_PROGRAMCOMPARISON_H
