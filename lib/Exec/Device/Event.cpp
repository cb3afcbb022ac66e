//===- Event.cpp - Events that streams record and await -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/Event.h"
#include "StreamState.h"

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

} // namespace mf
