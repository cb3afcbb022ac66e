//===- StepPlan.h - A rank's step, ready to issue --------------*- C++ -*-===//
//
// A Program with kernels in place of their numbers and operands as a base and
// an offset, so that issuing costs next to nothing. Launches that follow each
// other in a list become one piece of work of the compute stream.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_RUNNER_STEPPLAN_H
#define MF_LIB_RUNNER_STEPPLAN_H

#include "mf/Kernels/Kernel.h"
#include "mf/Program/Program.h"
#include <array>
#include <cstddef>

namespace mf::runner {

/// Address of an operand: `offset` bytes from the base of that number.
struct PlannedOperand {
  uint32_t base = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Where the bases of a list are. Numbers below `firstArgument` are those of
/// program::Base; then come the arguments.
struct BaseTable {
  static constexpr uint32_t firstArgument =
      static_cast<uint32_t>(program::Base::Argument);
  std::vector<std::byte *> bases;

  void *getAddress(const PlannedOperand &operand) const {
    return bases[operand.base] + operand.offset;
  }
};

struct PlannedLaunch {
  const Kernel *kernel = nullptr;
  /// Into ListPlan::operands; outputs follow inputs.
  uint32_t firstOperand = 0;
  uint32_t numInputs = 0;
  uint32_t numOutputs = 0;
  /// Place in the instruction list.
  uint32_t instruction = 0;
};

/// Launches [begin, end) of the list, one after the other.
struct LaunchRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct PlannedCall {
  const program::Call *call = nullptr;
  std::vector<PlannedOperand> arguments;
};

struct PlannedCopy {
  uint32_t stream = 0;
  PlannedOperand source;
  PlannedOperand target;
  bool fromHost = false;
  bool toHost = false;
};

struct PlannedTransfer {
  uint32_t stream = 0;
  uint32_t channel = 0;
  PlannedOperand buffer;
  bool isSend = false;
};

struct PlannedReduction {
  uint32_t stream = 0;
  uint32_t channel = 0;
  PlannedOperand buffer;
  DType type = DType::F32;
};

struct PlannedAction {
  std::variant<LaunchRange, PlannedCall, program::Record, program::Wait,
               PlannedCopy, PlannedTransfer, PlannedReduction>
      what;
  /// The instruction that it is, or the first one.
  uint32_t instruction = 0;
};

struct ListPlan {
  std::vector<PlannedOperand> operands;
  std::vector<PlannedLaunch> launches;
  std::vector<PlannedAction> actions;
  uint32_t numEvents = 0;
};

/// `kernels[i]` is the kernel number i of the program.
ListPlan planList(const program::InstructionList &list,
                  llvm::ArrayRef<std::unique_ptr<Kernel>> kernels);

} // namespace mf::runner

#endif // MF_LIB_RUNNER_STEPPLAN_H
