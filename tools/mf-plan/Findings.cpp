//===- Findings.cpp - Output of a search ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Findings.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Plan/Solver/Solver.h"
#include "mf/Support/AtomicFile.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mf::solver;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace mf::tools {

static bool isFile(StringRef path) { return !path.empty() && path != "-"; }

Error checkOutputPaths(llvm::ArrayRef<std::string> paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!isFile(paths[i]))
      continue;
    if (llvm::is_contained(paths.take_front(i), paths[i]))
      return llvm::createStringError("'" + paths[i] +
                                     "' is given for two outputs, expected a "
                                     "file for each");
    // The file is removed again; this only tests that it can be written.
    if (auto file = AtomicFile::create(paths[i]); !file)
      return file.takeError();
  }
  return Error::success();
}

void Outputs::add(StringRef path, std::string text) {
  if (!path.empty())
    files.push_back({path.str(), std::move(text)});
}

Error Outputs::write() const {
  for (const File &file : files)
    if (isFile(file.path)) {
      if (Error error = writeFileAtomically(file.path, file.text))
        return error;
    } else {
      llvm::outs() << file.text;
    }
  return Error::success();
}

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
