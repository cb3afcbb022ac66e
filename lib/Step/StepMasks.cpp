//===- StepMasks.cpp - Masks of dropout that the host draws ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Step/StepRun.h"
#include "mf/Support/DropoutBits.h"
#include <algorithm>
#include <thread>

namespace mf::step {

void drawMask(const StepMask &mask, std::vector<uint8_t> &bits) {
  DropoutDraw what;
  what.sizes = mask.sizes;
  what.whole = mask.whole;
  what.starts = mask.starts;
  what.threshold = getDropThreshold(mask.rate);
  what.key = static_cast<uint64_t>(mask.key);
  std::copy(std::begin(mask.draw), std::end(mask.draw), what.draw.begin());
  int64_t count = 1;
  for (const int64_t size : mask.sizes)
    count *= size;
  constexpr int64_t bytesOfUnit = dropoutBitsOfUnit / 8;
  const int64_t units = (count + dropoutBitsOfUnit - 1) / dropoutBitsOfUnit;
  bits.resize(units * bytesOfUnit);
  // A thread takes longer to start than to draw fewer units than this.
  constexpr int64_t leastUnits = 1024;
  const int64_t threads = std::clamp<int64_t>(
      units / leastUnits, 1,
      std::max<int64_t>(std::thread::hardware_concurrency(), 1));
  auto drawPart = [&](int64_t part) {
    const int64_t first = units * part / threads,
                  end = units * (part + 1) / threads;
    drawDropoutBits(what, first * bytesOfUnit, (end - first) * bytesOfUnit,
                    bits.data());
  };
  std::vector<std::thread> started;
  for (int64_t part = 1; part < threads; ++part)
    started.emplace_back(drawPart, part);
  drawPart(0);
  for (std::thread &thread : started)
    thread.join();
}

} // namespace mf::step
