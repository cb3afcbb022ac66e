//===- Stream.cpp - Queues of asynchronous work ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/Stream.h"
#include "StreamState.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf {

Stream::Stream(Device &device, llvm::StringRef name)
    : state(std::make_unique<State>(device, name)) {
  state->start();
}

Stream::~Stream() { state->stop(); }

llvm::StringRef Stream::getName() const { return state->name; }

void Stream::launchFallible(llvm::unique_function<llvm::Error()> work) {
  state->push(State::Launch{std::move(work)});
}

void Stream::memcpyAsync(void *to, const void *from, int64_t bytes,
                         CopyKind kind, WorkTimes *times) {
  Device &device = state->device;
  const Arena &target =
      kind == CopyKind::DeviceToHost ? device.getHost() : device.getHbm();
  const Arena &source =
      kind == CopyKind::HostToDevice ? device.getHost() : device.getHbm();
  bool targetFits = target.contains(to, bytes);
  if (!targetFits || !source.contains(from, bytes)) {
    launchFallible([=]() -> llvm::Error {
      return llvm::createStringError(
          llvm::formatv("copy of {0} bytes has its {1} outside of {2}", bytes,
                        targetFits ? "source" : "target",
                        (targetFits ? kind == CopyKind::HostToDevice
                                    : kind == CopyKind::DeviceToHost)
                            ? "pinned host memory"
                            : "HBM")
              .str());
    });
    return;
  }
  CopyLink *link = nullptr;
  if (kind == CopyKind::HostToDevice)
    link = device.hostToDevice.get();
  else if (kind == CopyKind::DeviceToHost)
    link = device.deviceToHost.get();
  state->push(State::Copy{to, from, bytes, link, times});
}

void Stream::record(Event &event) {
  auto record = std::make_shared<EventRecord>();
  event.setRecord(record);
  state->push(State::Record{std::move(record)});
}

void Stream::wait(const Event &event, double *stallSeconds) {
  std::shared_ptr<EventRecord> record = event.getRecord();
  if (record) {
    state->push(State::Wait{std::move(record), stallSeconds});
    return;
  }
  launchFallible([]() -> llvm::Error {
    return llvm::createStringError(
        "waits for an event that was never recorded");
  });
}

llvm::Error Stream::synchronize() {
  if (std::this_thread::get_id() == state->thread.get_id())
    return llvm::createStringError("stream '" + state->name +
                                   "' cannot wait for itself");
  state->waitUntilIdle();
  if (state->device.hasFailed())
    return llvm::createStringError(state->device.getFailure());
  return llvm::Error::success();
}

StreamStatistics Stream::getStatistics() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->statistics;
}

Event::Event() = default;
Event::~Event() = default;

std::shared_ptr<EventRecord> Event::getRecord() const {
  std::lock_guard<std::mutex> lock(mutex);
  return record;
}

void Event::setRecord(std::shared_ptr<EventRecord> newRecord) {
  std::lock_guard<std::mutex> lock(mutex);
  record = std::move(newRecord);
}

bool Event::isComplete() const {
  std::shared_ptr<EventRecord> current = getRecord();
  if (!current)
    return false;
  std::lock_guard<std::mutex> lock(current->mutex);
  return current->complete;
}

llvm::Error Event::synchronize() const {
  std::shared_ptr<EventRecord> current = getRecord();
  if (!current)
    return llvm::createStringError("the event was never recorded");
  std::unique_lock<std::mutex> lock(current->mutex);
  current->completed.wait(lock, [&] { return current->complete; });
  if (!current->failure.empty())
    return llvm::createStringError(current->failure);
  return llvm::Error::success();
}

} // namespace mf
