//===- ExpertSizes.cpp - Rows, places and ranks of experts ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace mf {

namespace {

/// Returns the location of the number of experts, under the name that the
/// model's class uses.
static Location locateExpertCount(const TrainingConfig &config) {
  for (const Node &section : {config.moe.node, config.model.config})
    if (Node count = keys::numExperts.find(section))
      return count.getLocation();
  return config.model.node.getLocation();
}

/// Returns the location of the size that makes a row longer than `most` tokens:
/// the sequence length if a single sequence is too long, otherwise the number
/// of sequences.
static Location locateRowLength(const TrainingConfig &config, int64_t most) {
  Node length = keys::sequenceLength.find(config.model.config);
  Node rows = known::find(config.runner, &RunnerConfig::batchSize);
  if (length && (!rows || config.runner.batchSize <= 1 ||
                 length.getInt().value_or(0) > most))
    return length.getLocation();
  return rows ? rows.getLocation() : config.model.node.getLocation();
}

class SizeResolver {
public:
  SizeResolver(const TrainingConfig &config, const ModelOverrides &overrides,
               ModelSpec &spec, DiagnosticList &diagnostics)
      : config(config), overrides(overrides), spec(spec),
        experts(*spec.experts), diagnostics(diagnostics) {}

  void resolve() {
    checkPieces();
    resolveRows();
    if (!checkCounts())
      return;
    resolveParts();
    resolveRoom();
    resolvePlaces();
    checkNumbers();
  }

private:
  Location locate(llvm::StringRef key) const {
    return config.parallel.node[key].getLocation();
  }

  void checkPieces() {
    const int64_t pieces = config.parallel.seqSplitNum;
    if (pieces <= 1)
      return;
    experts.numPieces = pieces;
    const RouterSpec &router = experts.router;
    const bool hasLosses = !router.losses.empty() || router.zLossFactor != 0.0;
    if (experts.dropless)
      diagnostics.error(locate("seq_split_num"),
                        "expected seq_split_num 1 for experts with " +
                            known::expert::useGmm.name);
    else if (hasLosses)
      diagnostics.error(locate("seq_split_num"),
                        "expected seq_split_num 1 for experts whose router "
                        "adds to the loss, which is not supported in pieces of "
                        "a sequence; return_extra_loss False leaves it out");
    else if (spec.microBatchSize != spec.ranks.dataParallel)
      diagnostics.error(
          locate("seq_split_num"),
          "expected a batch_size of 1 for experts in pieces of a sequence");
    // Nobody keeps the shares of pieces.
    experts.router.recordsLoad = false;
  }

  /// Each data-, context- and, if it cuts the sequence, model-parallel rank has
  /// one row.
  void resolveRows() {
    const RankLayout &ranks = spec.ranks;
    int64_t own = ranks.dataParallel * ranks.contextParallel;
    if (ranks.sequenceParallel)
      own *= ranks.modelParallel;
    experts.numRows = own;
    if (std::optional<int64_t> rows = overrides.routerRows) {
      if (*rows < 1 || *rows > INT32_MAX || *rows % own != 0)
        diagnostics.error({}, "expected a multiple of the " + llvm::Twine(own) +
                                  " rows of data, context and model parallel "
                                  "ranks for --router-rows, but got " +
                                  llvm::Twine(*rows));
      else
        experts.numRows = *rows;
    }
    experts.numRows *= experts.numPieces;
    int64_t tokens = 0;
    if (__builtin_mul_overflow(spec.microBatchSize, spec.sequenceLength,
                               &tokens) ||
        tokens % experts.numRows != 0) {
      diagnostics.error(locate("model_parallel"),
                        "expected the tokens of a micro-batch, " +
                            llvm::Twine(spec.microBatchSize) + " times " +
                            llvm::Twine(spec.sequenceLength) +
                            ", to divide into the " +
                            llvm::Twine(experts.numRows) + " rows of routers");
      tokens = experts.numRows;
    }
    experts.rowLength = tokens / experts.numRows;
    resolveLossRows();
  }

