//===- StepLimits.cpp - Describes what limits a step ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepLimits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

using namespace llvm;

namespace mf::timeline {

namespace {

/// Smaller shares of the step are not mentioned.
constexpr double smallestShare = 0.01;
constexpr double smallestGain = 0.001;
constexpr size_t mostShares = 6;
constexpr size_t mostGains = 5;

/// Returns the usual name of the parallelism of an axis of the mesh. `dp_0` is
/// a factor of `dp`.
StringRef getAxisWord(StringRef axis) {
  return StringSwitch<StringRef>(axis.split('_').first)
      .Case("mp", "tensor")
      .Case("dp", "data")
      .Case("cp", "context")
      .Case("pp", "pipeline")
      .Default("");
}

/// Returns, for example, "data- and context-parallel communication". If an axis
/// has no such word, the names of the axes are used.
std::string describeCommunication(StringRef axes) {
  SmallVector<StringRef> names;
  axes.split(names, ',');
  std::vector<std::string> words;
  for (StringRef name : names) {
    const std::string word = getAxisWord(name.trim()).str();
    if (word.empty())
      return ("communication over " + axes).str();
    if (!is_contained(words, word))
      words.push_back(word);
  }
  return join(words, "- and ") + "-parallel communication";
}

} // namespace

std::string describeKind(StringRef kind) {
  const auto [work, axes] = kind.split(" over ");
  if (!axes.empty()) {
    // An all-to-all sends different data to each rank. It has its own name
    // because experts use it.
    if (work.starts_with("all_to_all"))
      return ("all-to-all over " + axes).str();
    return describeCommunication(axes);
  }
  std::string words = StringSwitch<StringRef>(kind)
                          .Cases({"send", "receive"}, "messages between stages")
                          .Case("d2h", "copies to the host")
                          .Case("h2d", "copies from the host")
                          .Case("host", "the host")
                          .Default("")
                          .str();
  if (!words.empty())
    return words;
  words = kind.str();
  if (kind.ends_with("_grad"))
    words = (kind.drop_back(5) + " gradient").str();
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::vector<CriticalShare> getLimits(const StepTimeline &timeline) {
  std::vector<CriticalShare> limits;
  for (const CriticalShare &share : timeline.criticalPath) {
    const std::string words = describeKind(share.kind);
    auto limit = find_if(
        limits, [&](const CriticalShare &l) { return l.kind == words; });
    if (limit == limits.end())
      limits.push_back({words, share.seconds});
    else
      limit->seconds += share.seconds;
  }
  sort(limits, [](const CriticalShare &a, const CriticalShare &b) {
    return std::tie(b.seconds, a.kind) < std::tie(a.seconds, b.kind);
  });
  return limits;
}

std::string describeLimits(const StepTimeline &timeline) {
  std::vector<std::string> parts;
  double others = 1;
  for (const CriticalShare &limit : getLimits(timeline)) {
    const double share =
        timeline.seconds > 0 ? limit.seconds / timeline.seconds : 0;
    if (parts.size() == mostShares || share < smallestShare)
      break;
    others -= share;
    parts.push_back(formatv("{0} ({1:f0} %)", limit.kind, share * 100));
  }
  if (parts.empty())
    return "";
  if (others >= smallestShare)
    parts.push_back(formatv("others ({0:f0} %)", others * 100));
  return "the step is limited by " + join(parts, ", ");
}

std::vector<Gain> getGains(const StepTimeline &timeline) {
  std::vector<Gain> gains;
  for (const auto &[path, slope] : timeline.sensitivity) {
    const double change =
        timeline.seconds > 0 ? slope * std::log(1.1) / timeline.seconds : 0;
    if (std::abs(change) >= smallestGain)
      gains.push_back({path, change});
  }
  sort(gains, [](const Gain &a, const Gain &b) {
    return std::make_pair(-std::abs(a.change), StringRef(a.path)) <
           std::make_pair(-std::abs(b.change), StringRef(b.path));
  });
  gains.resize(std::min(gains.size(), mostGains));
  return gains;
}

std::string describe(const Gain &gain) {
  return formatv("10 % more of {0}: {1:f1} % {2}", gain.path,
                 std::abs(gain.change) * 100,
                 gain.change < 0 ? "faster" : "slower");
}

} // namespace mf::timeline
