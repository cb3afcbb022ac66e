//===- StepOps.h - Operations of an instruction list on streams -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An instruction list in the form from which the simulator makes items. A
// routine is converted once, however often it is called, and successive kernels
// on a stream are merged into one item.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_SIMULATOR_STEPOPS_H
#define MF_LIB_PERF_SIMULATOR_STEPOPS_H

#include "StepCosts.h"

namespace mf::simulator {

enum class OpKind : uint8_t {
  /// Successive kernels.
  Kernels,
  Copy,
  Exchange,
  Wait,
  Record,
  /// A place at which a call may record events of the step.
  CallRecord,
  Call
};

struct Op {
  OpKind kind = OpKind::Kernels;
  /// For a Wait, true if a call passes the event.
  bool isArgument = false;
  uint32_t stream = 0;
  /// The number of the event, or of the cost of the exchange.
  uint32_t operand = 0;
  /// The instructions of the list. For Kernels, those in [first, last] that are
  /// kernels of the stream.
  uint32_t first = 0;
  uint32_t last = 0;
  /// The time of Kernels and Copy.
  double seconds = 0;

  /// Calls `visit(number, instruction)` for the kernels of Kernels, in order.
  template <typename Visitor>
  void forEachKernel(const program::InstructionList &list,
                     Visitor visit) const {
    for (uint32_t i = first; i <= last; ++i)
      if (list.instructions[i].work == program::Work::Kernel &&
          list.instructions[i].stream == stream)
        visit(i, list.instructions[i]);
  }
};

/// The operations of a stage's step and routines.
struct StageOps {
  std::vector<Op> step;
  std::vector<std::vector<Op>> routines;
};

StageOps makeStageOps(const program::Program &program, size_t stage,
                      const StepCosts &costs);

} // namespace mf::simulator

#endif // MF_LIB_PERF_SIMULATOR_STEPOPS_H
