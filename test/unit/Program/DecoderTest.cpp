//===- DecoderTest.cpp - From the ascend dialect to a Program -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParsedProgram.h"
#include "test/unit/CaseTable.h"
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

/// The decoder's messages about a broken program.
std::string getMessages(llvm::StringRef broken,
                        llvm::StringRef header = sizes) {
  ParsedProgram parsed(makeProgram(header, broken));
  EXPECT_FALSE(parsed.decoded);
  return parsed.messages;
}

/// What to put in place of what, and what the decoder says of it then.
constexpr llvm::StringLiteral broken = R"(
`ascend.alloc in scratch at 64` -> `ascend.alloc` => 10: has no offset: the program's memory is not planned
` at [64] {bytes = 128 : i64}` -> `` => 6: has no offset
` scratch at 512` -> `` => 18: has no offset
`hbm> at 0` -> `hbm> at 4064` => 4: 64 bytes at offset 4064 are outside of the arena, which has 4096 bytes
`hbm> at 0` -> `hbm> at -64` => 4: offset -64 is negative or not a multiple of 4
`hbm> at 0` -> `hbm> at 2` => 4: offset 2 is negative or not a multiple of 4
`host> at 64` -> `host> at 256` => 5: 4 bytes at offset 256 are outside of host memory
`at [64]` -> `at [128]` => 6: 64 bytes at offset 128 are outside of the frame
`at 2048` -> `at 4032` => 17: 128 bytes at offset 4032
`scratch at 512` -> `scratch at 4032` => 18: 128 bytes at offset 4032
`message at 1024` -> `message at 9223372036854775792` => 128 bytes at offset 9223372036854775792 are outside of the arena
`%e = ascend.record` -> `ascend.message at 0 : !ascend.buffer<4294967296x4294967296x4294967296xf32, hbm> %e = ascend.record` => is too large
`record @main` -> `record @man` => 19: unknown stream @man
`slot 0` -> `slot 1` => 11: slot 1 does not exist
`%s = ascend.slot 0` -> `%u = ascend.slot 0 : !ascend.buffer<4x4xi32, hbm> %s = ascend.slot 0` => 11: its type is not that of slot 0
`@main compute` -> `@main h2d` => has no compute stream
`@load h2d` -> `@load compute` => 3: the program has a compute stream already
`ascend.step {` -> `ascend.step {} ascend.step {` => expected one ascend.step, but got 2
# Host memory in kernels, and copies inside of it.
`ascend.step {` -> `ascend.step { %l = ascend.global @lr : !ascend.buffer<f32, host> ascend.launch "aclnnNeg"(%l) -> (%l) {} : (!ascend.buffer<f32, host>) -> !ascend.buffer<f32, host>` => 15: expected a buffer in device memory, but got '!ascend.buffer<f32, host>'; copy it with ascend.copy
`ascend.step {` -> `ascend.step { %l = ascend.global @lr : !ascend.buffer<f32, host> ascend.copy %l to %l on @load : !ascend.buffer<f32, host> to !ascend.buffer<f32, host>` => 15: expected device memory on one side at least
)";

/// Expects what a table of replacements says of a text.
void expectErrors(llvm::StringRef table,
                  std::string (*replace)(llvm::StringRef, llvm::StringRef)) {
  for (const auto &[change, message] : readTable(table)) {
    SCOPED_TRACE(change.str());
    auto [from, to] = change.split("` -> `");
    EXPECT_THAT(getMessages(replace(from.drop_front(), to.drop_back())),
                HasSubstr(message.str()));
  }
}

TEST(DecoderTest, SaysWhatIsWrongAndWhere) {
  expectErrors(broken, replaced);
  EXPECT_THAT(getMessages(body, ""), HasSubstr("memory is not planned"));
  EXPECT_THAT(getMessages(body, ", arena_bytes = 9223372036854775807"),
              HasSubstr("cannot have 9223372036854775807 bytes of memory"));
  EXPECT_THAT(ParsedProgram("").messages, HasSubstr("has no ascend.program"));
  EXPECT_THAT(ParsedProgram("module { module {} }").messages,
              HasSubstr("is not lowered"));
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

TEST(DecoderTest, RefusesWrongPartsOfFrames) {
  expectErrors(R"(
`64: 0, 512>` -> `64: 0, 0>` => 6: a part begins at 0; expected ascending multiples of 64, the last at most 1536
`64: 0, 512>` -> `64: 0, 500>` => 6: a part begins at 500; expected ascending
`64: 0, 512>` -> `64: 0, 2048>` => 6: a part begins at 2048; expected ascending
`64: 0, 512>` -> `64: -512, 512>` => 6: a part begins at -512; expected ascending
`64: 0, 512>` -> `64: 512>` => 6: expected its first part to begin at 0
`64: 0, 512>` -> `64>` => 6: expected its first part to begin at 0
`64: 0, 512>` -> `64: 0>` => 17: has 2 offsets, but the parts of 'f' are 1
`at [2048, 1024]` -> `at 2048` => 17: has 1 offsets, but the parts of 'f' are 2
`[2048, 1024]` -> `[2048, 3584]` => 17: 1024 bytes at offset 3584 are outside of the arena
`at [576]` -> `at [480]` => 6: 64 bytes at offset 480 lie in two parts of the frame, of which one ends at 512
`in frame at 64` -> `in frame at 480` => 10: 64 bytes at offset 480 lie in two parts of the frame, of which one ends at 512
)",
               replacedInParts);
}

} // namespace
