//===- mf-plan-memory.cpp - Plans or checks a memory allocation -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Program/Memory/AllocationCsv.h"
#include "mf/Program/Memory/AllocationPlan.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace mf::memory;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// The exit codes of the tool.
enum PackingExitCode { Success = 0, Failure = 1, DoesNotFit = 2 };

struct PackingOptions {
  cl::OptionCategory category{"A plan of memory"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<problem.csv>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> capacity{
      "capacity",
      cl::desc("Size of the arena: a number of bytes, or such as 54GB (GB is "
               "2^30). Without it the lowest peak is sought"),
      cl::value_desc("size"), cl::cat(category)};
  cl::opt<std::string> output{
      "o",
      cl::desc("Where the offsets go: the problem with an `offset` for every "
               "buffer (default: standard output, or nowhere with --json)"),
      cl::value_desc("file.csv"), cl::cat(category)};
  cl::opt<bool> json{"json",
                     cl::desc("Report as one JSON object on standard output"),
                     cl::cat(category)};
  cl::opt<std::string> verify{
      "verify", cl::desc("Do not plan, but check the offsets of this solution"),
      cl::value_desc("solution.csv"), cl::cat(category)};
  cl::opt<double> effort{
      "effort",
      cl::desc("Multiplies the limit on the search's work (default 1; 0 for "
               "heuristics only). The result depends on it, not on time"),
      cl::value_desc("factor"), cl::init(1), cl::cat(category)};
};

const char overview[] =
    "mf-plan-memory: gives buffers with known lifetimes offsets in one "
    "arena\n\n"
    "Reads a problem as MiniMalloc does: a header line and a line per buffer "
    "with the columns\nid, lower, upper, size and, if wanted, alignment, hint "
    "and offset (where it must be).\nA buffer is alive in [lower, upper). The "
    "report (peak, lower bound, gap) goes to\nstandard error.\n";

const char extraHelp[] =
    "\nEXIT CODE:\n\n"
    "  0 all is well; 1 the input is wrong, or so is the solution to verify;\n"
    "  2 nothing was found that fits the capacity\n\n"
    "EXAMPLES:\n\n"
    "  mf-plan-memory problem.csv --capacity=1048576 -o solution.csv\n"
    "  mf-plan-memory problem.csv --capacity=1048576 --verify=solution.csv\n"
    "  mf-plan-memory problem.csv --json\n";

Error fail(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

Expected<AllocationProblem> read(StringRef path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!file)
    return fail("cannot read '" + path + "': " + file.getError().message());
  Expected<AllocationProblem> problem =
      parseAllocationCsv((*file)->getBuffer(), path == "-" ? "<stdin>" : path);
  if (!problem)
    return problem.takeError();
  return problem;
}

Expected<AllocationProblem> readProblem(const PackingOptions &options) {
  Expected<AllocationProblem> problem = read(options.input);
  if (!problem)
    return problem.takeError();
  if (!options.capacity.empty()) {
    int64_t bytes = 0;
    // The problems of allocators have bytes without a unit.
    problem->capacity =
        to_integer(StringRef(options.capacity), bytes, 10) && bytes > 0
            ? bytes
            : mf::parseMemorySize(options.capacity);
    if (!problem->capacity)
      return fail("--capacity: expected a number of bytes or a size such as "
                  "54GB, found '" +
                  options.capacity + "'");
  }
  if (Error error = problem->check())
    return fail(options.input + ": " + llvm::toString(std::move(error)));
  return problem;
}

/// Prints the report as a line or as JSON.
void report(const AllocationProblem &problem, const AllocationPlan &plan,
            const PackingOptions &options) {
  if (!options.json) {
    llvm::errs() << llvm::formatv(
        "peak {0} bytes, lower bound {1} bytes at time {2}, gap {3:f3} %\n",
        plan.peak, plan.bound.bytes, plan.bound.time, plan.getGap() * 100);
    if (plan.isOptimal)
      llvm::errs() << "nothing smaller exists: "
                   << (plan.peak <= plan.bound.bytes
                           ? "the peak is the lower bound\n"
                           : "the search went through all that is lower\n");
    return;
  }
  llvm::json::OStream json(llvm::outs(), 2);
  json.object([&] {
    json.attribute("buffers", static_cast<int64_t>(problem.buffers.size()));
    if (problem.capacity)
      json.attribute("capacity", *problem.capacity);
    json.attribute("peak", plan.peak);
    json.attribute("lower_bound", plan.bound.bytes);
    json.attribute("lower_bound_time", plan.bound.time);
    json.attribute("gap", plan.getGap());
    json.attribute("fits", plan.fits);
    json.attribute("optimal", plan.isOptimal);
  });
  llvm::outs() << "\n";
}

/// Writes all of the offsets, or nothing after an error.
Error writeOffsets(const AllocationProblem &problem, const AllocationPlan &plan,
                   const PackingOptions &options) {
  if (options.json && options.output.empty())
    return Error::success();
  StringRef path = options.output.empty() ? "-" : StringRef(options.output);
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    printAllocationCsv(problem, os, plan.offsets);
    return Error::success();
  });
}

