//===- mf_capture.h - A part of a step that runs as a whole -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// With --capture, the first step records the work of a part of the step. All
// steps then enqueue this part on the device with one call. Everything that
// changes from step to step is in memory.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_SUPPORT_MF_CAPTURE_H
#define MF_LIB_CANN_SUPPORT_MF_CAPTURE_H

#include "mf_rank.h"

namespace mf_cann {

/// Work that was captured on all streams of a rank.
class CapturedPart {
public:
  CapturedPart() = default;
  CapturedPart(const CapturedPart &) = delete;
  CapturedPart &operator=(const CapturedPart &) = delete;
  ~CapturedPart() {
    if (model)
      aclmdlRIDestroy(model);
    for (const aclrtEvent event : events)
      aclrtDestroyEvent(event);
  }

  /// Runs the part after all work that the rank has enqueued, and before all
  /// work that follows.
  void run(CannRank &rank, void (*part)(CannRank &)) {
    if (!model)
      capture(rank, part);
    check(aclmdlRIExecuteAsync(model, rank.stream(0).get()),
          "aclmdlRIExecuteAsync");
    rank.startBehindModel();
    fork(rank);
  }

private:
  void capture(CannRank &rank, void (*part)(CannRank &)) {
    for (size_t i = 0; i < rank.countStreams(); ++i) {
      events.emplace_back();
      check(aclrtCreateEventExWithFlag(&events.back(), ACL_EVENT_SYNC),
            "aclrtCreateEventExWithFlag");
    }
    check(aclmdlRICaptureBegin(rank.stream(0).get(),
                               ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
          "aclmdlRICaptureBegin");
    fork(rank);
    rank.setCapturing(true);
    part(rank);
    rank.setCapturing(false);
    for (size_t i = 1; i < rank.countStreams(); ++i) {
      check(aclrtRecordEvent(events[i], rank.stream(i).get()),
            "aclrtRecordEvent");
      check(aclrtStreamWaitEvent(rank.stream(0).get(), events[i]),
            "aclrtStreamWaitEvent");
    }
    check(aclmdlRICaptureEnd(rank.stream(0).get(), &model),
          "aclmdlRICaptureEnd");
  }

  /// Lets the other streams wait for the first one.
  void fork(CannRank &rank) {
    check(aclrtRecordEvent(events[0], rank.stream(0).get()),
          "aclrtRecordEvent");
    for (size_t i = 1; i < rank.countStreams(); ++i)
      check(aclrtStreamWaitEvent(rank.stream(i).get(), events[0]),
            "aclrtStreamWaitEvent");
  }

  aclmdlRI model = nullptr;
  /// The event of the first stream, followed by the events that the other
  /// streams record at the end.
  std::vector<aclrtEvent> events;
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_CAPTURE_H
