//===- CollectivePlan.cpp - Collectives that backward runs again ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/CollectivePlan.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

using Kind = CollectiveDecision::Kind;

static CollectiveDecision follow(const CollectiveRequest &request) {
  bool repeats = request.choice == CommunicationChoice::Repeat;
  return {repeats ? Kind::Repeat : Kind::Keep, request.setting};
}

CollectiveDecision decideCollective(const CollectiveSite &site) {
  if (site.sumsParts) {
    if (!site.isProducerRecomputed)
      return {};
    if (site.producer && site.producer->choice != CommunicationChoice::Repeat)
      return follow(*site.producer);
    return {site.mpCommRecompute ? Kind::Repeat : Kind::Keep,
            site.producer ? site.producer->setting : nullptr};
  }
  std::vector<CollectiveRequest> requests = site.readers;
  if (site.producer)
    requests.push_back(*site.producer);
  if (requests.empty())
    return {};
  auto exclude = llvm::find_if(requests, [](const auto &request) {
    return request.choice == CommunicationChoice::Exclude;
  });
  return follow(exclude != requests.end() ? *exclude : requests.front());
}

} // namespace mf::passes
