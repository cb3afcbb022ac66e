//===- PlanStrategies.cpp - mf-plan --iopddl ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanStrategies.h"
#include "InputText.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include "mf/Plan/Solver/StrategySolver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mf::solver;
using llvm::Error;
using llvm::Expected;

namespace mf::tools {

static void printStrategies(const StrategyProblem &problem,
                            const StrategyResult &result, int64_t cost,
                            llvm::raw_ostream &os) {
  os << problem.name << ": " << problem.nodes.size() << " nodes, "
     << problem.edges.size() << " edges, usage limit " << problem.usageLimit
     << "\nsolution [";
  llvm::interleaveComma(result.choices, os);
  os << "]\ncost " << cost << "\nbound " << result.bound << "\ngap ";
  if (result.isProven)
    os << "proven\n";
  else
    os << llvm::formatv("{0:f2} %\n",
                        100 * static_cast<double>(cost - result.bound) /
                            static_cast<double>(std::max<int64_t>(cost, 1)));
}

Error planStrategies(const PlanOptions &options,
                     const std::atomic<bool> &stop) {
  Expected<std::string> text = readInput(options.iopddl);
  if (!text)
    return text.takeError();
  Expected<StrategyProblem> problem =
      readStrategyProblem(*text, nameInput(options.iopddl));
  if (!problem)
    return problem.takeError();
  StrategyOptions solving;
  solving.timeLimit = options.timeLimit;
  solving.stop = &stop;
  const StrategyResult result = chooseStrategies(*problem, solving);
  if (result.choices.empty() && !problem->nodes.empty())
    return llvm::make_error<NoPlanError>(
        (nameInput(options.iopddl) +
         (result.isProven
              ? ": no choice of strategies fits"
              : ": no choice of strategies that fits was found; a longer "
                "--time-limit may help"))
            .str());
  Expected<int64_t> cost = checkStrategies(*problem, result.choices);
  if (!cost)
    return llvm::createStringError("the search made a mistake: " +
                                   toString(cost.takeError()));
  printStrategies(*problem, result, *cost, llvm::outs());
  return Error::success();
}

} // namespace mf::tools
