//===- ProgramComparison.h - A run beside a program on CANN -----*- C++ -*-===//

#ifndef MF_TOOLS_MF_RUN_PROGRAMCOMPARISON_H
#define MF_TOOLS_MF_RUN_PROGRAMCOMPARISON_H

#include "Options.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"

namespace mf::tools {

/// Does what --compare-with asks for: the same run by a program that
/// mf-translate wrote, and a comparison of what operators have made in its last
/// step.
class ProgramComparison {
public:
  /// Finds the program, and makes a folder for its files, which goes with the
  /// object.
  static llvm::Expected<std::unique_ptr<ProgramComparison>>
  create(const Options &options);
  ~ProgramComparison();

  /// Where mf-run's own run writes what its operators make.
  const std::string &getOwnPath() const { return ownPath; }
  /// Runs the program on as many ranks, each a process, and prints where the
  /// two differ. Returns the exit code: 0, or 2 if a tensor is wrong.
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
