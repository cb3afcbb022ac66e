//===- TokenRouting.cpp - Uneven choices of experts -----------------------===//

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

/// Random numbers that do not depend on the standard library.
class Draw {
public:
  explicit Draw(uint32_t seed) : bits(seed) {}
  int64_t below(int64_t count) {
    return static_cast<int64_t>(bits() % static_cast<uint64_t>(count));
  }
  /// In (0, 1).
  double unit() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }

private:
  std::mt19937_64 bits;
};

class TokenRouter {
public:
  TokenRouter(RoutingScenario scenario, const ExpertGroup &group, int64_t step)
      : scenario(scenario), group(group), step(step),
        hot(std::max(group.choices, group.experts / 4)),
        draw(getSeed(scenario, step)), order(group.experts) {
    std::iota(order.begin(), order.end(), 0);
    load.expertRows.resize(group.experts);
    load.rankRows.assign(group.ranks, group.safeRows);
    if (scenario == RoutingScenario::Trace)
      prepareTrace();
  }

  RoutedLoad run();

private:
  static uint32_t getSeed(RoutingScenario scenario, int64_t step) {
    const std::string text =
        (routingNames[static_cast<size_t>(scenario)] + "|0|").str() +
        std::to_string(step);
    const auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
    return uint32_t{hash[0]} << 24 | uint32_t{hash[1]} << 16 |
           uint32_t{hash[2]} << 8 | uint32_t{hash[3]};
  }
  int64_t getTokens();
  bool isHot(int64_t token) const;
  void route(int64_t token);
  template <typename Map> void chooseFrom(int64_t count, Map map);
  void chooseZipf();
  void prepareTrace();
  void chooseTrace();

  const RoutingScenario scenario;
  const ExpertGroup &group;
  const int64_t step;
  /// The number of hot experts.
  const int64_t hot;
  Draw draw;
  /// Scratch of draws without repetition.
  std::vector<int64_t> order;
  /// By place in `order`: the sum of the shares up to there, times the choices.
  std::vector<double> sums;
  RoutedLoad load;
};

} // namespace

/// Ranks of W4 have from half to all of their tokens.
int64_t TokenRouter::getTokens() {
  if (scenario != RoutingScenario::W4)
    return group.tokens;
  const int64_t least = group.tokens / 2;
  return least + draw.below(group.tokens - least + 1);
}

bool TokenRouter::isHot(int64_t token) const {
  if (scenario == RoutingScenario::W7)
    return step % 4 == 3 && token % 2 == 0;
  return token % 4 != 0;
}

/// Draws distinct experts map(0), map(1), ... of `count`.
template <typename Map> void TokenRouter::chooseFrom(int64_t count, Map map) {
  for (int64_t choice = 0; choice < group.choices; ++choice) {
    std::swap(order[choice], order[choice + draw.below(count - choice)]);
    ++load.expertRows[map(order[choice])];
  }
  // The draws only permute the first numbers; put them back in order.
  for (int64_t index = 0; index < count; ++index)
    order[index] = index;
}

/// The largest sums of logits -log(number) and Gumbel noise: draws in turn by
/// probability.
void TokenRouter::chooseZipf() {
  std::vector<std::pair<double, int64_t>> keys;
  for (int64_t expert = 0; expert < group.experts; ++expert)
    keys.emplace_back(std::log(static_cast<double>(expert + 1)) +
                          std::log(-std::log(draw.unit())),
                      expert);
  std::nth_element(keys.begin(), keys.begin() + (group.choices - 1),
                   keys.end());
  for (int64_t choice = 0; choice < group.choices; ++choice)
    ++load.expertRows[keys[choice].second];
}

/// The 8, 16, 32 and 64 busiest of 256 experts take these shares of tokens.
void TokenRouter::prepareTrace() {
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
  const auto count = static_cast<double>(group.experts);
  for (int64_t number = 1; number <= group.experts; ++number)
    // No expert can get more than one choice of each token.
    sums.push_back(
        std::min(getShare(static_cast<double>(number) * 256 / count) *
                     static_cast<double>(group.choices),
                 (sums.empty() ? 0 : sums.back()) + 1));
  for (int64_t index = group.experts; index > 1; --index)
    std::swap(order[index - 1], order[draw.below(index)]);
}

/// Systematic draws: each expert with exactly its share, none twice.
void TokenRouter::chooseTrace() {
  const double offset = draw.unit();
  for (int64_t choice = 0; choice < group.choices; ++choice) {
    const double at = static_cast<double>(choice) + offset;
    const auto place = std::min<int64_t>(
        llvm::lower_bound(sums, at) - sums.begin(), group.experts - 1);
    ++load.expertRows[order[place]];
  }
}

void TokenRouter::route(int64_t token) {
  const auto same = [](int64_t expert) { return expert; };
  switch (scenario) {
  case RoutingScenario::W0:
    for (int64_t choice = 0; choice < group.choices; ++choice)
      ++load.expertRows[(token * group.choices + choice) % group.experts];
    return;
  case RoutingScenario::W1:
  case RoutingScenario::W2:
  case RoutingScenario::W7:
    return chooseFrom(isHot(token) ? hot : group.experts, same);
  case RoutingScenario::W3:
    if (isHot(token) && group.experts / 2 >= group.choices)
      return chooseFrom(group.experts / 2,
                        [](int64_t expert) { return 2 * expert; });
    return chooseFrom(group.experts, same);
  case RoutingScenario::W4:
    return chooseFrom(group.experts, same);
  case RoutingScenario::W5: {
    const int64_t upper =
        std::min(group.experts / 2, group.experts - group.choices);
    return chooseFrom(group.experts - upper,
                      [&](int64_t expert) { return upper + expert; });
  }
  case RoutingScenario::W6: {
    const int64_t base = (step / 3) * hot % group.experts;
    if (!isHot(token))
      return chooseFrom(group.experts, same);
    return chooseFrom(
        hot, [&](int64_t expert) { return (base + expert) % group.experts; });
  }
  case RoutingScenario::Zipf:
    return chooseZipf();
  case RoutingScenario::Trace:
    return chooseTrace();
  }
}

RoutedLoad TokenRouter::run() {
  for (int64_t rank = 0; rank < group.ranks; ++rank) {
    const int64_t tokens = getTokens();
    for (int64_t token = 0; token < tokens; ++token)
      route(rank * group.tokens + token);
  }
  const int64_t perRank = group.experts / group.ranks;
  for (const auto &[expert, rows] : llvm::enumerate(load.expertRows))
    load.rankRows[static_cast<int64_t>(expert) / perRank] += rows;
  return std::move(load);
}

RoutedLoad routeTokens(RoutingScenario scenario, const ExpertGroup &group,
                       int64_t step) {
  return TokenRouter(scenario, group, step).run();
}

} // namespace mf::simulator
