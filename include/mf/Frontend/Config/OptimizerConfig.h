//===- OptimizerConfig.h - Optimizer and learning rates ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The sections optimizer, lr_schedule and grouped_lr_schedule of a training
// YAML.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_OPTIMIZERCONFIG_H
#define MF_FRONTEND_CONFIG_OPTIMIZERCONFIG_H

#include "mf/Frontend/Config/Node.h"
#include "mf/Support/LrSchedule.h"
#include <array>

namespace mf {

/// The classes of optimizers that can be lowered.
enum class OptimizerKind : uint8_t {
  AdamW, ///< MindSpore Transformers' own, with states in fp32
  FP32StateAdamWeightDecay, ///< fp32 states for parameters of any type
  AdamWeightDecay,          ///< MindSpore's, including its fused forms
  AdamWeightDecayX, ///< iFlytekSpark's: AdamW whose eps is corrected too
  PmaAdamW,         ///< AdamW with an average of each parameter
  Muon,             ///< Muon for matrices, AdamW for all other parameters
  Came,             ///< second moments as means of rows and columns
  Unsupported       ///< anything else: an error when a step is built
};

/// The average of each parameter that PmaAdamW maintains and applies.
struct WeightAverageConfig {
  int64_t fusedNum = 10;
  int64_t interleaveStep = 1000;
  /// True for fused_algo sma, false for ema.
  bool sums = false;
  double emaAlpha = 0.2;
};

/// The keys of Muon. The other members of the optimizer then are those of AdamW
/// for the parameters that are not matrices.
struct MuonConfig {
  double momentum = 0.95;
  bool nesterov = true;
  double matchedAdamWRms = 0.2;
  /// Added to the norm of a matrix.
  double eps = 1e-7;
  /// The coefficients of each Newton-Schulz step.
  std::vector<std::array<double, 3>> coefficients;
  /// True for comm_strategy allgather_deredundency, false for allgather.
  bool spreadsWeights = false;
  std::vector<std::string> adamwInclude;
  /// The logit from which on heads of latent attention are clipped; none for
  /// qk_clip_enabled: False.
  std::optional<double> logitThreshold;
};

/// The keys of Came in addition to `beta1` and `weightDecay`, the only other
/// members of the optimizer that it uses.
struct CameConfig {
  /// Added to the squares of gradients, and to the squares of the differences
  /// between updates and their running mean.
  double eps = 1e-30, instabilityEps = 1e-16;
  double clipThreshold = 1.0;
  double decayRate = 0.8;
  double beta3 = 0.99;
};

/// The section optimizer.
struct OptimizerConfig {
  std::string type = "AdamW";
  OptimizerKind kind = OptimizerKind::AdamW;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weightDecay = 0.0;
  /// Substrings or wildcards of the names of parameters that decay whatever
  /// their rank is, and of parameters that do not decay.
  std::vector<std::string> decayInclude, decayExclude;
  double learningRate = 5e-5;
  bool swap = false;
  /// The averages of PmaAdamW. Empty for other optimizers.
  std::optional<WeightAverageConfig> average;
  /// The keys that only Muon has.
  std::optional<MuonConfig> muon;
  /// The keys that only Came has.
  std::optional<CameConfig> came;
  Node node;

  /// Returns whether moments are corrected for their initial value 0.
  bool correctsBias() const {
    return kind == OptimizerKind::AdamW || kind == OptimizerKind::PmaAdamW ||
           kind == OptimizerKind::Muon || correctsEps();
  }
  /// Returns whether eps is added before the correction of moments instead of
  /// after it.
  bool correctsEps() const { return kind == OptimizerKind::AdamWeightDecayX; }
};

/// The section lr_schedule, and where it is.
struct LrScheduleSection : LrScheduleConfig {
  Node node;
};

/// An item of grouped_lr_schedule: the learning rate of the parameters that
/// match one of its patterns and no pattern of an earlier item. A pattern is a
/// substring of a name, or a wildcard as in Python's fnmatch.
struct LrGroup {
  /// The elements of `params`, with their places.
  std::vector<Node> patterns;
  LrScheduleSection schedule;
};

} // namespace mf

#endif // MF_FRONTEND_CONFIG_OPTIMIZERCONFIG_H
