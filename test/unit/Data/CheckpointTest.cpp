//===- CheckpointTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/Checkpoint.h"
#include "CheckpointTestFiles.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class CheckpointTest : public testing::Test {
protected:
  void save(int64_t step, int64_t keepMaximum = 0) {
    EXPECT_EQ(message(saveStep(directory.str(), step, keepMaximum, 10, notes)),
              "");
  }
  CheckpointSearch find() { return cantFail(findCheckpoints(directory.str())); }

  TemporaryDirectory directory;
  std::vector<std::string> notes;
};

TEST_F(CheckpointTest, WhatIsSavedIsFound) {
  EXPECT_EQ(find().getLatest(), nullptr);
  save(20);
  save(40);
  const CheckpointSearch search = find();
  ASSERT_EQ(search.checkpoints.size(), 2u);
  EXPECT_THAT(search.notes, IsEmpty());
  EXPECT_THAT(notes, IsEmpty());
  expectWhole(search.checkpoints[0], 10);
  expectWhole(*search.getLatest(), 10);
  EXPECT_EQ(search.getLatest()->state.step, 40);
  EXPECT_EQ(search.getLatest()->path, directory.path("step_000040"));
  EXPECT_EQ(readFile(directory.path("latest")), "step_000040\n");
  EXPECT_THAT(directory.list(),
              ElementsAre("latest", "step_000020", "step_000040"));
  EXPECT_EQ(readFile(directory.path("step_000020/state.json")),
            R"({
  "format": "mf checkpoint",
  "version": 1,
  "sequence": 1,
  "step": 20,
  "updates": 19,
  "data_position": 160,
  "seed": 18446744073709551595,
  "loss_scale": 2,
  "clean_steps": 6,
  "ranks": [
    {
      "file": "rank_0.safetensors",
      "bytes": 152
    },
    {
      "file": "rank_1.safetensors",
      "bytes": 152
    }
  ]
}
)");
}

TEST_F(CheckpointTest, TheLastWrittenIsTheLatest) {
  save(60);
  save(40); // a run that went back
  EXPECT_EQ(find().getLatest()->state.step, 40);
  save(60);
  EXPECT_EQ(find().getLatest()->state.step, 60);
  EXPECT_EQ(find().checkpoints.size(), 2u);
  EXPECT_THAT(directory.list(),
              ElementsAre("latest", "step_000040", "step_000060"));
}

TEST_F(CheckpointTest, OldOnesAreRemoved) {
  for (int64_t step = 1; step <= 6; ++step)
    save(step, 2);
  EXPECT_THAT(directory.list(),
              ElementsAre("latest", "step_000005", "step_000006"));
  save(12345678, 1);
  EXPECT_THAT(directory.list(), ElementsAre("latest", "step_12345678"));
}

TEST_F(CheckpointTest, IncompleteOnesAreIgnoredWithANote) {
  save(20);
  save(40);
  ASSERT_FALSE(sys::fs::remove(directory.path("step_000040/state.json")));
  CheckpointSearch search = find();
  EXPECT_EQ(search.getLatest()->state.step, 20);
  EXPECT_THAT(search.notes,
              ElementsAre(testing::AllOf(
                  HasSubstr("ignoring incomplete checkpoint: "),
                  HasSubstr("step_000040/state.json: cannot open"))));
  save(40);
  EXPECT_EQ(find().getLatest()->state.step, 40);

  const std::string rank = "step_000040/rank_1.safetensors";
  directory.write(rank, StringRef(readFile(directory.path(rank))).drop_back());
  search = find();
  EXPECT_EQ(search.getLatest()->state.step, 20);
  EXPECT_THAT(search.notes, ElementsAre(HasSubstr(
                                "has 151 bytes, expected 152 as state.json")));
  ASSERT_FALSE(sys::fs::remove(directory.path(rank)));
  EXPECT_THAT(find().notes, ElementsAre(HasSubstr("cannot open")));
  directory.write(rank, std::string(152, 'x'));
  EXPECT_THAT(find().notes, ElementsAre(HasSubstr("not a safetensors file")));
  // Not whole, so not counted and not removed either.
  save(50, 2);
  EXPECT_THAT(directory.list(), ElementsAre("latest", "step_000020",
                                            "step_000040", "step_000050"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("step_000040")));
}

TEST_F(CheckpointTest, OtherNamesAreLeftAlone) {
  directory.write("step_", "");
  directory.write("step_1x", "");
  directory.write("notes.txt", "");
  save(1, 1);
  EXPECT_THAT(find().notes, IsEmpty());
  EXPECT_THAT(directory.list(), ElementsAre("latest", "notes.txt", "step_",
                                            "step_000001", "step_1x"));
  // A file in the place of a folder is reported.
  directory.write("step_000003", "");
  EXPECT_THAT(find().notes, ElementsAre(HasSubstr("step_000003")));
}