  /// A sequence begins and ends with a row of the losses, if each has its own
  /// loss: ranks may have parts of a sequence, several sequences, or both.
  void resolveLossRows() {
    experts.lossRowLength = experts.rowLength;
    if (experts.router.lossesSeparateSequences)
      experts.lossRowLength = std::gcd(experts.rowLength, spec.sequenceLength);
    for (AuxiliaryLoss &loss : experts.router.losses)
      if (experts.router.lossesSeparateSequences)
        loss.numSharedRows = spec.sequenceLength / experts.lossRowLength;
      else if (loss.numSharedRows == 0)
        loss.numSharedRows = experts.numRows;
  }

  /// True if products of the sizes fit into 64 bits.
  bool checkCounts() {
    constexpr int64_t mostExperts = int64_t(1) << 16;
    constexpr int64_t mostTokens = int64_t(1) << 22;
    if (experts.numExperts > mostExperts) {
      diagnostics.error(locateExpertCount(config),
                        "expected at most " + llvm::Twine(mostExperts) +
                            " experts, but got " +
                            llvm::Twine(experts.numExperts));
      return false;
    }
    if (experts.rowLength <= mostTokens)
      return true;
    diagnostics.error(locateRowLength(config, mostTokens),
                      "expected rows of at most " + llvm::Twine(mostTokens) +
                          " tokens for experts, but got " +
                          llvm::Twine(experts.rowLength));
    return false;
  }

  /// MoEV2 forms its groups of ranks among data-parallel ones, unless experts
  /// are whole; the others among all ranks of a stage.
  void resolveParts() {
    int64_t parts =
        config.parallel.isSemiOrAuto() ? config.parallel.expertParallel : 1;
    int64_t ranks = experts.numRows / experts.numPieces;
    const bool isAmongDataParallel =
        experts.capacity && !overrides.routerRows &&
        (experts.capacity->cutsExperts || experts.capacity->sharesWhole ||
         !spec.ranks.sequenceParallel);
    if (isAmongDataParallel && spec.ranks.sequenceParallel)
      ranks /= spec.ranks.modelParallel;
    int64_t tensorParts = experts.capacity && experts.capacity->sharesWhole
                              ? spec.ranks.modelParallel
                              : 1;
    if (experts.numExperts % parts != 0)
      diagnostics.error(
          locate("expert_parallel"),
          "expected a divisor of the " + llvm::Twine(experts.numExperts) +
              " experts for 'expert_parallel', but got " + llvm::Twine(parts));
    else if (ranks % parts != 0)
      diagnostics.error(
          locate("expert_parallel"),
          "expected 'expert_parallel' to divide the " + llvm::Twine(ranks) +
              (isAmongDataParallel ? " ranks of data and context parallel"
                                   : " ranks of a stage") +
              " over which experts are distributed, but got " +
              llvm::Twine(parts));
    else if (experts.numExperts / parts % tensorParts != 0)
      diagnostics.error(
          locate("expert_parallel"),
          "expected 'expert_parallel' " + llvm::Twine(parts) +
              " times model_parallel " + llvm::Twine(tensorParts) +
              " to divide the " + llvm::Twine(experts.numExperts) +
              " experts, which are distributed whole over both; moe_config." +
              known::expert::extendsOverRanks.name +
              " False cuts each expert over model_parallel instead");
    else
      experts.numParts = parts;
  }

  void resolveRoom() {
    std::optional<double> room = overrides.expertRoom;
    if (!room)
      return;
    const bool isRoom = std::isfinite(*room) && *room >= 1;
    if (!isRoom) {
      diagnostics.error({},
                        "expected a number of at least 1 for --expert-room");
      return;
    }
    if (experts.dropless)
      experts.dropless->room = room;
    else
      diagnostics.warning(
          {}, "--expert-room has no effect on experts with a capacity");
  }

