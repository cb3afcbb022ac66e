//===- StepPrefetch.h - Swapped values that are copied back early -*- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0
//
// A copy that starts before the call that reads it belongs to the step. It
// waits for an event that an earlier call records, or that is recorded right
// before one.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_STEPPREFETCH_H
#define MF_PASSES_LOWER_STEPPREFETCH_H

#include "passes/lower/StepCalls.h"

namespace mf::passes {

/// The copy of a swapped value for call `reader`, which starts before kernel
/// `kernel` of another call. It records `events[event]` of its reader.
struct EarlyCopy {
  int64_t kernel;
  size_t reader, event;
  mlir::Value buffer;
  int64_t slot;
};

class EarlyCopies {
public:
  /// Determines when copies start. Adds to the calls the buffers of the copied
  /// values, and null events that stand for the ends of the copies.
  void place(StepBlock &step, llvm::MutableArrayRef<StepCall> calls);
  /// Returns the kernels of a call before which copies start, ascending,
  /// without the first one.
  llvm::SmallVector<int64_t> getKernels(size_t call) const;
  /// Issues the copies that start before a call.
  void emitBefore(StepBlock &step, llvm::MutableArrayRef<StepCall> calls,
                  size_t call) const;
  /// Issues the copies that start while a call runs, which records `events`.
  void emitBeside(StepBlock &step, llvm::MutableArrayRef<StepCall> calls,
                  size_t call, const LaunchEvents &events) const;

private:
  /// For each call, the copies that start before or while it runs, by kernel.
  std::vector<std::vector<EarlyCopy>> copies;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPPREFETCH_H
