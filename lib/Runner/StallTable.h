//===- StallTable.h - Which operators waited, and for what -----*- C++ -*-===//

#ifndef MF_LIB_RUNNER_STALLTABLE_H
#define MF_LIB_RUNNER_STALLTABLE_H

#include "mf/Program/Program.h"
#include <deque>
#include <map>
#include <string>

namespace mf::runner {

/// Seconds that the compute stream of a rank is blocked in waits, by the
/// operator behind the wait and the stream that it waits for. All calls of a
/// routine add to the same entries.
class StallTable {
public:
  explicit StallTable(const program::Rank &rank);

  /// Where instruction `number` of a routine's list, or of the step's if
  /// `routine` is none, counts its seconds; null if it is not a wait of the
  /// compute stream.
  double *find(std::optional<uint32_t> routine, uint32_t number) const {
    return places[routine ? *routine + 1 : 0][number];
  }

  /// What took time, by "operator, waiting for stream". To be called when no
  /// step is running.
  std::map<std::string, double> getSeconds() const;

private:
  void addList(const program::Rank &rank, const program::InstructionList &list,
               llvm::StringRef title, llvm::ArrayRef<uint32_t> passedStreams);

  std::deque<std::pair<std::string, double>> entries;
  /// By list, the step before the routines, and instruction.
  std::vector<std::vector<double *>> places;
};

} // namespace mf::runner

#endif // MF_LIB_RUNNER_STALLTABLE_H
