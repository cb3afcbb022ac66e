//===- BlockingTransfers.h - Sends and receives between tasks -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The order of tasks, sends and receives on a stage in the published model.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_EVENTENGINE_BLOCKINGTRANSFERS_H
#define MF_LIB_PERF_EVENTENGINE_BLOCKINGTRANSFERS_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "mf/Pipeline/TaskGraph.h"

namespace mf::events {

/// Returns the blocks of every stage, without times.
std::vector<std::vector<Block>>
placeBlockingTransfers(const schedule::Schedule &schedule);

/// Returns the time that blocking transfers of length 1 add to a step if all
/// chunks take the same time; nothing for a schedule without a closed formula.
std::optional<double>
getBlockingTransferTime(const schedule::Schedule &schedule);

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_BLOCKINGTRANSFERS_H
