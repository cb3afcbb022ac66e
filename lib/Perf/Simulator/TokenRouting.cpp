//===- TokenRouting.cpp - Uneven choices of experts -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/TokenRouting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

using llvm::StringRef;

namespace mf::simulator {

static constexpr std::array<StringRef, 10> routingNames = {
    "W0", "W1", "W2", "W3", "W4", "W5", "W6", "W7", "zipf", "trace"};

/// The names from which seeds are made.
static constexpr std::array<StringRef, 10> seedNames = {"W0_balanced",
                                                        "W1_hot_expert_set",
                                                        "W2_hot_rank",
                                                        "W3_spread_hot_experts",
                                                        "W4_source_ragged",
                                                        "W5_zero_expert_rank",
                                                        "W6_rotating_hotspot",
                                                        "W7_burst",
                                                        "zipf",
                                                        "trace"};

llvm::ArrayRef<StringRef> getRoutingNames() { return routingNames; }

std::optional<RoutingScenario> parseRouting(StringRef name) {
  const auto *found = llvm::find(routingNames, name);
  if (found == routingNames.end())
    return std::nullopt;
  return static_cast<RoutingScenario>(found - routingNames.begin());
}

double RoutedLoad::getSkew(llvm::ArrayRef<int64_t> rows) {
  const auto sum = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  return sum == 0
             ? 1
             : static_cast<double>(*llvm::max_element(rows)) *
                   static_cast<double>(rows.size()) / static_cast<double>(sum);
}

double RoutedLoad::getVariation(llvm::ArrayRef<int64_t> rows) {
  const auto count = static_cast<double>(rows.size());
  const double mean = static_cast<double>(std::accumulate(
                          rows.begin(), rows.end(), int64_t{0})) /
                      count;
  double squares = 0;
  for (const int64_t row : rows)
    squares +=
        (static_cast<double>(row) - mean) * (static_cast<double>(row) - mean);
  return mean == 0 ? 0 : std::sqrt(squares / count) / mean;
}

int64_t RoutedLoad::getFullest() const { return *llvm::max_element(rankRows); }

namespace {

/// The random number generator of torch.Generator on a CPU, whose numbers do
/// not depend on the standard library.
class Draw {
public:
  explicit Draw(uint32_t seed) : bits(seed) {}
  int64_t below(int64_t count) {
    return static_cast<int64_t>(static_cast<uint32_t>(bits())) % count;
  }
  /// Returns a number in (0, 1).
  double unit() {
    const uint64_t high = bits(), low = bits();
    return (static_cast<double>((high << 32 | low) >> 11) + 0.5) * 0x1p-53;
  }

  /// Sets `numbers` to the permutation of 0, 1, ... that torch.randperm draws.
  void permute(llvm::MutableArrayRef<int32_t> numbers) {
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto count = static_cast<int64_t>(numbers.size());
    for (int64_t index = 0; index + 1 < count; ++index)
      std::swap(numbers[index], numbers[index + below(count - index)]);
  }

private:
  std::mt19937 bits;
};

class TokenRouter {
public:
  TokenRouter(RoutingScenario scenario, const RouterSize &size, int64_t step)
      : scenario(scenario), size(size), step(step),
        hot(std::max(size.choices, size.experts / 4)),
        draw(getSeed(scenario, step)), order(size.experts) {
    if (scenario == RoutingScenario::Trace)
      prepareTrace();
  }

  /// Returns the experts of all tokens, in ascending order for each token.
  std::vector<int32_t> run() {
    for (int64_t token = 0; token < size.tokens; ++token) {
      route(token);
      std::sort(chosen.end() - size.choices, chosen.end());
    }
    return std::move(chosen);
  }

private:
  static uint32_t getSeed(RoutingScenario scenario, int64_t step) {
    const std::string text =
        (seedNames[static_cast<size_t>(scenario)] + "|1234|").str() +
        std::to_string(step);
    const auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
    return uint32_t{hash[0]} << 24 | uint32_t{hash[1]} << 16 |
           uint32_t{hash[2]} << 8 | uint32_t{hash[3]};
  }

  bool isHot(int64_t token) const {
    if (scenario == RoutingScenario::W7)
      return step % 4 == 3 && token % 2 == 0;
    return token % 4 != 0;
  }

