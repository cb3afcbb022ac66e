//===- AlikeLayers.h - Layers that can share a plan -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SHARD_ALIKELAYERS_H
#define MF_PASSES_SHARD_ALIKELAYERS_H

#include "LayoutPlan.h"

namespace mf::passes {

/// Groups the layers of a model that have the same operators on the same
/// values. Layers of one kind may read different parameters of the same shapes
/// and cuts.
class AlikeLayers {
public:
  explicit AlikeLayers(const ShardedModel &model);

  /// Returns the kind of a layer, as a number.
  unsigned getKind(unsigned layer) const { return kinds[layer]; }
  /// Returns the parameters that a layer reads, in the order of their first
  /// uses.
  llvm::ArrayRef<unsigned> getParameters(unsigned layer) const {
    return parameters[layer];
  }

private:
  bool areAlike(const ShardedModel &model, unsigned one, unsigned other) const;

  std::vector<unsigned> kinds;
  std::vector<std::vector<unsigned>> parameters;
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_ALIKELAYERS_H
