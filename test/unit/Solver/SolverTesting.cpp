//===- SolverTesting.cpp - Problems that tests of plans share
//
// SPDX-License-Identifier: Apache-2.0
//---------------===//

#include "SolverTesting.h"
#include "mf/Pipeline/Policy.h"

namespace mf::solver {

schedule::Schedule buildSchedule(llvm::StringRef policy, int64_t stages,
                                 int64_t chunksPerStage, int64_t microBatches) {
  const schedule::Policy *found = llvm::cantFail(schedule::findPolicy(policy));
  return llvm::cantFail(schedule::buildSchedule(
      *found, found->place(stages, chunksPerStage, microBatches)));
}

// Source: hyper-parallel, fast-tuner, unit_tests/pipeline_alg_test.py, and the
// YAMLs of toolkits, branch tool_0625.
const TunerCase tunerT1 = {16,  1,  64, .397, 1.839, 1.5,   1,     479,
                           765, 30, 30, 866,  10691, 51913, 52914, 46621};
const TunerCase tunerT2 = {6,   1,  120, .71,  1.627, 1.493, .246,  494,
                           673, 46, 158, 1010, 2644,  53101, 55065, 48876};
const TunerCase tunerT4 = {8,    2,  240, .71,  1.627, 1.493, .246,  988,
                           1346, 92, 316, 1109, 3670,  49678, 52629, 42891};
const TunerCase tunerT6 = {8,    4,  240, .71,  1.627, 1.493, .246,  988,
                           1346, 92, 316, 1109, 3670,  49858, 52632, 42894};

Problem makeTunerProblem(const TunerCase &tuner) {
  Problem problem;
  problem.schedule =
      buildSchedule(tuner.chunksPerStage > 1 ? "interleaved" : "1f1b",
                    tuner.stages, tuner.chunksPerStage, tuner.microBatches);
  auto makeKind = [&](llvm::StringRef name, int64_t count, double forward,
                      double recompute, double parameters, double kept,
                      double recomputed) {
    LayerKind kind;
    kind.name = name.str();
    kind.count = count;
    kind.parameterMemory = parameters;
    double backward = tuner.backwardRatio * forward;
    Treatment keep, full;
    keep.name = "none";
    keep.forward = full.forward = forward;
    keep.backward = backward;
    keep.activationMemory = kept;
    full.name = "full";
    full.backward = backward + recompute;
    full.activationMemory = recomputed;
    kind.treatments = {keep, full};
    return kind;
  };
  problem.kinds = {
      makeKind("dense", 3, tuner.denseForward, tuner.denseForward,
               tuner.denseParameters, tuner.keptDense, tuner.recomputedDense),
      makeKind("expert", 59, 1, tuner.recompute, tuner.expertParameters,
               tuner.keptExpert, tuner.recomputedExpert)};
  ChunkExtra head;
  head.chunk = tuner.stages * tuner.chunksPerStage - 1;
  head.forward = tuner.head;
  head.backward = tuner.backwardRatio * tuner.head;
  problem.extras = {head};
  problem.stages.assign(tuner.stages, {tuner.middleLimit, 0});
  problem.stages.front().limit = tuner.firstLimit;
  problem.stages.back().limit = tuner.lastLimit;
  return problem;
}

Problem makeBalanceProblem(const BalanceCase &balance) {
  Problem problem;
  problem.schedule =
      buildSchedule(balance.policy, balance.stages, balance.chunksPerStage,
                    balance.microBatches);
  LayerKind kind;
  kind.name = "body";
  kind.count = balance.layers;
  kind.parameterMemory = balance.parameters;
  const char *names[] = {"none", "select", "comm", "both", "full"};
  double added[] = {0, .04, .125, .165, .5};
  for (size_t index = 0; index < balance.activations.size(); ++index) {
    Treatment treatment;
    treatment.name = names[index];
    treatment.forward = balance.body;
    treatment.backward = 2 * balance.body * (1 + added[index]);
    treatment.activationMemory = balance.activations[index];
    kind.treatments.push_back(treatment);
  }
  problem.kinds = {kind};
  ChunkExtra head, tail;
  head.forward = balance.head;
  head.backward = 2 * balance.head;
  head.parameterMemory = balance.headMemory;
  tail.chunk = balance.stages * balance.chunksPerStage - 1;
  tail.forward = balance.tail;
  tail.backward = 2 * balance.tail;
  tail.parameterMemory = balance.tailMemory;
  problem.extras = {head, tail};
  problem.stages.assign(balance.stages, {balance.limit, balance.constant});
  return problem;
}

} // namespace mf::solver
