//===- FaultyExchanges.cpp - Faults in calls of HCCL ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FaultPlan.h"
#include "acl/acl.h"
#include "hccl/hccl.h"

extern "C" {

HcclResult HcclCommInitRootInfoConfig(uint32_t numRanks,
                                      const HcclRootInfo *root, uint32_t rank,
                                      const HcclCommConfig *config,
                                      HcclComm *communicator) {
  const HcclResult code = NEXT(HcclCommInitRootInfoConfig)(
      numRanks, root, rank, config, communicator);
  plan().made["communicator"].push_back(*communicator);
  return code;
}

HcclResult HcclCommDestroy(HcclComm communicator) {
  return release("destroyed communicator",
                 [=] { return NEXT(HcclCommDestroy)(communicator); });
}

} // extern "C"

namespace {

/// The arguments that all exchanges have.
struct GivenExchange {
  void *from, *to;
  uint64_t count;
  HcclDataType type;
  HcclReduceOp reduction;
  uint32_t peer;
  HcclComm communicator;
  aclrtStream stream;
};

/// An exchange whose call reads the arguments from `given`.
HcclResult exchange(GivenExchange given,
                    HcclResult (*next)(const GivenExchange &)) {
  const std::string change = plan().next("exchange");
  // As a network that has failed.
  if (change == "refused")
    return HCCL_E_INTERNAL;
  const uint64_t choice = plan().getChoice();
  void *&buffer = given.from && choice % 2 ? given.from
                  : given.to               ? given.to
                                           : given.from;
  if (change == "dropped")
    return HCCL_SUCCESS;
  if (change == "shorter")
    given.count /= 2;
  if (change == "longer")
    given.count += 16;
  if (change == "of another type")
    given.type = static_cast<HcclDataType>((given.type + 1 + choice % 11) % 12);
  if (change == "of another reduction")
    given.reduction =
        static_cast<HcclReduceOp>((given.reduction + 1 + choice % 3) % 4);
  if (change == "with another peer")
    given.peer += 1;
  if (change == "at another place")
    buffer = shift(buffer, plan().getDistance());
  if (change == "without memory")
    buffer = nullptr;
  if (change == "on another communicator")
    given.communicator = plan().findOther("communicator", given.communicator);
  if (change == "on another stream")
    given.stream = plan().findOther("stream", given.stream);
  if (change == "twice")
    if (const HcclResult code = next(given))
      return code;
  return static_cast<HcclResult>(plan().callInTurn(
      "exchange", change == "late", [=] { return next(given); }));
}

} // namespace

extern "C" {

#define CALL(NAME, ...)                                                        \
  [](const GivenExchange &is) {                                                \
    return NEXT(NAME)(__VA_ARGS__, is.communicator, is.stream);                \
  }

HcclResult HcclSend(void *from, uint64_t count, HcclDataType type,
                    uint32_t peer, HcclComm communicator, aclrtStream stream) {
  return exchange(
      {from, nullptr, count, type, HCCL_REDUCE_SUM, peer, communicator, stream},
      CALL(HcclSend, is.from, is.count, is.type, is.peer));
}

HcclResult HcclRecv(void *to, uint64_t count, HcclDataType type, uint32_t peer,
                    HcclComm communicator, aclrtStream stream) {
  return exchange(
      {nullptr, to, count, type, HCCL_REDUCE_SUM, peer, communicator, stream},
      CALL(HcclRecv, is.to, is.count, is.type, is.peer));
}

#define REDUCTION(NAME)                                                        \
  HcclResult NAME(void *from, void *to, uint64_t count, HcclDataType type,     \
                  HcclReduceOp reduction, HcclComm communicator,               \
                  aclrtStream stream) {                                        \
    return exchange(                                                           \
        {from, to, count, type, reduction, 0, communicator, stream},           \
        CALL(NAME, is.from, is.to, is.count, is.type, is.reduction));          \
  }
REDUCTION(HcclAllReduce)
REDUCTION(HcclReduceScatter)

HcclResult HcclAllGather(void *from, void *to, uint64_t count,
                         HcclDataType type, HcclComm communicator,
                         aclrtStream stream) {
  return exchange(
      {from, to, count, type, HCCL_REDUCE_SUM, 0, communicator, stream},
      CALL(HcclAllGather, is.from, is.to, is.count, is.type));
}

HcclResult HcclBroadcast(void *memory, uint64_t count, HcclDataType type,
                         uint32_t root, HcclComm communicator,
                         aclrtStream stream) {
  return exchange({memory, nullptr, count, type, HCCL_REDUCE_SUM, root,
                   communicator, stream},
                  CALL(HcclBroadcast, is.from, is.count, is.type, is.peer));
}

} // extern "C"
