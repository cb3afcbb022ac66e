//===- PlanProblem.cpp - mf-plan --problem --------------------------------===//

#include "PlanProblem.h"
#include "LimitRange.h"
#include "NoPlanError.h"
#include "Outputs.h"
#include "ProgressLine.h"
#include "mf/Plan/FrontierPrint.h"
#include "mf/Plan/ProblemJson.h"
#include "mf/Plan/RefusalPrint.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace mf::plan;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace mf::tools {

namespace {

/// One problem, from its file to what is printed of it.
class ProblemRun {
public:
  ProblemRun(const PlanOptions &options, const std::atomic<bool> &stop,
             Problem problem)
      : options(options), stop(stop), problem(std::move(problem)) {}

  Error run();

private:
  Error runPlan();
  Error runFrontier();
  SolveOptions getSolveOptions() const;
  void print(std::string text, llvm::json::Value json);

  const PlanOptions &options;
  const std::atomic<bool> &stop;
  const Problem problem;
  /// Those of the problem, of which nothing is known.
  const PlanUnits units;
  Outputs outputs;
};

} // namespace

static std::string printJson(const llvm::json::Value &json) {
  return formatv("{0:2}\n", json);
}

SolveOptions ProblemRun::getSolveOptions() const {
  SolveOptions solving;
  solving.timeLimit = options.timeLimit;
  solving.stop = &stop;
  return solving;
}

/// To standard output goes either the text or the JSON.
void ProblemRun::print(std::string text, llvm::json::Value json) {
  if (options.printsJson())
    return outputs.add("-", printJson(json));
  outputs.add("-", std::move(text));
  outputs.add(options.json, printJson(json));
}

/// Says why a plan is not proven.
static void noteEarlyEnd(const PlanOptions &options, bool isStopped) {
  llvm::WithColor::note() << (isStopped
                                  ? std::string("interrupted")
                                  : formatv("--time-limit={0:f0} ended the "
                                            "search",
                                            +options.timeLimit)
                                        .str())
                          << ": what is printed is the best so far\n";
}

Error ProblemRun::runPlan() {
  Expected<SolveResult> result = [&] {
    ProgressLine line(units);
    auto show = [&](const SolveProgress &progress) { line.show(progress); };
    SolveOptions solving = getSolveOptions();
    solving.progress = show;
    return solve(problem, solving);
  }();
  if (!result)
    return llvm::make_error<NoPlanError>(options.problem + ": " +
                                         toString(result.takeError()));
  if (!result->plan)
    return llvm::make_error<NoPlanError>(
        options.problem +
        ": no plan was found before the search ended; a longer --time-limit "
        "may help");
  std::string text;
  llvm::raw_string_ostream os(text);
  printResult(problem, *result, os);
  llvm::json::Value json = writeResult(problem, *result);
  if (options.explain) {
    const auto refusals = mf::plan::explain(problem, *result->plan);
    os << "\nwhy no stage is faster:\n";
    printRefusals(problem, *result->plan, result->time, refusals, units, os);
    if (llvm::json::Object *object = json.getAsObject())
      (*object)["refusals"] = writeRefusals(problem, *result->plan, refusals);
  }
  print(std::move(text), std::move(json));
  if (!result->isProven)
    noteEarlyEnd(options, stop);
  return Error::success();
}

Error ProblemRun::runFrontier() {
  Expected<LimitRange> range = LimitRange::parse(options.frontier);
  if (!range)
    return range.takeError();
  Expected<std::vector<FrontierPoint>> points = [&] {
    ProgressLine line(units);
    auto show = [&](const SolveProgress &progress) { line.show(progress); };
    SolveOptions solving = getSolveOptions();
    solving.progress = show;
    return solveFrontier(problem, range->list(), solving);
  }();
  if (!points)
    return llvm::make_error<NoPlanError>(options.problem + ": " +
                                         toString(points.takeError()));
  std::string text;
  llvm::raw_string_ostream os(text);
  printFrontier(problem, *points, units, os);
  if (llvm::outs().is_displayed()) {
    os << '\n';
    plotFrontier(*points, units, os);
  }
  outputs.add(options.plot, drawFrontier(problem, *points, units));
  print(std::move(text),
        llvm::json::Object{{"name", problem.name},
                           {"frontier", writeFrontier(problem, *points)}});
  return Error::success();
}

Error ProblemRun::run() {
  if (Error error =
          checkOutputPaths({options.json, options.plot, options.problemOut}))
    return error;
  if (Error error = options.frontier.empty() ? runPlan() : runFrontier())
    return error;
  outputs.add(options.problemOut, printJson(writeProblem(problem)));
  return outputs.write();
}

Error planProblem(const PlanOptions &options, const std::atomic<bool> &stop) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(options.problem,
                                                 /*IsText=*/true);
  if (!file)
    return llvm::createStringError("cannot read '" + options.problem +
                                   "': " + file.getError().message());
  const StringRef name = options.problem == "-" ? StringRef("<stdin>")
                                                : StringRef(options.problem);
  Expected<Problem> problem = readProblem((*file)->getBuffer(), name);
  if (!problem)
    return problem.takeError();
  return ProblemRun(options, stop, std::move(*problem)).run();
}

} // namespace mf::tools
