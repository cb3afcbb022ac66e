//===- DeviceNeed.h - What a device needs beside live tensors ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A job takes more of a device than its live tensors: the allocator's pool is
// larger than the blocks in it, each communicator has buffers, and the runtime
// has memory of its own. What scatters between runs of the same step is a span.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_TARGET_DEVICENEED_H
#define MF_PERF_TARGET_DEVICENEED_H

#include "mf/Perf/Target/Target.h"
#include "mf/Program/Program.h"

namespace mf::target {

/// A number of bytes of which only the bounds are known.
struct ByteSpan {
  int64_t least = 0;
  int64_t most = 0;
};

inline ByteSpan operator+(ByteSpan a, ByteSpan b) {
  return {a.least + b.least, a.most + b.most};
}

/// The communicators of a rank, and the size of one of their buffers.
struct CommunicatorBuffers {
  int64_t count = 0;
  int64_t bufferBytes = 0;
};

/// The memory of a device while a job runs on it.
struct DeviceNeed {
  /// What the allocator has mapped, which includes all live tensors.
  ByteSpan pool;
  int64_t communicators = 0;
  /// What the job has outside the pool and the buffers of communicators.
  ByteSpan runtime;
  /// What the device takes without the job.
  int64_t idle = 0;

  /// Returns what the job takes.
  ByteSpan getJob() const {
    return pool + ByteSpan{communicators, communicators} + runtime;
  }
  /// Returns what the device takes in all, as npu-smi counts it.
  ByteSpan getTotal() const { return getJob() + ByteSpan{idle, idle}; }
};

/// Returns the bytes of the allocator's pool whose live blocks have at most
/// `liveBytes` bytes at once.
ByteSpan getPoolBytes(const Memory &memory, int64_t liveBytes);

/// Returns the bytes of the buffers of all communicators.
int64_t getCommunicatorBytes(const Memory &memory,
                             const CommunicatorBuffers &communicators);

/// Returns what a device needs for a job whose live blocks have at most
/// `liveBytes` bytes at once.
DeviceNeed getDeviceNeed(const Memory &memory, int64_t liveBytes,
                         const CommunicatorBuffers &communicators);

/// Returns the largest pool for which the device has memory, if communicators
/// and runtime take the least that they can. 0 if the target does not know the
/// device's memory.
int64_t getLargestPool(const Memory &memory,
                       const CommunicatorBuffers &communicators);

/// Returns the number of communicators of a rank of a stage: the sets of ranks
/// with which it exchanges anything. Messages between stages have one for all
/// stages.
int64_t countCommunicators(const program::Program &program, int64_t stage);

/// Returns the size of a communicator's buffer by HCCL_BUFFSIZE of the
/// environment, which is in MiB. Fails if that is not a number of at least 1.
llvm::Expected<int64_t> readBufferBytes();

} // namespace mf::target

#endif // MF_PERF_TARGET_DEVICENEED_H
