//===- LrSchedule.h - Learning rate by step -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The schedules of MindSpore Transformers (mindformers.core.lr, lr_schedule of
// the YAML), as its public API documentation defines them. Let t be the number
// of optimizer steps done before this one (0 in the first step, as MindSpore's
// global_step), base the learning rate, W the warm-up steps, T the total steps
// and D the decay steps (T - W if not given). All schedules called WarmUp have
//
//   t < W:  init + (base - init) * t / W          (init: warmup_lr_init)
//
// and from then on, with p = (t - W) / D:
//
//   ConstantWarmUpLR               base
//   LinearWithWarmUpLR             base * max(0, (T - t) / (T - W))
//   CosineWithWarmUpLR             end + (base - end) *
//                                    max(0, (1 + cos(2 pi cycles p)) / 2),
//                                  end for p >= 1; cycles 0.5, end 0
//   CosineWithRestartsAndWarmUpLR  end + (base - end) *
//                                    max(0, (1 + cos(pi (cycles p mod 1))) /
//                                    2),
//                                  end for p >= 1; cycles 1, end 0
//   PolynomialWithWarmUpLR         end + (base - end) * (1 - p)^power,
//                                  end for p >= 1; power 1, end 1e-7
//   WarmUpStableDecayLR            base for t < S (decay_start_steps), then
//                                  base - (base - end) * (t - S) / (T - S), end
//                                  for t >= T; end 1e-7
//
// Without warm-up:
//
//   CosineAnnealingLR              min + (base - min) * (1 + cos(pi t / t_max))
//   / 2 CosineAnnealingWarmRestarts    min + (base - min) * (1 + cos(pi c / P))
//   / 2,
//                                  c steps into a period of P steps; periods
//                                  are t_0, t_0 t_mult, t_0 t_mult^2, ...
//
// Values are computed in double precision and rounded to fp32 once.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_LRSCHEDULE_H
#define MF_SUPPORT_LRSCHEDULE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mf {

/// The classes of learning-rate schedules.
enum class LrScheduleKind : uint8_t {
  Plain,
  Constant,
  Linear,
  Cosine,
  CosineWithRestarts,
  Polynomial,
  WarmUpStableDecay,
  CosineAnnealing,
  CosineAnnealingWarmRestarts
};

/// Returns the kind of a class name above or of a short form: "constant",
/// "constant_with_warmup", "linear", "cosine", "cosine_with_restarts",
/// "polynomial". If empty, the learning rate is constant. None for other names.
std::optional<LrScheduleKind> findLrScheduleKind(llvm::StringRef name);

/// The keys of lr_schedule. Steps are optimizer steps. Keys that the YAML
/// leaves out have no value, because each schedule has its own defaults. Keys
/// that the schedule does not use are ignored, as in MindSpore Transformers.
struct LrScheduleConfig {
  std::string type = "CosineWithWarmUpLR";
  /// learning_rate (base_lr of the two annealing schedules).
  double learningRate = 5e-5;
  std::optional<double> lrEnd;
  std::optional<double> warmupLrInit;
  std::optional<int64_t> warmupSteps;
  /// Overrides warmupSteps: W = floor(warmup_ratio * T).
  std::optional<double> warmupRatio;
  /// T. The value -1 means the steps of the whole run; whoever makes a schedule
  /// replaces it by that number.
  int64_t totalSteps = -1;
  std::optional<double> numCycles;
  std::optional<double> power;
  /// D. decay_ratio overrides it: D = floor(decay_ratio * T).
  std::optional<int64_t> decaySteps;
  std::optional<double> decayRatio;
  /// S of WarmUpStableDecayLR. decay_start_ratio overrides it.
  std::optional<int64_t> decayStartSteps;
  std::optional<double> decayStartRatio;
  /// The next members are for the two annealing schedules only.
  std::optional<int64_t> tMax;
  std::optional<int64_t> t0;
  std::optional<int64_t> tMult;
  std::optional<double> etaMin;
  /// The number of steps by which the rates are late: step t has the rate of
  /// step t - lateSteps.
  int64_t lateSteps = 0;
};

/// The learning rate of every step, as a pure function.
class LrSchedule {
public:
  /// Checks the keys. The error names the key, its value and what is
  /// expected.
  static llvm::Expected<LrSchedule> create(const LrScheduleConfig &config);

  /// Returns the learning rate of the step that follows `step` completed steps.
  /// Negative values count as 0.
  float getLearningRate(int64_t step) const;

  /// Returns the class name of the schedule. Empty for a constant learning
  /// rate.
  llvm::StringRef getType() const;

private:
  llvm::Error setWarmUp(const LrScheduleConfig &config);
  llvm::Error setDecay(const LrScheduleConfig &config);
  llvm::Error setAnnealing(const LrScheduleConfig &config);
  bool hasWarmUp() const;
  double evaluate(double t) const;
  double evaluateDecay(double t) const;
  double evaluateWarmRestarts(double t) const;

  LrScheduleKind kind = LrScheduleKind::Plain;
  int64_t lateSteps = 0;
  double base = 0;
  double init = 0;
  double end = 0;
  double warmup = 0;
  double total = 0;
  double decay = 0;
  double decayStart = 0;
  double cycles = 0;
  double power = 1;
  double period = 1;
  double periodFactor = 1;
};

} // namespace mf

#endif // MF_SUPPORT_LRSCHEDULE_H
