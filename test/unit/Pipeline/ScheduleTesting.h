//===- ScheduleTesting.h - What tests of schedules share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PIPELINE_SCHEDULETESTING_H
#define MF_TEST_UNIT_PIPELINE_SCHEDULETESTING_H

#include "mf/Pipeline/Policy.h"
#include "mf/Pipeline/Transfers.h"
#include <functional>

namespace mf::schedule {

/// The schedule of that name, or what is wrong.
llvm::Expected<Schedule> tryBuild(llvm::StringRef name, int64_t stages,
                                  int64_t chunksPerStage, int64_t microBatches,
                                  int64_t pieces = 1);

/// The same of a shape that the policy takes.
Schedule build(llvm::StringRef name, int64_t stages, int64_t chunksPerStage,
               int64_t microBatches, int64_t pieces = 1);

/// `F0` and so on as a Schedule prints it.
std::string printToString(const Schedule &schedule);

/// The tasks in unit times as a picture (mf/Perf/EventEngine/PipelinePrint.h).
std::string drawUnitTimes(const Schedule &schedule);

/// The text of an error, empty if there is none.
std::string getText(llvm::Error error);

/// Calls `visit` with every built-in schedule of every shape up to the given
/// one that its policy takes.
void forEachSchedule(int64_t stages, int64_t chunksPerStage,
                     int64_t microBatches,
                     const std::function<void(const Schedule &)> &visit);

/// Runs a schedule task by task, a stage whenever it can go on: true if all
/// tasks ran, each once and with all it needs. With transfers, messages too.
/// Written apart from the library, and slow.
bool runsThrough(const Schedule &schedule,
                 const std::vector<Transfer> *transfers = nullptr);

/// When the last stage ends, in unit times.
int64_t getUnitEnd(const Schedule &schedule);

/// The time for which a stage idles between its first task and its last.
int64_t getIdleTime(const Schedule &schedule, int64_t stage);

/// The most activations that each stage holds at once.
std::vector<int64_t> getPeaks(const Schedule &schedule);

} // namespace mf::schedule

#endif // MF_TEST_UNIT_PIPELINE_SCHEDULETESTING_H
