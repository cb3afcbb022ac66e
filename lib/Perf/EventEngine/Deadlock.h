//===- Deadlock.h - Deadlocks of queues -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_EVENTENGINE_DEADLOCK_H
#define MF_LIB_PERF_EVENTENGINE_DEADLOCK_H

#include "mf/Perf/EventEngine/Queues.h"

namespace mf::events {

/// Returns the error for queues that are stuck at `positions`. At least one of
/// them must be before its end.
llvm::Error explainDeadlock(const Queues &queues,
                            llvm::ArrayRef<int32_t> positions,
                            llvm::function_ref<std::string(ItemId)> getName);

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_DEADLOCK_H
