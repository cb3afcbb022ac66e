//===- Findings.h - Output of a search --------------------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_PLAN_FINDINGS_H
#define MF_TOOLS_MF_PLAN_FINDINGS_H

#include "Outputs.h"
#include "PlanOptions.h"
#include "mf/Plan/Solver/PlanUnits.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"
#include <atomic>

namespace mf::tools {

/// Collects text and JSON, as the options ask for, and writes all of it in the
/// end.
class Findings {
public:
  /// `stop` ends searches.
  Findings(const PlanOptions &options, const std::atomic<bool> &stop,
           plan::PlanUnits units)
      : options(options), stop(stop), units(std::move(units)) {}

  /// Text for people.
  llvm::raw_ostream &getText() { return os; }
  /// The same for programs.
  llvm::json::Object &getJson() { return json; }

  /// Adds the output of --explain.
  void addExplanation(const plan::Problem &problem, const plan::Plan &plan,
                      double time);
  /// Adds the output of --frontier and --plot: searches. `rest` is the time of
  /// a step beside the problem's.
  llvm::Error addFrontier(const plan::Problem &problem, double rest = 0);
  /// Adds the output of --problem-out.
  void addProblem(const plan::Problem &problem);
  /// Adds the output of -o.
  void addYaml(std::string yaml) {
    outputs.add(options.output, std::move(yaml));
  }

  /// Adds the output of --html.
  void addPage(std::string page) { outputs.add(options.html, std::move(page)); }

  /// Says why a plan is not proven, on standard error.
  void noteEarlyEnd() const;

  llvm::Error write();

private:
  const PlanOptions &options;
  const std::atomic<bool> &stop;
  const plan::PlanUnits units;
  std::string text;
  llvm::raw_string_ostream os{text};
  llvm::json::Object json;
  Outputs outputs;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_FINDINGS_H
