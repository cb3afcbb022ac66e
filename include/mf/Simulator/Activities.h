//===- Activities.h - What instructions are called in time ----*- C++ -*-===//

#ifndef MF_SIMULATOR_ACTIVITIES_H
#define MF_SIMULATOR_ACTIVITIES_H

#include "mf/Program/Program.h"
#include "mf/Timeline/StepTimeline.h"

namespace mf::simulator {

/// The activities of a program's instructions, each list's in order. What holds
/// up a device stands behind the exchange that does.
class ActivityTable {
public:
  explicit ActivityTable(const program::Program &program);

  /// Of an instruction of a routine, or of the step if `routine` is none.
  uint32_t find(size_t stage, std::optional<uint32_t> routine,
                uint32_t instruction) const {
    return first[stage][routine ? *routine + 1 : 0] + 2 * instruction;
  }
  /// Of the compute stream, while that exchange holds it up.
  uint32_t findHeld(size_t stage, std::optional<uint32_t> routine,
                    uint32_t instruction) const {
    return find(stage, routine, instruction) + 1;
  }

  std::vector<timeline::Activity> take() { return std::move(activities); }

private:
  void addList(const program::Program &program,
               const program::StageProgram &stage,
               const program::InstructionList &list);

  std::vector<timeline::Activity> activities;
  /// By stage and list, the step before the routines.
  std::vector<std::vector<uint32_t>> first;
};

/// The kind of an exchange: "send", "receive", "all_gather over mp".
std::string getExchangeKind(const program::Program &program,
                            const program::Exchange &exchange);

/// The kind of a copy on a stream: "h2d", "d2h", or "copy" within the device.
llvm::StringRef getCopyKind(program::StreamKind stream);

} // namespace mf::simulator

#endif // MF_SIMULATOR_ACTIVITIES_H
