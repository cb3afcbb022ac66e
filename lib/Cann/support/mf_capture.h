//===- mf_capture.h - A part of a step that runs as a whole -----*- C++ -*-===//
//
// With --capture the first step records the work of its part, which all steps
// then give to the device by one call. Memory has all that changes from step to
// step.
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

  /// Runs the part behind all that the rank has been given, and lets all that
  /// follows come behind it.
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
  /// The first stream's, then what the others record at the end.
  std::vector<aclrtEvent> events;
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_CAPTURE_H
