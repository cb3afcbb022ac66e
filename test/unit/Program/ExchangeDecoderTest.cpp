//===- ExchangeDecoderTest.cpp - Decoding of ranks that communicate -------===//
// SPDX-License-Identifier: Apache-2.0

#include "MeshPrograms.h"
#include "ParsedProgram.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

constexpr llvm::StringLiteral fourRanks = "#mf.mesh<pp = 2, mp = 2>";

std::string getMessages(llvm::StringRef mesh, llvm::ArrayRef<std::string> steps,
                        int64_t number = -1) {
  ParsedProgram parsed(makeStages(mesh, steps, number));
  EXPECT_FALSE(parsed.decoded);
  return parsed.messages;
}

/// Stages on a mesh, and what is wrong with them.
struct BrokenStages {
  llvm::StringRef mesh;
  std::vector<std::string> steps;
  const char *message;
};

void expectErrors(llvm::ArrayRef<BrokenStages> cases) {
  for (const BrokenStages &broken : cases)
    EXPECT_THAT(getMessages(broken.mesh, broken.steps),
                HasSubstr(broken.message));
}

//===----------------------------------------------------------------------===//
// Stages and mesh
//===----------------------------------------------------------------------===//

TEST(ExchangeDecoderTest, ManyRanksForEachStage) {
  ParsedProgram parsed(
      makeStages("#mf.mesh<pp = 2, dp = 4, mp = 8>", {"", ""}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_EQ(parsed.get().getNumRanks(), 64);
  EXPECT_EQ(parsed.get().stages.size(), 2u);
  EXPECT_EQ(&parsed.get().getStageOf(31), &parsed.get().stages[0]);
  EXPECT_EQ(&parsed.get().getStageOf(32), &parsed.get().stages[1]);
  // Without a mesh there is one for each.
  EXPECT_EQ(ParsedProgram(makeStages("", {"", ""})).get().getNumRanks(), 2);
}

TEST(ExchangeDecoderTest, RefusesStagesThatDoNotFit) {
  EXPECT_THAT(getMessages("", {"", ""}, 0),
              HasSubstr("stage 0 is given twice"));
  EXPECT_THAT(getMessages("", {"", ""}, 2),
              HasSubstr("stage 2 is not one of 2: the file has one program for "
                        "each stage"));
  expectErrors({{"#mf.mesh<pp = 3, mp = 2>",
                 {"", ""},
                 "has 2 stages, but its mesh is #mf.mesh<pp = 3, mp = 2>"},
                {"4 : i64",
                 {"", ""},
                 "expected a mesh such as #mf.mesh<pp = 2, dp = 4> as mf.mesh, "
                 "but got 4 : i64"}});
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

TEST(ExchangeDecoderTest, PairsSendsAndReceives) {
  const std::string send = transfer("send %g to <pp = 1>", "x", "a");
  const std::string receive = transfer("receive %m from <pp = 0>", "x", "a");
  ParsedProgram parsed(makeStages("", {send, receive}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  ASSERT_EQ(parsed.get().channels.size(), 1u);
  const Channel &channel = parsed.get().channels[0];
  EXPECT_TRUE(channel.isTransfer);
  EXPECT_EQ(channel.fromStage, 0);
  EXPECT_EQ(channel.toStage, 1);
  EXPECT_THAT(channel.getMembers(parsed.get().mesh, 0), ElementsAre(0, 1));
  const InstructionList &list = parsed.get().stages[1].step;
  const Exchange *exchange = list.getExchange(list.instructions[0]);
  ASSERT_TRUE(exchange);
  EXPECT_FALSE(exchange->isSend);
  EXPECT_EQ(exchange->type, DType::F32);
  EXPECT_EQ(list.instructions[0].accesses[0].access, Access::Out);

  expectErrors(
      {{"",
        {send, ""},
        "channel 'x': stage 1 has no receive that matches (1 on stage "
        "0, 0 on stage 1)"},
       {"", {"", receive}, "channel 'x': stage 0 has no send that matches"},
       {"",
        {send, "ascend.receive %n from <pp = 0> channel \"x\" on @a : "
               "!ascend.buffer<32xf32, hbm>"},
        "128 bytes of f32 on stage 1 do not match 64 bytes of f32 on "
        "stage 0"}});
  EXPECT_THAT(getMessages("", {send + transfer("send %g to <pp = 1>", "x", "b"),
                               receive + receive}),
              AllOf(HasSubstr("used on a second stream"),
                    HasSubstr("the first is used here")));
}

TEST(ExchangeDecoderTest, CountsPeersFromTheRanksOwnStage) {
  const std::string send = transfer("send %g to <pp + 1>", "x", "a");
  const std::string receive = transfer("receive %m from <pp - 1>", "x", "a");
  ParsedProgram parsed(makeStages(fourRanks, {send, receive}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  ASSERT_EQ(parsed.get().channels.size(), 1u);
  EXPECT_EQ(parsed.get().channels[0].toStage, 1);
  EXPECT_THAT(parsed.get().channels[0].getMembers(parsed.get().mesh, 1),
              ElementsAre(1, 3));
  // Around the axis: stage 1's next is stage 0.
  EXPECT_TRUE(ParsedProgram(makeStages("", {receive, send})).decoded);
}

TEST(ExchangeDecoderTest, DecodesARing) {
  const std::string ring = transfer("send %g to <mp + 1>", "ring", "a") +
                           transfer("receive %m from <mp - 1>", "ring", "b");
  ParsedProgram parsed(makeStages("#mf.mesh<pp = 1, mp = 4>", {ring}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  // Sender and receiver have one channel: the sender's step is +1.
  ASSERT_EQ(parsed.get().channels.size(), 1u);
  const Channel &channel = parsed.get().channels[0];
  EXPECT_EQ(channel.axis, "mp");
  EXPECT_EQ(channel.shift, 1);
  EXPECT_THAT(channel.getMembers(parsed.get().mesh, 3, true),
              ElementsAre(3, 0));
  EXPECT_THAT(channel.getMembers(parsed.get().mesh, 3, false),
              ElementsAre(2, 3));
  EXPECT_THAT(getMessages("#mf.mesh<pp = 1, mp = 4>",
                          {transfer("send %g to <mp + 1>", "ring", "a") +
                           transfer("receive %m from <mp + 1>", "ring", "b")}),
              HasSubstr("channel 'ring': stage 0 has no receive that matches"));
}

TEST(ExchangeDecoderTest, StepsOfAnySizeGoAroundTheAxis) {
  const std::string ring =
      transfer("send %g to <mp + 9223372036854775807>", "ring", "a") +
      transfer("receive %m from <mp - 9223372036854775807>", "ring", "b");
  ParsedProgram parsed(makeStages("#mf.mesh<pp = 1, mp = 4>", {ring}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_EQ(parsed.get().channels[0].shift, 3);
}

TEST(ExchangeDecoderTest, RefusesPeersThatThereAreNot) {
  const std::tuple<llvm::StringRef, const char *, const char *> cases[] = {
      {"", "pp = 0",
       "expected another stage of 2 as peer of stage 0, but got 0"},
      {"", "pp = 2",
       "expected another stage of 2 as peer of stage 0, but got 2"},
      {"", "pp + 2",
       "expected another stage of 2 as peer of stage 0, but got 0"},
      {fourRanks, "cp + 1",
       "its peer is on axis 'cp', which the mesh does not have"},
      {fourRanks, "mp = 1",
       "expected a shift along 'mp' to another rank, such as mp + 1: all ranks "
       "of a stage run this program"},
      {fourRanks, "mp + 2", "expected a shift along 'mp' to another rank"},
  };
  for (const auto &[mesh, peer, message] : cases) {
    const std::string send =
        transfer(("send %g to <" + llvm::Twine(peer) + ">").str(), "x", "a");
    expectErrors({{mesh, {send, ""}, message}});
  }
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

TEST(ExchangeDecoderTest, OnlyReductionsAndBroadcastsWorkInPlace) {
  for (auto [kind, shared] :
       {std::make_pair("all_reduce", 1u), std::make_pair("broadcast", 1u),
        std::make_pair("all_to_all", 0u)}) {
    const std::string step = collective(
        (llvm::Twine(kind) + " %g to %m over <mp>").str(), "mp", "a");
    ParsedProgram parsed(makeStages(fourRanks, {step, ""}));
    ASSERT_TRUE(parsed.decoded) << parsed.messages;
    EXPECT_EQ(
        parsed.get().stages[0].step.instructions[0].accesses[1].sharedAccesses,
        shared)
        << kind;
  }
}

TEST(ExchangeDecoderTest, MatchesCollectivesAcrossStages) {
  const std::string reduce =
      collective("all_reduce %g to %g over <pp>", "r", "a");
  ParsedProgram parsed(makeStages(fourRanks, {reduce, reduce}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  ASSERT_EQ(parsed.get().channels.size(), 1u);
  EXPECT_THAT(parsed.get().channels[0].getMembers(parsed.get().mesh, 3),
              ElementsAre(1, 3));
  expectErrors(
      {{fourRanks,
        {"", reduce},
        "channel 'r': stage 0 has no collective that matches (0 on stage 0, 1 "
        "on stage 1)"},
       {fourRanks,
        {reduce, collective("all_reduce %n to %n over <pp>", "r", "a", 32, 32)},
        "all_reduce of 128 bytes of f32 on stage 1 does not match all_reduce "
        "of 64 bytes"}});
}

TEST(ExchangeDecoderTest, TellsCollectivesOfOneKindByTheirCells) {
  auto reduce = [](llvm::StringRef buffer, llvm::StringRef cell) {
    return collective(
        ("all_reduce " + buffer + " to " + buffer + " over <pp, mp>").str(),
        "r", "a", 16, 16, cell);
  };
  const std::string first = reduce("%g", "a.norm"),
                    second = reduce("%m", "b.norm");
  EXPECT_TRUE(
      ParsedProgram(makeStages(fourRanks, {first + second, first + second}))
          .decoded);
  EXPECT_THAT(getMessages(fourRanks, {first + second, second + first}),
              HasSubstr("channel 'r': all_reduce of 64 bytes of f32 ('b.norm') "
                        "on stage 1 does not match all_reduce of 64 bytes of "
                        "f32 ('a.norm') on stage 0"));
}

TEST(ExchangeDecoderTest, ListsTheStagesOfAGroup) {
  const std::string reduce =
      collective("all_reduce %g to %g over <pp stages [2, 0]>", "r", "a");
  ParsedProgram parsed(makeStages("", {reduce, "", reduce}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_THAT(parsed.get().channels[0].getMembers(parsed.get().mesh, 0),
              ElementsAre(2, 0));
  expectErrors(
      {{"", {reduce, reduce, reduce}, "its group does not include stage 1"},
       {"",
        {collective("all_reduce %g to %g over <pp stages [0, 3]>", "r", "a"),
         "", ""},
        "its group has stage 3, but the mesh has 3"},
       // Another order is another group.
       {"",
        {reduce, "",
         collective("all_reduce %g to %g over <pp stages [0, 2]>", "r", "a")},
        "channel 'r': stage 2 has no collective that matches"}});
}

TEST(ExchangeDecoderTest, RefusesCollectivesThatDoNotFitTheGroup) {
  const llvm::StringRef four = "#mf.mesh<pp = 1, mp = 4>";
  expectErrors(
      {{four,
        {collective("all_reduce %g to %g over <dp>", "r", "a")},
        "its group is over axis 'dp', which the mesh does not have"},
       {four,
        {collective("all_gather %g to %n over <mp>", "r", "a", 16, 32)},
        "expected all_gather over 4 ranks to make 4/1 of its input of 64 "
        "bytes, but got 128"},
       {four,
        {collective("reduce_scatter %n to %g over <mp>", "r", "a", 32, 16)},
        "expected reduce_scatter over 4 ranks to make 1/4 of its input of 128 "
        "bytes, but got 64"},
       {"#mf.mesh<pp = 1, mp = 3>",
        {collective("all_to_all %g to %m over <mp>", "r", "a")},
        "expected one part for each of 3 ranks, but got 16 elements"}});
}

/// An all_to_all_v of 4 rows of 4 elements to room for 8, with 4 counts.
std::string exchangeRows(llvm::StringRef axis, llvm::StringRef attributes = "",
                         llvm::StringRef counts = "4",
                         llvm::StringRef output = "1x8x4") {
  const std::string number = ("!ascend.buffer<" + counts + "xf32, hbm>").str();
  const std::string to = ("!ascend.buffer<" + output + "xf32, hbm>").str();
  return ("%x = ascend.view %g : !ascend.buffer<16xf32, hbm> to "
          "!ascend.buffer<4x4xf32, hbm>\n"
          "%y = ascend.view %n : !ascend.buffer<32xf32, hbm> to " +
          to + "\n%s = ascend.view %m : !ascend.buffer<16xf32, hbm> to " +
          number +
          "\n%r = ascend.view %m {byte_offset = 32} : !ascend.buffer<16xf32, "
          "hbm> to " +
          number +
          "\nascend.collective all_to_all_v %x to %y counts %s, %r over <" +
          axis + "> channel \"e\" cell \"layers.1.dispatch\" on @a" +
          attributes + " : !ascend.buffer<4x4xf32, hbm> to " + to + " counts " +
          number + ", " + number + "\n")
      .str();
}

TEST(ExchangeDecoderTest, MembersOfAnExchangeHaveTheSameRoom) {
  EXPECT_TRUE(
      ParsedProgram(makeStages("", {exchangeRows("pp"), exchangeRows("pp")}))
          .decoded);
  expectErrors({{"#mf.mesh<pp = 1, mp = 3>",
                 {exchangeRows("mp")},
                 "expected as many counts for each of 3 ranks, but got 4"}});
  const std::string expected =
      "all_to_all_v of 64 bytes of f32 to 128 bytes, in rows of 16 bytes for 2 "
      "experts, filled up with 0 ('layers.1.dispatch') on stage 0";
  EXPECT_THAT(
      getMessages("", {exchangeRows("pp"), exchangeRows("pp", "", "2")}),
      AllOf(HasSubstr("channel 'e': all_to_all_v of 64 bytes of f32 to 128 "
                      "bytes, in rows of 16 bytes for 1 experts"),
            HasSubstr(" on stage 1 does not match " + expected)));
  EXPECT_THAT(
      getMessages("", {exchangeRows("pp"), exchangeRows("pp", "", "4", "7x4")}),
      AllOf(HasSubstr("to 112 bytes"), HasSubstr(expected)));
  EXPECT_THAT(getMessages("", {exchangeRows("pp"),
                               exchangeRows("pp", " {fill = -1.0}")}),
              AllOf(HasSubstr("filled up with -1"), HasSubstr(expected)));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A stage with one parameter of 4 x 8, the part `slice` of a whole one.
std::string makeSliced(llvm::StringRef mesh, llvm::StringRef slice) {
  std::string text = makeStages(mesh, {""});
  const std::string stream = "ascend.stream @b";
  text.insert(text.find(stream),
              ("ascend.static @p parameter of \"p\" : !ascend.buffer<4x8xf32, "
               "hbm> slice #ascend.slice<" +
               slice + "> at 64\n")
                  .str());
  return text;
}

TEST(ExchangeDecoderTest, RefusesSlicesThatDoNotFit) {
  const std::pair<const char *, const char *> cases[] = {
      {"[8, 8] over [[dp], []]",
       "is cut over axis 'dp', which the mesh does not have"},
      {"[8, 8] over [[mp], []]",
       "expected 1/3 of dimension 0, which is 8 long, but holds 4"},
      {"[4611686018427387904, 8] over [[mp], []]",
       "expected 1/3 of dimension 0"},
  };
  for (const auto &[slice, message] : cases) {
    ParsedProgram parsed(makeSliced("#mf.mesh<pp = 1, mp = 3>", slice));
    EXPECT_FALSE(parsed.decoded) << slice;
    EXPECT_THAT(parsed.messages, HasSubstr(message));
  }
  // As many ranks as a mesh may have.
  ParsedProgram large(makeSliced("#mf.mesh<pp = 1, mp = 16777216>",
                                 "[67108864, 8] over [[mp], []]"));
  EXPECT_TRUE(large.decoded) << large.messages;
}

} // namespace
