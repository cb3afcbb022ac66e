//===- StreamsAndEvents.cpp - The order of work on a device ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Runtime/Runtime.h"
#include "acl/acl_base.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <thread>

namespace mf::hostcann {
namespace {

/// The numbers of streams and events that an Atlas A2 has.
constexpr size_t mostStreams = 1984, mostEvents = 65536;

int failTask(llvm::Error error) {
  return fail(ACL_ERROR_RT_AICORE_EXCEPTION, llvm::toString(std::move(error)));
}

} // namespace

StreamHandle *Runtime::findStream(void *stream) {
  if (!stream) {
    auto found = devices.find(getDevice());
    return found == devices.end() ? nullptr : &found->second.defaultStream;
  }
  auto found = streams.find(stream);
  return found == streams.end() ? nullptr : found->second.get();
}

EventHandle *Runtime::findEvent(void *event) {
  auto found = events.find(event);
  return found == events.end() ? nullptr : found->second.get();
}

Stream &Runtime::getStream(StreamHandle &handle) {
  if (!handle.stream) {
    DeviceState &state = devices[handle.device];
    if (!state.idle.empty()) {
      handle.stream = state.idle.back();
      state.idle.pop_back();
    } else {
      handle.stream = &state.device->createStream(
          llvm::formatv("stream {0}", handle.queue).str());
    }
  }
  return *handle.stream;
}

int Runtime::createStream(void **stream) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  std::lock_guard<std::mutex> lock(mutex);
  DeviceState &state = devices[getDevice()];
  if (!stream)
    return fail(ACL_ERROR_INVALID_PARAM, "no place for the stream");
  if (state.numStreams == mostStreams)
    return fail(
        ACL_ERROR_RT_NO_STREAM_RESOURCE,
        llvm::formatv("a device has {0} streams, not more", mostStreams).str());
  ++state.numStreams;
  auto handle = std::make_unique<StreamHandle>();
  handle->device = getDevice();
  handle->queue = ++numQueues;
  *stream = handle.get();
  streams[*stream] = std::move(handle);
  return ACL_SUCCESS;
}

int Runtime::destroyStream(void *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  if (found == streams.end())
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                llvm::formatv("there is no stream {0}", stream).str());
  StreamHandle &handle = *found->second;
  if (handle.capture)
    return fail(ACL_ERROR_RT_STREAM_CAPTURED,
                "a stream is destroyed while its work is captured");
  if (hostClock.get(handle.queue) < handle.tick)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                llvm::formatv("stream {0} is destroyed with work that nobody "
                              "waited for: synchronize it first",
                              handle.queue)
                    .str());
  DeviceState &state = devices[handle.device];
  if (handle.stream)
    state.idle.push_back(handle.stream);
  --state.numStreams;
  streams.erase(found);
  return ACL_SUCCESS;
}

int Runtime::synchronizeStream(void *stream, int32_t milliseconds) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  Stream *waited = nullptr;
  VectorClock clock;
  {
    std::lock_guard<std::mutex> lock(mutex);
    StreamHandle *handle = findStream(stream);
    if (!handle)
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  llvm::formatv("there is no stream {0}", stream).str());
    if (int code = refuseInCapture("aclrtSynchronizeStream"))
      return code;
    waited = &getStream(*handle);
    clock = handle->clock;
  }
  if (milliseconds >= 0) {
    Event end;
    waited->record(end);
    const auto limit = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(milliseconds);
    while (!end.isComplete()) {
      if (std::chrono::steady_clock::now() >= limit)
        return fail(
            ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
            llvm::formatv("the stream is not done after {0} ms", milliseconds)
                .str());
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  if (llvm::Error error = waited->synchronize())
    return failTask(std::move(error));
  std::lock_guard<std::mutex> lock(mutex);
  hostClock.join(clock);
  return ACL_SUCCESS;
}

int Runtime::synchronizeDevice() {
  if (int code = require(/*needsDevice=*/true))
    return code;
  Device *device = nullptr;
  VectorClock clock;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (int code = refuseInCapture("aclrtSynchronizeDevice"))
      return code;
    DeviceState &state = devices[getDevice()];
    device = state.device.get();
    clock = state.defaultStream.clock;
    for (const auto &[key, handle] : streams)
      if (handle->device == getDevice())
        clock.join(handle->clock);
  }
  if (llvm::Error error = device->synchronize())
    return failTask(std::move(error));
  std::lock_guard<std::mutex> lock(mutex);
  hostClock.join(clock);
  return ACL_SUCCESS;
}

int Runtime::createEvent(void **event, EventHandle::Kind kind) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  std::lock_guard<std::mutex> lock(mutex);
  DeviceState &state = devices[getDevice()];
  if (!event)
    return fail(ACL_ERROR_INVALID_PARAM, "no place for the event");
  if (state.numEvents == mostEvents)
    return fail(
        ACL_ERROR_RT_NO_EVENT_RESOURCE,
        llvm::formatv("a device has {0} events, not more", mostEvents).str());
  ++state.numEvents;
  auto handle = std::make_unique<EventHandle>();
  handle->kind = kind;
  handle->device = getDevice();
  *event = handle.get();
  events[*event] = std::move(handle);
  return ACL_SUCCESS;
}

