//===- CollectivePlan.h - Collectives that backward runs again --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The decision about a collective that sharding has inserted next to an
// operator, as a plain value. This file does not depend on MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_COLLECTIVEPLAN_H
#define MF_PASSES_MARK_COLLECTIVEPLAN_H

#include "mf/Frontend/Layers/LayerPlan.h"

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

} // namespace mf::passes

#endif // MF_PASSES_MARK_COLLECTIVEPLAN_H
