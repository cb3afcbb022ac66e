//===- memory.cpp - Benchmark of the memory planner -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Three tables: fits at capacity of MiniMalloc's instances beside its published
// times, first-fit on many buffers, and plans of training steps.
//
//   mf-benchmark-memory [folder of instances named <name>.<capacity>.csv]
//
//===----------------------------------------------------------------------===//

#include "TransformerStep.h"
#include "lib/Program/Memory/search/PackSearch.h"
#include "mf/Program/Memory/AllocationCsv.h"
#include "mf/Program/Memory/AllocationPlan.h"
#include "mf/Program/Memory/StepPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <array>
#include <chrono>
#include <random>

using namespace mf::memory;
using llvm::formatv;
using llvm::outs;

namespace {

class Timer {
public:
  double getMilliseconds() const {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

//===----------------------------------------------------------------------===//
// Fits at capacity
//===----------------------------------------------------------------------===//

/// MiniMalloc's time on a 2-core machine (docs/sources.md, peers), in seconds;
/// not measured in this run.
llvm::StringRef getPublishedSeconds(llvm::StringRef instance) {
  return llvm::StringSwitch<llvm::StringRef>(instance)
      .Case("A", "7.5-9.9")
      .Case("B", "5.3-8.1")
      .Case("C", "1.0-1.7")
      .Case("D", "4.1-4.8")
      .Case("E", "5.1-5.6")
      .Case("F", "3.6-8.7")
      .Default("-");
}

void runInstance(const std::string &path) {
  llvm::StringRef stem = llvm::sys::path::stem(path);
  auto [name, digits] = stem.rsplit('.');
  int64_t capacity = 0;
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file || digits.getAsInteger(10, capacity))
    return;
  AllocationProblem problem =
      llvm::cantFail(parseAllocationCsv((*file)->getBuffer(), path));
  llvm::cantFail(problem.check());
  Timer timer;
  CapacitySearchResult result = searchWithin(compressLifetimes(problem.buffers),
                                             capacity, /*work=*/4'000'000'000);
  double milliseconds = timer.getMilliseconds();
  const char *status = "unknown";
  if (result.status == CapacitySearchResult::Status::Infeasible)
    status = "impossible";
  if (result.status == CapacitySearchResult::Status::Fit) {
    problem.capacity = capacity;
    llvm::cantFail(problem.verify(result.offsets));
    status = "fits";
  }
  outs() << formatv("{0,-10} {1,8} {2,10} {3,10} {4,11:f1} {5,12:f3} {6,15}\n",
                    name, problem.buffers.size(), capacity, status,
                    100.0 * solveFirstFit(problem).peak / capacity,
                    milliseconds / 1000, getPublishedSeconds(name));
}

void runInstances(llvm::StringRef folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".csv"))
      paths.push_back(it->path());
  llvm::sort(paths);
  outs() << "Fit at capacity (MiniMalloc's times as published for a 2-core "
            "machine, not of this run)\n\n"
         << formatv("{0,-10} {1,8} {2,10} {3,10} {4,11} {5,12} {6,15}\n",
                    "instance", "buffers", "capacity", "result", "first-fit %",
                    "seconds", "MiniMalloc s");
  for (const std::string &path : paths)
    runInstance(path);
}

//===----------------------------------------------------------------------===//
// First-fit on many buffers
//===----------------------------------------------------------------------===//

void runFirstFit() {
  constexpr size_t count = 200000;
  outs() << "\nFirst-fit on 200000 buffers\n\n"
         << formatv("{0,14} {1,10} {2,10}\n", "longest life", "seconds",
                    "gap %");
  for (int64_t longest : {30, 300, 3000, 30000}) {
    std::mt19937 random(1);
    AllocationProblem problem;
    for (size_t i = 0; i < count; ++i) {
      AllocationBuffer buffer;
      buffer.id = std::to_string(i);
      buffer.lower = random() % 1000000;
      buffer.upper = buffer.lower + 1 + random() % longest;
      buffer.size = 1 + random() % 5000;
      buffer.alignment = 512;
      problem.buffers.push_back(buffer);
    }
    Timer timer;
    Placement placement = solveFirstFit(problem);
    double seconds = timer.getMilliseconds() / 1000;
    llvm::cantFail(problem.verify(placement.offsets));
    int64_t bound = problem.maxLive().bytes;
    outs() << formatv("{0,14} {1,10:f3} {2,10:f2}\n", longest, seconds,
                      100.0 * (placement.peak - bound) / bound);
  }
}

//===----------------------------------------------------------------------===//
// Plans of training steps
//===----------------------------------------------------------------------===//

struct Model {
  const char *name;
  void (*apply)(TransformerStepOptions &);
};

constexpr Model models[] = {
    {"100M",
     [](TransformerStepOptions &o) {
       o.layers = 12;
       o.hidden = o.kvHidden = 768;
       o.ffn = 2048;
       o.heads = 12;
       o.sequence = 512;
     }},
    {"7B", [](TransformerStepOptions &o) { o.kvHidden = 4096; }},
    {"70B, tp 8", [](TransformerStepOptions &o) {
       o.layers = 80;
       o.hidden = 8192;
       o.ffn = 28672;
       o.heads = 64;
       o.vocab = 128256;
       o.tensorParallel = 8;
     }}};

constexpr Model recomputes[] = {
    {"none", [](TransformerStepOptions &) {}},
    {"full",
     [](TransformerStepOptions &o) { o.fullRecomputeLayers = o.layers; }},
    {"half",
     [](TransformerStepOptions &o) {
       o.fullRecomputeLayers = o.layers / (o.stages * o.chunksPerStage) / 2;
     }},
    {"selective",
     [](TransformerStepOptions &o) { o.selectiveRecompute = true; }}};

void runStep(const char *model, const char *recompute,
             const TransformerStepOptions &options) {
  StepProblem problem = makeTransformerStep(options);
  Timer timer;
  StepPlan plan = llvm::cantFail(planStep(problem));
  double milliseconds = timer.getMilliseconds();
  llvm::cantFail(plan.verify(problem));
  outs() << formatv(
      "{0,-10} {1,5} {2,6} {3,6} {4,6} {5,-10} {6,11:f1} {7,8:f3} {8,8:f1}\n",
      model, options.stages, options.stage, options.chunksPerStage,
      options.microBatches, recompute, plan.arenaSize / 1048576.0,
      plan.getGap() * 100, milliseconds);
}

void runSteps() {
  outs()
      << "\nPlans of training steps (gap: arena above the max-live bound)\n\n"
      << formatv("{0,-10} {1,5} {2,6} {3,6} {4,6} {5,-10} {6,11} {7,8} "
                 "{8,8}\n",
                 "model", "pp", "stage", "chunks", "micro", "recompute",
                 "arena MiB", "gap %", "ms");
  constexpr std::array<int64_t, 3> pipelines[] = {
      {1, 1, 0}, {4, 1, 0}, {4, 1, 3}, {16, 1, 8}, {4, 2, 0},
      {4, 2, 3}, {4, 3, 0}, {4, 3, 3}, {8, 2, 4}};
  for (const Model &model : models)
    for (auto [stages, chunks, stage] : pipelines)
      for (int64_t microBatches : {16, 512})
        for (const Model &recompute : recomputes) {
          TransformerStepOptions options;
          model.apply(options);
          if (stages * chunks > options.layers)
            continue;
          options.stages = stages;
          options.chunksPerStage = chunks;
          options.stage = stage;
          options.microBatches = microBatches;
          recompute.apply(options);
          runStep(model.name, recompute.name, options);
        }
}

} // namespace

int main(int argc, char **argv) {
  runInstances(argc > 1 ? argv[1] : MF_TEST_DATA "/minimalloc");
  runFirstFit();
  runSteps();
  return 0;
}
