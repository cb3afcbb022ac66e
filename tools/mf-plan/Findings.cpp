//===- Findings.cpp - Output of a search ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Findings.h"
#include "LimitRange.h"
#include "mf/Plan/Solver/FrontierPrint.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Plan/Solver/RefusalPrint.h"
#include "tools/terminal/ProgressLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

using namespace mf::solver;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

namespace mf::tools {

static std::string printJson(const llvm::json::Value &json) {
  return formatv("{0:2}\n", json);
}

void Findings::addExplanation(const Problem &problem, const Plan &plan,
                              double time) {
  if (!options.explain)
    return;
  std::vector<Refusal> refusals = mf::solver::explain(problem, plan);
  for (Refusal &refusal : refusals)
    refusal.time += time - evaluate(problem, plan).time;
  os << "\nwhy no stage is faster:\n";
  printRefusals(problem, plan, time, refusals, units, os);
  json["refusals"] = writeRefusals(problem, plan, refusals);
}

Error Findings::addFrontier(const Problem &problem, double rest) {
  Expected<LimitRange> range = LimitRange::parse(options.frontier);
  if (!range)
    return range.takeError();
  ProgressLine line(units);
  auto show = [&](const SolveProgress &progress) { line.show(progress); };
  SolveOptions solving;
  solving.mostCandidates = options.getCandidates();
  solving.stop = &stop.getFlag();
  solving.progress = show;
  Expected<std::vector<FrontierPoint>> points =
      solveFrontier(problem, range->list(), solving);
  if (!points)
    return llvm::make_error<NoPlanError>(toString(points.takeError()));
  for (FrontierPoint &point : *points)
    if (point.result) {
      point.result->time += rest;
      point.result->bound += rest;
    }
  if (stop.isSet())
    noteEarlyEnd();
  printFrontier(problem, *points, units, os);
  if (llvm::outs().is_displayed()) {
    os << '\n';
    plotFrontier(*points, units, os);
  }
  json["frontier"] = writeFrontier(problem, *points);
  outputs.add(options.plot, drawFrontier(problem, *points, units));
  return Error::success();
}

void Findings::addProblem(const Problem &problem) {
  outputs.add(options.problemOut, printJson(writeProblem(problem)));
}

void Findings::noteEarlyEnd() const {
  const std::string reason =
      stop.isSet() ? stop.describe()
                   : "--candidates=" + std::to_string(options.getCandidates()) +
                         " ended the search";
  llvm::WithColor::note() << reason << ": this is the best plan so far\n";
}

Error Findings::write() {
  if (options.printsYaml())
    llvm::errs() << text;
  else if (!options.printsJson())
    outputs.add("-", text);
  if (options.printsJson())
    outputs.add("-", printJson(std::move(json)));
  else
    outputs.add(options.json, printJson(std::move(json)));
  return outputs.write();
}

} // namespace mf::tools
