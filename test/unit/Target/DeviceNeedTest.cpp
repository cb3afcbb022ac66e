//===- DeviceNeedTest.cpp - What a device needs beside live tensors -------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/DeviceNeed.h"
#include "gtest/gtest.h"

using namespace mf::target;

namespace {

constexpr int64_t bytesPerMib = int64_t(1) << 20;

/// The numbers of a device of 64 GB in targets/910b3.mlir.
Memory getMemory() {
  Memory memory;
  memory.bytes = 62432 * bytesPerMib;
  memory.deviceBytes = 65536 * bytesPerMib;
  memory.idleBytes = 3420 * bytesPerMib;
  memory.pageBytes = 2 * bytesPerMib;
  memory.poolLeastBytes = 7971840;
  memory.poolMostBytes = 1225821696;
  memory.communicatorBuffers = 2;
  memory.runtimeLeastBytes = 180355072;
  memory.runtimeMostBytes = 5958008832;
  return memory;
}

TEST(DeviceNeedTest, PoolsAreWholePages) {
  const Memory memory = getMemory();
  for (int64_t live :
       {int64_t(0), int64_t(1), 1000 * bytesPerMib, 1000 * bytesPerMib + 512}) {
    const ByteSpan pool = getPoolBytes(memory, live);
    EXPECT_EQ(pool.least % memory.pageBytes, 0);
    EXPECT_EQ(pool.most % memory.pageBytes, 0);
    EXPECT_GE(pool.least, live + memory.poolLeastBytes);
    EXPECT_LT(pool.least, live + memory.poolLeastBytes + memory.pageBytes);
    EXPECT_GE(pool.most, live + memory.poolMostBytes);
    EXPECT_LT(pool.most, live + memory.poolMostBytes + memory.pageBytes);
  }
  EXPECT_EQ(getPoolBytes(Memory(), 1001).least, 1001);
  EXPECT_EQ(getPoolBytes(Memory(), 1001).most, 1001);
}

TEST(DeviceNeedTest, TheLargestPoolLeavesTheLeastThatOthersTake) {
  const Memory memory = getMemory();
  EXPECT_EQ(getLargestPool(memory, {0, 200 * bytesPerMib}),
            (65536 - 3420 - 172) * bytesPerMib);
  EXPECT_EQ(getLargestPool(memory, {6, 200 * bytesPerMib}),
            (65536 - 3420 - 172 - 2400) * bytesPerMib);
  EXPECT_EQ(getLargestPool(memory, {6, 50 * bytesPerMib}),
            (65536 - 3420 - 172 - 600) * bytesPerMib);
  EXPECT_EQ(getLargestPool(memory, {1000, 200 * bytesPerMib}), 0);
  EXPECT_EQ(getLargestPool(Memory(), {1, 200 * bytesPerMib}), 0);
}

/// A measured run: what it had live and in the allocator's pool, what npu-smi
/// counted with and before it, and the communicators of its program.
struct MeasuredRun {
  const char *name;
  int64_t live, pool, device, idle, communicators;
};

/// Runs of the dynamic graph on 8 devices (docs/sources.md#memory-of-npus).
/// Before one of them another process was on the device.
constexpr MeasuredRun runs[] = {
    {"qwen3 6 layers dp8", 7922824704, 7931428864, 12457082880, 3586129920, 1},
    {"qwen3 26 layers dp8", 8799563264, 8810135552, 15206449152, 3584032768, 1},
    {"qwen3 34 layers dp8", 9150258688, 9160359936, 15559819264, 3582984192, 1},
    {"qwen3 42 layers dp8", 9500954112, 9512681472, 13821280256, 3585081344, 1},
    {"qwen3 tp2 dp4", 4012268544, 4020240384, 9169797120, 3585081344, 3},
    {"deepseek3 16 layers tp2 cp2 ep2", 10960159744, 11916017664, 23261609984,
     3582984192, 6},
    {"deepseek3 28 layers tp2 cp2 ep2", 15241387008, 16278093824, 22558015488,
     3582984192, 6},
    {"deepseek3 34 layers tp2 cp2 ep2", 17565412352, 18501074944, 31536971776,
     5205131264, 6},
    {"deepseek3 38 layers tp2 cp2 ep2", 19002183680, 19845349376, 26188185600,
     3585081344, 6},
    {"deepseek3 tp2 cp4", 7475072512, 8434745344, 19236126720, 3585081344, 3},
    {"deepseek3 4 layers tp2 pp2 dp2", 10619856384, 11760828416, 17359175680,
     3582984192, 4},
    {"deepseek3 16 layers tp2 pp2 dp2", 16805491200, 18031312896, 23629660160,
     3584032768, 4},
};

TEST(DeviceNeedTest, SpansAreNoWiderThanWhatWasMeasured) {
  const Memory memory = getMemory();
  ByteSpan pool = {INT64_MAX, 0}, runtime = {INT64_MAX, 0};
  for (const MeasuredRun &run : runs) {
    const int64_t rest =
        run.device - run.idle - run.pool -
        getCommunicatorBytes(memory, {run.communicators, 200 * bytesPerMib});
    runtime = {std::min(runtime.least, rest), std::max(runtime.most, rest)};
    pool = {std::min(pool.least, run.pool - run.live),
            std::max(pool.most, run.pool - run.live)};
  }
  EXPECT_EQ(pool.least, memory.poolLeastBytes);
  EXPECT_EQ(pool.most, memory.poolMostBytes);
  EXPECT_EQ(runtime.least, memory.runtimeLeastBytes);
  EXPECT_EQ(runtime.most, memory.runtimeMostBytes);
}

TEST(DeviceNeedTest, TheEnvironmentSaysHowLargeBuffersAre) {
  auto read = [](const char *text) {
    if (text)
      setenv("HCCL_BUFFSIZE", text, /*overwrite=*/1);
    else
      unsetenv("HCCL_BUFFSIZE");
    llvm::Expected<int64_t> bytes = readBufferBytes();
    return bytes ? std::to_string(*bytes) : llvm::toString(bytes.takeError());
  };
  EXPECT_EQ(read(nullptr), "209715200");
  EXPECT_EQ(read("50"), "52428800");
  for (const char *wrong : {"", "0", "-1", "1.5", "200MB", "9999999999"})
    EXPECT_EQ(read(wrong),
              std::string("expected a whole number of MB from 1 to 1048576 for "
                          "HCCL_BUFFSIZE in the environment, but got '") +
                  wrong + "'");
  read(nullptr);
}

/// A program of two stages with two data and two model parallel ranks each, in
/// which rank 0 takes part in the given channels.
mf::program::Program
makeProgram(const std::vector<mf::program::Channel> &channels) {
  mf::program::Program program;
  program.mesh = mf::program::Mesh({{"pp", 2}, {"dp", 2}, {"mp", 2}});
  program.channels = channels;
  program.stages.resize(2);
  for (int64_t i = 0; i < 2; ++i)
    program.stages[i].stage = i;
  for (uint32_t i = 0; i < channels.size(); ++i) {
    mf::program::Exchange exchange;
    exchange.channel = i;
    program.stages[0].step.exchanges.push_back(exchange);
  }
  return program;
}

mf::program::Channel makeCollective(std::vector<std::string> axes,
                                    std::vector<int64_t> stages = {}) {
  mf::program::Channel channel;
  channel.group = {std::move(axes), std::move(stages)};
  return channel;
}

TEST(DeviceNeedTest, SetsOfRanksAreCommunicators) {
  EXPECT_EQ(countCommunicators(makeProgram({}), 0), 0);
  EXPECT_EQ(countCommunicators(makeProgram({makeCollective({"dp"})}), 0), 1);
  // The order of axes makes no other ranks, nor does a second channel.
  EXPECT_EQ(
      countCommunicators(
          makeProgram({makeCollective({"dp"}), makeCollective({"dp"}),
                       makeCollective({"mp"}), makeCollective({"dp", "mp"}),
                       makeCollective({"mp", "dp"})}),
          0),
      3);
  EXPECT_EQ(countCommunicators(makeProgram({makeCollective({"dp"})}), 1), 0);
  // Messages between stages, and what all stages sum.
  mf::program::Channel there;
  there.isTransfer = true;
  there.fromStage = 0;
  there.toStage = 1;
  mf::program::Channel back = there;
  std::swap(back.fromStage, back.toStage);
  EXPECT_EQ(countCommunicators(
                makeProgram({there, back, makeCollective({"pp"}),
                             makeCollective({"pp", "dp", "mp"}, {0, 1})}),
                0),
            2);
}

} // namespace
