//===- FaultyTrainingTest.cpp - Training runs with several faults ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A run with checkpoints has up to three faults, of its streams and of the
// files that it writes. It ends with the bits of a run without faults, or with
// the error of one that happened. Whole checkpoints are left, from which
// another run comes to the same bits.
//
//===----------------------------------------------------------------------===//

#include "FaultCounts.h"
#include "RunnerTesting.h"
#include "mf/Exec/Data/Checkpoint.h"
#include "mf/Exec/Runner/ProgramEngine.h"
#include "test/unit/Campaign.h"
#include "test/unit/TemporaryDirectory.h"
#include <gmock/gmock.h>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;

namespace {

/// Each step multiplies w by 1.5, and adds it to v on the other stage.
const std::string growing = "module attributes {mf.mesh = #mf.mesh<pp = 2>} {\n"
                            "ascend.program @stage0 stage 0" +
                            makeHeader(1, 4, 64, 0) + R"(
ascend.stream @compute compute
ascend.stream @pp communication
ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0 {init = #mf.init<constant, value = 2.0>}
ascend.step {
  %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
  ascend.launch "aclnnMuls"(%w) -> (%w) {value = 1.5 : f64} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  %done = ascend.record @compute
  ascend.send %w to <pp = 1> channel "hidden" on @pp after %done : !ascend.buffer<4xf32, hbm>
}
}
ascend.program @stage1 stage 1)" +
                            makeHeader(1, 4, 128, 0) + R"(
ascend.stream @compute compute
ascend.stream @pp communication
ascend.static @v parameter of "v" : !ascend.buffer<4xf32, hbm> at 0 {init = #mf.init<constant, value = 1.0>}
ascend.step {
  %v = ascend.global @v : !ascend.buffer<4xf32, hbm>
  %x = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
  %came = ascend.receive %x from <pp = 0> channel "hidden" on @pp : !ascend.buffer<4xf32, hbm> -> !ascend.event
  ascend.wait @compute for %came
  ascend.launch "aclnnAdd"(%v, %x) -> (%v) {} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
}
}
})";

/// Empty if there is no file.
std::string readIfThere(const std::string &path) {
  return llvm::sys::fs::exists(path) ? readFile(path) : "";
}

struct FaultyTrainingTest : testing::Test {
  FaultyTrainingTest() : parsed(growing) {
    EXPECT_TRUE(parsed.decoded) << parsed.messages;
    options.steps = 4;
    options.threads = 1;
    options.checkpointFolder = folder.path("checkpoints");
    options.checkpointEvery = 1;
    options.keepCheckpoints = 2;
    options.saveParamsPath = folder.path("parameters.safetensors");
  }

  std::string train(std::shared_ptr<FaultSchedule> faults, bool resume) {
    const FileFaults::Scope scope(faults.get());
    options.turns = std::move(faults);
    options.resume = resume;
    ProgramEngine engine(parsed.get(), options);
    return llvm::toString(ranks::train(engine, options, llvm::nulls(), false,
                                       [](llvm::StringRef) {}));
  }

  /// Returns the temporary files beside the parameters.
  std::vector<std::string> findTemporaryFiles() const {
    std::vector<std::string> found;
    for (const std::string &name : folder.list())
      if (llvm::StringRef(name).contains(".tmp-"))
        found.push_back(folder.path(name));
    return found;
  }

  /// Forgets what the last run wrote.
  void clear() {
    (void)llvm::sys::fs::remove_directories(options.checkpointFolder);
    (void)llvm::sys::fs::remove(options.saveParamsPath);
  }

  ParsedProgram parsed;
  TemporaryDirectory folder;
  ranks::TrainingOptions options;
};

TEST_F(FaultyTrainingTest, GivesTheSameBitsOrAnErrorAndCanBeResumed) {
  ASSERT_EQ(train(nullptr, false), "");
  const std::string expected = readIfThere(options.saveParamsPath);
  ASSERT_FALSE(expected.empty());
  FaultCounts counts;
  const uint64_t first = getCampaignSeed(1), runs = getCampaignCount(2000);
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    clear();
    auto schedule = std::make_shared<FaultSchedule>(seed);
    const std::string error = train(schedule, false);
    const std::string saved = readIfThere(options.saveParamsPath);
    EXPECT_TRUE(counts.add(*schedule, error, saved == expected))
        << schedule->describe() << ": " << error;
    // There is a whole file or none, also behind an error. Only a run that was
    // cut leaves temporary files.
    EXPECT_TRUE(saved.empty() || saved == expected) << schedule->describe();
    const std::vector<std::string> temporary = findTemporaryFiles();
    EXPECT_TRUE(schedule->hasEnded() || temporary.empty())
        << schedule->describe();
    for (const std::string &path : temporary)
      (void)llvm::sys::fs::remove(path);
    auto search = findCheckpoints(options.checkpointFolder);
    ASSERT_TRUE(bool(search)) << llvm::toString(search.takeError());
    EXPECT_THAT(search->notes, testing::IsEmpty()) << schedule->describe();
    EXPECT_EQ(train(nullptr, true), "") << schedule->describe();
    EXPECT_EQ(readIfThere(options.saveParamsPath), expected)
        << schedule->describe();
  }
  counts.print("runs and resumed runs", first);
}

} // namespace