  void resolvePlaces() {
    if (!experts.capacity)
      return;
    CapacitySpec &capacity = *experts.capacity;
    const int64_t length = experts.rowLength;
    if (capacity.factor <= 0) {
      diagnostics.warning(
          config.moe.node[known::expert::capacityFactor.name].getLocation(),
          "a " + quote(known::expert::capacityFactor.name) +
              " of at most 0 makes room for the fullest expert, which is known "
              "only in the step; here each expert has a place for every token "
              "of a row, " +
              llvm::Twine(length) + ", with the same result");
      capacity.places = length;
      return;
    }
    double choices = static_cast<double>(experts.getNumChoices());
    double wanted = std::ceil(choices * capacity.factor /
                              static_cast<double>(experts.numExperts));
    int64_t places = wanted < static_cast<double>(length)
                         ? static_cast<int64_t>(wanted)
                         : length;
    int64_t multiple = capacity.multiple;
    capacity.places = (places + multiple - 1) / multiple * multiple;
  }

  /// Places and ids are computed in fp32, which holds integers up to 2^24.
  void checkNumbers() {
    constexpr int64_t largest = int64_t(1) << 24;
    const int64_t choices = experts.getNumChoices();
    // Counts the rows of all ranks that may send to one. The sizes were
    // checked: no overflow.
    int64_t numbers =
        (choices + experts.numExperts) * std::min(experts.numParts, largest);
    if (experts.capacity)
      numbers = std::max(3 * choices,
                         experts.numExperts * (experts.capacity->places + 1));
    if (numbers > largest)
      diagnostics.error(
          config.model.node.getLocation(),
          "the router numbers " + llvm::Twine(numbers) +
              " places of a row of " + llvm::Twine(experts.rowLength) +
              " tokens, but fp32 holds integers up to " + llvm::Twine(largest) +
              "; use more ranks, --router-rows or a shorter sequence");
    const Node given = config.moe.node[known::expert::maxLoad.name];
    const auto most =
        static_cast<int64_t>(*known::expert::maxLoad.getDefaultNumber());
    const int64_t load = given.getInt().value_or(most);
    if (experts.capacity && !experts.fusions.router && choices > load)
      diagnostics.error(
          (given ? given : config.moe.node).getLocation(),
          "expected at least the " + llvm::Twine(choices) +
              " choices of a row for " + quote(known::expert::maxLoad.name) +
              ", but got " + llvm::Twine(load) + "; " +
              known::expert::fusedRouter.name + " has no such limit");
  }

  const TrainingConfig &config;
  const ModelOverrides &overrides;
  ModelSpec &spec;
  ExpertSpec &experts;
  DiagnosticList &diagnostics;
};

} // namespace

int64_t getExpertRoom(const ExpertSpec &experts, int64_t sent) {
  constexpr double least = 1024;
  // docs/experts.md#room-for-rows derives both numbers.
  constexpr double measuredExcess = 0.12, deviations = 6;
  const auto rows = static_cast<double>(sent);
  const auto parts = static_cast<double>(experts.numParts);
  const auto choices = static_cast<double>(experts.getNumChoices());
  double wanted = 0;
  if (const std::optional<double> &room = experts.dropless->room) {
    wanted = *room * rows;
  } else {
    // The variance of the choices of a rank's experts if each token draws its
    // experts without replacement, all with the same probability.
    const auto all = static_cast<double>(experts.numExperts);
    const auto chosen = static_cast<double>(experts.router.numChosen);
    const double variance =
        choices * (1 - 1 / parts) * (all - chosen) / std::max(all - 1, 1.0);
    wanted = rows + measuredExcess * choices + deviations * std::sqrt(variance);
  }
  return static_cast<int64_t>(
      std::min(parts * rows, std::max(std::ceil(wanted), least)));
}

void resolveExpertSizes(const TrainingConfig &config,
                        const ModelOverrides &overrides, ModelSpec &spec,
                        DiagnosticList &diagnostics) {
  if (spec.experts)
    SizeResolver(config, overrides, spec, diagnostics).resolve();
}

} // namespace mf
