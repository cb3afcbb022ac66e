//===- TokenRouting.h - Uneven choices of experts ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The time of a step depends on how many tokens choose the experts of the
// fullest rank. Scenarios draw the choices of a step. W0 to W7 are those of
// Megatron's benchmark of token imbalance (NVIDIA/Megatron-LM pull request
// 7488). The others have skews that were measured.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_SIMULATOR_TOKENROUTING_H
#define MF_PERF_SIMULATOR_TOKENROUTING_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include <algorithm>

namespace mf::simulator {

/// The ranks over which the experts of a layer are distributed.
struct ExpertGroup {
  int64_t ranks = 1;
  int64_t experts = 1;
  /// The number of experts that each token chooses.
  int64_t choices = 1;
  /// The tokens of a micro-batch on one rank.
  int64_t tokens = 1;
  /// Additional rows that each rank sends and receives: one for each expert, so
  /// that no expert is without rows, in layers that are configured so.
  int64_t safeRows = 0;
  /// The number of rows that fit on a rank after an exchange.
  int64_t room = 0;

  /// Returns the rows of a rank if experts are chosen evenly.
  int64_t getMeanRows() const { return tokens * choices + safeRows; }
  /// Returns the rows of a rank if all tokens of the group choose as many of
  /// its experts as they can.
  int64_t getMostRows() const {
    return ranks * tokens * std::min(choices, experts / ranks) + safeRows;
  }
};

/// Returns the largest group of a program. Fails if no ranks of the program
/// exchange rows of tokens by expert.
llvm::Expected<ExpertGroup> findExpertGroup(const program::Program &program);

/// Returns the most bytes that are live at once on a rank of a stage, if
/// buffers for a variable number of rows had exactly `rows` rows. This is the
/// memory that a rank needs whose experts receive that many rows.
int64_t getPeakBytes(const program::Program &program,
                     const program::StageProgram &stage,
                     const ExpertGroup &group, int64_t rows);
/// Returns the same for the stage that needs most.
int64_t getPeakBytes(const program::Program &program, const ExpertGroup &group,
                     int64_t rows);

/// The distributions of choices over experts.
enum class RoutingScenario : uint8_t {
  /// Experts take turns, which is the most even choice.
  W0,
  /// A block of hot experts receives three of four tokens. W1 and W2 draw
  /// different blocks.
  W1,
  W2,
  /// Every second expert is hot. Together they receive three of four tokens.
  W3,
  /// Experts are chosen uniformly at random.
  W4,
  /// The upper half of the experts receives all tokens.
  W5,
  /// A block of hot experts moves on every third step.
  W6,
  /// In every fourth step, hot experts receive every second token.
  W7,
  /// Probabilities decrease as one over the index of the expert.
  Zipf,
  /// The experts have the shares of an inference trace of DeepSeek-V4-Flash, in
  /// random order.
  Trace
};

/// Returns the names of all scenarios, in their order.
llvm::ArrayRef<llvm::StringRef> getRoutingNames();
/// Returns the scenario of this name, or none.
std::optional<RoutingScenario> parseRouting(llvm::StringRef name);

/// The rows that experts and ranks receive in a step.
struct RoutedLoad {
  std::vector<int64_t> expertRows;
  /// The rows of each rank, including ExpertGroup::safeRows.
  std::vector<int64_t> rankRows;

  /// Returns the maximum divided by the mean.
  static double getSkew(llvm::ArrayRef<int64_t> rows);
  /// Returns the standard deviation divided by the mean.
  static double getVariation(llvm::ArrayRef<int64_t> rows);
  int64_t getFullest() const;
};

/// The sizes of a router on one rank for one micro-batch.
struct RouterSize {
  int64_t experts = 1;
  /// The number of experts that a token chooses, at most `experts`.
  int64_t choices = 1;
  int64_t tokens = 1;
};

/// Draws the experts of each token, in ascending order, token after token. The
/// result is the same on every rank and machine. W0 to W7 use the seed and
/// random numbers of the benchmark with its default seed: the first eight
/// hexadecimal digits of sha256("W1_hot_expert_set|1234|step"), and
/// torch.randperm.
std::vector<int32_t> chooseExperts(RoutingScenario scenario,
                                   const RouterSize &size, int64_t step);

/// Returns the rows that a group exchanges in a step if all of its ranks draw
/// the same choices.
RoutedLoad routeTokens(RoutingScenario scenario, const ExpertGroup &group,
                       int64_t step);

} // namespace mf::simulator

#endif // MF_PERF_SIMULATOR_TOKENROUTING_H
