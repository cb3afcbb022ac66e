//===- ExampleTimelines.h - Steps in time made by hand --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_TIMELINE_EXAMPLETIMELINES_H
#define MF_TEST_UNIT_TIMELINE_EXAMPLETIMELINES_H

#include "mf/Perf/Timeline/StepTimeline.h"

namespace mf::timeline {

/// Two stages of two ranks each, two micro-batches, 10 s: kernels, collectives
/// (one that holds up the device), messages and a copy each way, in numbers
/// that are easy to add up:
///
///   stage 0, compute     kernels 0-3, held 3-3.5, kernel 7-9
///            mp          all_gather 2-4
///            pp_send     send 3.5-4.5
///            pp_receive  receive 6.5-7
///            d2h, h2d    copies 4-5 and 5-6.75
///   stage 1, compute     kernel 4.5-6.5
///            pp_receive  receive 3.5-4.5
///            pp_send     send 6.5-7
StepTimeline makeExample();

/// `stages` stages with as many tasks of `kernels` kernels each, with a
/// collective beside every fourth and a message before each task.
StepTimeline makePipeline(int stages, int tasks, int kernels);

/// Adds an activity and returns its number.
uint32_t addActivity(StepTimeline &timeline, Category category,
                     llvm::StringRef name, llvm::StringRef kind);

} // namespace mf::timeline

#endif // MF_TEST_UNIT_TIMELINE_EXAMPLETIMELINES_H
