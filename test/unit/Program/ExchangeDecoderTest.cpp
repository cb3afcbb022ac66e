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

//===----------------------------------------------------------------------===//
// Stages and mesh
//===----------------------------------------------------------------------===//

TEST(ExchangeDecoderTest, ARankForEachStageWithoutAMesh) {
  ParsedProgram parsed(makeStages("", {"", ""}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_EQ(parsed.get().getNumRanks(), 2);
  EXPECT_EQ(parsed.get().stages[1].stage, 1);
  EXPECT_EQ(&parsed.get().getStageOf(1), &parsed.get().stages[1]);
}

TEST(ExchangeDecoderTest, ManyRanksForEachStage) {
  ParsedProgram parsed(
      makeStages("#mf.mesh<pp = 2, dp = 4, mp = 8>", {"", ""}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_EQ(parsed.get().getNumRanks(), 64);
  EXPECT_EQ(parsed.get().stages.size(), 2u);
  EXPECT_EQ(&parsed.get().getStageOf(31), &parsed.get().stages[0]);
  EXPECT_EQ(&parsed.get().getStageOf(32), &parsed.get().stages[1]);
}

TEST(ExchangeDecoderTest, RefusesStagesThatDoNotFit) {
  EXPECT_THAT(getMessages("", {"", ""}, 0),
              HasSubstr("stage 0 is given twice"));
  EXPECT_THAT(getMessages("", {"", ""}, 2),
              HasSubstr("stage 2 is not one of 2: the file has one program for "
                        "each stage"));
  EXPECT_THAT(getMessages("#mf.mesh<pp = 3, mp = 2>", {"", ""}),
              HasSubstr("has 2 stages, but its mesh is #mf.mesh<pp = 3, mp = "
                        "2>"));
  EXPECT_THAT(getMessages("4 : i64", {"", ""}),
              HasSubstr("expected a mesh such as #mf.mesh<pp = 2, dp = 4> as "
                        "mf.mesh, but got 4 : i64"));
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

  EXPECT_THAT(getMessages("", {send, ""}),
              HasSubstr("channel 'x': stage 1 has no receive that matches (1 "
                        "on stage 0, 0 on stage 1)"));
  EXPECT_THAT(getMessages("", {"", receive}),
              HasSubstr("channel 'x': stage 0 has no send that matches"));
  EXPECT_THAT(
      getMessages("", {send, "ascend.receive %n from <pp = 0> channel \"x\" on "
                             "@a : !ascend.buffer<32xf32, hbm>"}),
      HasSubstr("128 bytes of f32 on stage 1 do not match 64 bytes of f32 on "
                "stage 0"));
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
  ParsedProgram around(makeStages("", {receive, send}));
  ASSERT_TRUE(around.decoded) << around.messages;
  EXPECT_EQ(around.get().channels[0].fromStage, 1);
  EXPECT_EQ(around.get().channels[0].toStage, 0);
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
  EXPECT_THAT(getMessages("", {transfer("send %g to <pp = 0>", "x", "a"), ""}),
              HasSubstr("expected another stage of 2 as peer of stage 0, but "
                        "got 0"));
  EXPECT_THAT(getMessages("", {transfer("send %g to <pp = 2>", "x", "a"), ""}),
              HasSubstr("expected another stage of 2 as peer of stage 0, but "
                        "got 2"));
  EXPECT_THAT(getMessages("", {transfer("send %g to <pp + 2>", "x", "a"), ""}),
              HasSubstr("expected another stage of 2 as peer of stage 0, but "
                        "got 0"));
  EXPECT_THAT(
      getMessages(fourRanks, {transfer("send %g to <cp + 1>", "x", "a"), ""}),
      HasSubstr("its peer is on axis 'cp', which the mesh does not "
                "have"));
  EXPECT_THAT(
      getMessages(fourRanks, {transfer("send %g to <mp = 1>", "x", "a"), ""}),
      HasSubstr("expected a shift along 'mp' to another rank, such as "
                "mp + 1: all ranks of a stage run this program"));
  EXPECT_THAT(
      getMessages(fourRanks, {transfer("send %g to <mp + 2>", "x", "a"), ""}),
      HasSubstr("expected a shift along 'mp' to another rank"));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

TEST(ExchangeDecoderTest, DecodesCollectives) {
  const std::string step =
      collective("all_gather %g to %n over <mp>", "mp", "a", 16, 32, "l.w");
  ParsedProgram parsed(makeStages(fourRanks, {step, step}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  // Groups inside of different stages have nothing to do with each other.
  ASSERT_EQ(parsed.get().channels.size(), 2u);
  EXPECT_THAT(parsed.get().channels[1].getMembers(parsed.get().mesh, 3),
              ElementsAre(2, 3));
  const InstructionList &list = parsed.get().stages[0].step;
  const Instruction &instruction = list.instructions[0];
  EXPECT_EQ(instruction.work, Work::Exchange);
  EXPECT_EQ(instruction.cell, "l.w");
  ASSERT_EQ(instruction.accesses.size(), 2u);
  EXPECT_EQ(instruction.accesses[0].access, Access::In);
  EXPECT_EQ(instruction.accesses[1].access, Access::Out);
  EXPECT_EQ(instruction.accesses[1].sharedAccesses, 0u);
  EXPECT_EQ(list.getExchange(instruction)->kind, CollectiveKind::AllGather);
}

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
  EXPECT_THAT(getMessages(fourRanks, {reduce, ""}),
              HasSubstr("channel 'r': stage 1 has no collective that matches "
                        "(1 on stage 0, 0 on stage 1)"));
  EXPECT_THAT(getMessages(fourRanks, {"", reduce}),
              HasSubstr("channel 'r': stage 0 has no collective that matches"));
  EXPECT_THAT(
      getMessages(fourRanks, {reduce, collective("broadcast %g to %g over <pp>",
                                                 "r", "a")}),
      AllOf(HasSubstr("channel 'r': broadcast of 64 bytes of f32 on stage 1 "
                      "does not match all_reduce of 64 bytes of f32 on stage "
                      "0"),
            HasSubstr("the other is here")));
  EXPECT_THAT(
      getMessages(fourRanks, {reduce, collective("all_reduce %n to %n over "
                                                 "<pp>",
                                                 "r", "a", 32, 32)}),
      HasSubstr("all_reduce of 128 bytes of f32 on stage 1 does not match "
                "all_reduce of 64 bytes"));
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
  EXPECT_THAT(getMessages("", {reduce, reduce, reduce}),
              HasSubstr("its group does not include stage 1"));
  EXPECT_THAT(
      getMessages("", {collective("all_reduce %g to %g over <pp stages [0, 3]>",
                                  "r", "a"),
                       "", ""}),
      HasSubstr("its group has stage 3, but the mesh has 3"));
  // Another order is another group.
  EXPECT_THAT(
      getMessages("", {reduce, "",
                       collective("all_reduce %g to %g over <pp stages [0, 2]>",
                                  "r", "a")}),
      HasSubstr("channel 'r': stage 2 has no collective that matches"));
}

TEST(ExchangeDecoderTest, RefusesGroupsThatThereAreNot) {
  EXPECT_THAT(
      getMessages(fourRanks,
                  {collective("all_reduce %g to %g over <dp>", "r", "a"), ""}),
      HasSubstr("its group is over axis 'dp', which the mesh does not "
                "have"));
}

TEST(ExchangeDecoderTest, RefusesSizesThatDoNotFitTheGroup) {
  EXPECT_THAT(
      getMessages(
          "#mf.mesh<pp = 1, mp = 4>",
          {collective("all_gather %g to %n over <mp>", "r", "a", 16, 32)}),
      HasSubstr("expected all_gather over 4 ranks to make 4/1 of its input of "
                "64 bytes, but got 128"));
  EXPECT_THAT(
      getMessages(
          "#mf.mesh<pp = 1, mp = 4>",
          {collective("reduce_scatter %n to %g over <mp>", "r", "a", 32, 16)}),
      HasSubstr("expected reduce_scatter over 4 ranks to make 1/4 of its input "
                "of 128 bytes, but got 64"));
  EXPECT_THAT(
      getMessages("#mf.mesh<pp = 1, mp = 3>",
                  {collective("all_to_all %g to %m over <mp>", "r", "a")}),
      HasSubstr("expected one part for each of 3 ranks, but got 16 elements"));
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

TEST(ExchangeDecoderTest, DecodesExchangesOfRows) {
  ParsedProgram parsed(makeStages(
      fourRanks, {exchangeRows("mp", " {fill = 2.5}"), exchangeRows("mp")}));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const InstructionList &list = parsed.get().stages[0].step;
  const Instruction &instruction = list.instructions.front();
  const Exchange &exchange = *list.getExchange(instruction);
  EXPECT_EQ(exchange.kind, CollectiveKind::AllToAllV);
  EXPECT_EQ(exchange.rows.rowBytes, 16);
  EXPECT_EQ(exchange.rows.experts, 2);
  EXPECT_EQ(exchange.rows.fill, 2.5);
  EXPECT_EQ(exchange.rows.cell, "layers.1.dispatch");
  // The buffers that it reads, its counts too, and then the one that it writes.
  std::vector<int64_t> bytes;
  for (const MemoryAccess &access : instruction.accesses) {
    EXPECT_EQ(access.access, bytes.size() < 3 ? Access::In : Access::Out);
    EXPECT_EQ(access.sharedAccesses, 0U);
    bytes.push_back(access.operand.bytes);
  }
  EXPECT_THAT(bytes, ElementsAre(64, 16, 16, 128));
  EXPECT_EQ(instruction.accesses[2].operand.offset, 32);
  const InstructionList &other = parsed.get().stages[1].step;
  EXPECT_EQ(other.exchanges.front().rows.fill, 0);
}

TEST(ExchangeDecoderTest, RefusesCountsThatDoNotFitTheGroup) {
  EXPECT_THAT(getMessages("#mf.mesh<pp = 1, mp = 3>", {exchangeRows("mp")}),
              HasSubstr("expected as many counts for each of 3 ranks, but got "
                        "4"));
}

TEST(ExchangeDecoderTest, MembersOfAnExchangeHaveTheSameRoom) {
  EXPECT_TRUE(
      ParsedProgram(makeStages("", {exchangeRows("pp"), exchangeRows("pp")}))
          .decoded);
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

TEST(ExchangeDecoderTest, DecodesSlices) {
  ParsedProgram parsed(makeSliced("#mf.mesh<pp = 1, dp = 2, mp = 3>",
                                  "[24, 8] over [[mp, dp], []]"));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const StageProgram &stage = parsed.get().stages[0];
  ASSERT_EQ(stage.statics[0].name, "p");
  const std::optional<Slice> &slice = stage.statics[0].slice;
  ASSERT_TRUE(slice);
  EXPECT_THAT(slice->dims, ElementsAre(24, 8));
  EXPECT_THAT(slice->axes[0], ElementsAre("mp", "dp"));
  EXPECT_TRUE(slice->axes[1].empty());
  EXPECT_FALSE(stage.statics[1].slice);
}

TEST(ExchangeDecoderTest, RefusesSlicesThatDoNotFit) {
  auto getErrors = [](llvm::StringRef slice) {
    ParsedProgram parsed(makeSliced("#mf.mesh<pp = 1, mp = 3>", slice));
    EXPECT_FALSE(parsed.decoded);
    return parsed.messages;
  };
  EXPECT_THAT(getErrors("[8, 8] over [[dp], []]"),
              HasSubstr("is cut over axis 'dp', which the mesh does not have"));
  EXPECT_THAT(getErrors("[8, 8] over [[mp], []]"),
              HasSubstr("expected 1/3 of dimension 0, which is 8 long, but "
                        "holds 4"));
  EXPECT_THAT(getErrors("[12, 9] over [[mp], []]"),
              HasSubstr("expected an even part of dimension 1, which is 9 long "
                        "and not cut, but holds 8"));
  EXPECT_THAT(getErrors("[12, 8] over [[mp], [mp]]"),
              HasSubstr("is cut by \"mp\" twice"));
  EXPECT_THAT(getErrors("[12, 8] over [[mp]]"),
              HasSubstr("expected a list of axes for each of 2 dimensions, but "
                        "got 1"));
  EXPECT_THAT(getErrors("[12] over [[mp]]"),
              HasSubstr("is a slice of 1 dimensions, but has 2"));
  EXPECT_THAT(getErrors("[4611686018427387904, 8] over [[mp], []]"),
              HasSubstr("expected 1/3 of dimension 0"));
  // As many ranks as a mesh may have.
  ParsedProgram large(makeSliced("#mf.mesh<pp = 1, mp = 16777216>",
                                 "[67108864, 8] over [[mp], []]"));
  EXPECT_TRUE(large.decoded) << large.messages;
}

} // namespace
