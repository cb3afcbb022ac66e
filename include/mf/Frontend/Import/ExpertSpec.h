//===- ExpertSpec.h - Layers with experts -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The experts of a model as defined by moe_config or, in the mcore training
// graph, by model_config, resolved to the computation of their layers: how
// tokens choose experts, what happens to tokens that are dropped, and how many
// rows of tokens there are.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_EXPERTSPEC_H
#define MF_FRONTEND_IMPORT_EXPERTSPEC_H

#include "mf/Support/DType.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace mf {

/// The function that converts a router's products to scores.
enum class RouterScore : uint8_t {
  Softmax,
  Sigmoid,
  SqrtSoftplus ///< sqrt(ln(1 + exp(x)))
};

/// Restricts the choice of each token to the experts of a few groups.
struct RoutingGroups {
  /// The number of groups of neighbouring experts, and the number of groups
  /// that a token may use.
  int64_t num = 1;
  int64_t numKept = 1;
  /// A group's score is the sum of this many of its largest scores.
  int64_t numSummed = 1;
  /// True if groups with the same score as the last one kept are kept too.
  bool keepsTies = false;
  /// True if experts of other groups are never chosen. Otherwise they have the
  /// score 0, which is above a negative one.
  bool neverTakesOthers = false;
};

/// The bias on scores that balances the load of experts.
struct LoadBias {
  /// True if the end of a step changes it, as TopkBiasBalanceCallback defines.
  /// Otherwise it stays 0.
  bool isUpdated = true;
};

/// The loss factor * E^2 * mean of P * f over rows and groups of experts. P is
/// the mean score of a group's experts in a row, f the mean fraction of the
/// choices that they receive.
struct AuxiliaryLoss {
  double factor = 0.0;
  /// The number of groups of neighbouring experts. It is the number of experts
  /// if each is its own group.
  int64_t numGroups = 1;
  /// The number of neighbouring rows of the losses that share one f, the mean
  /// of theirs; 0 for all rows.
  int64_t numSharedRows = 1;
};

/// How a router scores and chooses experts.
struct RouterSpec {
  RouterScore score = RouterScore::Softmax;
  /// k, the number of experts per token.
  int64_t numChosen = 1;
  std::optional<RoutingGroups> groups;
  /// True if the gates of a token are divided by their sum.
  bool normalizes = false;
  /// True if that sum includes only gates whose choice was not dropped, so that
  /// the gates of a token with dropped choices grow.
  bool normalizesKept = false;
  /// Added to sums that are divisors.
  double epsilon = 1e-9;
  /// The factor on all gates.
  double scale = 1.0;
  /// The type in which scores and gates are computed.
  DType type = DType::F32;
  /// The type in which the weight is stored.
  DType weightType = DType::F32;
  /// The standard deviation of the initial weight.
  double initializerRange = 0.01;
  std::optional<LoadBias> bias;
  std::vector<AuxiliaryLoss> losses;
  /// True if the losses count the choices that the scores alone would make:
  /// without the bias, and among all groups.
  bool lossesCountScores = false;
  /// True if each loss is the mean of those of all sequences, so that no row of
  /// the losses has tokens of two sequences.
  bool lossesSeparateSequences = false;
  /// True if a step reports the mean over layers of the losses without their
  /// factor, as the trainer of the dynamic graph does, and not what they add to
  /// the loss.
  bool reportsMeanLoss = false;
  /// The factor on the mean square of ln(sum of exp(products)); 0 for no such
  /// loss.
  double zLossFactor = 0.0;
  /// True if the fractions of choices in the last micro-batch are kept for the
  /// log.
  bool recordsLoad = false;
};

/// Experts with a limited number of places each (MoEV2).
struct CapacitySpec {
  double factor = 1.1;
  /// The number of places is a multiple of this.
  int64_t multiple = 1;
  /// True if the places in a row are given to its tokens in turn (sdrop), false
  /// if all first choices precede the second ones (kdrop).
  bool byToken = false;
  /// True if the down projection has a bias.
  bool hasBias = false;
  /// True if each expert is cut over model-parallel ranks.
  bool cutsExperts = true;
  /// True if whole experts are distributed over the model-parallel ranks too,
  /// in addition to the ranks of expert_parallel (ep_extend_tp).
  bool sharesWhole = false;
  /// If not 0, gate and up projection are one weight that consists of this many
  /// blocks, one for each model-parallel rank. A block has the rows of some
  /// gates, followed by those of their ups.
  int64_t gateUpBlocks = 0;
  /// n, the number of places of an expert in each row.
  int64_t places = 0;
};

/// Experts that process all of their tokens (MoEV3 and mcore).
struct DroplessSpec {
  /// True if each row has one additional zero token for each expert.
  bool safeTokens = false;
  /// The number of rows of tokens that fit on a rank after an exchange,
  /// relative to those that it sends. If it has no value, getExpertRoom says
  /// what a balanced router needs.
  std::optional<double> room;
};

/// Operators that are fused into one kernel.
struct ExpertFusions {
  bool router = false;  ///< the places of tokens
  bool permute = false; ///< sorting tokens by expert
  bool swiglu = false;
};

/// The layers of a model that have experts.
struct ExpertSpec {
  /// E, the number of experts, and I, the width of an expert.
  int64_t numExperts = 1;
  int64_t width = 0;
  /// Body layers with a lower index have a dense feed forward.
  int64_t firstLayer = 0;
  /// If not empty, whether body layer i has experts. Layers beyond the end have
  /// experts.
  std::vector<bool> layers;

  /// The width of the dense feed forward parallel to the experts; 0 for none.
  int64_t sharedWidth = 0;
  /// True if a sigmoid of the input scales the shared experts' result.
  bool gatesShared = false;

  RouterSpec router;
  /// Exactly one of these two has a value.
  std::optional<CapacitySpec> capacity;
  std::optional<DroplessSpec> dropless;
  ExpertFusions fusions;
  /// The standard deviation of the experts' initial weights.
  double initializerRange = 0.01;

  /// P, the number of ranks over which the experts are distributed.
  int64_t numParts = 1;
  /// R and N: tokens go through a router in R rows of N tokens.
  int64_t numRows = 1;
  /// The number of pieces of a sequence (seq_split_num). Each piece has its own
  /// rows. The rows of a sequence are ordered by piece.
  int64_t numPieces = 1;
  int64_t rowLength = 0;
  /// The number of tokens in a row of the losses. It divides N.
  int64_t lossRowLength = 0;

  bool hasLayer(int64_t index) const {
    if (index >= 0 && static_cast<uint64_t>(index) < layers.size())
      return layers[static_cast<size_t>(index)];
    return index >= firstLayer;
  }
  /// Returns the choices of a row, kN.
  int64_t getNumChoices() const { return router.numChosen * rowLength; }
  int64_t getNumLossRows() const {
    return numRows * (rowLength / lossRowLength);
  }
};

/// Returns the number of rows of tokens that fit on a rank after an exchange of
/// dropless experts in which each rank sends `sent` rows.
int64_t getExpertRoom(const ExpertSpec &experts, int64_t sent);

} // namespace mf

#endif // MF_FRONTEND_IMPORT_EXPERTSPEC_H
