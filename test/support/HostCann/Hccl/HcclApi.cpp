//===- HcclApi.cpp - The functions of hccl.h ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Communicators.h"
#include <cstring>

using namespace mf::hostcann;

namespace {

/// The text that precedes the folder's path in an HcclRootInfo.
constexpr char rootMagic[] = "mf-hccl";

HcclResult toResult(int code) { return static_cast<HcclResult>(code); }

std::vector<uint64_t> copyCounts(const void *counts, uint32_t numRanks) {
  const auto *begin = static_cast<const uint64_t *>(counts);
  return {begin, begin + numRanks};
}

HcclResult refuse(const char *function) {
  return toResult(fail(HCCL_E_NOT_SUPPORT,
                       llvm::Twine(function) +
                           ": this host library has communicators of "
                           "HcclGetRootInfo and messages of two ranks only"));
}

/// Enqueues one side of a message, which needs a communicator of its two ranks.
HcclResult sendOrReceive(CollectiveCall call, uint32_t peer, HcclComm comm,
                         aclrtStream stream) {
  auto group = Communicators::get().find(comm, call.function);
  if (!group)
    return HCCL_E_PARA;
  if (group->getNumRanks() != 2)
    return refuse(call.function);
  if (peer != 1 - group->getRank())
    return toResult(fail(HCCL_E_PARA, llvm::Twine(call.function) + " of rank " +
                                          llvm::Twine(group->getRank()) +
                                          ": rank " + llvm::Twine(peer) +
                                          " is not the other one"));
  call.root = peer;
  return toResult(
      Communicators::get().launch(comm, stream, std::move(call), runMessage));
}

} // namespace

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo) {
  if (!rootInfo)
    return toResult(fail(HCCL_E_PTR, "no place for the root's information"));
  auto folder = SharedGroup::makeFolder();
  if (!folder)
    return toResult(fail(HCCL_E_INTERNAL, llvm::toString(folder.takeError())));
  std::memset(rootInfo, 0, sizeof(*rootInfo));
  std::memcpy(rootInfo->internal, rootMagic, sizeof(rootMagic));
  std::memcpy(rootInfo->internal + sizeof(rootMagic), folder->c_str(),
              folder->size() + 1);
  return HCCL_SUCCESS;
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                uint32_t rank, HcclComm *comm) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  return HcclCommInitRootInfoConfig(nRanks, rootInfo, rank, &config, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks,
                                      const HcclRootInfo *rootInfo,
                                      uint32_t rank,
                                      const HcclCommConfig *config,
                                      HcclComm *comm) {
  if (!rootInfo || !config || !comm)
    return toResult(fail(HCCL_E_PTR, "HcclCommInitRootInfo: null"));
  if (Runtime::get().require(/*needsDevice=*/true))
    return HCCL_E_PARA;
  if (config->initialized != 1)
    return toResult(fail(HCCL_E_PARA, "call HcclCommConfigInit first"));
  if (std::memcmp(rootInfo->internal, rootMagic, sizeof(rootMagic)) != 0 ||
      rank >= nRanks)
    return toResult(
        fail(HCCL_E_PARA, "HcclCommInitRootInfo: rank " + llvm::Twine(rank) +
                              " of " + llvm::Twine(nRanks) +
                              ", or not what HcclGetRootInfo gave"));
  auto group = SharedGroup::join(rootInfo->internal + sizeof(rootMagic),
                                 config->hcclCommName, nRanks, rank);
  if (!group)
    return toResult(fail(HCCL_E_TIMEOUT, llvm::toString(group.takeError())));
  return toResult(Communicators::get().add(std::move(*group), comm));
}

