//===- Findings.h - Output of a search --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_FINDINGS_H
#define MF_TOOLS_MF_PLAN_FINDINGS_H

#include "PlanOptions.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/Solver.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace mf::tools {

/// Checks, before a long search, that these files can be written and differ
/// from each other. Empty paths and "-" are always accepted.
llvm::Error checkOutputPaths(llvm::ArrayRef<std::string> paths);

/// Text that is written to files once it is complete, each file whole or not at
/// all.
class Outputs {
public:
  /// Adds text for a file. It is dropped for an empty path and written to
  /// standard output for "-".
  void add(llvm::StringRef path, std::string text);
  llvm::Error write() const;

private:
  struct File {
    std::string path, text;
  };
  std::vector<File> files;
};

/// Collects text and JSON, as the options request, and writes all of it at the
/// end.
class Findings {
public:
  /// Searches end when `stop` is set.
  Findings(const PlanOptions &options, const Interrupt &stop,
           solver::PlanUnits units)
      : options(options), stop(stop), units(std::move(units)) {}

  /// Returns the text for users.
  llvm::raw_ostream &getText() { return os; }
  /// Returns the same information for programs.
  llvm::json::Object &getJson() { return json; }

  /// Adds the output of --explain.
  void addExplanation(const solver::Problem &problem, const solver::Plan &plan,
                      double time);
  /// Searches for the output of --frontier and --plot and adds it. `rest` is
  /// the time of a step in addition to that of the problem.
  llvm::Error addFrontier(const solver::Problem &problem, double rest = 0);
  /// Adds the output of --problem-out.
  void addProblem(const solver::Problem &problem);
  /// Adds the output of -o.
  void addYaml(std::string yaml) {
    outputs.add(options.output, std::move(yaml));
  }

  /// Adds the output of --html.
  void addPage(std::string page) { outputs.add(options.html, std::move(page)); }

  /// Prints on standard error why a plan is not proven to be optimal.
  void noteEarlyEnd() const;

  llvm::Error write();

private:
  const PlanOptions &options;
  const Interrupt &stop;
  const solver::PlanUnits units;
  std::string text;
  llvm::raw_string_ostream os{text};
  llvm::json::Object json;
  Outputs outputs;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_FINDINGS_H
