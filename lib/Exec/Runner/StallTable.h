//===- StallTable.h - Waits of operators ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_STALLTABLE_H
#define MF_LIB_EXEC_RUNNER_STALLTABLE_H

#include "mf/Program/Program.h"
#include <deque>
#include <map>
#include <string>

namespace mf::runner {

/// The seconds for which the compute stream of a rank is blocked in waits, by
/// the operator after the wait and the stream that it waits for. All calls of a
/// routine add to the same entries.
class StallTable {
public:
  explicit StallTable(const program::StageProgram &stage);

  /// Returns where instruction `number` of a routine's list, or of the step's
  /// if `routine` is empty, adds its seconds in the wait for the event at
  /// `place` among those it waits for; null if it is not on the compute stream.
  double *find(std::optional<uint32_t> routine, uint32_t number,
               size_t place) const {
    const Places &found = places[routine ? *routine + 1 : 0][number];
    return place < found.size() ? found[place] : nullptr;
  }

  /// Returns the waiting time for each "operator, waiting for stream". Must not
  /// be called during a step.
  std::map<std::string, double> getSeconds() const;

private:
  /// One entry for each event that an instruction waits for.
  using Places = llvm::SmallVector<double *, 1>;

  void addList(const program::StageProgram &stage,
               const program::InstructionList &list, llvm::StringRef title,
               llvm::ArrayRef<uint32_t> passedStreams);

  std::deque<std::pair<std::string, double>> entries;
  /// The entries by list, with the step before the routines, and instruction.
  std::vector<std::vector<Places>> places;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_STALLTABLE_H