HcclResult HcclCommInitClusterInfo(const char *, uint32_t, HcclComm *) {
  return refuse("HcclCommInitClusterInfo");
}
HcclResult HcclCreateSubCommConfig(HcclComm *, uint32_t, uint32_t *, uint64_t,
                                   uint32_t, HcclCommConfig *, HcclComm *) {
  return refuse("HcclCreateSubCommConfig");
}
HcclResult HcclBatchSendRecv(HcclSendRecvItem *, uint32_t, HcclComm,
                             aclrtStream) {
  return refuse("HcclBatchSendRecv");
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize) {
  auto group = Communicators::get().find(comm, "HcclGetRankSize");
  if (!group)
    return HCCL_E_PARA;
  *rankSize = group->getNumRanks();
  return HCCL_SUCCESS;
}
HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank) {
  auto group = Communicators::get().find(comm, "HcclGetRankId");
  if (!group)
    return HCCL_E_PARA;
  *rank = group->getRank();
  return HCCL_SUCCESS;
}

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
                         HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                         aclrtStream stream) {
  CollectiveCall call;
  call.function = "HcclAllReduce";
  call.send = sendBuf;
  call.receive = recvBuf;
  call.sendCount = call.receiveCount = count;
  call.type = dataType;
  call.reduction = op;
  return toResult(
      Communicators::get().launch(comm, stream, std::move(call), runAllReduce));
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream) {
  auto group = Communicators::get().find(comm, "HcclReduceScatter");
  if (!group)
    return HCCL_E_PARA;
  CollectiveCall call;
  call.function = "HcclReduceScatter";
  call.send = sendBuf;
  call.receive = recvBuf;
  call.sendCount = recvCount * group->getNumRanks();
  call.receiveCount = recvCount;
  call.type = dataType;
  call.reduction = op;
  return toResult(Communicators::get().launch(comm, stream, std::move(call),
                                              runReduceScatter));
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
                         HcclDataType dataType, HcclComm comm,
                         aclrtStream stream) {
  auto group = Communicators::get().find(comm, "HcclAllGather");
  if (!group)
    return HCCL_E_PARA;
  CollectiveCall call;
  call.function = "HcclAllGather";
  call.send = sendBuf;
  call.receive = recvBuf;
  call.sendCount = sendCount;
  call.receiveCount = sendCount * group->getNumRanks();
  call.type = dataType;
  return toResult(
      Communicators::get().launch(comm, stream, std::move(call), runAllGather));
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType,
                         uint32_t root, HcclComm comm, aclrtStream stream) {
  auto group = Communicators::get().find(comm, "HcclBroadcast");
  if (!group)
    return HCCL_E_PARA;
  if (root >= group->getNumRanks())
    return toResult(fail(HCCL_E_PARA, "HcclBroadcast: there is no rank " +
                                          llvm::Twine(root)));
  CollectiveCall call;
  call.function = "HcclBroadcast";
  call.type = dataType;
  call.root = root;
  // The root's buffer is read, and the buffers of the others are written.
  if (group->getRank() == root) {
    call.send = buf;
    call.sendCount = count;
  } else {
    call.receive = buf;
    call.receiveCount = count;
  }
  return toResult(
      Communicators::get().launch(comm, stream, std::move(call), runBroadcast));
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType,
                    uint32_t destRank, HcclComm comm, aclrtStream stream) {
  CollectiveCall call;
  call.function = "HcclSend";
  call.send = sendBuf;
  call.sendCount = count;
  call.type = dataType;
  return sendOrReceive(std::move(call), destRank, comm, stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType,
                    uint32_t srcRank, HcclComm comm, aclrtStream stream) {
  CollectiveCall call;
  call.function = "HcclRecv";
  call.receive = recvBuf;
  call.receiveCount = count;
  call.type = dataType;
  return sendOrReceive(std::move(call), srcRank, comm, stream);
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts,
                         const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts,
                         const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream) {
  auto group = Communicators::get().find(comm, "HcclAlltoAllV");
  if (!group)
    return HCCL_E_PARA;
  if (!sendCounts || !sdispls || !recvCounts || !rdispls)
    return toResult(fail(HCCL_E_PTR, "HcclAlltoAllV: no counts"));
  if (sendType != recvType)
    return toResult(fail(HCCL_E_PARA, "HcclAlltoAllV: two data types"));
  const uint32_t numRanks = group->getNumRanks();
  CollectiveCall call;
  call.function = "HcclAlltoAllV";
  call.send = sendBuf;
  call.receive = const_cast<void *>(recvBuf);
  call.type = sendType;
  call.sendCounts = copyCounts(sendCounts, numRanks);
  call.sendPlaces = copyCounts(sdispls, numRanks);
  call.receiveCounts = copyCounts(recvCounts, numRanks);
  call.receivePlaces = copyCounts(rdispls, numRanks);
  return toResult(
      Communicators::get().launch(comm, stream, std::move(call), runAlltoAll));
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  CollectiveCall call;
  call.function = "HcclBarrier";
  return toResult(
      Communicators::get().launch(comm, stream, std::move(call), runBarrier));
}

HcclResult HcclCommDestroy(HcclComm comm) {
  return toResult(Communicators::get().destroy(comm));
}
