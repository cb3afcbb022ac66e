//===- StepRanks.h - The ranks of a standalone program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_STEP_STEPRANKS_H
#define MF_LIB_STEP_STEPRANKS_H

#include "mf/Exec/Ranks/RankEngine.h"
#include "mf/Step/StepRun.h"

namespace mf::step {

llvm::Error toError(const std::string &text);

/// Lets ranks, each of which is a process, exchange data outside of the step.
/// All ranks must call the functions in the same order.
class StepRanks {
public:
  /// Both references must outlive this object.
  StepRanks(const Facts &facts, const StepDevice &device)
      : facts(facts), device(device), numRanks(mf::step::getNumRanks(facts)) {}

  int64_t getNumRanks() const { return numRanks; }
  bool isFirst() const { return facts.rank == 0; }
  bool isOwn(int64_t rank) const { return facts.rank == rank; }

  /// Copies the bytes of rank `root` to all ranks.
  llvm::Error share(int64_t root, llvm::MutableArrayRef<uint8_t> bytes) const;
  /// Returns the text that rank `root` passes, which may have any length.
  llvm::Expected<std::string> shareText(int64_t root,
                                        llvm::StringRef text) const;
  /// Fails on all ranks if `own` is a failure on one.
  llvm::Error agree(llvm::Error own) const;
  /// Fails on a rank that has another value than the first one.
  llvm::Error expectSame(llvm::ArrayRef<ranks::Fact> values) const;

private:
  const Facts &facts;
  const StepDevice &device;
  int64_t numRanks;
};

} // namespace mf::step

#endif // MF_LIB_STEP_STEPRANKS_H
