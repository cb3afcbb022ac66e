//===- ExpertSpec.h - Layers with experts -----------------------*- C++ -*-===//
//
// The experts of a model by moe_config, or in the mcore training graph by
// model_config, resolved to the computation of their layers: how tokens choose,
// what happens to tokens that find no place, how many rows of tokens there are.
//
//===----------------------------------------------------------------------===//

#ifndef MF_IMPORT_EXPERTSPEC_H
#define MF_IMPORT_EXPERTSPEC_H

#include "mf/Support/DType.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace mf {

/// The function that turns a router's products into scores.
enum class RouterScore : uint8_t { Softmax, Sigmoid };

/// Tokens choose among the experts of a few groups.
struct RoutingGroups {
  /// Groups of neighbouring experts, and how many of them a token may use.
  int64_t num = 1;
  int64_t numKept = 1;
  /// A group's score is the sum of so many of its experts' largest.
  int64_t numSummed = 1;
  /// Groups with the score of the last one kept stay too.
  bool keepsTies = false;
};

/// The bias on scores that evens out the load of experts.
struct LoadBias {
  /// The step's end changes it, as TopkBiasBalanceCallback says; else it stays
  /// 0.
  bool isUpdated = true;
};

/// factor * E^2 * mean of P * f over rows and groups of experts. P is a row's
/// mean score of a group's experts, f the mean share of choices that they get.
struct AuxiliaryLoss {
  double factor = 0.0;
  /// Groups of neighbouring experts; the number of experts for one each.
  int64_t numGroups = 1;
  /// So many neighbouring rows have one f, the mean of theirs; 0 for all rows.
  int64_t numSharedRows = 1;
};

struct RouterSpec {
  RouterScore score = RouterScore::Softmax;
  /// k, experts per token.
  int64_t numChosen = 1;
  std::optional<RoutingGroups> groups;
  /// The gates of a token are divided by their sum.
  bool normalizes = false;
  /// The sum counts only gates that found a place: the gates of a token whose
  /// other choices are dropped grow.
  bool normalizesKept = false;
  /// Added to sums that are divided by.
  double epsilon = 1e-9;
  /// All gates are multiplied with it.
  double scale = 1.0;
  /// Scores and gates are computed in.
  DType type = DType::F32;
  /// The weight is stored in.
  DType weightType = DType::F32;
  /// Standard deviation of the initial weight.
  double initializerRange = 0.01;
  std::optional<LoadBias> bias;
  std::vector<AuxiliaryLoss> losses;
  /// With a bias, the losses count the choice by the scores alone.
  bool lossesIgnoreBias = false;
  /// Factor on the mean square of ln(sum of exp(products)); 0 for none.
  double zLossFactor = 0.0;
  /// The shares of choices of the last micro-batch are kept for the log.
  bool recordsLoad = false;
};

/// Experts with a limited number of places each (MoEV2).
struct CapacitySpec {
  double factor = 1.1;
  /// Places are a multiple of it.
  int64_t multiple = 1;
  /// Whether a row's places go to its tokens in turn (sdrop), or to all first
  /// choices before the second ones (kdrop).
  bool byToken = false;
  /// The down projection has a bias.
  bool hasBias = false;
  /// Model-parallel ranks share each expert out.
  bool cutsExperts = true;
  /// Model-parallel ranks share whole experts out, beside the parts that they
  /// are of (ep_extend_tp).
  bool sharesWhole = false;
  /// If not 0, gate and up projection are one weight: so many times the rows of
  /// some gates, then those of their ups. Each model-parallel rank has one.
  int64_t gateUpBlocks = 0;
  /// n, places of an expert in each row.
  int64_t places = 0;
};

/// Experts that take all of their tokens (MoEV3 and mcore).
struct DroplessSpec {
  /// Each row has one zero token more for each expert.
  bool safeTokens = false;
  /// Rows of tokens that a rank has room for behind an exchange, by those it
  /// sends.
  double room = 2.0;
};

/// Operators that one kernel can do.
struct ExpertFusions {
  bool router = false;  ///< the places of tokens
  bool permute = false; ///< sorting tokens by expert
  bool swiglu = false;
};

struct ExpertSpec {
  /// E, and I.
  int64_t numExperts = 1;
  int64_t width = 0;
  /// Body layers below this number have a dense feed forward.
  int64_t firstLayer = 0;
  /// If not empty, whether body layer i has experts; behind its end, all.
  std::vector<bool> layers;

  /// Width of the dense feed forward beside the experts; 0 for none.
  int64_t sharedWidth = 0;
  /// A sigmoid of the input scales the shared experts' result.
  bool gatesShared = false;

  RouterSpec router;
  /// One of these two has a value.
  std::optional<CapacitySpec> capacity;
  std::optional<DroplessSpec> dropless;
  ExpertFusions fusions;
  /// Standard deviation of the experts' initial weights.
  double initializerRange = 0.01;

  /// P, the ranks that share experts out.
  int64_t numParts = 1;
  /// R and N: tokens go through a router row by row, N in each.
  int64_t numRows = 1;
  /// Pieces of a sequence (seq_split_num), each of which has rows of its own
  /// among these: a sequence has those of its first piece first.
  int64_t numPieces = 1;
  int64_t rowLength = 0;

  bool hasLayer(int64_t index) const {
    if (index >= 0 && static_cast<uint64_t>(index) < layers.size())
      return layers[static_cast<size_t>(index)];
    return index >= firstLayer;
  }
  /// Choices of a row, kN.
  int64_t getNumChoices() const { return router.numChosen * rowLength; }
};

} // namespace mf

#endif // MF_IMPORT_EXPERTSPEC_H
