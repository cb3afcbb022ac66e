//===- DeviceTasks.h - A step as a profiler of a device sees it *- C++ -*-===//
//
// The tasks that MindSpore's profiler would record on a rank. They differ from
// the timeline in two ways. On a device, a receive is a task that begins when
// its stream comes to it: the time in which the device is idle until a message
// comes belongs to the receive, and the profiler calls it the bubble. And a
// collective that holds up the device is no task of the stream that it holds
// up.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_TIMELINE_DEVICETASKS_H
#define MF_LIB_TIMELINE_DEVICETASKS_H

#include "Clock.h"
#include "Intervals.h"
#include "TimelineParts.h"

namespace mf::timeline {

/// One task of a device: a row of kernel_details.csv, unless it copies to or
/// from the host.
struct DeviceTask {
  const Activity *activity = nullptr;
  uint32_t stream = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  /// When bytes begin to move; `start` but for receives.
  Nanoseconds transferStart = 0;
  /// Since the task before it on its stream.
  Nanoseconds wait = 0;

  bool isCommunication() const;
  /// Whether it copies between device and host.
  bool isCopy() const;
  bool isComputing() const { return !isCommunication() && !isCopy(); }
};

/// All tasks of a rank in the order of their starts, and when it does what.
struct DeviceTasks {
  DeviceTasks(const StepTimeline &timeline, const StageTimeline &stage);

  std::vector<DeviceTask> tasks;
  /// From the begin of the step to its end; a rank may be done before.
  Nanoseconds step = 0;
  Intervals<Nanoseconds> computing;
  /// Collectives, sends and receives.
  Intervals<Nanoseconds> communication;
  Intervals<Nanoseconds> exposedCommunication;
  /// Neither is going on.
  Intervals<Nanoseconds> free;
  /// The times in which a receive is going on.
  Intervals<Nanoseconds> receiving;
};

/// "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC" or "COMMUNICATION", by the engine and
/// the kind of work.
llvm::StringRef getAcceleratorCore(const Activity &activity);

/// The operator type: a kernel's name; a collective or message as HCCL calls it
/// ("hcom_allGather_").
std::string getOperatorType(const Activity &activity);

/// Bytes of a collective or message that the rank sends; Activity::bytes if the
/// number of ranks is not known.
double getSentBytes(const Activity &activity);

} // namespace mf::timeline

#endif // MF_LIB_TIMELINE_DEVICETASKS_H
