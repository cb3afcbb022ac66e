//===- RuntimeApi.cpp - The functions of acl.h and acl_rt.h ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Runtime/Runtime.h"
#include "acl/acl.h"
#include <cstring>

using mf::hostcann::EventHandle;
using mf::hostcann::fail;
using mf::hostcann::LaunchAccess;
using mf::hostcann::Runtime;

namespace {

/// Collects the accesses of a copy or a memset. Returns an error code.
int collectAccesses(const char *name, void *to, size_t room, const void *from,
                    size_t count, int kind,
                    llvm::SmallVectorImpl<LaunchAccess> &accesses) {
  if (!to || (kind >= 0 && !from) || count > room)
    return fail(ACL_ERROR_INVALID_PARAM,
                llvm::Twine(name) + ": null, or " + llvm::Twine(count) +
                    " bytes where there is room for " + llvm::Twine(room));
  const bool toDevice = kind < 0 || kind == ACL_MEMCPY_HOST_TO_DEVICE ||
                        kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  const bool fromDevice =
      kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  Runtime &runtime = Runtime::get();
  // Accesses to memory of the host that is not pinned are not checked.
  if (toDevice || runtime.isKnownMemory(to))
    accesses.push_back(
        {to, count, /*isWrite=*/true, false, !toDevice, "the destination"});
  if (kind >= 0 && (fromDevice || runtime.isKnownMemory(from)))
    accesses.push_back(
        {from, count, /*isWrite=*/false, false, !fromDevice, "the source"});
  return ACL_SUCCESS;
}

} // namespace

aclError aclInit(const char *) { return Runtime::get().initialize(); }
aclError aclFinalize() { return Runtime::get().finalize(); }
aclError aclrtSetDevice(int32_t device) {
  return Runtime::get().setDevice(device);
}
aclError aclrtResetDevice(int32_t device) {
  return Runtime::get().resetDevice(device);
}
aclError aclrtGetDevice(int32_t *device) {
  if (int code = Runtime::get().require(/*needsDevice=*/true))
    return code;
  *device = Runtime::getDevice();
  return ACL_SUCCESS;
}
aclError aclrtGetDeviceCount(uint32_t *count) {
  *count = Runtime::get().getNumDevices();
  return ACL_SUCCESS;
}
const char *aclrtGetSocName() { return "Ascend910B3"; }
aclError aclrtCreateContext(aclrtContext *, int32_t) {
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "this host library has the context of aclrtSetDevice only");
}
aclError aclrtDestroyContext(aclrtContext) {
  return aclrtCreateContext(nullptr, 0);
}
aclError aclrtSetCurrentContext(aclrtContext) {
  return aclrtCreateContext(nullptr, 0);
}
aclError aclrtGetCurrentContext(aclrtContext *) {
  return aclrtCreateContext(nullptr, 0);
}
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  if (option != ACL_OPT_DETERMINISTIC || value < 0 || value > 1)
    return fail(ACL_ERROR_INVALID_PARAM, "expected ACL_OPT_DETERMINISTIC with "
                                         "0 or 1");
  return Runtime::get().setDeterministic(value == 1);
}
aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  return aclrtCtxSetSysParamOpt(option, value);
}

aclError aclrtCreateStream(aclrtStream *stream) {
  return Runtime::get().createStream(stream);
}
aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t,
                                     uint32_t flag) {
  if (flag &
      ~(ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "a stream has no such flag");
  return Runtime::get().createStream(stream);
}
aclError aclrtDestroyStream(aclrtStream stream) {
  return Runtime::get().destroyStream(stream);
}
aclError aclrtSynchronizeStream(aclrtStream stream) {
  return Runtime::get().synchronizeStream(stream, -1);
}
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream,
                                           int32_t timeout) {
  if (timeout < -1)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "a timeout is -1 or more");
  return Runtime::get().synchronizeStream(stream, timeout);
}
aclError aclrtSynchronizeDevice() { return Runtime::get().synchronizeDevice(); }
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t mode) {
  return mode <= ACL_STOP_ON_FAILURE
             ? ACL_SUCCESS
             : fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such mode");
}

