//===- Deadlock.h - Who waits for whom --------------------------*- C++ -*-===//

#ifndef MF_LIB_SIM_DEADLOCK_H
#define MF_LIB_SIM_DEADLOCK_H

#include "mf/Perf/EventEngine/Queues.h"

namespace mf::sim {

/// The error for queues that stand at `positions`, at least one of them before
/// its end.
llvm::Error explainDeadlock(const Queues &queues,
                            llvm::ArrayRef<int32_t> positions,
                            llvm::function_ref<std::string(ItemId)> getName);

} // namespace mf::sim

#endif // MF_LIB_SIM_DEADLOCK_H
