//===- PageData.h - The data of a page about a step -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// JSON for the scripts of lib/Perf/Timeline/page, in as few bytes as is simple:
//
//   {"program": "step.mlir",
//    "report": {...},              // as in Writers.h, without `program`
//    "limits": "the step is limited by ...",
//    "path": [["matmul", seconds], ...],     // the critical path in words
//    "gains": ["10 % more of ...", ...],
//    "tick": 1e-7,                 // seconds of a unit of time below
//    "resolution": 0.001,          // seconds; of joined spans, 0 if none are
//    "spans": 123456,              // of the step; blocks may be fewer
//    "names": ["aclnnMatmul", ...],
//    "activities": [[name, kind, cell, category, engine], ...],
//    "stages": [
//      {"tasks": [phase, chunk, micro-batch, start, length, ...],
//       "gaps": [cause, gap, length, ...],
//       "memory": [time, bytes, ...],
//       "streams": [{"name": "compute", "blocks":
//           [gap, length, activity, task, spans, idle, ...]}, ...]}, ...]}
//
// Categories, engines and causes are the values of their enumerations. `gap` is
// the time since the end of the previous entry, `time` is relative to the
// previous point, and `task` is the difference from that of the previous block.
// Names, kinds and cells are indices into `names`, phases are letters (F, B, I,
// W). Gaps are the longest ones of Gaps.h.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_PAGEDATA_H
#define MF_LIB_PERF_TIMELINE_PAGEDATA_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include <string>

namespace mf::timeline {

std::string makePageData(const StepTimeline &timeline);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_PAGEDATA_H
