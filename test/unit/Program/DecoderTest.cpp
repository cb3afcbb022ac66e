//===- DecoderTest.cpp - From the ascend dialect to a Program -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParsedProgram.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using ::testing::HasSubstr;

namespace {

/// One stage whose routine doubles its argument into a temporary, and adds this
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
  ASSERT_EQ(program.stages.size(), 1u);
  EXPECT_EQ(program.getNumRanks(), 1);
  const StageProgram &stage = program.stages[0];
  EXPECT_EQ(stage.arenaBytes, 4096);
  EXPECT_EQ(stage.hostBytes, 256);
  ASSERT_EQ(stage.statics.size(), 2u);
  EXPECT_EQ(stage.statics[0].of, "w");
  EXPECT_EQ(stage.statics[0].bytes, 64);
  ASSERT_TRUE(stage.statics[0].init);
  EXPECT_EQ(stage.statics[0].init->kind, InitialValue::Kind::Normal);
  EXPECT_EQ(stage.statics[0].init->value, 2.0e-2);
  EXPECT_EQ(stage.statics[1].role, Role::LearningRate);
  EXPECT_EQ(stage.statics[1].space, Space::Host);
  ASSERT_EQ(stage.layouts.size(), 1u);
  EXPECT_EQ(stage.layouts[0].bytes, 128);
  EXPECT_EQ(stage.layouts[0].slots[0].offset, 64);
  ASSERT_EQ(program.kernels.size(), 2u);
  EXPECT_EQ(program.kernels[1].spec.name, "aclnnMul");
}

TEST(DecoderTest, DecodesInstructions) {
  ParsedProgram parsed(makeProgram(sizes, body));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const StageProgram &stage = parsed.get().stages[0];
  const Routine &routine = stage.routines.front();
  EXPECT_EQ(routine.scratchBytes, 128);
  ASSERT_EQ(routine.body.instructions.size(), 2u);
  const Instruction &add = routine.body.instructions[0];
  EXPECT_EQ(add.work, Work::Kernel);
  EXPECT_EQ(add.stream, stage.computeStream);
  EXPECT_EQ(add.cell, "a.add");
  EXPECT_EQ(parsed.get().kernels[add.index].flops, 16);
  ASSERT_EQ(add.accesses.size(), 3u);
  EXPECT_EQ(add.accesses[0].access, Access::In);
  const Operand &input = add.accesses[0].operand;
  const Buffer &argument = routine.body.buffers[input.buffer];
  EXPECT_EQ(argument.kind, BufferKind::Argument);
  EXPECT_EQ(input.offset, 64);
  EXPECT_EQ(input.bytes, 64);
  EXPECT_EQ(add.accesses[2].access, Access::Out);
  EXPECT_EQ(add.accesses[2].sharedAccesses, 3u);
  const Buffer &temporary =
      routine.body.buffers[add.accesses[2].operand.buffer];
  EXPECT_EQ(temporary.address.base, Base::Scratch);
  EXPECT_EQ(temporary.address.offset, 64);
  EXPECT_EQ(temporary.name, "result of 'a.add'");
  const Instruction &mul = routine.body.instructions[1];
  const Buffer &slot = routine.body.buffers[mul.accesses[2].operand.buffer];
  EXPECT_EQ(slot.kind, BufferKind::Slot);
  EXPECT_EQ(slot.address.base, Base::Frame);
  EXPECT_EQ(slot.address.offset, 64);
  EXPECT_EQ(parsed.getLine(mul.location), 13u);

  ASSERT_EQ(stage.step.instructions.size(), 3u);
  const Call *call = stage.step.getCall(stage.step.instructions[0]);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->scratchOffset, 512);
  EXPECT_EQ(call->microBatch, 1);
  ASSERT_TRUE(call->frame);
  EXPECT_EQ(stage.frames[*call->frame].offsets, std::vector<int64_t>{2048});
  EXPECT_EQ(stage.step.instructions[1].recorded, 0u);
  const Instruction &wait = stage.step.instructions[2];
  EXPECT_EQ(wait.stream, 1u);
  ASSERT_EQ(wait.awaited.size(), 1u);
  EXPECT_EQ(wait.awaited[0].event, 0u);
  EXPECT_FALSE(wait.awaited[0].isArgument);
  EXPECT_EQ(stage.step.numEvents, 1u);
}

/// The decoder's messages about a broken program.
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

