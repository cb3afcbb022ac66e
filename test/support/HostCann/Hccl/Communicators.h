//===- Communicators.h - Communicators of this process ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_HCCL_COMMUNICATORS_H
#define MF_TEST_SUPPORT_HOSTCANN_HCCL_COMMUNICATORS_H

#include "HostCann/Runtime/Runtime.h"
#include "SharedGroup.h"
#include "hccl/hccl.h"

namespace mf::hostcann {

/// The object to which an HcclComm points.
struct CommunicatorHandle {
  std::shared_ptr<SharedGroup> group;
  int32_t device = 0;
  uint64_t numCalls = 0;
  /// Pinned memory that each call is said to write. So calls that are not
  /// ordered are reported as a race, and the memory cannot be freed during a
  /// call.
  void *order = nullptr;
};

/// Returns the bytes of an element, or 0 if there is no such type.
uint64_t getElementBytes(HcclDataType type);

/// A call of a collective with the arguments that the API was given.
struct CollectiveCall {
  /// The name of the function, which lives as long as the process.
  const char *function = nullptr;
  const void *send = nullptr;
  void *receive = nullptr;
  /// The numbers of elements that this rank sends and receives.
  uint64_t sendCount = 0, receiveCount = 0;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduction = HCCL_REDUCE_SUM;
  uint32_t root = 0;
  /// For collectives that send each rank its own elements: counts and places by
  /// rank.
  std::vector<uint64_t> sendCounts, sendPlaces, receiveCounts, receivePlaces;
};

/// A function that computes a call after all ranks have come to it.
using CollectiveBody = llvm::Error (*)(const SharedGroup &group,
                                       const CollectiveCall &call);

/// All communicators of the process.
class Communicators {
public:
  static Communicators &get();

  int add(std::unique_ptr<SharedGroup> group, HcclComm *made);
  int destroy(HcclComm communicator);
  /// Returns the group of a communicator. If there is none, or it was
  /// destroyed, reports an error and returns null.
  std::shared_ptr<SharedGroup> find(HcclComm communicator,
                                    const char *function);

  /// Checks the memory of a call and enqueues the call on a stream.
  int launch(HcclComm communicator, aclrtStream stream, CollectiveCall call,
             CollectiveBody body);

private:
  void endAll(int32_t device, llvm::StringRef why);

  std::mutex mutex;
  std::map<HcclComm, std::unique_ptr<CommunicatorHandle>> handles;
};

// These functions are bodies of calls.
llvm::Error runAllReduce(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runReduceScatter(const SharedGroup &group,
                             const CollectiveCall &call);
llvm::Error runAllGather(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runBroadcast(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runAlltoAll(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runMessage(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runBarrier(const SharedGroup &group, const CollectiveCall &call);

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_HCCL_COMMUNICATORS_H
