//===- Alignment.h - Alignment of buffers -----------------------*- C++ -*-===//
//
// The alignments of the whole project, in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TENSOR_ALIGNMENT_H
#define MF_TENSOR_ALIGNMENT_H

#include <cstdint>

namespace mf {

/// Buffers in device memory begin at multiples of it; the bytes up to the next
/// multiple belong to the buffer before.
constexpr int64_t deviceBufferAlignment = 512;

/// AscendCL wants addresses that are multiples of it, of host memory as of
/// device memory; buffers in pinned host memory begin at them.
constexpr int64_t addressAlignment = 64;

/// The bytes that AscendCL wants for a buffer of `bytes` bytes in a block of
/// device memory that several share: operators may read behind its end.
constexpr int64_t getBytesWithSlack(int64_t bytes) {
  return (bytes + 31) / 32 * 32 + 32;
}

} // namespace mf

#endif // MF_TENSOR_ALIGNMENT_H
