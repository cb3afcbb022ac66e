//===- VerifierTest.cpp - Proofs about a program before it runs -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Verifier.h"
#include "MeshPrograms.h"
#include "ParsedProgram.h"
#include "mf/Program/Liveness.h"
#include <ctime>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace mf;
using namespace mf::program;
using ::testing::HasSubstr;

namespace {

/// Two micro-batches, forward and backward with a residual, and an update.
/// Buffers have 64 bytes, those of type `!B` in device memory and those of type
/// `!H` in the host's.
constexpr llvm::StringLiteral source =
    R"(!B = !ascend.buffer<16xf32, hbm> !H = !ascend.buffer<16xf32, host> ascend.program @stage0 stage 0 attributes {micro_batches = 2, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 4096, host_bytes = 256} {
ascend.stream @compute compute
ascend.stream @h2d h2d
ascend.stream @d2h d2h
ascend.static @w parameter of "w" : !B at 0
ascend.static @g first_moment of "w" : !B at 64
ascend.static @x constant : !H at 0
ascend.static @loss report of "loss" : !H at 64
ascend.frame_layout @f [!B] of ["layer.mul"] at [64] {bytes = 128 : i64}
ascend.routine @forward(%x: !B) attributes {layout = @f} {
  %w = ascend.global @w : !B
  %s = ascend.slot 0 : !B
  %t = ascend.alloc in scratch at 0 : !B
  %u = ascend.alloc in scratch at 64 : !B
  ascend.launch "aclnnAdd"(%x, %x) -> (%t) {} cell "layer.add" : (!B, !B) -> !B
  ascend.launch "aclnnAdd"(%t, %w) -> (%u) {} cell "layer.add2" : (!B, !B) -> !B
  ascend.launch "aclnnMul"(%u, %t) -> (%s) {} cell "layer.mul" : (!B, !B) -> !B
}
ascend.routine @backward(%x: !B) attributes {layout = @f} {
  %g = ascend.global @g : !B
  %s = ascend.slot 0 : !B
  %t = ascend.alloc in frame at 0 : !B
  ascend.launch "aclnnMul"(%x, %s) -> (%t) {} cell "layer.mul.grad" : (!B, !B) -> !B
  ascend.launch "aclnnAdd"(%g, %t) -> (%g) {} cell "w.accumulate" : (!B, !B) -> !B
}
ascend.routine @update() {
  %w = ascend.global @w : !B
  %g = ascend.global @g : !B
  ascend.launch "aclnnAdd"(%w, %g) -> (%w) {} cell "w.update" : (!B, !B) -> !B
}
ascend.step {
  %x = ascend.global @x : !H
  %loss = ascend.global @loss : !H
  %m0 = ascend.message at 256 : !B
  %m1 = ascend.message at 320 : !B
  %f0 = ascend.frame @f micro_batch 0 at 512 : !ascend.frame<@f>
  %f1 = ascend.frame @f micro_batch 1 at 640 : !ascend.frame<@f>
  ascend.copy %x to %m0 on @h2d : !H to !B
  %e0 = ascend.record @h2d
  ascend.wait @compute for %e0
  ascend.call @forward(%m0) frame %f0 : !ascend.frame<@f> micro_batch 0 scratch at 1024 : (!B) -> ()
  ascend.copy %x to %m1 on @h2d : !H to !B
  %e1 = ascend.record @h2d
  ascend.wait @compute for %e1
  ascend.call @forward(%m1) frame %f1 : !ascend.frame<@f> micro_batch 1 scratch at 1024 : (!B) -> ()
  ascend.call @backward(%m0) frame %f0 : !ascend.frame<@f> micro_batch 0 : (!B) -> ()
  ascend.call @backward(%m1) frame %f1 : !ascend.frame<@f> micro_batch 1 : (!B) -> ()
  ascend.call @update() : () -> ()
  %e2 = ascend.record @compute
  ascend.wait @d2h for %e2
  %w = ascend.global @w : !B
  ascend.copy %w to %loss on @d2h : !B to !H
}
}
)";

