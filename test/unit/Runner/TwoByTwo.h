//===- TwoByTwo.h - A program of two stages of two ranks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_RUNNER_TWOBYTWO_H
#define MF_TEST_UNIT_RUNNER_TWOBYTWO_H

#include "RunnerTesting.h"
#include <gmock/gmock.h>

namespace mf::runner {

inline const std::string twoByTwoHeader = makeHeader(2, 2, 1024, 256);

/// Stage 0 gathers in the middle of a layer what its ranks have halves of;
/// stage 1 scales it, each rank by its own factors, sums and scatters. At the
/// end both stages sum what they have.
inline const std::string twoByTwo =
    "module attributes {mf.mesh = #mf.mesh<pp = 2, mp = 2>} {\n"
    "ascend.program @stage0 stage 0" +
    twoByTwoHeader + R"(
ascend.stream @compute compute
ascend.stream @mp communication
ascend.stream @pp communication
ascend.static @w parameter of "w" : !ascend.buffer<2xf32, hbm> slice <[4] over [[mp]]> at 0
ascend.static @h gradient of "w" : !ascend.buffer<2xf32, hbm> slice <[4] over [[mp]]> at 64
ascend.routine @layer(%out: !ascend.buffer<4xf32, hbm>) {
  %w = ascend.global @w : !ascend.buffer<2xf32, hbm>
  %h = ascend.global @h : !ascend.buffer<2xf32, hbm>
  %t = ascend.alloc in scratch at 0 : !ascend.buffer<2xf32, hbm>
  %whole = ascend.alloc in scratch at 64 : !ascend.buffer<4xf32, hbm>
  ascend.launch "aclnnMuls"(%w) -> (%t) {value = 2.0 : f64} cell "twice" : (!ascend.buffer<2xf32, hbm>) -> !ascend.buffer<2xf32, hbm>
  %ready = ascend.record @compute
  %gathered = ascend.collective all_gather %t to %whole over <mp> channel "gather" cell "layer" on @mp after %ready : !ascend.buffer<2xf32, hbm> to !ascend.buffer<4xf32, hbm> -> !ascend.event
  ascend.launch "aclnnInplaceCopy"(%t) -> (%h) {} cell "keep" : (!ascend.buffer<2xf32, hbm>) -> !ascend.buffer<2xf32, hbm>
  ascend.wait @compute for %gathered
  ascend.launch "aclnnAdd"(%whole, %whole) -> (%out) {} cell "double" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
}
ascend.step {
  %h = ascend.global @h : !ascend.buffer<2xf32, hbm>
  %out = ascend.message at 128 : !ascend.buffer<4xf32, hbm>
  ascend.call @layer(%out) scratch at 512 : (!ascend.buffer<4xf32, hbm>) -> ()
  %done = ascend.record @compute
  ascend.send %out to <pp = 1> channel "hidden" on @pp after %done : !ascend.buffer<4xf32, hbm>
  ascend.collective all_reduce %h to %h over <pp> channel "ends" on @pp : !ascend.buffer<2xf32, hbm> to !ascend.buffer<2xf32, hbm>
}
}
ascend.program @stage1 stage 1)" +
    twoByTwoHeader + R"(
ascend.stream @compute compute
ascend.stream @mp communication
ascend.stream @pp communication
ascend.stream @d2h d2h
ascend.static @s parameter of "s" : !ascend.buffer<4xf32, hbm> at 0
ascend.static @g gradient of "s" : !ascend.buffer<2xf32, hbm> at 64
ascend.static @m table : !ascend.buffer<4xf32, hbm> at 128
ascend.static @loss report of "loss" : !ascend.buffer<2xf32, host> at 0
ascend.static @overflow report of "overflow" : !ascend.buffer<f32, host> at 64
ascend.step {
  %s = ascend.global @s : !ascend.buffer<4xf32, hbm>
  %g = ascend.global @g : !ascend.buffer<2xf32, hbm>
  %m = ascend.global @m : !ascend.buffer<4xf32, hbm>
  %loss = ascend.global @loss : !ascend.buffer<2xf32, host>
  %overflow = ascend.global @overflow : !ascend.buffer<f32, host>
  %x = ascend.message at 256 : !ascend.buffer<4xf32, hbm>
  %came = ascend.receive %x from <pp = 0> channel "hidden" on @pp : !ascend.buffer<4xf32, hbm> -> !ascend.event
  ascend.wait @compute for %came
  ascend.launch "aclnnMul"(%x, %s) -> (%x) {} cell "scale" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  %scaled = ascend.record @compute
  ascend.collective all_reduce %x to %m over <mp> channel "mp" on @mp after %scaled {reduction = #ascend<reduction max>} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
  ascend.collective all_reduce %x to %x over <mp> channel "mp" on @mp : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
  %scattered = ascend.collective reduce_scatter %x to %g over <mp> channel "mp" on @mp : !ascend.buffer<4xf32, hbm> to !ascend.buffer<2xf32, hbm> -> !ascend.event
  %summed = ascend.collective all_reduce %g to %g over <pp> channel "ends" on @pp after %scattered : !ascend.buffer<2xf32, hbm> to !ascend.buffer<2xf32, hbm> -> !ascend.event
  ascend.copy %g to %loss on @d2h after %summed : !ascend.buffer<2xf32, hbm> to !ascend.buffer<2xf32, host>
  %first = ascend.view %s : !ascend.buffer<4xf32, hbm> to !ascend.buffer<f32, hbm>
  ascend.copy %first to %overflow on @d2h : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, host>
}
}
})";

/// Values of the ranks before a step of twoByTwo.
inline void setUp(Runner &runner) {
  for (int64_t rank : runner.getLocalRanks())
    setFloats(runner, rank, 0,
              rank == 0   ? std::vector<float>{1, 2}
              : rank == 1 ? std::vector<float>{3, 4}
              : rank == 2 ? std::vector<float>{0, 1, 1, 100}
                          : std::vector<float>{10, 20, 30, 40});
}

/// Gathered and doubled: 4 8 12 16. Scaled: 0 8 12 1600 and 40 160 360 640.
/// Summed: 40 168 372 2240. Scattered, two equal parts: 80 336 and 744 4480.
/// Stage 0 adds 2 4 and 6 8.
inline void expectResults(Runner &runner) {
  for (int64_t rank : runner.getLocalRanks()) {
    EXPECT_EQ(getFloats(runner, rank, 1), rank % 2 == 0
                                              ? (std::vector<float>{82, 340})
                                              : (std::vector<float>{750, 4488}))
        << "rank " << rank;
    if (rank >= 2)
      EXPECT_THAT(getFloats(runner, rank, 2),
                  ::testing::ElementsAre(40, 160, 360, 1600));
  }
}

} // namespace mf::runner

#endif // MF_TEST_UNIT_RUNNER_TWOBYTWO_H
