//===- LayerCommunication.h - Collectives of a layer ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_MARK_LAYERCOMMUNICATION_H
#define MF_PASSES_MARK_LAYERCOMMUNICATION_H

#include "dialects/mf/MfOps.h"
#include "passes/mark/CollectivePlan.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {

/// The collectives that sharding has inserted between the operators of a layer.
/// Each has the name of the operator that it serves. A collective with a name
/// of its own is an operator like any other.
class LayerCommunication {
public:
  explicit LayerCommunication(ir::LayerOp layer);

  bool isInserted(mlir::Operation *op) const { return inserted.contains(op); }
  /// Returns the operator, possibly a view, that computes the value which `op`
  /// sends; null if that is an argument of the layer.
  ir::ComputeOpInterface findProducer(mlir::Operation *op) const;
  /// Returns the numbers of collectives that run again, and of those that are
  /// kept although an operator next to them runs again.
  std::pair<int64_t, int64_t> countMarked();
  /// Marks the collectives that run again in backward. All other operators must
  /// be marked already.
  void markRecompute(const LayerEffects &effects);
  /// Returns the setting because of which `op` runs again; null if there is
  /// none.
  const RecomputeTarget *getSetting(mlir::Operation *op) const {
    return settings.lookup(op);
  }

private:
  std::optional<CollectiveRequest>
  getRequest(ir::ComputeOpInterface op, const LayerEffects &effects) const;
  CollectiveSite describe(ir::ComputeOpInterface op,
                          const LayerEffects &effects) const;
  void findReaders(mlir::Operation *op, const LayerEffects &effects,
                   CollectiveSite &site) const;

  ir::LayerOp layer;
  /// The names of operators, without those that sharding has inserted.
  llvm::StringSet<> names;
  llvm::DenseSet<mlir::Operation *> inserted;
  llvm::DenseMap<mlir::Operation *, const RecomputeTarget *> settings;
};

} // namespace mf::passes

#endif // MF_PASSES_MARK_LAYERCOMMUNICATION_H
