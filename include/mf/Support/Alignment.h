//===- Alignment.h - Alignment of buffers -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The alignments of buffers, in bytes, for the whole project.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_ALIGNMENT_H
#define MF_SUPPORT_ALIGNMENT_H

#include <cstdint>

namespace mf {

/// The alignment of buffers in device memory. The bytes up to the next multiple
/// belong to the preceding buffer.
constexpr int64_t deviceBufferAlignment = 512;

/// The alignment that AscendCL requires of addresses in host and device memory.
/// Buffers in pinned host memory have this alignment.
constexpr int64_t addressAlignment = 64;

/// Returns the number of bytes that AscendCL requires for a buffer of `bytes`
/// bytes in a block of device memory that several buffers share. Operators may
/// read past the buffer's end.
constexpr int64_t getBytesWithSlack(int64_t bytes) {
  return (bytes + 31) / 32 * 32 + 32;
}

} // namespace mf

#endif // MF_SUPPORT_ALIGNMENT_H