/// A frame of two parts: the slot in the second one, a temporary in the first.
std::string replacedInParts(llvm::StringRef from, llvm::StringRef to) {
  std::string text =
      replaced("{bytes = 128 : i64}",
               "{bytes = 1536 : i64, parts = array<i64: 0, 512>}");
  auto replace = [&](llvm::StringRef from, llvm::StringRef to) {
    const size_t at = text.find(from.str());
    EXPECT_NE(at, std::string::npos) << from.str();
    text.replace(at, from.size(), to.str());
  };
  replace("at [64]", "at [576]");
  replace("in scratch at 64", "in frame at 64");
  replace("at 2048", "at [2048, 1024]");
  replace(from, to);
  return text;
}

TEST(DecoderTest, DecodesPartsOfFrames) {
  ParsedProgram parsed(makeProgram(sizes, replacedInParts("", "")));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const StageProgram &stage = parsed.get().stages[0];
  const FrameLayout &layout = stage.layouts[0];
  EXPECT_EQ(layout.parts, (std::vector<int64_t>{0, 512}));
  EXPECT_EQ(layout.getPartBytes(0), 512);
  EXPECT_EQ(layout.getPartBytes(1), 1024);
  // Offsets of buffers count from the part.
  EXPECT_EQ(layout.slots[0].part, 1u);
  EXPECT_EQ(layout.slots[0].offset, 64);
  EXPECT_EQ(stage.frames[0].offsets, (std::vector<int64_t>{2048, 1024}));
  EXPECT_EQ(stage.frames[0].getOffset(layout.slots[0]), 1024 + 64);
  const InstructionList &list = stage.routines[0].body;
  auto getAddress = [&](size_t instruction) {
    return list
        .buffers[list.instructions[instruction].accesses[2].operand.buffer]
        .address;
  };
  EXPECT_EQ(getAddress(0).base, Base::Frame);
  EXPECT_EQ(getAddress(0).number, 0u);
  EXPECT_EQ(getAddress(0).offset, 64);
  EXPECT_EQ(getAddress(1).base, Base::Frame);
  EXPECT_EQ(getAddress(1).number, 1u);
  EXPECT_EQ(getAddress(1).offset, 64);
}

TEST(DecoderTest, RefusesWrongPartsOfFrames) {
  auto getMessagesOfParts = [](llvm::StringRef parts) {
    return getMessages(replacedInParts("array<i64: 0, 512>",
                                       ("array<i64" + parts + ">").str()));
  };
  EXPECT_THAT(getMessagesOfParts(": 0, 0"),
              HasSubstr("6: a part begins at 0; expected ascending multiples "
                        "of 64, the last at most 1536"));
  EXPECT_THAT(getMessagesOfParts(": 0, 500"),
              HasSubstr("6: a part begins at 500; expected ascending"));
  EXPECT_THAT(getMessagesOfParts(": 0, 2048"),
              HasSubstr("6: a part begins at 2048; expected ascending"));
  EXPECT_THAT(getMessagesOfParts(": -512, 512"),
              HasSubstr("6: a part begins at -512; expected ascending"));
  EXPECT_THAT(getMessagesOfParts(": 512"),
              HasSubstr("6: expected its first part to begin at 0"));
  EXPECT_THAT(getMessagesOfParts(""),
              HasSubstr("6: expected its first part to begin at 0"));
  EXPECT_THAT(getMessagesOfParts(": 0"),
              HasSubstr("17: has 2 offsets, but the parts of 'f' are 1"));
  EXPECT_THAT(getMessages(replacedInParts("at [2048, 1024]", "at 2048")),
              HasSubstr("17: has 1 offsets, but the parts of 'f' are 2"));
  EXPECT_THAT(getMessages(replacedInParts("[2048, 1024]", "[2048, 3584]")),
              HasSubstr("17: 1024 bytes at offset 3584 are outside of the "
                        "arena"));
  EXPECT_THAT(getMessages(replacedInParts("at [576]", "at [480]")),
              HasSubstr("6: 64 bytes at offset 480 lie in two parts of the "
                        "frame, of which one ends at 512"));
  EXPECT_THAT(getMessages(replacedInParts("in frame at 64", "in frame at 480")),
              HasSubstr("10: 64 bytes at offset 480 lie in two parts of the "
                        "frame, of which one ends at 512"));
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

} // namespace
