//===- Communicators.h - Communicators of this process ----------*- C++ -*-===//

#ifndef MF_LIB_HOSTCANN_HCCL_COMMUNICATORS_H
#define MF_LIB_HOSTCANN_HCCL_COMMUNICATORS_H

#include "SharedGroup.h"
#include "hccl/hccl.h"
#include "mf/HostCann/Runtime/Runtime.h"

namespace mf::hostcann {

/// An HcclComm points to it.
struct CommunicatorHandle {
  std::shared_ptr<SharedGroup> group;
  int32_t device = 0;
  uint64_t numCalls = 0;
  /// Pinned memory that each call writes by name: calls without an order are a
  /// race about it, and it cannot be freed while a call runs.
  void *order = nullptr;
};

/// Bytes of an element; 0 if there is no such type.
uint64_t getElementBytes(HcclDataType type);

/// A call of a collective as the API has got it.
struct CollectiveCall {
  /// A name that lives as long as the process.
  const char *function = nullptr;
  const void *send = nullptr;
  void *receive = nullptr;
  /// Elements that this rank brings and gets.
  uint64_t sendCount = 0, receiveCount = 0;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduction = HCCL_REDUCE_SUM;
  uint32_t root = 0;
  /// A collective that sends each rank its own elements has these, by rank.
  std::vector<uint64_t> sendCounts, sendPlaces, receiveCounts, receivePlaces;
};

/// Computes a call once all ranks have come.
using CollectiveBody = llvm::Error (*)(const SharedGroup &group,
                                       const CollectiveCall &call);

/// All communicators of the process.
class Communicators {
public:
  static Communicators &get();

  int add(std::unique_ptr<SharedGroup> group, HcclComm *made);
  int destroy(HcclComm communicator);
  /// Null, with an error, if there is none or it was destroyed.
  std::shared_ptr<SharedGroup> find(HcclComm communicator,
                                    const char *function);

  /// Checks the memory of a call and puts it on a stream.
  int launch(HcclComm communicator, aclrtStream stream, CollectiveCall call,
             CollectiveBody body);

private:
  void endAll(int32_t device, llvm::StringRef why);

  std::mutex mutex;
  std::map<HcclComm, std::unique_ptr<CommunicatorHandle>> handles;
};

// These compute the calls.
llvm::Error runAllReduce(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runReduceScatter(const SharedGroup &group,
                             const CollectiveCall &call);
llvm::Error runAllGather(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runBroadcast(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runAlltoAll(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runMessage(const SharedGroup &group, const CollectiveCall &call);
llvm::Error runBarrier(const SharedGroup &group, const CollectiveCall &call);

} // namespace mf::hostcann

#endif // MF_LIB_HOSTCANN_HCCL_COMMUNICATORS_H