/// `source` with all `from` replaced.
std::string getText(llvm::StringRef from = "", llvm::StringRef to = "") {
  std::string text = source.str();
  bool found = from.empty();
  for (size_t at = 0;
       !from.empty() && (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size()) {
    text.replace(at, from.size(), to.str());
    found = true;
  }
  EXPECT_TRUE(found) << from.str();
  return text;
}

/// The verifier's message about the program with all `from` replaced, with the
/// line.
std::string verify(llvm::StringRef from = "", llvm::StringRef to = "") {
  ParsedProgram parsed(getText(from, to));
  EXPECT_TRUE(parsed.decoded) << parsed.messages;
  if (!parsed.decoded)
    return "does not decode";
  std::string text;
  llvm::handleAllErrors(
      prove(parsed.get(), {/*ranks=*/false}).takeError(),
      [&](const LocatedError &error) {
        text = std::to_string(parsed.getLine(error.getLocation())) + ": " +
               error.getMessage();
        for (const LocatedError::Note &note : error.getNotes())
          text += "\n" + std::to_string(parsed.getLine(note.location)) + ": " +
                  note.text;
      });
  return text;
}

TEST(VerifierTest, FindsARecordOfAnotherStream) {
  EXPECT_EQ(verify(), "");
  EXPECT_THAT(verify("%e1 = ascend.record @h2d", "%e1 = ascend.record @d2h"),
              HasSubstr("15: aclnnAdd ('layer.add', task 'forward' of "
                        "micro-batch 1, stream 'compute') reads message 1, but "
                        "no event orders this after copy (stream 'h2d')"));
}

TEST(VerifierTest, FindsTwoWritesBesideEachOther) {
  EXPECT_THAT(
      verify("ascend.copy %w to %loss on @d2h : !B to !H",
             "ascend.copy %w to %loss on @d2h : !B to !H\n"
             "ascend.wait @h2d for %e2\n"
             "ascend.copy %w to %loss on @h2d : !B to !H"),
      HasSubstr("54: copy (stream 'h2d') writes report 'loss', but no event "
                "orders this after copy (stream 'd2h'), which writes it"));
}

TEST(VerifierTest, FindsAFrameUsedAfterItsEnd) {
  EXPECT_EQ(
      verify("micro_batch 1 at 640", "micro_batch 1 at 512"),
      "23: aclnnMul ('layer.mul.grad', task 'backward' of micro-batch 0, "
      "stream 'compute') reads residual 'layer.mul' of micro-batch 0, but "
      "aclnnMul ('layer.mul', task 'forward' of micro-batch 1, stream "
      "'compute') wrote residual 'layer.mul' of micro-batch 1 to the same "
      "memory before\n17: that is here");
}

TEST(VerifierTest, FindsAStaticOverwritten) {
  EXPECT_EQ(
      verify("ascend.stream @d2h d2h",
             "ascend.stream @d2h d2h\nascend.static @c table : !B at 1024"),
      "5: table 'c' does not keep its value for the next step: aclnnAdd "
      "('layer.add', task 'forward' of micro-batch 1, stream 'compute') "
      "writes result of 'layer.add' to its memory\n16: that is here");
  EXPECT_EQ(verify("first_moment of \"w\" : !B at 64",
                   "first_moment of \"w\" : !B at 32"),
            "6: first_moment 'w' lies where parameter 'w' is");
}

/// Such as the sum over ranks that a step forgets: the update reads a gradient
/// that is nobody's.
TEST(VerifierTest, FindsAGradientThatTheStepDoesNotMake) {
  EXPECT_EQ(verify("first_moment of", "gradient of"),
            "24: aclnnAdd ('w.accumulate', task 'backward' of micro-batch 0, "
            "stream 'compute') reads gradient 'w', but nothing wrote its bytes "
            "0 to 64 before");
}

TEST(VerifierTest, FindsReportsNotWritten) {
  EXPECT_EQ(verify("ascend.copy %w to %loss on @d2h : !B to !H", ""),
            "8: report 'loss' is not written by the step");
}

/// A gradient has memory from where backward makes it to its last reader.
TEST(VerifierTest, ComputesLifetimesOfGradients) {
  ParsedProgram parsed(getText("first_moment of", "gradient of"));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const StageProgram &stage = parsed.get().stages[0];
  std::vector<Lifetime> lifetimes = computeLifetimes(stage);
  EXPECT_EQ(lifetimes[0].kind, BufferKind::Static);
  const Lifetime &gradient = lifetimes[1];
  EXPECT_EQ(gradient.category, BufferCategory::Gradient);
  EXPECT_EQ(gradient.kind, BufferKind::Message);
  // Forward twice of three launches, backward twice of two, the update.
  EXPECT_EQ(gradient.begin, 3 + 3 + 1);
  EXPECT_EQ(gradient.end, 3 + 3 + 2 + 2 + 1);
  EXPECT_EQ(findPeak(lifetimes, Space::Device).bytes, 64 * (1 + 2 + 2 + 2));
}

/// The verifier's message about stages that run `steps`.
std::string verifyExchange(llvm::ArrayRef<std::string> steps,
                           llvm::StringRef mesh = "") {
  ParsedProgram parsed(makeStages(mesh, steps));
  EXPECT_TRUE(parsed.decoded) << parsed.messages;
  return llvm::toString(prove(parsed.get(), {/*ranks=*/false}).takeError());
}

TEST(VerifierTest, FollowsCollectives) {
  const std::string reduce =
      collective("all_reduce %g to %g over <pp>", "r", "a");
  const std::string after = "%e = ascend.record @a\nascend.wait @b for %e\n";
  const std::string send = transfer("send %g to <pp = 1>", "x", "b");
  const std::string receive = transfer("receive %m from <pp = 0>", "x", "b");
  EXPECT_EQ(verifyExchange({reduce + after + send, reduce + after + receive}),
            "");
  EXPECT_THAT(
      verifyExchange({reduce + after + send, receive +
                                                 "%e = ascend.record @b\n"
                                                 "ascend.wait @a for %e\n" +
                                                 reduce}),
      HasSubstr("stage 0: all_reduce (channel 'r', stream 'a') never comes to "
                "its end: streams wait for each other"));
}

/// A pipeline of `stages`, each of which runs `rounds` reductions over its
/// other axes between a receive and a send.
std::vector<std::string> makePipeline(size_t stages, int rounds) {
  std::vector<std::string> steps(stages);
  const std::string reduce =
      collective("all_reduce %g to %g over <mp>", "mp", "compute") +
      collective("all_reduce %g to %g over <dp, mp>", "dp.mp", "compute");
  for (size_t stage = 0; stage < stages; ++stage)
    for (int round = 0; round < rounds; ++round) {
      if (stage > 0)
        steps[stage] += transfer("receive %g from <pp - 1>",
                                 "to" + std::to_string(stage), "compute");
      steps[stage] += reduce;
      if (stage + 1 < stages)
        steps[stage] += transfer("send %g to <pp + 1>",
                                 "to" + std::to_string(stage + 1), "compute");
    }
  return steps;
}

// One rank stands for all of its stage, so the proof takes no longer for 2,048
// ranks than for 16.
TEST(VerifierTest, ProvesManyRanksAsFewStages) {
  auto measure = [](llvm::StringRef mesh, int64_t ranks) {
    ParsedProgram parsed(makeStages(mesh, makePipeline(16, 64)));
    EXPECT_TRUE(parsed.decoded) << parsed.messages;
    EXPECT_EQ(parsed.get().getNumRanks(), ranks);
    std::clock_t best = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();
      EXPECT_EQ(
          llvm::toString(prove(parsed.get(), {/*ranks=*/false}).takeError()),
          "");
      best = std::min(best, std::clock() - start);
    }
    return best;
  };
  const auto few = measure("#mf.mesh<pp = 16, dp = 1, mp = 1>", 16);
  const auto many = measure("#mf.mesh<pp = 16, dp = 16, mp = 8>", 2048);
  EXPECT_LT(many, 8 * (few + 1));
}

TEST(VerifierTest, FindsADeadlockAmongManyRanks) {
  std::vector<std::string> steps = makePipeline(16, 2);
  // Stage 9 sends before it receives, and stage 8 does so after a reply.
  steps[9] += transfer("receive %g from <pp - 1>", "more", "compute") +
              transfer("send %g to <pp - 1>", "reply", "compute");
  steps[8] += transfer("receive %g from <pp + 1>", "reply", "compute") +
              transfer("send %g to <pp + 1>", "more", "compute");
  EXPECT_THAT(verifyExchange(steps, "#mf.mesh<pp = 16, dp = 16, mp = 8>"),
              HasSubstr("stage 8: receive (channel 'reply', stream 'compute') "
                        "never comes to its end: streams wait for each other\n"
                        "  note: stage 9: receive (channel 'more', stream "
                        "'compute') waits too"));
}

} // namespace
