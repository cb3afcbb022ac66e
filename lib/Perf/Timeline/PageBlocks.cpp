//===- PageBlocks.cpp - Reduces a step to the size of a page --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PageBlocks.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace mf::timeline {

namespace {

/// Calls a function for each range of spans that is joined.
template <typename Function>
void forEachBlock(const std::vector<Span> &spans, double resolution,
                  Function function) {
  for (size_t begin = 0; begin < spans.size();) {
    size_t end = begin + 1;
    while (end < spans.size() && spans[end].task == spans[begin].task &&
           spans[end].end - spans[begin].start <= resolution)
      ++end;
    function(begin, end);
    begin = end;
  }
}

size_t countBlocks(const StepTimeline &timeline, double resolution) {
  size_t count = 0;
  for (const StageTimeline &stage : timeline.stages)
    for (const StreamTimeline &stream : stage.streams)
      forEachBlock(stream.spans, resolution, [&](size_t, size_t) { ++count; });
  return count;
}

/// Returns the activity that takes longest, or the first of several.
uint32_t findMainActivity(const std::vector<Span> &spans, size_t begin,
                          size_t end) {
  std::map<uint32_t, double> seconds;
  for (size_t i = begin; i < end; ++i)
    seconds[spans[i].activity] += spans[i].end - spans[i].start;
  return std::max_element(
             seconds.begin(), seconds.end(),
             [](const auto &a, const auto &b) { return a.second < b.second; })
      ->first;
}

} // namespace

std::vector<PageBlock> joinSpans(const std::vector<Span> &spans,
                                 double resolution) {
  std::vector<PageBlock> blocks;
  forEachBlock(spans, resolution, [&](size_t begin, size_t end) {
    double idle = 0;
    for (size_t i = begin + 1; i < end; ++i)
      idle += spans[i].start - spans[i - 1].end;
    blocks.push_back({spans[begin].start, spans[end - 1].end,
                      findMainActivity(spans, begin, end), spans[begin].task,
                      static_cast<uint32_t>(end - begin), idle});
  });
  return blocks;
}

double findResolution(const StepTimeline &timeline, size_t limit) {
  size_t spans = 0, streams = 0;
  for (const StageTimeline &stage : timeline.stages) {
    streams += stage.streams.size();
    for (const StreamTimeline &stream : stage.streams)
      spans += stream.spans.size();
  }
  if (spans <= limit)
    return 0;
  // Two adjacent blocks of one task are longer than the resolution, which
  // therefore need not be much coarser than this.
  double resolution = timeline.seconds * static_cast<double>(streams) /
                      static_cast<double>(limit) / 64;
  while (resolution < timeline.seconds &&
         countBlocks(timeline, resolution) > limit)
    resolution *= 1.5;
  return resolution;
}

std::vector<MemoryPoint> thinOut(const std::vector<MemoryPoint> &points,
                                 double seconds, size_t limit) {
  if (points.size() <= limit || seconds <= 0)
    return points;
  const double width = 2 * seconds / static_cast<double>(limit);
  std::vector<MemoryPoint> result;
  for (size_t begin = 0; begin < points.size();) {
    const double stop = (std::floor(points[begin].time / width) + 1) * width;
    size_t end = begin + 1, highest = begin;
    for (; end < points.size() && points[end].time < stop; ++end)
      if (points[end].bytes > points[highest].bytes)
        highest = end;
    result.push_back(points[highest]);
    if (highest + 1 < end)
      result.push_back(points[end - 1]);
    begin = end;
  }
  return result;
}

} // namespace mf::timeline