TEST_F(CheckpointTest, WriterWithoutCommitLeavesNothing) {
  save(1);
  {
    CheckpointWriter writer =
        cantFail(CheckpointWriter::create(directory.str(), makeState(2), 1));
    CheckpointWriter moved = std::move(writer);
    EXPECT_EQ(directory.list().size(), 3u);
    EXPECT_THAT(message(moved.commit(0, notes)),
                HasSubstr("rank_0.safetensors: cannot open"));
  }
  EXPECT_THAT(directory.list(), ElementsAre("latest", "step_000001"));
}

TEST_F(CheckpointTest, RanksAreCheckedBeforeTheRename) {
  CheckpointWriter writer =
      cantFail(CheckpointWriter::create(directory.str(), makeState(2), 1));
  ASSERT_EQ(message(writeSafetensors(writer.getRankPath(0), {})), "");
  EXPECT_EQ(message(writer.commit(0, notes)), "");
  EXPECT_THAT(message(writer.commit(0, notes)), HasSubstr("already written"));
  EXPECT_EQ(find().getLatest()->rankPaths.size(), 1u);
}

TEST_F(CheckpointTest, AbandonedFoldersGoAndThoseInUseStay) {
  // As a killed run leaves it: nobody holds the folder.
  ASSERT_FALSE(sys::fs::create_directory(directory.path(".checkpoint-1-0")));
  directory.write(".checkpoint-1-0/rank_0.safetensors", "half a");
  CheckpointWriter first =
      cantFail(CheckpointWriter::create(directory.str(), makeState(1), 1));
  EXPECT_EQ(directory.list().size(), 1u);
  {
    CheckpointWriter second =
        cantFail(CheckpointWriter::create(directory.str(), makeState(2), 1));
    EXPECT_EQ(directory.list().size(), 2u);
  }
  ASSERT_EQ(message(writeSafetensors(first.getRankPath(0), {})), "");
  EXPECT_EQ(message(first.commit(0, notes)), "");
}

TEST_F(CheckpointTest, Refusals) {
  auto error = [&](const CheckpointState &state, int64_t ranks = 1) {
    return message(CheckpointWriter::create(directory.str(), state, ranks));
  };
  CheckpointState state;
  EXPECT_THAT(error(state, 0), HasSubstr("a checkpoint of 0 ranks"));
  state.step = -1;
  EXPECT_THAT(error(state), HasSubstr("cannot save step -1"));
  state = {};
  state.lossScale = std::nanf("");
  EXPECT_THAT(error(state), HasSubstr("loss scale that is not finite"));
  EXPECT_THAT(message(CheckpointWriter::create(directory.write("f", ""),
                                               makeState(1), 1)),
              HasSubstr("/f: cannot"));
  EXPECT_THAT(message(findCheckpoints(directory.path("f"))),
              HasSubstr("cannot list: not a directory"));
  EXPECT_TRUE(cantFail(findCheckpoints(directory.path("g"))).notes.empty());
}

TEST_F(CheckpointTest, StateCutOrChanged) {
  save(7);
  const std::string path = directory.path("step_000007/state.json");
  const std::string whole = readFile(path);
  auto openWith = [&](StringRef text) {
    directory.write("step_000007/state.json", text);
    return openCheckpoint(directory.path("step_000007"));
  };
  // Without its last line end the text is still whole.
  forEachTruncation(StringRef(whole).drop_back(), [&](StringRef prefix) {
    EXPECT_THAT(message(openWith(prefix)), HasSubstr(path + ": "));
  });
  forEachMutation(whole, 3000, [&](StringRef mutated) {
    Expected<Checkpoint> checkpoint = openWith(mutated);
    if (checkpoint)
      EXPECT_GE(checkpoint->rankPaths.size(), 1u);
    else
      EXPECT_THAT(message(std::move(checkpoint)), HasSubstr("step_000007/"));
  });
  auto change = [&](StringRef from, StringRef to) {
    std::string text = whole;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return message(openWith(text.replace(at, from.size(), to)));
  };
  EXPECT_THAT(change("mf checkpoint", "other"), HasSubstr("'format'"));
  EXPECT_THAT(change("\"version\": 1", "\"version\": 2"),
              HasSubstr("'version': expected 1"));
  EXPECT_THAT(change("\"step\": 7", "\"step\": -7"),
              HasSubstr("'step': expected an integer from 0 to 2^62"));
  EXPECT_THAT(change("\"step\"", "\"sequence\""),
              HasSubstr("name 'sequence' appears twice"));
  EXPECT_THAT(change("\"seed\": ", "\"seed\": -"), HasSubstr("'seed'"));
  EXPECT_THAT(change("\"loss_scale\": ", "\"loss_scale\": 1e99, \"x\": "),
              HasSubstr("'loss_scale'"));
  EXPECT_THAT(change("rank_1.safetensors", "../rank_1.safetensors"),
              HasSubstr("'ranks': expected the name of a file"));
  EXPECT_THAT(change("\"sequence\": 1", "\"sequence\": 9223372036854775807"),
              HasSubstr("'sequence'"));
}

} // namespace
