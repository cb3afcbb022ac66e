//===- TokenRouting.h - Uneven choices of experts ---------------*- C++ -*-===//
//
// A step's time depends on how many tokens choose the experts of the fullest
// rank. Scenarios draw the choices of a step: those of Megatron's benchmark of
// token imbalance (NVIDIA/Megatron-LM pull request 7488), W0 to W7, and skews
// that were measured.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIMULATOR_TOKENROUTING_H
#define MF_SIMULATOR_TOKENROUTING_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::simulator {

/// The ranks that share out the experts of a layer.
struct ExpertGroup {
  int64_t ranks = 1;
  int64_t experts = 1;
  /// Experts that a token chooses.
  int64_t choices = 1;
  /// Tokens of a micro-batch on a rank.
  int64_t tokens = 1;
  /// Rows that each rank sends, and gets, beside those of its tokens: one for
  /// each expert, so that none is without rows, where layers ask for that.
  int64_t safeRows = 0;
  /// Rows that a rank has room for behind an exchange.
  int64_t room = 0;

  /// Rows of a rank if experts are chosen evenly.
  int64_t getMeanRows() const { return tokens * choices + safeRows; }
};

/// The largest group of a program. An error if no ranks of it exchange rows of
/// tokens by expert.
llvm::Expected<ExpertGroup> findExpertGroup(const program::Program &program);

/// The most bytes alive at once on a rank of any stage if buffers with room for
/// rows have it for exactly `rows`: what the rank needs whose experts get them.
int64_t getPeakBytes(const program::Program &program, const ExpertGroup &group,
                     int64_t rows);

enum class RoutingScenario : uint8_t {
  /// In turn: the most even choice.
  W0,
  /// A block of hot experts takes three tokens of four: two draws of it.
  W1,
  W2,
  /// Every second expert takes three tokens of four.
  W3,
  /// At random among all.
  W4,
  /// The upper half takes all.
  W5,
  /// The hot block moves on every third step.
  W6,
  /// Every fourth step has hot experts for every second token.
  W7,
  /// Probabilities fall as one over the number of the expert.
  Zipf,
  /// Shares of an inference trace of DeepSeek-V4-Flash, at random places.
  Trace
};

/// All names, in the order of the scenarios.
llvm::ArrayRef<llvm::StringRef> getRoutingNames();
/// None if there is no scenario of this name.
std::optional<RoutingScenario> parseRouting(llvm::StringRef name);

/// The tokens that experts and ranks get in a step.
struct RoutedLoad {
  std::vector<int64_t> expertRows;
  /// With the rows that are always there.
  std::vector<int64_t> rankRows;

  /// The largest over the mean.
  static double getSkew(llvm::ArrayRef<int64_t> rows);
  /// The standard deviation over the mean.
  static double getVariation(llvm::ArrayRef<int64_t> rows);
  int64_t getFullest() const;
};

/// The sizes of a router on one rank, in a micro-batch.
struct RouterSize {
  int64_t experts = 1;
  /// Experts that a token chooses; at most `experts`.
  int64_t choices = 1;
  int64_t tokens = 1;
};

/// Draws the experts of each token, ascending, token after token: the same on
/// every rank and machine. Seed and random numbers of W0 to W7 are those of the
/// benchmark with its default seed: the first eight hexadecimal digits of
/// sha256("W1_hot_expert_set|1234|step"), and torch.randperm.
std::vector<int32_t> chooseExperts(RoutingScenario scenario,
                                   const RouterSize &size, int64_t step);

/// The rows of a group in a step, all of whose ranks draw the same choices.
RoutedLoad routeTokens(RoutingScenario scenario, const ExpertGroup &group,
                       int64_t step);

} // namespace mf::simulator

#endif // MF_SIMULATOR_TOKENROUTING_H
