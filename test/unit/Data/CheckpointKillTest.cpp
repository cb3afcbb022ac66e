//===- CheckpointKillTest.cpp - Writers killed while they write -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A child process saves checkpoints and is killed: at every system call it
// makes, one after the other, and at random moments. Each time, what it left
// must hold the last checkpoint that was finished, whole.
//
//===----------------------------------------------------------------------===//

#include "CheckpointTestFiles.h"
#include "mf/Exec/Data/Checkpoint.h"
#include "test/unit/Campaign.h"
#include "gmock/gmock.h"
#include <chrono>
#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace mf;

namespace {

constexpr size_t elements = 3000;

/// Saves steps until it is killed; writes each finished step to `pipe`.
[[noreturn]] void saveForever(const std::string &directory, int64_t first,
                              int pipe) {
  std::vector<std::string> notes;
  for (int64_t step = first;; ++step) {
    if (Error error = saveStep(directory, step, 3, elements, notes)) {
      consumeError(std::move(error));
      _exit(3);
    }
    if (::write(pipe, &step, sizeof step) != sizeof step)
      _exit(4);
  }
}

/// The newest checkpoint, after checking that all whole ones are what they say.
int64_t expectLatestWhole(const std::string &directory) {
  Expected<CheckpointSearch> search = findCheckpoints(directory);
  if (!search) {
    ADD_FAILURE() << message(std::move(search));
    return -1;
  }
  // A rename is one step: no folder with a step's name is ever half there.
  EXPECT_THAT(search->notes, testing::IsEmpty());
  for (const Checkpoint &checkpoint : search->checkpoints)
    expectWhole(checkpoint, elements);
  return search->getLatest() ? search->getLatest()->state.step : 0;
}

TEST(CheckpointKillTest, AtRandomMoments) {
  TemporaryDirectory directory;
  std::mt19937 random = makeRandom(getCampaignSeed(11));
  const uint64_t numRounds = getCampaignCount(40);
  // A writer is killed after up to two saves that it reports, within the time
  // that about one more takes.
  std::vector<std::string> notes;
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t step = 1; step <= 3; ++step)
    ASSERT_EQ(message(saveStep(directory.str(), step, 3, elements, notes)), "");
  const auto window = std::chrono::duration_cast<std::chrono::microseconds>(
                          std::chrono::steady_clock::now() - begin)
                          .count() /
                      3;
  int64_t last = 3;
  for (uint64_t round = 0; round < numRounds; ++round) {
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      saveForever(directory.str(), last + 1, pipes[1]);
    ::close(pipes[1]);
    int64_t reported = last;
    int64_t step;
    // The first one saves, so that there is something new however busy the
    // processor is.
    for (uint64_t saves = round == 0 ? 1 : random() % 3; saves > 0; --saves) {
      ASSERT_EQ(::read(pipes[0], &step, sizeof step),
                static_cast<ssize_t>(sizeof step));
      reported = step;
    }
    ::usleep(static_cast<useconds_t>(random() % (window + 1)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed: " << status;

    while (::read(pipes[0], &step, sizeof step) == sizeof step)
      reported = step;
    ::close(pipes[0]);
    const int64_t latest = expectLatestWhole(directory.str());
    // The one after the last report may be finished and not yet reported.
    EXPECT_TRUE(latest == reported || latest == reported + 1)
        << latest << " after " << reported;
    last = latest;
  }
  EXPECT_GT(last, 3);
  // The next run clears what the killed ones left.
  ASSERT_EQ(message(saveStep(directory.str(), last + 1, 1, elements, notes)),
            "");
  EXPECT_EQ(directory.list().size(), 2u);
}

/// Lets a child make `calls` system calls of a save of `step`, kills it at the
/// next. Returns false if the child was done before that, none if tracing is
/// not allowed here.
std::optional<bool> killAfter(int calls, const std::string &directory,
                              int64_t step) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      _exit(5);
    (void)::raise(SIGSTOP);
    std::vector<std::string> notes;
    consumeError(saveStep(directory, step, 2, elements, notes));
    _exit(0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
    return std::nullopt;
  // A call stops twice: before it is done (killed there, it is not) and after.
  for (int stop = 0; stop < 2 * calls + 1; ++stop) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0)
      return std::nullopt;
    if (::waitpid(child, &status, 0) != child || WIFEXITED(status))
      return false;
  }
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return true;
}

TEST(CheckpointKillTest, AtEverySystemCallOfANewStep) {
  constexpr int64_t step = 4;
  int kills = 0;
  int64_t finished = 0;
  for (;; ++kills) {
    TemporaryDirectory directory;
    std::vector<std::string> notes;
    for (int64_t old = 1; old <= 3; ++old)
      ASSERT_EQ(message(saveStep(directory.str(), old, 0, elements, notes)),
                "");
    const std::optional<bool> killed = killAfter(kills, directory.str(), step);
    if (!killed)
      GTEST_SKIP() << "tracing is not allowed here";
    const int64_t latest = expectLatestWhole(directory.str());
    EXPECT_TRUE(latest == 3 || latest == step) << latest;
    // Once it is there it stays, whatever comes later.
    EXPECT_GE(latest == step, finished > 0) << kills;
    finished += latest == step;
    if (!*killed)
      break;
    // And the directory can be used by the next run.
    ASSERT_EQ(message(saveStep(directory.str(), 9, 1, elements, notes)), "");
    EXPECT_THAT(directory.list(),
                testing::ElementsAre("latest", "step_000009"));
  }
  // Before the rename and after it, with room for pruning.
  EXPECT_GT(kills, 60);
  EXPECT_GT(finished, 10);
  EXPECT_LT(finished, kills);
}

TEST(CheckpointKillTest, AtEverySystemCallOfAStepWrittenAgain) {
  TemporaryDirectory directory;
  int kills = 0;
  for (;; ++kills) {
    std::vector<std::string> notes;
    ASSERT_EQ(message(saveStep(directory.str(), 1, 0, elements, notes)), "");
    ASSERT_EQ(message(saveStep(directory.str(), 2, 0, elements, notes)), "");
    const std::optional<bool> killed = killAfter(kills, directory.str(), 2);
    if (!killed)
      GTEST_SKIP() << "tracing is not allowed here";
    // The old step 2 or the new one, never neither.
    EXPECT_EQ(expectLatestWhole(directory.str()), 2) << kills;
    if (!*killed)
      break;
  }
  EXPECT_GT(kills, 60);
}

} // namespace
