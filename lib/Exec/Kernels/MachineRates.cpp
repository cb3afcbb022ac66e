//===- MachineRates.cpp - Measured peak rates of this machine -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Kernels/MachineRates.h"
#include "Tiles.h"
#include "mf/Exec/Kernels/Kernel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <vector>

namespace mf {

/// Returns the best of as many runs as fit into a time limit, and at least
/// three: in the first one, memory is not mapped and code is not loaded yet.
static double timeBest(Clock clock, llvm::function_ref<void()> work) {
  constexpr int fewestRuns = 3;
  constexpr double enough = 0.1;
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int run = 0; run < fewestRuns || spent < enough; ++run) {
    const double begin = clock();
    work();
    const double seconds = clock() - begin;
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

double measureProductRate(DType type, ThreadPool &pool, Clock clock) {
  // Large enough for the rate to stay, small enough for a core without AMX.
  constexpr int64_t size = 1536;
  const TensorShape matrix = {type, {size, size}};
  const std::unique_ptr<Kernel> product =
      cantFail(makeKernel({"aclnnMatmul",
                           {matrix, matrix},
                           {matrix},
                           {{"transpose_a", false}, {"transpose_b", true}}}));
  // The element of this byte is a small number in every type.
  constexpr char byte = 0x3c;
  const auto bytes = static_cast<size_t>(matrix.getBytes());
  std::vector<std::vector<char>> memory(3, std::vector<char>(bytes, byte));
  const std::vector<void *> inputs = {memory[0].data(), memory[1].data()},
                            outputs = {memory[2].data()};
  const double seconds =
      timeBest(clock, [&] { product->run({inputs, outputs, nullptr}, pool); });
  return 2.0 * size * size * size / seconds;
}

double measureStreamingRate(ThreadPool &pool, Clock clock) {
  constexpr int64_t bytes = 64 << 20, elements = bytes / sizeof(float);
  std::vector<float> a(elements, 1), b(elements, 2), c(elements);
  const Tiles tiles(elements, elementsPerTile);
  const double seconds = timeBest(clock, [&] {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      const auto [begin, size] = tiles[tile];
      for (int64_t i = begin; i < begin + size; ++i)
        c[i] = a[i] + b[i];
    });
  });
  return 3.0 * bytes / seconds;
}

} // namespace mf
