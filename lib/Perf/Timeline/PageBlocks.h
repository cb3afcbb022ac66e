//===- PageBlocks.h - Reduces a step to the size of a page ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step may have millions of spans, but a page only shows as many as fit a
// screen. Short spans are merged with their neighbours, as few as possible
// within a limit.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_PAGEBLOCKS_H
#define MF_LIB_PERF_TIMELINE_PAGEBLOCKS_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include <vector>

namespace mf::timeline {

/// Spans of a stream and of one task that follow one another.
struct PageBlock {
  double start = 0;
  double end = 0;
  /// The activity of the longest of its spans.
  uint32_t activity = 0;
  int32_t task = -1;
  uint32_t spans = 1;
  /// Seconds between its spans.
  double idle = 0;
};

/// Joins spans as long as blocks of several are not longer than `resolution`.
std::vector<PageBlock> joinSpans(const std::vector<Span> &spans,
                                 double resolution);

/// Returns the finest of the tried resolutions with which the streams of all
/// stages have at most `limit` blocks; 0 if they have at most `limit` spans.
/// Blocks of different tasks are not joined, so any resolution can exceed the
/// limit.
double findResolution(const StepTimeline &timeline, size_t limit);

/// Returns a curve of at most about `limit` points with the same maximum. The
/// step is divided into equal parts, and the highest and the last point of each
/// are kept.
std::vector<MemoryPoint> thinOut(const std::vector<MemoryPoint> &points,
                                 double seconds, size_t limit);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_PAGEBLOCKS_H