/// Returns the offsets of the solution in the problem's order.
Expected<std::vector<int64_t>> matchOffsets(const AllocationProblem &problem,
                                            const AllocationProblem &solution) {
  llvm::StringMap<const AllocationBuffer *> byId;
  for (const AllocationBuffer &buffer : solution.buffers)
    byId[buffer.id] = &buffer;
  std::vector<int64_t> offsets;
  for (const AllocationBuffer &buffer : problem.buffers) {
    auto found = byId.find(buffer.id);
    if (found == byId.end())
      return fail("buffer '" + buffer.id + "' is missing");
    const AllocationBuffer &placed = *found->second;
    if (placed.lower != buffer.lower || placed.upper != buffer.upper ||
        placed.size != buffer.size)
      return fail("buffer '" + buffer.id +
                  "' has another lifetime or size than in the problem");
    if (!placed.fixedOffset)
      return fail("buffer '" + buffer.id + "' has no offset");
    offsets.push_back(*placed.fixedOffset);
    byId.erase(found);
  }
  if (!byId.empty())
    return fail("buffer '" + byId.begin()->getKey() +
                "' is not in the problem");
  return offsets;
}

Error verify(const AllocationProblem &problem, const PackingOptions &options) {
  Expected<AllocationProblem> solution = read(options.verify);
  if (!solution)
    return solution.takeError();
  auto failIn = [&](Error error) {
    return fail(options.verify + ": " + llvm::toString(std::move(error)));
  };
  Expected<std::vector<int64_t>> offsets = matchOffsets(problem, *solution);
  if (!offsets)
    return failIn(offsets.takeError());
  if (Error error = problem.verify(*offsets))
    return failIn(std::move(error));
  AllocationPlan plan;
  plan.peak = problem.getPeak(*offsets);
  plan.bound = problem.maxLive();
  plan.isOptimal = plan.peak <= plan.bound.bytes;
  report(problem, plan, options);
  return Error::success();
}

std::string describeMisfit(const AllocationProblem &problem,
                           const AllocationPlan &plan) {
  int64_t capacity = *problem.capacity;
  if (plan.bound.bytes > capacity)
    return llvm::formatv("nothing fits into {0} bytes: at time {1} {2} bytes "
                         "are alive",
                         capacity, plan.bound.time, plan.bound.bytes);
  if (plan.isProvenInfeasible)
    return llvm::formatv("nothing fits into {0} bytes, although never more "
                         "than {1} bytes are alive; {2} are enough",
                         capacity, plan.bound.bytes, plan.peak);
  return llvm::formatv("found nothing that fits into {0} bytes; {1} are "
                       "enough, {2} alive at most; a larger --effort may help",
                       capacity, plan.peak, plan.bound.bytes);
}

Expected<PackingExitCode> run(const PackingOptions &options) {
  // The comparison is false for NaN, too.
  const bool isInRange = options.effort >= 0 && options.effort <= 1e6;
  if (!isInRange)
    return fail("--effort must be between 0 and 1000000");
  Expected<AllocationProblem> problem = readProblem(options);
  if (!problem)
    return problem.takeError();
  if (!options.verify.empty()) {
    if (Error error = verify(*problem, options))
      return std::move(error);
    return Success;
  }
  AllocationPlanOptions limits;
  auto scale = [&](int64_t work) {
    return static_cast<int64_t>(static_cast<double>(work) * options.effort);
  };
  limits.fitWork = scale(limits.fitWork);
  limits.improvementWork = scale(limits.improvementWork);
  Expected<AllocationPlan> plan = planAllocation(*problem, limits);
  if (!plan)
    return plan.takeError();
  report(*problem, *plan, options);
  if (!plan->fits) {
    llvm::WithColor::error() << describeMisfit(*problem, *plan) << "\n";
    return DoesNotFit;
  }
  if (Error error = writeOffsets(*problem, *plan, options))
    return std::move(error);
  return Success;
}

} // namespace

int mf::tools::mfPlanMemoryMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  PackingOptions options;
  mf::tools::setUpHelp({&options.category}, extraHelp);
  cl::ParseCommandLineOptions(argc, argv, overview);
  Expected<PackingExitCode> code = run(options);
  if (code)
    return *code;
  llvm::WithColor::error() << llvm::toString(code.takeError()) << "\n";
  return Failure;
}
