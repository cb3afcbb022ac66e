//===- CapturedModels.cpp - Capturing work and running it again -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Runtime/Runtime.h"
#include "acl/acl.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf::hostcann {

int Runtime::refuseInCapture(const char *call) {
  for (auto &[key, model] : models)
    if (model.isActive && !model.work->isRelaxed) {
      model.work->isInvalid = true;
      return fail(
          ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
          llvm::Twine(call) +
              " while work is captured, of which nothing runs: expected "
              "it behind aclmdlRICaptureEnd");
    }
  return ACL_SUCCESS;
}

int Runtime::captureWait(StreamHandle &stream, EventHandle &event) {
  if (event.wasCaptured && !event.capture && !stream.capture)
    return fail(ACL_ERROR_RT_EVENT_CAPTURED,
                "aclrtStreamWaitEvent: the event's record is captured, and "
                "running that records nothing: record it anew");
  if (!event.capture)
    return fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                "aclrtStreamWaitEvent: a captured stream waits for an event "
                "whose record is not in the capture");
  if (!stream.capture) {
    if (&stream == &devices[stream.device].defaultStream)
      return fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
                  "the default stream cannot join a capture");
    stream.capture = event.capture;
    stream.capturedAs = event.capture->addStream();
  }
  if (stream.capture != event.capture)
    return fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                "aclrtStreamWaitEvent: the stream and the event belong to two "
                "captures");
  stream.capture->addWait(stream.capturedAs, event.capturedRecord);
  return ACL_SUCCESS;
}

int Runtime::beginCapture(void *stream, bool isRelaxed) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  std::lock_guard<std::mutex> lock(mutex);
  StreamHandle *handle = findStream(stream);
  if (!handle)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                llvm::formatv("there is no stream {0}", stream).str());
  if (!stream)
    return fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
                "the default stream cannot be captured");
  if (handle->capture)
    return fail(ACL_ERROR_RT_STREAM_CAPTURED,
                "the stream is being captured already");
  CapturedModel model;
  model.work = std::make_unique<CapturedWork>(isRelaxed);
  model.device = handle->device;
  handle->capture = model.work.get();
  handle->capturedAs = 0;
  models[handle->capture] = std::move(model);
  return ACL_SUCCESS;
}

int Runtime::endCapture(void *stream, void **captured) {
  std::lock_guard<std::mutex> lock(mutex);
  StreamHandle *handle = findStream(stream);
  if (!handle || !captured)
    return fail(
        ACL_ERROR_RT_PARAM_INVALID,
        "aclmdlRICaptureEnd: no such stream, or no place for the model");
  if (!handle->capture || handle->capturedAs != 0)
    return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                "aclmdlRICaptureEnd: the stream began no capture");
  CapturedWork *work = handle->capture;
  for (auto &[key, other] : streams)
    if (other->capture == work)
      other->capture = nullptr;
  for (auto &[key, event] : events)
    if (event->capture == work) {
      event->capture = nullptr;
      event->wasCaptured = true;
    }
  CapturedModel &model = models[work];
  model.isActive = false;
  const bool isInvalid = work->isInvalid;
  if (const size_t unjoined = work->findUnjoined(); unjoined || isInvalid) {
    models.erase(work);
    if (isInvalid)
      return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
                  "aclmdlRICaptureEnd: a call that cannot be captured has "
                  "spoilt the capture");
    return fail(ACL_ERROR_RT_STREAM_UNJOINED,
                llvm::formatv("aclmdlRICaptureEnd: the {0}. stream that joined "
                              "has work that the first one does not wait for",
                              unjoined)
                    .str());
  }
  for (size_t i = 1; i < work->getNumStreams(); ++i) {
    auto made = std::make_unique<StreamHandle>();
    made->device = model.device;
    made->queue = ++numQueues;
    model.streams.push_back(std::move(made));
  }
  *captured = work;
  return ACL_SUCCESS;
}

int Runtime::findCapture(void *stream, bool &isActive, bool &isInvalid,
                         void **captured) {
  std::lock_guard<std::mutex> lock(mutex);
  StreamHandle *handle = findStream(stream);
  if (!handle)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                llvm::formatv("there is no stream {0}", stream).str());
  isActive = handle->capture != nullptr;
  isInvalid = isActive && handle->capture->isInvalid;
  if (captured)
    *captured = handle->capture;
  return ACL_SUCCESS;
}

int Runtime::executeCaptured(void *captured, void *stream) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = models.find(captured);
  StreamHandle *first = findStream(stream);
  if (found == models.end() || found->second.isActive || !first)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclmdlRIExecuteAsync: there is no such model or stream");
  if (first->capture)
    return fail(ACL_ERROR_RT_STREAM_CAPTURED,
                "aclmdlRIExecuteAsync: the stream is being captured");
  CapturedModel &model = found->second;
  std::vector<StreamHandle *> handles = {first};
  EventHandle begin;
  recordOn(begin, *first);
  for (const std::unique_ptr<StreamHandle> &own : model.streams) {
    waitOn(*own, begin);
    handles.push_back(own.get());
  }
  std::vector<EventHandle> records(model.work->getNumRecords());
  for (const CapturedItem &item : model.work->getItems()) {
    StreamHandle &handle = *handles[item.stream];
    switch (item.kind) {
    case CapturedItem::Kind::Record:
      recordOn(records[item.record], handle);
      break;
    case CapturedItem::Kind::Wait:
      waitOn(handle, records[item.record]);
      break;
    case CapturedItem::Kind::Work:
      if (int code = launchOn(handle, item.name, item.accesses,
                              [work = item.work] { return (*work)(); }))
        return code;
    }
  }
  return ACL_SUCCESS;
}

int Runtime::destroyCaptured(void *captured) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = models.find(captured);
  if (found == models.end() || found->second.isActive)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclmdlRIDestroy: there is no such model");
  for (const std::unique_ptr<StreamHandle> &own : found->second.streams) {
    if (hostClock.get(own->queue) < own->tick)
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "aclmdlRIDestroy: the model still runs: synchronize its "
                  "stream first");
    if (own->stream)
      devices[own->device].idle.push_back(own->stream);
  }
  models.erase(found);
  return ACL_SUCCESS;
}

} // namespace mf::hostcann

using mf::hostcann::Runtime;

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  return Runtime::get().beginCapture(stream,
                                     mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
}
aclError aclmdlRICaptureGetInfo(aclrtStream stream,
                                aclmdlRICaptureStatus *status,
                                aclmdlRI *modelRI) {
  bool isActive = false, isInvalid = false;
  if (int code =
          Runtime::get().findCapture(stream, isActive, isInvalid, modelRI))
    return code;
  *status = isInvalid  ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
            : isActive ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                       : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  return ACL_SUCCESS;
}
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI) {
  return Runtime::get().endCapture(stream, modelRI);
}
aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
  return Runtime::get().executeCaptured(modelRI, stream);
}
aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  return Runtime::get().destroyCaptured(modelRI);
}
