//===- FaultSchedule.cpp - Seeded order of tasks, with faults -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/FaultSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include <cerrno>

namespace mf {

llvm::StringRef getName(FaultKind kind) {
  switch (kind) {
  case FaultKind::Death:
    return "death";
  case FaultKind::Freeze:
    return "freeze";
  case FaultKind::Late:
    return "late";
  case FaultKind::MemoryRefused:
    return "memory refused";
  case FaultKind::DiskFull:
    return "disk full";
  case FaultKind::ShortWrites:
    return "short writes";
  case FaultKind::FileCut:
    return "file cut";
  }
  llvm_unreachable("unknown kind of fault");
}

llvm::ArrayRef<FaultKind> getFaultKinds() {
  static constexpr FaultKind kinds[] = {
      FaultKind::Death,         FaultKind::Freeze,   FaultKind::Late,
      FaultKind::MemoryRefused, FaultKind::DiskFull, FaultKind::ShortWrites,
      FaultKind::FileCut};
  return kinds;
}

FaultSchedule::FaultSchedule(uint64_t seed) : seed(seed), random(seed) {
  constexpr uint64_t maxFaults = 3;
  llvm::SmallVector<FaultKind> kinds;
  for (uint64_t count = draw(maxFaults + 1); count > 0; --count)
    kinds.push_back(getFaultKinds()[draw(getFaultKinds().size())]);
  addFaults(kinds);
}

FaultSchedule::FaultSchedule(uint64_t seed, llvm::ArrayRef<FaultKind> kinds)
    : seed(seed), random(seed) {
  addFaults(kinds);
}

void FaultSchedule::addFaults(llvm::ArrayRef<FaultKind> kinds) {
  // A run that writes one file has few operations; one with checkpoints of
  // several ranks has about as many as this. Early operations are more likely
  // to fail.
  constexpr uint64_t maxFileOperations = 64;
  for (const FaultKind kind : kinds) {
    Fault &fault = faults.emplace_back();
    fault.kind = kind;
    if (kind >= FaultKind::DiskFull)
      fault.instant = draw(draw(maxFileOperations) + 1);
  }
}

Fault *FaultSchedule::findDue(FaultKind kind, uint64_t now) {
  const auto found = llvm::find_if(faults, [&](const Fault &fault) {
    return fault.kind == kind && !fault.injected && fault.instant <= now;
  });
  return found == faults.end() ? nullptr : &*found;
}

FaultSchedule *&FaultSchedule::getOfThread() {
  thread_local FaultSchedule *schedule = nullptr;
  return schedule;
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

bool FaultSchedule::addDevice() {
  std::lock_guard<std::mutex> lock(mutex);
  const size_t device = numDevices++;
  Fault *fault = findDue(FaultKind::MemoryRefused, 0);
  // Later devices are refused less often, and some runs end before.
  if (!fault || draw(2) == 0)
    return true;
  fault->injected = true;
  fault->victim = "device " + std::to_string(device);
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
  for (Fault &fault : faults)
    if (fault.kind < FaultKind::MemoryRefused)
      fault.instant = draw(2 * stepTasks + 1);
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
    // Nothing else happens until then, so the virtual clock advances to it.
    for (Member &member : members)
      member.lateUntil = 0;
    return chooseNext(lock);
  }
  if (ready.empty())
    return reportStall(lock);
  const size_t next = ready[draw(ready.size())];
  for (const FaultKind kind : {FaultKind::Freeze, FaultKind::Late})
    if (Fault *fault = findDue(kind, numTurns)) {
      fault->injected = true;
      fault->victim = members[next].name;
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

/// Ends a step in which no stream can continue. One of the waiting streams is
/// made to fail, which makes the others ready.
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
  Fault *fault = findDue(FaultKind::Death, numTurns);
  if (!fault)
    return;
  fault->injected = true;
  fault->victim = members[stream].name;
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

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

FileFault FaultSchedule::getNext() {
  std::lock_guard<std::mutex> lock(mutex);
  const uint64_t now = numFileOperations++;
  auto happens = [&](FaultKind kind) {
    Fault *fault = findDue(kind, now);
    if (!fault)
      return false;
    fault->injected = true;
    fault->victim = "file operation " + std::to_string(now);
    return true;
  };
  isCut |= happens(FaultKind::FileCut);
  isDiskFull |= happens(FaultKind::DiskFull);
  hasShortWrites |= happens(FaultKind::ShortWrites);
  FileFault fault;
  if (isCut)
    fault.code = ECANCELED;
  else if (isDiskFull)
    fault.code = ENOSPC;
  if (hasShortWrites)
    fault.maximum = 1 + draw(64);
  return fault;
}

std::string FaultSchedule::describe() const {
  llvm::SmallVector<std::string> happened;
  for (const Fault &fault : faults)
    if (fault.injected)
      happened.push_back((getName(fault.kind) + " of " + fault.victim).str());
  return llvm::formatv("fault seed {0}: {1} turns, trace {2:x-}, faults: {3}",
                       seed, numTurns, trace,
                       happened.empty() ? "none" : llvm::join(happened, ", "))
      .str();
}

} // namespace mf