  void route(int64_t token) {
    switch (scenario) {
    case RoutingScenario::W0:
      for (int64_t choice = 0; choice < size.choices; ++choice)
        chosen.push_back(static_cast<int32_t>((token * size.choices + choice) %
                                              size.experts));
      return;
    case RoutingScenario::W1:
    case RoutingScenario::W2:
    case RoutingScenario::W7:
      return chooseFrom(0, isHot(token) ? hot : size.experts);
    case RoutingScenario::W3:
      if (isHot(token) && size.experts / 2 >= size.choices)
        return chooseFrom(0, size.experts / 2, 2);
      return chooseFrom(0, size.experts);
    case RoutingScenario::W4:
      return chooseFrom(0, size.experts);
    case RoutingScenario::W5: {
      const int64_t upper =
          std::min(size.experts / 2, size.experts - size.choices);
      return chooseFrom(upper, size.experts - upper);
    }
    case RoutingScenario::W6:
      if (isHot(token))
        return chooseFrom(step / 3 * hot % size.experts, hot);
      return chooseFrom(0, size.experts);
    case RoutingScenario::Zipf:
      return chooseZipf();
    case RoutingScenario::Trace:
      return chooseTrace();
    }
  }

  /// Draws distinct experts among `count` experts at distance `stride`.
  void chooseFrom(int64_t first, int64_t count, int64_t stride = 1) {
    draw.permute(llvm::MutableArrayRef(order).take_front(count));
    for (int64_t choice = 0; choice < size.choices; ++choice)
      chosen.push_back(static_cast<int32_t>((first + order[choice] * stride) %
                                            size.experts));
  }

  /// Chooses experts by Zipf's law. The largest sums of logits -log(number) and
  /// Gumbel noise are the results of successive draws by probability.
  void chooseZipf() {
    std::vector<std::pair<double, int32_t>> keys;
    for (int32_t expert = 0; expert < size.experts; ++expert)
      keys.emplace_back(std::log(static_cast<double>(expert + 1)) +
                            std::log(-std::log(draw.unit())),
                        expert);
    std::nth_element(keys.begin(), keys.begin() + (size.choices - 1),
                     keys.end());
    for (int64_t choice = 0; choice < size.choices; ++choice)
      chosen.push_back(keys[choice].second);
  }

  /// Prepares the shares of experts of a trace, in which the 8, 16, 32 and 64
  /// busiest of 256 experts receive these shares of tokens.
  void prepareTrace() {
    constexpr std::array<std::pair<double, double>, 5> bands = {
        {{8, 0.356}, {16, 0.465}, {32, 0.585}, {64, 0.712}, {256, 1.0}}};
    auto getShare = [&](double experts) {
      double last = 0, share = 0;
      for (const auto &[upTo, sum] : bands) {
        if (experts <= upTo)
          return share + (sum - share) * (experts - last) / (upTo - last);
        last = upTo;
        share = sum;
      }
      return 1.0;
    };
    const auto count = static_cast<double>(size.experts);
    for (int64_t number = 1; number <= size.experts; ++number)
      // An expert can receive at most one choice of each token.
      sums.push_back(
          std::min(getShare(static_cast<double>(number) * 256 / count) *
                       static_cast<double>(size.choices),
                   (sums.empty() ? 0 : sums.back()) + 1));
    draw.permute(order);
  }

  /// Draws systematically: each expert receives exactly its share, and a token
  /// chooses no expert twice.
  void chooseTrace() {
    const double offset = draw.unit();
    for (int64_t choice = 0; choice < size.choices; ++choice) {
      const double at = static_cast<double>(choice) + offset;
      const auto place = std::min<int64_t>(
          llvm::lower_bound(sums, at) - sums.begin(), size.experts - 1);
      chosen.push_back(order[place]);
    }
  }

  const RoutingScenario scenario;
  const RouterSize size;
  const int64_t step;
  /// The number of hot experts.
  const int64_t hot;
  Draw draw;
  /// Scratch of draws, and the places of experts in a trace.
  std::vector<int32_t> order;
  /// For each index in `order`, the sum of the shares up to there, times the
  /// choices.
  std::vector<double> sums;
  std::vector<int32_t> chosen;
};

} // namespace

std::vector<int32_t> chooseExperts(RoutingScenario scenario,
                                   const RouterSize &size, int64_t step) {
  return TokenRouter(scenario, size, step).run();
}

RoutedLoad routeTokens(RoutingScenario scenario, const ExpertGroup &group,
                       int64_t step) {
  RoutedLoad load;
  load.expertRows.resize(group.experts);
  load.rankRows.assign(group.ranks, group.safeRows);
  for (const int32_t expert : chooseExperts(
           scenario, {group.experts, group.choices, group.tokens}, step))
    load.expertRows[expert] += group.ranks;
  const int64_t perRank = group.experts / group.ranks;
  for (const auto &[expert, rows] : llvm::enumerate(load.expertRows))
    load.rankRows[static_cast<int64_t>(expert) / perRank] += rows;
  return load;
}

} // namespace mf::simulator
