//===- SolverTesting.h - Problems that tests of the solver share -*- C++
//
// SPDX-License-Identifier: Apache-2.0
//-*-===//

#ifndef MF_TEST_UNIT_SOLVER_SOLVERTESTING_H
#define MF_TEST_UNIT_SOLVER_SOLVERTESTING_H

#include "mf/Plan/Solver/Solver.h"

namespace mf::solver {

schedule::Schedule buildSchedule(llvm::StringRef policy, int64_t stages,
                                 int64_t chunksPerStage, int64_t microBatches);

/// A published problem of MindSpore's fast-tuner: dense layers first, all
/// layers kept or fully recomputed. Times are multiples of the forward of an
/// expert layer, memory is in MB.
struct TunerCase {
  int64_t stages, chunksPerStage, microBatches;
  /// Time of a dense layer, relative to an expert layer.
  double denseForward;
  double backwardRatio, head;
  /// Time to recompute an expert layer; dense layers take their whole forward.
  double recompute;
  double keptDense, keptExpert, recomputedDense, recomputedExpert;
  double denseParameters, expertParameters;
  double firstLimit, middleLimit, lastLimit;
};
Problem makeTunerProblem(const TunerCase &tuner);
extern const TunerCase tunerT1, tunerT2, tunerT4, tunerT6;

/// A problem of the shape of MindSpore's pipeline balance: equal layers, five
/// treatments (kept, select, communication, both, full).
struct BalanceCase {
  const char *policy;
  int64_t stages, chunksPerStage, microBatches, layers;
  double head, body, tail;
  /// By treatment.
  std::vector<double> activations;
  double parameters, constant, headMemory, tailMemory, limit;
};
Problem makeBalanceProblem(const BalanceCase &balance);

} // namespace mf::solver

#endif // MF_TEST_UNIT_SOLVER_SOLVERTESTING_H
