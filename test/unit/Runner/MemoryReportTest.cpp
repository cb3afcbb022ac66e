//===- MemoryReportTest.cpp - Planned and used memory of a rank -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/MemoryReport.h"
#include "test/unit/Program/ParsedProgram.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;
using ::testing::HasSubstr;

namespace {

constexpr llvm::StringLiteral text = R"(
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 4>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1048576, host_bytes = 0, hbm_limit_bytes = 65536} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<64xf32, hbm> at 0
  ascend.static @g gradient of "w" : !ascend.buffer<16384xf32, hbm> at 512
  ascend.step {}
}
})";

TEST(MemoryReportTest, ReportsWhatIsPlannedAndUsed) {
  ParsedProgram parsed(text);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const MemoryReport report = reportMemory(parsed.get().stages[0]);
  EXPECT_EQ(report.planned, 1 << 20);
  EXPECT_EQ(report.used, 512 + 65536);
  EXPECT_EQ(report.atPeak.at("gradient"), 65536);
  EXPECT_EQ(report.atPeak.at("unused"), (1 << 20) - 65536 - 256);
}

TEST(MemoryReportTest, PadsToTheEndOfTheArena) {
  EXPECT_EQ(addPadding(511, 1000), 512);
  EXPECT_EQ(addPadding(513, 1000), 1000);
}

TEST(MemoryReportTest, LimitsTheArenaAndNamesTheLargestFirst) {
  ParsedProgram parsed(text);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const Program &program = parsed.get();
  EXPECT_EQ(llvm::toString(checkMemoryLimit(program, 0)),
            "a rank of stage 0 needs 1048576 bytes of device memory, but 65536 "
            "bytes are allowed; at the peak: unused 982784 bytes, gradient "
            "65536 bytes, parameter 256 bytes");
  EXPECT_EQ(llvm::toString(checkMemoryLimit(program, 1 << 20)), "");
}

TEST(MemoryReportTest, CountsTheMemoryOfAllRanks) {
  ParsedProgram parsed(text);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  Program huge = parsed.get();
  huge.stages[0].arenaBytes = int64_t{1} << 50;
  EXPECT_THAT(llvm::toString(checkMemoryLimit(huge, int64_t{1} << 51)),
              HasSubstr("the memories of the program's 4 ranks are "
                        "4503599627370496 bytes, but this machine has "));
}

} // namespace
