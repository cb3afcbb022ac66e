//===- FaultSchedule.h - Faults of a seed -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An order of turns with faults. The seed also decides which faults happen
// when, so that a run with faults can be repeated exactly. Files are written
// between steps; their virtual time is counted in file operations.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_RUNNER_FAULTSCHEDULE_H
#define MF_TEST_UNIT_RUNNER_FAULTSCHEDULE_H

#include "mf/Exec/Device/TurnSchedule.h"
#include "mf/Support/FileFaults.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf {

/// The faults that a schedule can inject.
enum class FaultKind {
  /// A stream fails at one of its tasks, as if its rank died.
  Death,
  /// A stream stops forever at one of its tasks.
  Freeze,
  /// A stream pauses for as many turns as all tasks of a step take.
  Late,
  /// A device fails to allocate memory.
  MemoryRefused,
  /// From some file operation on, all file operations fail as on a full disk.
  DiskFull,
  /// From some file operation on, writes transfer only few of their bytes.
  ShortWrites,
  /// The run ends at a file operation and leaves all files as they are then.
  FileCut,
};

llvm::StringRef getName(FaultKind kind);
/// Returns all kinds in their order.
llvm::ArrayRef<FaultKind> getFaultKinds();

/// A fault that was drawn.
struct Fault {
  FaultKind kind = FaultKind::Death;
  /// The first turn or file operation at which it happens. MemoryRefused
  /// happens when a device asks for memory.
  uint64_t instant = 0;
  bool injected = false;
  /// The device, stream or file operation that was hit.
  std::string victim;
};

/// The order of the tasks of a run, and the faults that happen in it.
class FaultSchedule : public TurnSchedule, public FileFaults {
public:
  /// Draws an order of turns, and up to three faults of any kind.
  explicit FaultSchedule(uint64_t seed);
  /// Draws an order of turns. The run has one fault of each given kind.
  FaultSchedule(uint64_t seed, llvm::ArrayRef<FaultKind> kinds);

  FileFault getNext() override;
  bool hasEnded() const override { return isCut; }

  llvm::ArrayRef<Fault> getFaults() const { return faults; }
  /// Also returns the faults that happened.
  std::string describe() const override;

protected:
  std::string getRefusal(size_t device) override;
  void begin(uint64_t numTasks) override;
  uint64_t getPause(llvm::StringRef stream) override;
  std::string getFailure(llvm::StringRef stream) override;

private:
  void addFaults(llvm::ArrayRef<FaultKind> kinds);
  bool inject(FaultKind kind, uint64_t now, const llvm::Twine &victim);
  Fault *findDue(FaultKind kind, uint64_t now);

  std::vector<Fault> faults;
  uint64_t stepTasks = 0, numFileOperations = 0;
  bool isDiskFull = false, hasShortWrites = false, isCut = false;
};

} // namespace mf

#endif // MF_TEST_UNIT_RUNNER_FAULTSCHEDULE_H
