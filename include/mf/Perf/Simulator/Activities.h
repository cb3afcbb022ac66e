//===- Activities.h - Activities of instructions in timelines ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_SIMULATOR_ACTIVITIES_H
#define MF_PERF_SIMULATOR_ACTIVITIES_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/Program.h"
#include <map>
#include <tuple>

namespace mf::simulator {

/// The activities of a program's instructions, in the order of each list. An
/// exchange has two: its own, and then one for the time in which the device
/// waits for it.
class ActivityTable {
public:
  explicit ActivityTable(const program::Program &program);

  /// Returns the activity of an instruction of a routine, or of the step if
  /// `routine` is empty.
  uint32_t find(size_t stage, std::optional<uint32_t> routine,
                uint32_t instruction) const {
    return first[stage][routine ? *routine + 1 : 0] + instruction;
  }

  /// Returns an activity by its index.
  timeline::Activity &get(uint32_t number) { return activities[number]; }

  std::vector<timeline::Activity> take() { return std::move(activities); }

private:
  void addList(const program::Program &program,
               const program::StageProgram &stage,
               const program::InstructionList &list);
  void describeExchange(const program::Program &program, int64_t stage,
                        const program::InstructionList &list,
                        const program::Instruction &instruction,
                        timeline::Activity &activity);

  std::vector<timeline::Activity> activities;
  /// The index of the first activity for each stage and list. The step precedes
  /// the routines.
  std::vector<std::vector<uint32_t>> first;
  /// The ranks that take part in an exchange, keyed by the first rank of a
  /// stage, the channel, and the side of a transfer.
  std::map<std::tuple<int64_t, uint32_t, bool>, std::vector<int64_t>> members;
};

/// Returns the kind of an exchange: "send", "receive" or, for example,
/// "all_gather over mp".
std::string getExchangeKind(const program::Program &program,
                            const program::Exchange &exchange);

/// Returns the kind of a copy on a stream: "h2d", "d2h", or "copy" within the
/// device.
llvm::StringRef getCopyKind(program::StreamKind stream);

} // namespace mf::simulator

#endif // MF_PERF_SIMULATOR_ACTIVITIES_H