aclError aclrtCreateEvent(aclrtEvent *event) {
  return Runtime::get().createEvent(event, EventHandle::Kind::Plain);
}
aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag) {
  return Runtime::get().createEvent(event, flag & ACL_EVENT_SYNC
                                               ? EventHandle::Kind::Flagged
                                               : EventHandle::Kind::Plain);
}
aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
  if (!(flag & (ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE)))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "an event has no such flag");
  return Runtime::get().createEvent(event, EventHandle::Kind::Extended);
}
aclError aclrtDestroyEvent(aclrtEvent event) {
  return Runtime::get().destroyEvent(event);
}
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return Runtime::get().recordEvent(event, stream);
}
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return Runtime::get().waitEvent(stream, event);
}
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return Runtime::get().resetEvent(event, stream);
}
aclError aclrtQueryEventStatus(aclrtEvent event,
                               aclrtEventRecordedStatus *status) {
  bool isComplete = false;
  if (int code = Runtime::get().queryEvent(event, isComplete))
    return code;
  *status = isComplete ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                       : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}
aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return Runtime::get().synchronizeEvent(event);
}
aclError aclrtEventElapsedTime(float *milliseconds, aclrtEvent start,
                               aclrtEvent end) {
  return Runtime::get().measureEvents(milliseconds, start, end);
}

aclError aclrtMalloc(void **pointer, size_t size, aclrtMemMallocPolicy) {
  if (int code = Runtime::get().require(/*needsDevice=*/true))
    return code;
  return Runtime::get().allocate(pointer, size, /*isDevice=*/true);
}
aclError aclrtFree(void *pointer) {
  return Runtime::get().release(pointer, /*isDevice=*/true);
}
aclError aclrtMallocHost(void **pointer, size_t size) {
  if (int code = Runtime::get().require(/*needsDevice=*/true))
    return code;
  return Runtime::get().allocate(pointer, size, /*isDevice=*/false);
}
aclError aclrtFreeHost(void *pointer) {
  return Runtime::get().release(pointer, /*isDevice=*/false);
}
aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t count,
                     aclrtMemcpyKind kind) {
  llvm::SmallVector<LaunchAccess, 2> accesses;
  if (int code =
          collectAccesses("aclrtMemcpy", to, room, from, count, kind, accesses))
    return code;
  if (int code = Runtime::get().accessFromHost("aclrtMemcpy", accesses))
    return code;
  std::memmove(to, from, count);
  return ACL_SUCCESS;
}
aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  llvm::SmallVector<LaunchAccess, 2> accesses;
  if (int code = collectAccesses("aclrtMemcpyAsync", to, room, from, count,
                                 kind, accesses))
    return code;
  int code = Runtime::get().launch(stream, "aclrtMemcpyAsync", accesses, [=] {
    std::memmove(to, from, count);
    return llvm::Error::success();
  });
  // A copy from or to memory that is not pinned is synchronous.
  if (code == ACL_SUCCESS && accesses.size() < 2)
    return Runtime::get().synchronizeStream(stream, -1);
  return code;
}
aclError aclrtMemset(void *pointer, size_t room, int32_t value, size_t count) {
  llvm::SmallVector<LaunchAccess, 1> accesses;
  if (int code = collectAccesses("aclrtMemset", pointer, room, nullptr, count,
                                 -1, accesses))
    return code;
  if (int code = Runtime::get().accessFromHost("aclrtMemset", accesses))
    return code;
  std::memset(pointer, value, count);
  return ACL_SUCCESS;
}
aclError aclrtMemsetAsync(void *pointer, size_t room, int32_t value,
                          size_t count, aclrtStream stream) {
  llvm::SmallVector<LaunchAccess, 1> accesses;
  if (int code = collectAccesses("aclrtMemsetAsync", pointer, room, nullptr,
                                 count, -1, accesses))
    return code;
  return Runtime::get().launch(stream, "aclrtMemsetAsync", accesses, [=] {
    std::memset(pointer, value, count);
    return llvm::Error::success();
  });
}
aclError aclrtGetMemInfo(aclrtMemAttr, size_t *free, size_t *total) {
  if (int code = Runtime::get().require(/*needsDevice=*/true))
    return code;
  return Runtime::get().getMemory(*free, *total);
}
