//===- PendingUses.h - Memory that other streams still use ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_PENDINGUSES_H
#define MF_LIB_PROGRAM_PENDINGUSES_H

#include "StreamClocks.h"
#include <deque>

namespace mf::program {

/// Uses of buffers by other streams that may still go on when the compute
/// stream continues. They are stored by stream, in the order of their positions
/// there.
template <typename Buffer> class PendingUses {
public:
  explicit PendingUses(size_t numStreams) : streams(numStreams) {}

  void add(uint32_t stream, uint64_t position, const Buffer &buffer) {
    streams[stream].push_back({position, buffer});
  }

  /// Removes the uses that the compute stream knows to be over, and calls
  /// `visit` with the buffer of each.
  template <typename Visit>
  void settle(const StreamClocks &clocks, uint32_t compute, Visit visit) {
    for (uint32_t stream = 0; stream < streams.size(); ++stream) {
      auto &uses = streams[stream];
      if (uses.empty())
        continue;
      const uint64_t known = clocks.getClock(compute, stream);
      for (; !uses.empty() && uses.front().first <= known; uses.pop_front())
        visit(uses.front().second);
    }
  }

  /// Calls `visit` with the buffer of each remaining use that the compute
  /// stream knows to be over, and removes the uses for which it returns true.
  template <typename Visit>
  void eraseKnown(const StreamClocks &clocks, uint32_t compute, Visit visit) {
    for (uint32_t stream = 0; stream < streams.size(); ++stream) {
      auto &uses = streams[stream];
      if (uses.empty())
        continue;
      const uint64_t known = clocks.getClock(compute, stream);
      uses.erase(std::remove_if(uses.begin(), uses.end(),
                                [&](const auto &use) {
                                  return use.first <= known &&
                                         visit(use.second);
                                }),
                 uses.end());
    }
  }

  template <typename Visit> void forEach(Visit visit) {
    for (uint32_t stream = 0; stream < streams.size(); ++stream)
      for (auto &use : streams[stream])
        visit(stream, use.second);
  }

private:
  std::vector<std::deque<std::pair<uint64_t, Buffer>>> streams;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_PENDINGUSES_H
