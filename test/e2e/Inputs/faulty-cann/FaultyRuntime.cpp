//===- FaultyRuntime.cpp - Faults in calls of AscendCL --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FaultPlan.h"
#include "acl/acl.h"
#include <algorithm>

extern "C" {

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

aclError aclrtCreateStream(aclrtStream *stream) {
  const int code = NEXT(aclrtCreateStream)(stream);
  plan().made["stream"].push_back(*stream);
  return code;
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return release("destroyed stream",
                 [=] { return NEXT(aclrtDestroyStream)(stream); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
  const int code = NEXT(aclrtCreateEventExWithFlag)(event, flag);
  plan().made["event"].push_back(*event);
  return code;
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return release("destroyed event",
                 [=] { return NEXT(aclrtDestroyEvent)(event); });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  const std::string change = plan().next("record");
  if (change == "dropped")
    return ACL_SUCCESS;
  if (change == "of another event")
    event = plan().findOther("event", event);
  if (change == "on another stream")
    stream = plan().findOther("stream", stream);
  return plan().callInTurn("record", change == "late", [=] {
    return NEXT(aclrtRecordEvent)(event, stream);
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  const std::string change = plan().next("wait");
  if (change == "dropped")
    return ACL_SUCCESS;
  if (change == "for another event")
    event = plan().findOther("event", event);
  if (change == "on another stream")
    stream = plan().findOther("stream", stream);
  return plan().callInTurn("wait", change == "late", [=] {
    return NEXT(aclrtStreamWaitEvent)(stream, event);
  });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  const std::string change = plan().next("synchronization");
  if (change == "dropped")
    return ACL_SUCCESS;
  if (change == "of another stream")
    stream = plan().findOther("stream", stream);
  return NEXT(aclrtSynchronizeStream)(stream);
}

//===----------------------------------------------------------------------===//
// Memory and copies
//===----------------------------------------------------------------------===//

aclError aclrtMalloc(void **pointer, size_t size, aclrtMemMallocPolicy policy) {
  const std::string change = plan().next("allocation");
  if (change == "shorter")
    size = std::max<size_t>(64, size / (2 + plan().getChoice() % 7));
  if (change == "shorter by 64 bytes")
    size -= std::min<size_t>(size - 1, 64);
  if (change == "in host memory")
    return NEXT(aclrtMallocHost)(pointer, size);
  const int code = NEXT(aclrtMalloc)(pointer, size, policy);
  plan().made["memory"].push_back(*pointer);
  return code;
}

aclError aclrtMallocHost(void **pointer, size_t size) {
  const int code = NEXT(aclrtMallocHost)(pointer, size);
  plan().made["host memory"].push_back(*pointer);
  return code;
}

aclError aclrtFree(void *pointer) {
  return release("release", [=] { return NEXT(aclrtFree)(pointer); });
}

aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t count,
                     aclrtMemcpyKind kind) {
  const std::string change = plan().next("host copy");
  if (change == "dropped")
    return ACL_SUCCESS;
  if (change == "shorter")
    count /= 2;
  if (change == "longer")
    room = count += 64;
  if (change == "of another kind")
    kind =
        static_cast<aclrtMemcpyKind>((kind + 1 + plan().getChoice() % 3) % 4);
  return NEXT(aclrtMemcpy)(to, room, from, count, kind);
}

aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  const std::string change = plan().next("copy");
  if (change == "dropped")
    return ACL_SUCCESS;
  if (change == "shorter")
    count /= 2;
  if (change == "longer")
    room = count += 64;
  if (change == "without room")
    room = count / 2;
  if (change == "turned round") {
    void *target = to;
    to = const_cast<void *>(from);
    from = target;
  }
  if (change == "of another kind")
    kind =
        static_cast<aclrtMemcpyKind>((kind + 1 + plan().getChoice() % 3) % 4);
  if (change == "to another place")
    to = shift(to, plan().getDistance());
  if (change == "from another place")
    from = shift(from, plan().getDistance());
  if (change == "on another stream")
    stream = plan().findOther("stream", stream);
  return plan().callInTurn("copy", change == "late", [=] {
    return NEXT(aclrtMemcpyAsync)(to, room, from, count, kind, stream);
  });
}

} // extern "C"
