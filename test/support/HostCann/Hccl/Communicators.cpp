//===- Communicators.cpp - Communicators of this process ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Communicators.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

namespace mf::hostcann {
namespace {

constexpr size_t orderBytes = 64;

bool isReduction(const CollectiveCall &call) {
  return llvm::StringRef(call.function) == "HcclAllReduce" ||
         llvm::StringRef(call.function) == "HcclReduceScatter";
}

bool overlaps(const void *left, uint64_t leftBytes, const void *right,
              uint64_t rightBytes) {
  const auto a = reinterpret_cast<uintptr_t>(left);
  const auto b = reinterpret_cast<uintptr_t>(right);
  return a < b + rightBytes && b < a + leftBytes;
}

/// Returns the number of elements that a buffer has up to the end of its last
/// piece.
uint64_t getExtent(llvm::ArrayRef<uint64_t> counts,
                   llvm::ArrayRef<uint64_t> places) {
  uint64_t extent = 0;
  for (const auto [count, place] : llvm::zip(counts, places))
    if (count > 0)
      extent = std::max(extent, place + count);
  return extent;
}

int checkCall(const CollectiveCall &call) {
  const llvm::Twine name(call.function);
  const uint64_t bytes = getElementBytes(call.type);
  if (bytes == 0)
    return fail(HCCL_E_PARA, name + ": there is no data type " +
                                 llvm::Twine(static_cast<int>(call.type)));
  if ((call.sendCount && !call.send) || (call.receiveCount && !call.receive))
    return fail(HCCL_E_PTR, name + ": a buffer is null");
  const bool isInPlace = call.send == call.receive && call.sendCounts.empty();
  if (!isInPlace &&
      overlaps(call.send, call.sendCount * bytes, call.receive,
               call.receiveCount * bytes) &&
      llvm::StringRef(call.function) != "HcclAllGather" &&
      llvm::StringRef(call.function) != "HcclReduceScatter")
    return fail(HCCL_E_PARA, name + ": what is sent and what is received "
                                    "overlap, and are not the same buffer");
  if (!isReduction(call))
    return HCCL_SUCCESS;
  if (call.reduction != HCCL_REDUCE_SUM && call.reduction != HCCL_REDUCE_MAX)
    return fail(HCCL_E_NOT_SUPPORT,
                name + ": this host library has sums and maxima only");
  const bool isKnown = llvm::is_contained(
      {HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16,
       HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_INT64},
      call.type);
  return isKnown ? HCCL_SUCCESS
                 : fail(HCCL_E_NOT_SUPPORT,
                        name + ": this host library does not reduce type " +
                            llvm::Twine(static_cast<int>(call.type)));
}

std::vector<LaunchAccess> getAccesses(const CollectiveCall &call, void *order) {
  const uint64_t bytes = getElementBytes(call.type);
  std::vector<LaunchAccess> accesses;
  if (call.sendCount)
    accesses.push_back({call.send, call.sendCount * bytes, /*isWrite=*/false,
                        /*needsValue=*/true, /*allowsHost=*/false,
                        "what is sent"});
  auto addTarget = [&](uint64_t place, uint64_t count) {
    if (count)
      accesses.push_back({static_cast<char *>(call.receive) + place * bytes,
                          count * bytes, /*isWrite=*/true, false, false,
                          "what is received"});
  };
  if (call.receiveCounts.empty())
    addTarget(0, call.receiveCount);
  for (const auto [place, count] :
       llvm::zip(call.receivePlaces, call.receiveCounts))
    addTarget(place, count);
  accesses.push_back({order, orderBytes, /*isWrite=*/true, false,
                      /*allowsHost=*/true, "the communicator"});
  return accesses;
}

GroupCall describeCall(const CollectiveCall &call, uint64_t number) {
  GroupCall described;
  std::strncpy(described.function, call.function,
               sizeof(described.function) - 1);
  described.number = number;
  const bool isGather = llvm::StringRef(call.function) == "HcclAllGather";
  if (call.sendCounts.empty())
    described.count = isGather ? call.sendCount : call.receiveCount;
  if (call.receiveCount == 0 && call.sendCounts.empty())
    described.count = call.sendCount;
  described.type = call.type;
  described.reduction = isReduction(call) ? call.reduction : 0;
  described.root = call.root;
  return described;
}

/// Returns what a rank brings to the call. Its counts precede its elements, so
/// that others can find theirs.
std::vector<char> getInput(const CollectiveCall &call) {
  std::vector<char> input;
  auto append = [&](const void *from, size_t bytes) {
    const char *begin = static_cast<const char *>(from);
    input.insert(input.end(), begin, begin + bytes);
  };
  for (const std::vector<uint64_t> *counts :
       {&call.sendCounts, &call.sendPlaces})
    append(counts->data(), counts->size() * sizeof(uint64_t));
  append(call.send, call.sendCount * getElementBytes(call.type));
  return input;
}

/// Returns whether two calls belong together. The sender and the receiver of a
/// message call different functions.
bool fits(const GroupCall &own, const GroupCall &other) {
  auto getPartner = [](llvm::StringRef function) -> llvm::StringRef {
    if (function == "HcclSend")
      return "HcclRecv";
    return function == "HcclRecv" ? "HcclSend" : function;
  };
  return getPartner(own.function) == other.function &&
         own.count == other.count && own.type == other.type &&
         own.reduction == other.reduction &&
         (getPartner(own.function) != own.function || own.root == other.root);
}

llvm::Error runCall(SharedGroup &group, const CollectiveCall &call,
                    uint64_t number, CollectiveBody body) {
  const GroupCall own = describeCall(call, number);
  if (llvm::Error error = group.begin(own, getInput(call)))
    return error;
  for (uint32_t i = 0; i < group.getNumRanks(); ++i)
    if (const GroupCall &other = group.getCall(i);
        i != group.getRank() && !fits(own, other))
      return group.makeError(describe(own) + " meets " + describe(other) +
                             " of rank " + llvm::Twine(i) +
                             ": ranks must call the same collectives, with "
                             "the same sizes and types, in the same order");
  if (llvm::Error error = body(group, call))
    return error;
  return group.finish();
}

} // namespace

Communicators &Communicators::get() {
  // The object is never destroyed, because streams may still run when the
  // process ends.
  static auto *communicators = new Communicators;
  return *communicators;
}

int Communicators::add(std::unique_ptr<SharedGroup> group, HcclComm *made) {
  auto handle = std::make_unique<CommunicatorHandle>();
  handle->group = std::move(group);
  handle->device = Runtime::getDevice();
  if (int code = Runtime::get().allocate(&handle->order, orderBytes,
                                         /*isDevice=*/false))
    return code;
  *made = handle.get();
  std::lock_guard<std::mutex> lock(mutex);
  handles[*made] = std::move(handle);
  return HCCL_SUCCESS;
}

int Communicators::destroy(HcclComm communicator) {
  if (!find(communicator, "HcclCommDestroy"))
    return HCCL_E_PARA;
  std::lock_guard<std::mutex> lock(mutex);
  if (Runtime::get().release(handles[communicator]->order, /*isDevice=*/false))
    return HCCL_E_PARA;
  handles.erase(communicator);
  return HCCL_SUCCESS;
}

std::shared_ptr<SharedGroup> Communicators::find(HcclComm communicator,
                                                 const char *function) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = handles.find(communicator);
  if (found != handles.end())
    return found->second->group;
  fail(HCCL_E_PARA,
       llvm::formatv("{0}: there is no communicator {1}, or it was destroyed",
                     function, communicator)
           .str());
  return nullptr;
}

