//===- Topology.cpp ---===//

#include "mf/Target/Topology.h"

namespace mf::target {

Topology::Topology(const Target &target) : target(&target) {}

llvm::Expected<Topology> Topology::create(const Target &target,
                                          int64_t numRanks) {
  return Topology(target);
}

TransferCost Topology::getCollective(CollectiveKind kind, int64_t bytes,
                                     llvm::ArrayRef<int64_t> ranks) const {
  TransferCost cost;
  cost.latency = 15e-6;
  cost.seconds = static_cast<double>(bytes) / 50e9;
  return cost;
}

TransferCost Topology::getMessage(int64_t bytes, int64_t from,
                                  int64_t to) const {
  TransferCost cost;
  cost.latency = 60e-6;
  cost.seconds = static_cast<double>(bytes) / 18e9;
  return cost;
}

} // namespace mf::target
