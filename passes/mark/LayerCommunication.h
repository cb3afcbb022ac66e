//===- LayerCommunication.h - Collectives of a layer ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_MARK_LAYERCOMMUNICATION_H
#define MF_PASSES_MARK_LAYERCOMMUNICATION_H

#include "dialects/mf/MfOps.h"
#include "mf/Layers/LayerPlan.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {

/// A setting about the communication of an operator next to a collective.
struct CollectiveRequest {
  CommunicationChoice choice = CommunicationChoice::Repeat;
  const RecomputeTarget *setting = nullptr;
};

/// A collective and the settings of the operators next to it.
struct CollectiveSite {
  /// True if it sums partial results of the producer.
  bool sumsParts = false;
  /// True if the producer itself runs again.
  bool isProducerRecomputed = false;
  /// mp_comm_recompute: recomputed operators run their communication again.
  bool mpCommRecompute = true;
  std::optional<CollectiveRequest> producer;
  /// The requests of readers that have one, in program order.
  std::vector<CollectiveRequest> readers;
};

struct CollectiveDecision {
  enum class Kind : uint8_t {
    None,   ///< no setting applies: its result is kept if backward reads it
    Repeat, ///< it runs again in backward
    Keep,   ///< its result is kept although its neighbours run again
  };
  Kind kind = Kind::None;
  /// The setting that decided, or null.
  const RecomputeTarget *setting = nullptr;
};

/// Decides about a collective. One that sums partial results follows its
/// producer, unless the producer keeps its communication. For one that brings a
/// value to its readers, an exclude on either side takes precedence, then the
/// choice of the first reader, then that of the producer.
CollectiveDecision decideCollective(const CollectiveSite &site);

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
