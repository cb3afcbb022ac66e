//===- FaultSchedule.cpp - One seed decides what runs next ----------------===//

#include "mf/Exec/Device/FaultSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf {

llvm::StringRef getName(FaultKind kind) {
  switch (kind) {
  case FaultKind::None:
    return "none";
  case FaultKind::Death:
    return "death";
  case FaultKind::Freeze:
    return "freeze";
  case FaultKind::Late:
    return "late";
  case FaultKind::MemoryRefused:
    return "memory refused";
  }
  llvm_unreachable("unknown kind of fault");
}

FaultSchedule::FaultSchedule(uint64_t seed) : seed(seed), random(seed) {
  constexpr uint64_t numKinds = 5;
  kind = static_cast<FaultKind>(draw(numKinds));
}

FaultSchedule *&FaultSchedule::getOfThread() {
  thread_local FaultSchedule *schedule = nullptr;
  return schedule;
}

//===----------------------------------------------------------------------===//
// Who takes part
//===----------------------------------------------------------------------===//

bool FaultSchedule::addDevice() {
  std::lock_guard<std::mutex> lock(mutex);
  const size_t device = numDevices++;
  // Later devices are refused less often, and some runs end before.
  if (kind != FaultKind::MemoryRefused || injected || draw(2) == 0)
    return true;
  injected = true;
  victim = "device " + std::to_string(device);
  return false;
}

size_t FaultSchedule::addStream(std::string name,
                                std::function<void(const std::string &)> fail) {
  std::lock_guard<std::mutex> lock(mutex);
  Member &member = members.emplace_back();
  member.name = std::move(name);
  member.fail = std::move(fail);
  return members.size() - 1;
}

void FaultSchedule::noteIssued(size_t stream) {
  std::lock_guard<std::mutex> lock(mutex);
  ++members[stream].pending;
}

void FaultSchedule::arrive() {
  std::unique_lock<std::mutex> lock(mutex);
  if (++numArrived < numDevices)
    return;
  numArrived = 0;
  if (stepTasks == 0)
    drawInstant();
  chooseNext(lock);
}

void FaultSchedule::drawInstant() {
  for (const Member &member : members)
    stepTasks += member.pending;
  // Half of the faults happen in the first step, if all its turns are tasks.
  instant = draw(2 * stepTasks + 1);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

bool FaultSchedule::canRun(const Member &member) const {
  return member.pending > 0 && !member.frozen && member.lateUntil <= numTurns &&
         (!member.isReady || member.isReady());
}

bool FaultSchedule::isDelayed() const {
  return llvm::any_of(members, [&](const Member &member) {
    return member.pending > 0 && member.lateUntil > numTurns;
  });
}

void FaultSchedule::chooseNext(std::unique_lock<std::mutex> &lock) {
  current = nobody;
  llvm::SmallVector<size_t> ready;
  for (auto [index, member] : llvm::enumerate(members))
    if (canRun(member))
      ready.push_back(index);
  if (ready.empty() && isDelayed()) {
    // Nothing else happens until then, so the virtual clock goes on to it.
    for (Member &member : members)
      member.lateUntil = 0;
    return chooseNext(lock);
  }
  if (ready.empty())
    return reportStall(lock);
  const size_t next = ready[draw(ready.size())];
  const bool isNow = !injected && numTurns >= instant;
  if (isNow && (kind == FaultKind::Freeze || kind == FaultKind::Late)) {
    injected = true;
    victim = members[next].name;
    members[next].frozen = kind == FaultKind::Freeze;
    members[next].lateUntil = numTurns + stepTasks;
    return chooseNext(lock);
  }
  ++numTurns;
  constexpr uint64_t factor = 0x100000001b3;
  trace = (trace ^ (next + 1)) * factor;
  current = next;
  members[next].hasTurn.notify_one();
}

/// Ends a step in which no stream can go on: who waits is told by the failure
/// of a stream that does, and is ready then.
void FaultSchedule::reportStall(std::unique_lock<std::mutex> &lock) {
  std::string text = "no stream can go on";
  const Member *first = nullptr;
  for (Member &member : members) {
    if (member.pending == 0)
      continue;
    text += (first ? ", " : ": ") + member.name +
            (member.frozen ? " does not answer" : " waits");
    first = first && !member.frozen ? first : &member;
    member.frozen = false;
    member.lateUntil = 0;
  }
  if (!first)
    return;
  const std::function<void(const std::string &)> fail = first->fail;
  lock.unlock();
  fail(text + " (turn " + std::to_string(numTurns) + ")");
  lock.lock();
  chooseNext(lock);
}

void FaultSchedule::beginTask(size_t stream) {
  std::unique_lock<std::mutex> lock(mutex);
  members[stream].hasTurn.wait(lock, [&] { return current == stream; });
  if (kind != FaultKind::Death || injected || numTurns <= instant)
    return;
  injected = true;
  victim = members[stream].name;
  const std::string text = "an injected fault ended it at turn " +
                           std::to_string(numTurns) +
                           " of --fault-seed=" + std::to_string(seed);
  lock.unlock();
  members[stream].fail(text);
}

void FaultSchedule::endTask() {
  std::unique_lock<std::mutex> lock(mutex);
  --members[current].pending;
  chooseNext(lock);
}

void FaultSchedule::waitUntil(llvm::function_ref<bool()> isReady) {
  if (isReady())
    return;
  std::unique_lock<std::mutex> lock(mutex);
  const size_t self = current;
  members[self].isReady = isReady;
  chooseNext(lock);
  members[self].hasTurn.wait(lock, [&] { return current == self; });
  members[self].isReady = nullptr;
}

std::string FaultSchedule::describe() const {
  return llvm::formatv("fault seed {0}: {1} turns, trace {2:x-}, fault: {3}",
                       seed, numTurns, trace,
                       injected ? (getName(kind) + " of " + victim).str()
                                : "none")
      .str();
}

} // namespace mf