/// Ends the groups of a device that failed. Its streams do nothing more, so its
/// ranks come to no call of any communicator.
void Communicators::endAll(int32_t device, llvm::StringRef why) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[key, handle] : handles)
    if (handle->device == device)
      handle->group->end(why);
}

int Communicators::launch(HcclComm communicator, aclrtStream stream,
                          CollectiveCall call, CollectiveBody body) {
  std::shared_ptr<SharedGroup> group = find(communicator, call.function);
  if (!group)
    return HCCL_E_PARA;
  if (!call.sendCounts.empty()) {
    call.sendCount = getExtent(call.sendCounts, call.sendPlaces);
    call.receiveCount = getExtent(call.receiveCounts, call.receivePlaces);
  }
  if (int code = checkCall(call))
    return code;
  void *order = nullptr;
  uint64_t number = 0;
  int32_t device = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    CommunicatorHandle &handle = *handles[communicator];
    order = handle.order;
    device = handle.device;
    number = ++handle.numCalls;
  }
  const std::vector<LaunchAccess> accesses = getAccesses(call, order);
  const char *function = call.function;
  auto work = [this, group, call = std::move(call), number, device,
               body]() -> llvm::Error {
    llvm::Error error = runCall(*group, call, number, body);
    if (!error)
      return llvm::Error::success();
    const std::string text = llvm::toString(std::move(error));
    endAll(device, "it has failed: " + text);
    return llvm::createStringError(text);
  };
  return Runtime::get().launch(stream, function, accesses, std::move(work))
             ? HCCL_E_PARA
             : HCCL_SUCCESS;
}

} // namespace mf::hostcann
