//===- DecoderTest.cpp - From the ascend dialect to a Program -------------===//

#include "ParsedProgram.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using ::testing::HasSubstr;

namespace {

/// One rank whose routine doubles its argument into a temporary, and adds this
/// to a static and a residual.
std::string makeProgram(llvm::StringRef header, llvm::StringRef body) {
  return ("ascend.program @stage0 stage 0 attributes {micro_batches = 2, "
          "micro_batch_size = 1, sequence_length = 8, vocab_size = 16, "
          "pad_token_id = -1, ignore_index = -100" +
          header + "} {\n" + body + "\n}\n")
      .str();
}

constexpr llvm::StringLiteral sizes = ", arena_bytes = 4096, host_bytes = 256";

constexpr llvm::StringLiteral body = R"(ascend.stream @main compute
ascend.stream @load h2d
ascend.static @w parameter of "w" : !ascend.buffer<4x4xf32, hbm> at 0 {init = #mf.init<normal, value = 2.0e-2>}
ascend.static @lr learning_rate : !ascend.buffer<f32, host> at 64
ascend.frame_layout @f [!ascend.buffer<4x4xf32, hbm>] of ["a.mul"] at [64] {bytes = 128 : i64}
ascend.routine @r(%a: !ascend.buffer<2x4x4xf32, hbm>) attributes {layout = @f} {
  %v = ascend.view %a {byte_offset = 64} : !ascend.buffer<2x4x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm>
  %w = ascend.global @w : !ascend.buffer<4x4xf32, hbm>
  %t = ascend.alloc in scratch at 64 : !ascend.buffer<4x4xf32, hbm>
  %s = ascend.slot 0 : !ascend.buffer<4x4xf32, hbm>
  ascend.launch "aclnnAdd"(%v, %v) -> (%t) {} cell "a.add" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  ascend.launch "aclnnMul"(%w, %t) -> (%s) {} cell "a.mul" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
}
ascend.step {
  %m = ascend.message at 1024 : !ascend.buffer<2x4x4xf32, hbm>
  %f = ascend.frame @f micro_batch 1 at 2048 : !ascend.frame<@f>
  ascend.call @r(%m) frame %f : !ascend.frame<@f> micro_batch 1 scratch at 512 : (!ascend.buffer<2x4x4xf32, hbm>) -> ()
  %e = ascend.record @main
  ascend.wait @load for %e
})";

/// `body` with the first `from` replaced.
std::string replaced(llvm::StringRef from, llvm::StringRef to) {
  std::string text = body.str();
  const size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  return text.replace(at, from.size(), to.str());
}

TEST(DecoderTest, DecodesTables) {
  ParsedProgram parsed(makeProgram(sizes, body));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const Program &program = parsed.get();
  EXPECT_EQ(program.microBatches, 2);
  ASSERT_EQ(program.ranks.size(), 1u);
  const Rank &rank = program.ranks[0];
  EXPECT_EQ(rank.arenaBytes, 4096);
  EXPECT_EQ(rank.hostBytes, 256);
  ASSERT_EQ(rank.statics.size(), 2u);
  EXPECT_EQ(rank.statics[0].of, "w");
  EXPECT_EQ(rank.statics[0].bytes, 64);
  ASSERT_TRUE(rank.statics[0].init);
  EXPECT_EQ(rank.statics[0].init->kind, InitialValue::Kind::Normal);
  EXPECT_EQ(rank.statics[0].init->value, 2.0e-2);
  EXPECT_EQ(rank.statics[1].role, Role::LearningRate);
  EXPECT_EQ(rank.statics[1].space, Space::Host);
  ASSERT_EQ(rank.layouts.size(), 1u);
  EXPECT_EQ(rank.layouts[0].bytes, 128);
  EXPECT_EQ(rank.layouts[0].slots[0].offset, 64);
  ASSERT_EQ(program.kernels.size(), 2u);
  EXPECT_EQ(program.kernels[1].name, "aclnnMul");
}

TEST(DecoderTest, DecodesInstructions) {
  ParsedProgram parsed(makeProgram(sizes, body));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const Rank &rank = parsed.get().ranks[0];
  const Routine &routine = rank.routines.front();
  EXPECT_EQ(routine.scratchBytes, 128);
  ASSERT_EQ(routine.body.instructions.size(), 2u);
  const auto &add = std::get<Launch>(routine.body.instructions[0].action);
  EXPECT_EQ(add.cell, "a.add");
  EXPECT_EQ(add.flops, 16);
  ASSERT_EQ(add.inputs.size(), 2u);
  const Buffer &argument = routine.body.buffers[add.inputs[0].buffer];
  EXPECT_EQ(argument.kind, BufferKind::Argument);
  EXPECT_EQ(add.inputs[0].offset, 64);
  EXPECT_EQ(add.inputs[0].bytes, 64);
  const Buffer &temporary = routine.body.buffers[add.outputs[0].buffer];
  EXPECT_EQ(temporary.address.base, Base::Scratch);
  EXPECT_EQ(temporary.address.offset, 64);
  EXPECT_EQ(temporary.name, "result of 'a.add'");
  const auto &mul = std::get<Launch>(routine.body.instructions[1].action);
  const Buffer &slot = routine.body.buffers[mul.outputs[0].buffer];
  EXPECT_EQ(slot.kind, BufferKind::Slot);
  EXPECT_EQ(slot.address.base, Base::Frame);
  EXPECT_EQ(slot.address.offset, 64);
  EXPECT_EQ(parsed.getLine(routine.body.instructions[1].location), 13u);

  ASSERT_EQ(rank.step.instructions.size(), 3u);
  const auto &call = std::get<Call>(rank.step.instructions[0].action);
  EXPECT_EQ(call.scratchOffset, 512);
  EXPECT_EQ(call.microBatch, 1);
  ASSERT_TRUE(call.frame);
  EXPECT_EQ(rank.frames[*call.frame].offset, 2048);
  EXPECT_EQ(std::get<Wait>(rank.step.instructions[2].action).stream, 1u);
  EXPECT_EQ(rank.step.numEvents, 1u);
}

/// What the decoder says to a broken program.
std::string getMessages(llvm::StringRef broken,
                        llvm::StringRef header = sizes) {
  ParsedProgram parsed(makeProgram(header, broken));
  EXPECT_FALSE(parsed.decoded);
  return parsed.messages;
}

TEST(DecoderTest, RefusesUnplanned) {
  EXPECT_THAT(getMessages(body, ""), HasSubstr("memory is not planned"));
  EXPECT_THAT(getMessages(replaced(" in scratch at 64", "")),
              HasSubstr("10: has no offset: the program's memory is not "
                        "planned"));
  EXPECT_THAT(getMessages(replaced(" at [64] {bytes = 128 : i64}", "")),
              HasSubstr("6: has no offset"));
  EXPECT_THAT(getMessages(replaced(" scratch at 512", "")),
              HasSubstr("18: has no offset"));
}

TEST(DecoderTest, ReadsTheLossScale) {
  auto getHeader = [](const char *scale) {
    return (sizes + ", loss_scale = " + scale).str();
  };
  ParsedProgram none(makeProgram(sizes, body));
  EXPECT_EQ(none.get().lossScale.value, 1);
  EXPECT_FALSE(none.get().lossScale.isDynamic());
  ParsedProgram dynamic(makeProgram(
      getHeader("{value = 1024.0, factor = 2, window = 10}"), body));
  EXPECT_EQ(dynamic.get().lossScale.value, 1024);
  EXPECT_EQ(dynamic.get().lossScale.factor, 2);
  EXPECT_EQ(dynamic.get().lossScale.window, 10);
  EXPECT_THAT(getMessages(body, getHeader("{value = -1.0}")),
              HasSubstr("loss_scale: expected a 'value' above 0"));
  EXPECT_THAT(getMessages(body, getHeader("{value = 1.0e39}")),
              HasSubstr("that fp32 can hold"));
  EXPECT_THAT(getMessages(body, getHeader("{value = 1.0, factor = 2}")),
              HasSubstr("both 'factor' and 'window'"));
  EXPECT_THAT(getMessages(body, getHeader("{window = 0}")),
              HasSubstr("but got 'window' = 0"));
  EXPECT_THAT(getMessages(body, getHeader("{scale = 2.0}")),
              HasSubstr("but got 'scale' = 2.0"));
}

TEST(DecoderTest, RefusesMemoryOutsideOfTheArena) {
  EXPECT_THAT(getMessages(replaced("hbm> at 0", "hbm> at 4064")),
              HasSubstr("4: 64 bytes at offset 4064 are outside of the arena, "
                        "which has 4096 bytes"));
  EXPECT_THAT(getMessages(replaced("hbm> at 0", "hbm> at -64")),
              HasSubstr("4: offset -64 is negative or not a multiple of 4"));
  EXPECT_THAT(getMessages(replaced("hbm> at 0", "hbm> at 2")),
              HasSubstr("4: offset 2 is negative or not a multiple of 4"));
  EXPECT_THAT(getMessages(replaced("host> at 64", "host> at 256")),
              HasSubstr("5: 4 bytes at offset 256 are outside of host memory"));
  EXPECT_THAT(getMessages(replaced("at [64]", "at [128]")),
              HasSubstr("6: 64 bytes at offset 128 are outside of the frame"));
  EXPECT_THAT(getMessages(replaced("at 2048", "at 4032")),
              HasSubstr("17: 128 bytes at offset 4032"));
  EXPECT_THAT(getMessages(replaced("scratch at 512", "scratch at 4032")),
              HasSubstr("18: 128 bytes at offset 4032"));
  EXPECT_THAT(getMessages(replaced("message at 1024",
                                   "message at 9223372036854775792")),
              HasSubstr("128 bytes at offset 9223372036854775792 are outside "
                        "of the arena"));
}

TEST(DecoderTest, RefusesHugeSizes) {
  EXPECT_THAT(getMessages(body, ", arena_bytes = 9223372036854775807"),
              HasSubstr("cannot have 9223372036854775807 bytes of memory"));
  EXPECT_THAT(
      getMessages(replaced(
          "%m = ascend.message at 1024 : !ascend.buffer<2x4x4xf32, hbm>",
          "%m = ascend.message at 1024 : !ascend.buffer<2x4x4xf32, hbm>\n"
          "ascend.message at 0 : "
          "!ascend.buffer<4294967296x4294967296x4294967296xf32, hbm>")),
      HasSubstr("is too large"));
}

TEST(DecoderTest, RefusesWhatDoesNotExist) {
  EXPECT_THAT(getMessages(replaced("record @main", "record @man")),
              HasSubstr("19: unknown stream @man"));
  EXPECT_THAT(getMessages(replaced("slot 0", "slot 1")),
              HasSubstr("11: slot 1 does not exist"));
  EXPECT_THAT(
      getMessages(replaced("%s = ascend.slot 0",
                           "%u = ascend.slot 0 : !ascend.buffer<4x4xi32, hbm>\n"
                           "%s = ascend.slot 0")),
      HasSubstr("11: its type is not that of slot 0"));
  EXPECT_THAT(getMessages(replaced("@main compute", "@main h2d")),
              HasSubstr("has no compute stream"));
  EXPECT_THAT(getMessages(replaced("@load h2d", "@load compute")),
              HasSubstr("3: the program has a compute stream already"));
  EXPECT_THAT(getMessages(replaced("ascend.step {", "ascend.step {}\n"
                                                    "ascend.step {")),
              HasSubstr("expected one ascend.step, but got 2"));
}

TEST(DecoderTest, RefusesHostMemoryInKernels) {
  EXPECT_THAT(
      getMessages(replaced(
          "ascend.step {",
          "ascend.step {\n%l = ascend.global @lr : !ascend.buffer<f32, host>\n"
          "ascend.launch \"aclnnNeg\"(%l) -> (%l) {} : (!ascend.buffer<f32, "
          "host>) -> !ascend.buffer<f32, host>")),
      HasSubstr("17: expected a buffer in device memory, but got "
                "'!ascend.buffer<f32, host>'; copy it with ascend.copy"));
}

TEST(DecoderTest, RefusesCopiesInsideTheHost) {
  EXPECT_THAT(
      getMessages(replaced(
          "ascend.step {",
          "ascend.step {\n%l = ascend.global @lr : !ascend.buffer<f32, host>\n"
          "ascend.copy %l to %l on @load : !ascend.buffer<f32, host> to "
          "!ascend.buffer<f32, host>")),
      HasSubstr("17: expected device memory on one side at least"));
}

TEST(DecoderTest, RefusesOtherOperations) {
  ParsedProgram empty("");
  EXPECT_THAT(empty.messages, HasSubstr("has no ascend.program"));
  ParsedProgram model("module { module {} }");
  EXPECT_THAT(model.messages, HasSubstr("is not lowered"));
}

/// Two ranks; the first runs `first` in its step and the second `second`.
std::string makeRanks(llvm::StringRef first, llvm::StringRef second,
                      llvm::StringRef number = "1", int ranks = 2) {
  std::string text;
  for (auto [rank, step] : {std::make_pair(llvm::StringRef("0"), first),
                            std::make_pair(number, second)})
    text += ("ascend.program @stage" + llvm::Twine(rank.size() + text.size()) +
             " rank " + rank + " of " + llvm::Twine(ranks) +
             " attributes {micro_batches = 1, micro_batch_size = 1, "
             "sequence_length = 8, vocab_size = 16, pad_token_id = -1, "
             "ignore_index = -100, arena_bytes = 64, host_bytes = 0} {\n"
             "ascend.stream @main compute\nascend.stream @c communication\n"
             "ascend.step {\n"
             "%m = ascend.message at 0 : !ascend.buffer<4xf32, hbm>\n"
             "%n = ascend.message at 16 : !ascend.buffer<8xf32, hbm>\n" +
             step + "\n}\n}\n")
                .str();
  return text;
}

constexpr llvm::StringLiteral send =
    "ascend.send %m to <pp = 1> channel \"x\" on @c : !ascend.buffer<4xf32, hbm>\n";
constexpr llvm::StringLiteral receive =
    "ascend.receive %m from <pp = 0> channel \"x\" on @c : !ascend.buffer<4xf32, "
    "hbm>\n";

TEST(DecoderTest, PairsSendsAndReceives) {
  ParsedProgram parsed(makeRanks(send, receive));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  ASSERT_EQ(parsed.get().channels.size(), 1u);
  EXPECT_EQ(parsed.get().channels[0].ranks, (std::vector<int64_t>{0, 1}));

  EXPECT_THAT(ParsedProgram(makeRanks(send, "")).messages,
              HasSubstr("7: channel 'x': rank 1 has no receive that matches (1 "
                        "on rank 0, 0 on rank 1)"));
  EXPECT_THAT(ParsedProgram(makeRanks("", receive)).messages,
              HasSubstr("channel 'x': rank 0 has no send that matches"));
  EXPECT_THAT(
      ParsedProgram(makeRanks(send, "ascend.receive %n from <pp = 0> channel \"x\" on "
                                    "@c : !ascend.buffer<8xf32, hbm>"))
          .messages,
      HasSubstr("32 bytes of f32 on rank 1 do not match 16 bytes"));
  EXPECT_THAT(ParsedProgram(makeRanks("ascend.send %m to <pp = 0> channel \"x\" on @c "
                                      ": !ascend.buffer<4xf32, hbm>",
                                      ""))
                  .messages,
              HasSubstr("expected another rank of 2 as peer of rank 0"));
  std::string twoStreams = send.str() + send.str();
  twoStreams.replace(twoStreams.rfind("@c"), 2, "@main");
  EXPECT_THAT(
      ParsedProgram(makeRanks(twoStreams, receive.str() + receive.str()))
          .messages,
      HasSubstr("used on a second stream"));
}

TEST(DecoderTest, PairsReductions) {
  llvm::StringLiteral reduce = "ascend.all_reduce %m over [0, 1] channel \"r\" "
                               "on @c : !ascend.buffer<4xf32, hbm>";
  EXPECT_TRUE(ParsedProgram(makeRanks(reduce, reduce)).decoded);
  EXPECT_THAT(ParsedProgram(makeRanks(reduce, "")).messages,
              HasSubstr("rank 1 has no part of the reduction"));
  EXPECT_THAT(
      ParsedProgram(makeRanks("ascend.all_reduce %m over [1] channel \"r\" "
                              "on @c : !ascend.buffer<4xf32, hbm>",
                              ""))
          .messages,
      HasSubstr("does not include rank 0"));
}

TEST(DecoderTest, ChecksRanks) {
  EXPECT_THAT(ParsedProgram(makeRanks("", "", "0")).messages,
              HasSubstr("rank 0 is given twice"));
  EXPECT_THAT(ParsedProgram(makeRanks("", "", "2")).messages,
              HasSubstr("rank 2 is not one of 2"));
  EXPECT_THAT(ParsedProgram(makeRanks("", "", "1", 3)).messages,
              HasSubstr("is one of 3 ranks, but the file has 2"));
}

} // namespace
