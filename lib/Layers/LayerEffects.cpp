//===- LayerEffects.cpp - Settings that apply to one layer ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Layers/LayerPlan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

static bool isInside(llvm::StringRef path, llvm::StringRef outer) {
  return path.consume_front(outer) && (path.empty() || path.starts_with("."));
}

bool LayerTarget::contains(llvm::StringRef other) const {
  if (path.empty() || other == path)
    return true;
  return isCell && isInside(other, path) &&
         llvm::none_of(apart, [&](const std::string &part) {
           return isInside(other, part);
         });
}

const RecomputeTarget *
LayerEffects::getRecomputeSetting(llvm::StringRef path) const {
  // An operator's own mark has precedence over the marks of the enclosing
  // cells, and the user's marks over the model's. A cell cannot be excluded, so
  // any enabled cell decides.
  for (const std::vector<RecomputeTarget> *targets : {&recompute, &presets})
    for (const RecomputeTarget &target : llvm::reverse(*targets))
      if (!target.isCell && target.path == path)
        return &target;
  for (const std::vector<RecomputeTarget> *targets : {&recompute, &presets})
    for (const RecomputeTarget &target : *targets)
      if (target.isCell && target.contains(path))
        return &target;
  return nullptr;
}

bool LayerEffects::isRecomputed(llvm::StringRef path) const {
  const RecomputeTarget *target = getRecomputeSetting(path);
  return target && target->enabled;
}

/// Returns the last target that names the operator itself.
static const RecomputeTarget *
findNamed(const std::vector<RecomputeTarget> &targets, llvm::StringRef path) {
  for (const RecomputeTarget &target : llvm::reverse(targets))
    if (target.path == path)
      return &target;
  return nullptr;
}

std::optional<bool> LayerEffects::getCommRecompute(llvm::StringRef path) const {
  if (const RecomputeTarget *target = findNamed(commRecompute, path))
    return target->enabled;
  return std::nullopt;
}

const RecomputeTarget *
LayerEffects::getCommunicationSetting(llvm::StringRef path) const {
  if (const RecomputeTarget *target = findNamed(commRecompute, path))
    return target;
  // A cell's setting for collectives also applies to an operator that is
  // excluded from recompute.
  for (const RecomputeTarget &target : recompute)
    if (target.isCell && target.enabled && target.contains(path))
      return &target;
  return nullptr;
}

std::optional<CommunicationChoice>
LayerEffects::getCommunicationChoice(llvm::StringRef path) const {
  const RecomputeTarget *target = getCommunicationSetting(path);
  if (!target)
    return std::nullopt;
  if (!target->enabled)
    return CommunicationChoice::Exclude;
  bool isNamed = findNamed(commRecompute, path) != nullptr;
  return isNamed || mpCommRecompute ? CommunicationChoice::Repeat
                                    : CommunicationChoice::Keep;
}

const SwapTarget *LayerEffects::getSwapSetting(llvm::StringRef path) const {
  for (const SwapTarget &target : llvm::reverse(swap))
    if (target.contains(path))
      return &target;
  return nullptr;
}

std::optional<int64_t>
LayerEffects::getSwapPrefetch(llvm::StringRef path) const {
  const SwapTarget *target = getSwapSetting(path);
  if (!target || isRecomputed(path))
    return std::nullopt;
  return target->prefetch;
}

void SwapConflicts::add(const LayerEffects &layer, llvm::StringRef path,
                        llvm::StringRef consumer,
                        const RecomputeTarget *recompute) {
  const SwapTarget *swap = layer.getSwapSetting(path);
  if (!swap || !recompute)
    return;
  std::string text = (path.empty() ? "all operators" : path.str()) +
                     ": swapped by " + swap->setting + " and ";
  if (!consumer.empty())
    text += "read by " + consumer.str() + ", which is ";
  text += "recomputed by " + recompute->setting + "; recompute wins";
  auto found = llvm::find_if(conflicts, [&](const Conflict &conflict) {
    return conflict.text == text && conflict.swap == swap->location &&
           conflict.recompute == recompute->location;
  });
  if (found == conflicts.end())
    found = conflicts.insert(
        found, {std::move(text), swap->location, recompute->location, {}});
  found->layers.push_back(layer.layer);
}

/// Returns `layer 3`, `layers 0 to 7`, or `layers 0, 2, 5`.
static std::string describeLayers(llvm::ArrayRef<int64_t> layers) {
  if (layers.size() == 1)
    return "layer " + std::to_string(layers.front());
  if (layers.back() - layers.front() + 1 == static_cast<int64_t>(layers.size()))
    return "layers " + std::to_string(layers.front()) + " to " +
           std::to_string(layers.back());
  std::string text;
  for (const int64_t layer : layers)
    text += (text.empty() ? "layers " : ", ") + std::to_string(layer);
  return text;
}

void SwapConflicts::report(DiagnosticList &diagnostics) const {
  for (const Conflict &conflict : conflicts) {
    Diagnostic &warning = diagnostics.warning(
        conflict.swap, describeLayers(conflict.layers) + ", " + conflict.text);
    if (conflict.recompute.isKnown())
      warning.attachNote("recomputed by this", conflict.recompute);
  }
}

static void describeTargets(std::string &text, llvm::StringRef title,
                            const std::vector<std::string> &items) {
  if (items.empty())
    return;
  text += text.empty() ? "" : "; ";
  text += title;
  text += llvm::join(items, ", ");
}

std::string LayerEffects::describe() const {
  std::string text;
  if (fullRecompute)
    text = sliceActivation ? "full recompute, sliced" : "full recompute";
  std::vector<std::string> on;
  std::vector<std::string> off;
  std::vector<std::string> commOn;
  std::vector<std::string> commOff;
  for (const RecomputeTarget &target : recompute)
    if (!target.path.empty())
      (target.enabled ? on : off)
          .push_back(target.path + (target.isCell ? "/" : ""));
  for (const RecomputeTarget &target : commRecompute)
    (target.enabled ? commOn : commOff).push_back(target.path);
  std::vector<std::string> swaps;
  swaps.reserve(swap.size());
  for (const SwapTarget &target : swap)
    swaps.push_back((target.path.empty() ? "layer" : target.path) +
                    (target.isCell && !target.path.empty() ? "/" : "") + "=" +
                    std::to_string(target.prefetch));
  describeTargets(text, "recompute ", on);
  describeTargets(text, "recompute communication of ", commOn);
  describeTargets(text, "keep ", off);
  describeTargets(text, "keep communication of ", commOff);
  describeTargets(text, "swap ", swaps);
  return text.empty() ? "nothing" : text;
}

} // namespace mf
