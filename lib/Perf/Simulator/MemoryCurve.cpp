//===- MemoryCurve.cpp - Memory of a step over time -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/MemoryCurve.h"
#include "mf/Program/Liveness.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::simulator {

using namespace program;

/// Returns the times of the moments of a step's liveness.
static std::vector<double> getMomentTimes(const StageProgram &stage,
                                          const StepLiveness &liveness,
                                          StartTime getStart) {
  std::vector<double> times(liveness.starts.back() + 1, 0);
  double last = 0;
  for (size_t call = 0; call < liveness.calls.size(); ++call) {
    const uint32_t position = liveness.calls[call];
    const uint32_t routine =
        stage.step.getCall(stage.step.instructions[position])->routine;
    const std::vector<uint32_t> &moments =
        liveness.routines[routine].instructions;
    for (int64_t moment = 0; moment < liveness.routines[routine].getLength();
         ++moment) {
      // Moments are those of the compute stream. Their times must not decrease,
      // although work of another stream may start earlier.
      if (moment < static_cast<int64_t>(moments.size()))
        last = std::max(last, getStart(position, moments[moment]));
      times[liveness.starts[call] + moment] = last;
    }
  }
  times.back() = last;
  return times;
}

std::vector<timeline::MemoryPoint> computeMemoryCurve(const StageProgram &stage,
                                                      StartTime getStart,
                                                      double resolution) {
  const StepLiveness liveness = computeLiveness(stage);
  const std::vector<double> times = getMomentTimes(stage, liveness, getStart);
  std::vector<int64_t> alive =
      computeBytesAlive(computeLifetimes(stage, liveness), Space::Device);
  // At the end only statics are left, if there are any.
  alive.resize(times.size(), 0);
  std::vector<timeline::MemoryPoint> curve = {{0, alive.back()}};
  for (auto [time, bytes] : llvm::zip_equal(times, alive))
    if (time - curve.back().time > resolution)
      curve.push_back({time, bytes});
    else
      curve.back().bytes = std::max(curve.back().bytes, bytes);
  return curve;
}

} // namespace mf::simulator
