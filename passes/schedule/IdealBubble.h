//===- IdealBubble.h - Idle time of a schedule in unit times ---*- C++ -*-===//

#ifndef MF_PASSES_SCHEDULE_IDEALBUBBLE_H
#define MF_PASSES_SCHEDULE_IDEALBUBBLE_H

#include "mf/Schedule/Schedule.h"

namespace mf::passes {

/// The time that stages idle as a share of that in which they compute, when
/// every task takes schedule::getUnitTime() and transfers take none: (stages -
/// 1) / micro-batches for 1F1B. Of a schedule that verifies.
double getIdealBubble(const schedule::Schedule &schedule);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_IDEALBUBBLE_H
