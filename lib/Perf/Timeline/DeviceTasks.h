//===- DeviceTasks.h - A step in the form of a device's profile -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The tasks that MindSpore's profiler would record on a rank. They differ from
// the timeline in two ways. On a device, a receive is a task that begins when
// its stream reaches it. The time in which the device is idle until a message
// arrives belongs to the receive, and the profiler calls it the bubble. A
// collective that holds up the device is not a task of the stream that it holds
// up.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_DEVICETASKS_H
#define MF_LIB_PERF_TIMELINE_DEVICETASKS_H

#include "Clock.h"
#include "Intervals.h"
#include "TimelineParts.h"

namespace mf::timeline {

/// One task of a device. It is a row of kernel_details.csv, unless it copies to
/// or from the host.
struct DeviceTask {
  const Activity *activity = nullptr;
  uint32_t stream = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  /// The time at which bytes begin to move. It equals `start` except for
  /// receives.
  Nanoseconds transferStart = 0;
  /// The time since the previous task of its stream.
  Nanoseconds wait = 0;

  bool isCommunication() const;
  /// Returns whether the task copies between device and host.
  bool isCopy() const;
  bool isComputing() const { return !isCommunication() && !isCopy(); }
};

/// All tasks of a rank in the order of their starts, and intervals by kind of
/// work.
struct DeviceTasks {
  DeviceTasks(const StepTimeline &timeline, const StageTimeline &stage);

  std::vector<DeviceTask> tasks;
  /// The duration of the step. A rank may be done earlier.
  Nanoseconds step = 0;
  Intervals<Nanoseconds> computing;
  /// The intervals of collectives, sends and receives.
  Intervals<Nanoseconds> communication;
  Intervals<Nanoseconds> exposedCommunication;
  /// The intervals without computation and communication.
  Intervals<Nanoseconds> free;
  /// The intervals of receives.
  Intervals<Nanoseconds> receiving;
};

/// Returns "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC" or "COMMUNICATION", depending
/// on the engine and the kind of work.
llvm::StringRef getAcceleratorCore(const Activity &activity);

/// Returns the operator type: a kernel's name; a collective or message as HCCL
/// calls it ("hcom_allGather_").
std::string getOperatorType(const Activity &activity);

/// Returns the bytes of a collective or message that the rank sends, or
/// Activity::bytes if the number of ranks is not known.
double getSentBytes(const Activity &activity);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_DEVICETASKS_H
