//===- FaultSchedule.cpp - Faults of a seed -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FaultSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"
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

FaultSchedule::FaultSchedule(uint64_t seed) : TurnSchedule(seed) {
  constexpr uint64_t maxFaults = 3;
  llvm::SmallVector<FaultKind> kinds;
  for (uint64_t count = draw(maxFaults + 1); count > 0; --count)
    kinds.push_back(getFaultKinds()[draw(getFaultKinds().size())]);
  addFaults(kinds);
}

FaultSchedule::FaultSchedule(uint64_t seed, llvm::ArrayRef<FaultKind> kinds)
    : TurnSchedule(seed) {
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

/// Returns a fault of a kind that is due at `now` and has not happened, or
/// null.
Fault *FaultSchedule::findDue(FaultKind kind, uint64_t now) {
  const auto found = llvm::find_if(faults, [&](const Fault &fault) {
    return fault.kind == kind && !fault.injected && fault.instant <= now;
  });
  return found == faults.end() ? nullptr : &*found;
}

/// Injects a fault of a kind if one is due. Returns whether it was.
bool FaultSchedule::inject(FaultKind kind, uint64_t now,
                           const llvm::Twine &victim) {
  Fault *fault = findDue(kind, now);
  if (!fault)
    return false;
  fault->injected = true;
  fault->victim = victim.str();
  return true;
}

//===----------------------------------------------------------------------===//
// Devices and streams
//===----------------------------------------------------------------------===//

std::string FaultSchedule::getRefusal(size_t device) {
  // Later devices are refused less often, and some runs end before.
  if (!findDue(FaultKind::MemoryRefused, 0) || draw(2) == 0)
    return {};
  inject(FaultKind::MemoryRefused, 0, "device " + llvm::Twine(device));
  return "an injected fault refuses it";
}

void FaultSchedule::begin(uint64_t numTasks) {
  stepTasks = numTasks;
  // Half of the faults happen in the first step, if all its turns are tasks.
  for (Fault &fault : faults)
    if (fault.kind < FaultKind::MemoryRefused)
      fault.instant = draw(2 * stepTasks + 1);
}

uint64_t FaultSchedule::getPause(llvm::StringRef stream) {
  if (inject(FaultKind::Freeze, getTurn(), stream))
    return forever;
  return inject(FaultKind::Late, getTurn(), stream) ? stepTasks : 0;
}

std::string FaultSchedule::getFailure(llvm::StringRef stream) {
  if (!inject(FaultKind::Death, getTurn(), stream))
    return {};
  return "an injected fault ended it at turn " + std::to_string(getTurn()) +
         " of seed " + std::to_string(getSeed());
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

FileFault FaultSchedule::getNext() {
  std::lock_guard<std::mutex> lock(mutex);
  const uint64_t now = numFileOperations++;
  auto happens = [&](FaultKind kind) {
    return inject(kind, now, "file operation " + llvm::Twine(now));
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
  return TurnSchedule::describe() + ", faults: " +
         (happened.empty() ? "none" : llvm::join(happened, ", "));
}

} // namespace mf
