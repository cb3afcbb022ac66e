//===- LayerCommunication.h - The collectives of a layer -------*- C++ -*-===//

#ifndef MF_PASSES_MARK_LAYERCOMMUNICATION_H
#define MF_PASSES_MARK_LAYERCOMMUNICATION_H

#include "dialects/mf/MfOps.h"
#include "passes/mark/CollectivePlan.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {

/// The collectives that sharding has put between the operators of a layer. Each
/// has the name of the operator that it is for; a collective with a name of its
/// own is an operator like any other.
class LayerCommunication {
public:
  explicit LayerCommunication(ir::LayerOp layer);

  bool isInserted(mlir::Operation *op) const { return inserted.contains(op); }
  /// The operator, maybe a view, that makes what `op` sends; null if an
  /// argument of the layer is sent.
  ir::ComputeOpInterface findProducer(mlir::Operation *op) const;
  /// The number of collectives that run again, and of those that are kept
  /// although an operator next to them runs again.
  std::pair<int64_t, int64_t> countMarked();
  /// Marks what runs again in backward, once all other operators are marked.
  void markRecompute(const LayerEffects &effects);
  /// The setting that makes `op` run again; null if there is none.
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
  /// Names of operators, without those that sharding has put in.
  llvm::StringSet<> names;
  llvm::DenseSet<mlir::Operation *> inserted;
  llvm::DenseMap<mlir::Operation *, const RecomputeTarget *> settings;
};

} // namespace mf::passes

#endif // MF_PASSES_MARK_LAYERCOMMUNICATION_H
