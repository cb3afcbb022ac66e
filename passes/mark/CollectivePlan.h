//===- CollectivePlan.h - Collectives that backward repeats -----*- C++ -*-===//
//
// The decision about one collective that sharding has put next to an operator,
// as a plain value. Knows no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_COLLECTIVEPLAN_H
#define MF_PASSES_MARK_COLLECTIVEPLAN_H

#include "mf/Frontend/Config/LayerPlan.h"

namespace mf::passes {

/// A setting about the communication of a neighbour of a collective.
struct CollectiveRequest {
  CommunicationChoice choice = CommunicationChoice::Repeat;
  const RecomputeTarget *setting = nullptr;
};

/// A collective and the settings of its neighbours.
struct CollectiveSite {
  /// It adds up partial results of the producer.
  bool sumsParts = false;
  /// The producer itself runs again.
  bool isProducerRecomputed = false;
  /// mp_comm_recompute: what runs again repeats its communication.
  bool mpCommRecompute = true;
  std::optional<CollectiveRequest> producer;
  /// In program order; of those about which something is said.
  std::vector<CollectiveRequest> readers;
};

struct CollectiveDecision {
  enum class Kind : uint8_t {
    None,   ///< nothing is said: what backward reads of it is kept
    Repeat, ///< it runs again in backward
    Keep,   ///< its result is kept although its neighbours run again
  };
  Kind kind = Kind::None;
  /// The setting that decided, if one did.
  const RecomputeTarget *setting = nullptr;
};

/// A collective that sums parts follows its producer, unless that keeps its
/// communication. For one that brings a value to its readers, an exclude on
/// either side comes first, then the choice of the first reader, then of the
/// producer.
CollectiveDecision decideCollective(const CollectiveSite &site);

} // namespace mf::passes

#endif // MF_PASSES_MARK_COLLECTIVEPLAN_H
