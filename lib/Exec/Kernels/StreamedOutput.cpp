//===- StreamedOutput.cpp - Stores that bypass the caches -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StreamedOutput.h"
#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/StreamedOutput.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Stores vectors that `get(i)` returns for byte i, from the first cache line
/// that begins within `bytes` bytes to the last that ends there, and returns
/// that range. A line of AVX-512 is one store, so it is never written in parts.
template <typename Get>
HWY_INLINE std::pair<int64_t, int64_t> streamLines(uint8_t *to, int64_t bytes,
                                                   const Get &get) {
  constexpr int64_t lineBytes = 64;
  const hn::ScalableTag<uint8_t> tag;
  const auto size = static_cast<int64_t>(hn::Lanes(tag));
  const auto address = reinterpret_cast<uintptr_t>(to);
  const int64_t begin =
      std::min(bytes, static_cast<int64_t>(-address % lineBytes));
  const int64_t end = begin + (bytes - begin) / lineBytes * lineBytes;
  for (int64_t i = begin; i < end; i += size)
    hn::Stream(get(i), tag, to + i);
  return {begin, end};
}

void copyLines(const void *from, void *to, int64_t bytes) {
  const auto *source = static_cast<const uint8_t *>(from);
  auto *target = static_cast<uint8_t *>(to);
  const hn::ScalableTag<uint8_t> tag;
  auto [begin, end] = streamLines(target, bytes, [&](int64_t i) HWY_ATTR {
    return hn::LoadU(tag, source + i);
  });
  std::memcpy(target, source, begin);
  std::memcpy(target + end, source + end, bytes - end);
}

void clearLines(void *to, int64_t bytes) {
  auto *target = static_cast<uint8_t *>(to);
  const auto zero = hn::Zero(hn::ScalableTag<uint8_t>());
  auto [begin, end] =
      streamLines(target, bytes, [&](int64_t /*i*/) HWY_ATTR { return zero; });
  std::memset(target, 0, begin);
  std::memset(target + end, 0, bytes - end);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void streamCopy(const void *from, void *to, int64_t bytes) {
  MF_LOOP(copyLines)(from, to, bytes);
}

void streamZeros(void *to, int64_t bytes) { MF_LOOP(clearLines)(to, bytes); }

void finishStreaming() { hwy::FlushStream(); }

} // namespace mf
#endif // HWY_ONCE