int Runtime::destroyEvent(void *event) {
  std::lock_guard<std::mutex> lock(mutex);
  EventHandle *handle = findEvent(event);
  if (!handle)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                llvm::formatv("there is no event {0}", event).str());
  --devices[handle->device].numEvents;
  events.erase(event);
  return ACL_SUCCESS;
}

int Runtime::recordEvent(void *event, void *stream) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  std::lock_guard<std::mutex> lock(mutex);
  EventHandle *recorded = findEvent(event);
  StreamHandle *handle = findStream(stream);
  if (!recorded || !handle)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtRecordEvent: there is no such event or stream");
  if (recorded->kind == EventHandle::Kind::Flagged && recorded->isRecorded)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "an event of aclrtCreateEventWithFlag is recorded again: call "
                "aclrtResetEvent first, or use aclrtCreateEventExWithFlag");
  if (!handle->capture) {
    if (recorded->capture)
      return fail(ACL_ERROR_RT_EVENT_CAPTURED,
                  "an event whose record is captured is recorded by a stream "
                  "that is not");
    recordOn(*recorded, *handle);
    return ACL_SUCCESS;
  }
  if (recorded->kind != EventHandle::Kind::Extended)
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "a record is captured of events of aclrtCreateEventExWithFlag "
                "only");
  recorded->capture = handle->capture;
  recorded->capturedRecord = handle->capture->addRecord(handle->capturedAs);
  return ACL_SUCCESS;
}

void Runtime::recordOn(EventHandle &event, StreamHandle &stream) {
  event.isRecorded = true;
  event.wasCaptured = false;
  stream.clock.join(hostClock);
  event.clock = stream.clock;
  event.time = std::make_shared<std::atomic<int64_t>>(0);
  Stream &queue = getStream(stream);
  queue.launch([time = event.time] {
    time->store(std::chrono::steady_clock::now().time_since_epoch().count());
  });
  queue.record(event.event);
}

int Runtime::waitEvent(void *stream, void *event) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  std::lock_guard<std::mutex> lock(mutex);
  EventHandle *awaited = findEvent(event);
  StreamHandle *handle = findStream(stream);
  if (!awaited || !handle)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtStreamWaitEvent: there is no such stream or event");
  if (handle->capture || awaited->capture || awaited->wasCaptured)
    return captureWait(*handle, *awaited);
  if (!awaited->isRecorded) {
    if (awaited->kind == EventHandle::Kind::Extended)
      return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtStreamWaitEvent: the stream would wait for ever for an "
                "event that nothing has recorded");
  }
  waitOn(*handle, *awaited);
  return ACL_SUCCESS;
}

void Runtime::waitOn(StreamHandle &stream, EventHandle &event) {
  stream.clock.join(event.clock);
  getStream(stream).wait(event.event);
}

int Runtime::resetEvent(void *event, void *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  EventHandle *reset = findEvent(event);
  if (!reset || !findStream(stream))
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtResetEvent: there is no such event or stream");
  if (reset->kind != EventHandle::Kind::Flagged)
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "aclrtResetEvent is for events of aclrtCreateEventWithFlag");
  reset->isRecorded = false;
  return ACL_SUCCESS;
}

int Runtime::queryEvent(void *event, bool &isComplete) {
  std::lock_guard<std::mutex> lock(mutex);
  EventHandle *queried = findEvent(event);
  if (!queried)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such event");
  if (int code = refuseInCapture("aclrtQueryEventStatus"))
    return code;
  isComplete = queried->isRecorded
                   ? queried->event.isComplete()
                   : queried->kind == EventHandle::Kind::Extended;
  if (isComplete && queried->isRecorded)
    hostClock.join(queried->clock);
  return ACL_SUCCESS;
}

int Runtime::synchronizeEvent(void *event) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  EventHandle *awaited = nullptr;
  VectorClock clock;
  {
    std::lock_guard<std::mutex> lock(mutex);
    awaited = findEvent(event);
    if (!awaited)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such event");
    if (int code = refuseInCapture("aclrtSynchronizeEvent"))
      return code;
    if (!awaited->isRecorded)
      return ACL_SUCCESS;
    clock = awaited->clock;
  }
  if (llvm::Error error = awaited->event.synchronize())
    return failTask(std::move(error));
  std::lock_guard<std::mutex> lock(mutex);
  hostClock.join(clock);
  return ACL_SUCCESS;
}

int Runtime::measureEvents(float *milliseconds, void *start, void *end) {
  std::lock_guard<std::mutex> lock(mutex);
  EventHandle *from = findEvent(start), *to = findEvent(end);
  if (!milliseconds || !from || !to || !from->time || !to->time ||
      from->time->load() == 0 || to->time->load() == 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtEventElapsedTime needs two events whose records ran");
  *milliseconds =
      static_cast<float>(to->time->load() - from->time->load()) / 1e6F;
  return ACL_SUCCESS;
}

} // namespace mf::hostcann
