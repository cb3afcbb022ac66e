//===- Event.cpp - Points in a stream's work ------------------------------===//

#include "mf/Device/Event.h"
#include "EventRecord.h"

namespace mf {

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

llvm::Expected<double> Event::getElapsedSeconds(const Event &begin,
                                                const Event &end) {
  auto getTime =
      [](const Event &event) -> llvm::Expected<EventRecord::Clock::time_point> {
    std::shared_ptr<EventRecord> current = event.getRecord();
    if (current) {
      std::lock_guard<std::mutex> lock(current->mutex);
      if (current->complete)
        return current->time;
    }
    return llvm::createStringError(
        "both events must be complete before the time between them is known");
  };
  llvm::Expected<EventRecord::Clock::time_point> from = getTime(begin);
  if (!from)
    return from.takeError();
  llvm::Expected<EventRecord::Clock::time_point> to = getTime(end);
  if (!to)
    return to.takeError();
  return std::chrono::duration<double>(*to - *from).count();
}

} // namespace mf
