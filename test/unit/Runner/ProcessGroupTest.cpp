//===- ProcessGroupTest.cpp - Processes that run one program --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/ProcessGroup.h"
#include "MemoryTransport.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace mf;
using namespace mf::runner;
using ::testing::Each;
using ::testing::ElementsAre;

namespace {

/// The results of `body` in each of `count` pretended processes with `numRanks`
/// ranks.
std::vector<std::string>
runProcesses(int64_t count, int64_t numRanks,
             const std::function<llvm::Error(ProcessGroup &, int64_t)> &body) {
  MessageHub hub;
  std::vector<std::string> messages(count);
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      ProcessGroup group(std::make_unique<MemoryTransport>(hub, i, count));
      if (numRanks > 0)
        llvm::cantFail(group.placeRanks(numRanks));
      messages[i] = llvm::toString(body(group, i));
    });
  for (std::thread &thread : threads)
    thread.join();
  return messages;
}

TEST(ProcessGroupTest, PlacesRanksInEqualShares) {
  MessageHub hub;
  ProcessGroup group(std::make_unique<MemoryTransport>(hub, 1, 3));
  EXPECT_EQ(llvm::toString(group.placeRanks(4)),
            "mpirun started 3 processes, over which the program's 4 ranks "
            "cannot be divided: expected mpirun -n 1, 2 or 4");
  EXPECT_EQ(llvm::toString(group.placeRanks(1)),
            "mpirun started 3 processes, over which the program's 1 ranks "
            "cannot be divided: expected mpirun -n 1");
  EXPECT_EQ(group.describe(1), "process 1");
  llvm::cantFail(group.placeRanks(6));
  EXPECT_THAT(group.getLocalRanks(), ElementsAre(2, 3));
  EXPECT_EQ(group.getProcess(5), 2);
  EXPECT_EQ(group.describe(1), "ranks 2 to 3");
  EXPECT_EQ(group.getThreads(7), 2);
  EXPECT_EQ(group.getThreads(2), 1);
}

TEST(ProcessGroupTest, GathersTextsOfAnySize) {
  EXPECT_THAT(
      runProcesses(3, 3,
                   [](ProcessGroup &group, int64_t process) {
                     auto texts = llvm::cantFail(
                         group.gatherAll(std::string(process * 100, 'x')));
                     EXPECT_THAT(texts, ElementsAre("", std::string(100, 'x'),
                                                    std::string(200, 'x')));
                     return llvm::Error::success();
                   }),
      Each(""));
}

TEST(ProcessGroupTest, FailsEverywhereIfOneFails) {
  auto fail = [](const std::vector<int64_t> &failing, const std::string &text) {
    return [failing, text](ProcessGroup &group, int64_t process) {
      return group.agree(llvm::is_contained(failing, process)
                             ? llvm::createStringError(text)
                             : llvm::Error::success());
    };
  };
  EXPECT_THAT(runProcesses(3, 3, fail({}, "")), Each(""));
  EXPECT_THAT(runProcesses(3, 6, fail({1}, "no file")),
              Each("ranks 2 to 3: no file"));
  EXPECT_THAT(runProcesses(3, 0, fail({1, 2}, "no file")),
              Each("process 1: no file"));
  EXPECT_THAT(runProcesses(3, 3, fail({2}, "rank 2 (stage 1): no memory")),
              Each("rank 2 (stage 1): no memory"));
  // An error that all ranks have names no rank.
  EXPECT_THAT(runProcesses(3, 3, fail({0, 1, 2}, "no file")), Each("no file"));
}

TEST(ProcessGroupTest, NamesWhoIsDifferent) {
  auto compare = [](const std::vector<std::string> &values) {
    return [values](ProcessGroup &group, int64_t process) {
      return group.expectSame({{"--steps", "3"}, {"--seed", values[process]}});
    };
  };
  EXPECT_THAT(runProcesses(3, 3, compare({"7", "7", "7"})), Each(""));
  EXPECT_THAT(runProcesses(3, 6, compare({"7", "7", "8"})),
              Each("--seed of ranks 4 to 5 (8) is not that of ranks 0 to 1 "
                   "(7): start all processes alike"));
  EXPECT_THAT(runProcesses(3, 3, compare({"7", "9", ""})),
              Each("--seed of rank 1 (9), rank 2 () is not that of rank 0 (7): "
                   "start all processes alike"));
}

} // namespace
