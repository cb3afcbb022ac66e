//===- Stream.cpp - Queues of asynchronous work ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/Stream.h"
#include "StreamState.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <sys/prctl.h>

namespace mf {

//===----------------------------------------------------------------------===//
// The thread of a stream
//===----------------------------------------------------------------------===//

void Stream::State::start() {
  if (turns)
    place = turns->addStream(
        device.name.empty() ? name : device.name + " stream " + name,
        [this](const std::string &reason) { fail(reason); });
  thread = std::thread([this] { loop(); });
}

void Stream::State::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  workOrFailure.notify_all();
  thread.join();
}

void Stream::State::push(decltype(Task::what) what) {
  Clock::time_point now = Clock::now();
  if (turns)
    turns->noteIssued(place);
  bool wake;
  {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back({std::move(what), now});
    ++issued;
    wake = threadSleeps;
  }
  if (wake)
    workOrFailure.notify_all();
}

void Stream::State::wakeUp() {
  std::shared_ptr<EventRecord> record;
  {
    std::lock_guard<std::mutex> lock(mutex);
    record = awaited;
  }
  workOrFailure.notify_all();
  if (record)
    record->wakeWaiters();
}

void Stream::State::waitUntilIdle() {
  std::unique_lock<std::mutex> lock(mutex);
  uint64_t target = issued;
  becameIdle.wait(lock, [&] { return finished >= target; });
}

void Stream::State::loop() {
  // Paced copies end on a timer. The default slack of 50 us would be visible.
  (void)prctl(PR_SET_TIMERSLACK, 1UL);
  TurnSchedule::getOfThread() = turns;
  std::vector<Task> batch;
  while (takeBatch(batch)) {
    for (Task &task : batch) {
      if (turns)
        runInTurn(task);
      else
        run(task);
      task.what = Record{};
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      finished += batch.size();
    }
    becameIdle.notify_all();
    batch.clear();
  }
}

/// Moves all queued tasks to `batch`. Returns false if the stream is to end.
bool Stream::State::takeBatch(std::vector<Task> &batch) {
  std::unique_lock<std::mutex> lock(mutex);
  threadSleeps = true;
  workOrFailure.wait(lock, [&] { return !queue.empty() || stopping; });
  threadSleeps = false;
  std::swap(batch, queue);
  return !batch.empty();
}

void Stream::State::runInTurn(Task &task) {
  // Even a failed stream completes its records, because other streams wait for
  // them.
  turns->beginTask(place);
  run(task);
  turns->endTask();
}

void Stream::State::run(Task &task) {
  readyTime = std::max(readyTime, task.issued);
  std::visit([this](auto &what) { run(what); }, task.what);
}

void Stream::State::run(Launch &launch) {
  if (device.hasFailed())
    return;
  Clock::time_point begin = Clock::now();
  try {
    if (llvm::Error error = launch.work())
      fail(llvm::toString(std::move(error)));
  } catch (const std::exception &exception) {
    fail(exception.what());
  } catch (...) {
    fail("unknown exception");
  }
  readyTime = Clock::now();
  addStatistics(1, 0, 0, readyTime - begin, {});
}

void Stream::State::run(Copy &copy) {
  if (device.hasFailed())
    return;
  Clock::time_point begin = Clock::now();
  bool paced = copy.link && copy.link->isPaced();
  WorkTimes nominal;
  if (paced)
    nominal = copy.link->reserve(readyTime, copy.bytes);
  std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
  if (paced)
    sleepUntil(nominal.end);
  Clock::time_point end = Clock::now();
  // The emulation cannot keep up with a link that is faster than this machine's
  // memory.
  bool kept = paced && end - nominal.end < std::chrono::milliseconds(2);
  readyTime = kept ? nominal.end : end;
  if (copy.times)
    *copy.times = {paced ? nominal.start : begin, readyTime};
  addStatistics(0, 1, copy.bytes, end - begin, {});
}

void Stream::State::run(Record &record) {
  record.record->finish(device.getFailure());
}

void Stream::State::run(Wait &wait) {
  if (device.hasFailed())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    awaited = wait.record;
  }
  std::string failure;
  {
    std::unique_lock<std::mutex> lock(wait.record->mutex);
    if (!wait.record->complete) {
      Clock::time_point begin = Clock::now();
      auto isOver = [&] { return wait.record->complete || device.hasFailed(); };
      if (turns) {
        // With a schedule only one thread runs at a time, so `isOver`
        // needs no lock.
        lock.unlock();
        turns->waitUntil(isOver);
        lock.lock();
      } else {
        wait.record->completed.wait(lock, isOver);
      }
      Clock::duration stall = Clock::now() - begin;
      addStatistics(0, 0, 0, {}, stall);
      if (wait.stallSeconds)
        *wait.stallSeconds += std::chrono::duration<double>(stall).count();
    }
    if (wait.record->complete) {
      failure = wait.record->failure;
      readyTime = std::max(readyTime, wait.record->time);
    }
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    awaited = nullptr;
  }
  if (!failure.empty())
    fail("waited for an event whose stream failed: " + failure);
}

void Stream::State::sleepUntil(Clock::time_point time) {
  std::unique_lock<std::mutex> lock(mutex);
  workOrFailure.wait_until(lock, time, [&] { return device.hasFailed(); });
}

void Stream::State::fail(const llvm::Twine &reason) {
  device.abort("stream '" + name + "': " + reason);
}

void Stream::State::addStatistics(int64_t launches, int64_t copies,
                                  int64_t bytes, Clock::duration busy,
                                  Clock::duration stall) {
  std::lock_guard<std::mutex> lock(mutex);
  statistics.launches += launches;
  statistics.copies += copies;
  statistics.copiedBytes += bytes;
  statistics.busySeconds += std::chrono::duration<double>(busy).count();
  statistics.stallSeconds += std::chrono::duration<double>(stall).count();
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

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
