//===- LayerSettings.cpp - What a YAML asks of one layer ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Layers/LayerSettings.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

namespace mf {

std::optional<LayerKey> findLayerKey(llvm::StringRef name) {
  const auto *found = llvm::find(layerKeyNames, name);
  if (found == std::end(layerKeyNames))
    return std::nullopt;
  return static_cast<LayerKey>(found - std::begin(layerKeyNames));
}

bool LayerRequest::operator==(const LayerRequest &other) const {
  auto tie = [](const LayerRequest &request) {
    return std::tie(request.key, request.pattern, request.location,
                    request.isUnnamed, request.meansWholePaths,
                    request.prefetch, request.countsLayers);
  };
  return tie(*this) == tie(other);
}

static auto tieAll(const LayerSettings &settings) {
  return std::tie(settings.layer, settings.commFusion, settings.mpCommRecompute,
                  settings.sliceActivation, settings.selectsOperators,
                  settings.isSwapOn, settings.keptOperators, settings.requests);
}

bool LayerSettings::operator==(const LayerSettings &other) const {
  return tieAll(*this) == tieAll(other);
}

const LayerRequest *LayerSettings::find(LayerKey key) const {
  auto found = llvm::find_if(requests, [&](const LayerRequest &request) {
    return request.key == key;
  });
  return found == requests.end() ? nullptr : &*found;
}

llvm::hash_code hash_value(const LayerSettings &settings) {
  llvm::hash_code hash =
      llvm::hash_combine(settings.layer, settings.requests.size());
  for (const LayerRequest &request : settings.requests)
    hash = llvm::hash_combine(hash, static_cast<uint8_t>(request.key),
                              request.pattern, request.prefetch);
  return hash;
}

} // namespace mf
