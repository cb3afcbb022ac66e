//===- TurnSchedule.cpp - Seeded order of tasks ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/TurnSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf {

TurnSchedule::~TurnSchedule() = default;

TurnSchedule *&TurnSchedule::getOfThread() {
  thread_local TurnSchedule *schedule = nullptr;
  return schedule;
}

std::string TurnSchedule::describe() const {
  return llvm::formatv("seed {0}: {1} turns, trace {2:x-}", seed, numTurns,
                       trace)
      .str();
}

std::string TurnSchedule::getRefusal(size_t) { return {}; }
void TurnSchedule::begin(uint64_t) {}
uint64_t TurnSchedule::getPause(llvm::StringRef) { return 0; }
std::string TurnSchedule::getFailure(llvm::StringRef) { return {}; }

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

std::string TurnSchedule::addDevice() {
  std::lock_guard<std::mutex> lock(mutex);
  return getRefusal(numDevices++);
}

size_t TurnSchedule::addStream(std::string name,
                               std::function<void(const std::string &)> fail) {
  std::lock_guard<std::mutex> lock(mutex);
  Member &member = members.emplace_back();
  member.name = std::move(name);
  member.fail = std::move(fail);
  return members.size() - 1;
}

void TurnSchedule::noteIssued(size_t stream) {
  std::lock_guard<std::mutex> lock(mutex);
  ++members[stream].pending;
}

void TurnSchedule::arrive() {
  std::unique_lock<std::mutex> lock(mutex);
  if (++numArrived < numDevices)
    return;
  numArrived = 0;
  if (!hasBegun) {
    uint64_t stepTasks = 0;
    for (const Member &member : members)
      stepTasks += member.pending;
    hasBegun = stepTasks > 0;
    begin(stepTasks);
  }
  chooseNext(lock);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

bool TurnSchedule::canRun(const Member &member) const {
  return member.pending > 0 && member.pausedUntil <= numTurns &&
         (!member.isReady || member.isReady());
}

/// Ends all pauses that have an end. Returns false if no stream with a task was
/// in one.
bool TurnSchedule::endPauses() {
  bool anyEnded = false;
  for (Member &member : members) {
    if (member.isFrozen())
      continue;
    anyEnded |= member.pending > 0 && member.pausedUntil > numTurns;
    member.pausedUntil = 0;
  }
  return anyEnded;
}

void TurnSchedule::chooseNext(std::unique_lock<std::mutex> &lock) {
  current = nobody;
  llvm::SmallVector<size_t> ready;
  for (auto [index, member] : llvm::enumerate(members))
    if (canRun(member))
      ready.push_back(index);
  // Nothing else happens during the pauses, so the virtual clock advances to
  // their end.
  if (ready.empty())
    return endPauses() ? chooseNext(lock) : reportStall(lock);
  const size_t next = ready[draw(ready.size())];
  if (const uint64_t pause = getPause(members[next].name)) {
    members[next].pausedUntil = pause == forever ? forever : numTurns + pause;
    return chooseNext(lock);
  }
  ++numTurns;
  constexpr uint64_t factor = 0x100000001b3;
  trace = (trace ^ (next + 1)) * factor;
  current = next;
  members[next].hasTurn.notify_one();
}

/// Ends a run in which no stream can continue. One of the waiting streams is
/// made to fail, which makes the others ready.
void TurnSchedule::reportStall(std::unique_lock<std::mutex> &lock) {
  std::string text = "no stream can go on";
  const Member *first = nullptr;
  for (Member &member : members) {
    if (member.pending == 0)
      continue;
    text += (first ? ", " : ": ") + member.name +
            (member.isFrozen() ? " does not answer" : " waits");
    first = first && !member.isFrozen() ? first : &member;
    member.pausedUntil = 0;
  }
  if (!first)
    return;
  const std::function<void(const std::string &)> fail = first->fail;
  lock.unlock();
  fail(text + " (turn " + std::to_string(numTurns) + ")");
  lock.lock();
  chooseNext(lock);
}

void TurnSchedule::beginTask(size_t stream) {
  std::unique_lock<std::mutex> lock(mutex);
  members[stream].hasTurn.wait(lock, [&] { return current == stream; });
  const std::string failure = getFailure(members[stream].name);
  lock.unlock();
  if (!failure.empty())
    members[stream].fail(failure);
}

void TurnSchedule::endTask() {
  std::unique_lock<std::mutex> lock(mutex);
  --members[current].pending;
  chooseNext(lock);
}

void TurnSchedule::waitUntil(llvm::function_ref<bool()> isReady) {
  if (isReady())
    return;
  std::unique_lock<std::mutex> lock(mutex);
  const size_t self = current;
  members[self].isReady = isReady;
  chooseNext(lock);
  members[self].hasTurn.wait(lock, [&] { return current == self; });
  members[self].isReady = nullptr;
}

} // namespace mf
