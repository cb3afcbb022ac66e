//===- PlanTesting.cpp - Small problems for tests -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanTesting.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mf::solver;
using namespace mf::schedule;

Schedule makeSchedule(const std::string &name, int64_t stages,
                      int64_t chunksPerStage, int64_t microBatches,
                      int64_t pieces) {
  const Policy *policy = llvm::cantFail(findPolicy(name));
  return llvm::cantFail(buildSchedule(
      *policy, policy->place(stages, chunksPerStage, microBatches, pieces)));
}

Problem makeSmallProblem() {
  Problem problem;
  problem.name = "small";
  problem.schedule = makeSchedule("1f1b", 2, 1, 2);
  for (auto [name, count, forward] :
       {std::tuple("dense", 1, 1.0), std::tuple("experts", 3, 2.0)}) {
    LayerKind kind;
    kind.name = name;
    kind.count = count;
    kind.parameterMemory = 10 * forward;
    Treatment none, recompute;
    none.name = "none";
    none.forward = recompute.forward = forward;
    none.backward = 2 * forward;
    none.activationMemory = 8;
    recompute.name = "recompute";
    recompute.backward = 3 * forward;
    recompute.activationMemory = 1;
    kind.treatments = {none, recompute};
    problem.kinds.push_back(kind);
  }
  problem.stages = {{100, 0}, {100, 0}};
  return problem;
}

Plan makeSmallPlan() { return {{{{{1, 0}, {1, 0}}}, {{{0, 0}, {1, 1}}}}}; }

std::string readData(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(MF_TEST_DATA + path);
  if (buffer)
    return (*buffer)->getBuffer().str();
  ADD_FAILURE() << path.str() << ": " << buffer.getError().message();
  return "{}";
}

Problem readPublished(const char *name) {
  return llvm::cantFail(
      readProblem(readData(llvm::Twine("/plan/") + name), name));
}

std::string getMessage(llvm::Error error) { return toString(std::move(error)); }
