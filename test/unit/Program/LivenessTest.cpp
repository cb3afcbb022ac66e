//===- LivenessTest.cpp - Lifetimes of the buffers of a step --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Liveness.h"
#include "dialects/mf/MfDialect.h"
#include "mf/Decode/Decoder.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;

namespace {

/// A stage before its memory is planned. `!B` is a buffer of 64 bytes, `!W` one
/// of 128.
class Stage {
public:
  Stage(llvm::StringRef declarations, llvm::StringRef step) {
    context.loadDialect<ascend::AscendDialect, ir::MfDialect>();
    const std::string text =
        "!B = !ascend.buffer<16xf32, hbm>\n"
        "!W = !ascend.buffer<32xf32, hbm>\n"
        "module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {\n"
        "ascend.program @p stage 0 attributes {micro_batches = 1, "
        "micro_batch_size = 1, sequence_length = 4, vocab_size = 16, "
        "pad_token_id = -1, ignore_index = -100} {\n"
        "ascend.stream @compute compute\n"
        "ascend.stream @h2d h2d\n"
        "ascend.stream @mp communication\n"
        "ascend.static @w parameter of \"w\" : !B\n" +
        (declarations + "ascend.step {\n" + step).str() + "}\n}\n}\n";
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    if (!module)
      return;
    mlir::FailureOr<UnplannedStage> decoded = decodeUnplanned(
        *module->getBody()->getOps<ascend::ProgramOp>().begin());
    EXPECT_TRUE(mlir::succeeded(decoded));
    if (mlir::failed(decoded))
      return;
    stage = std::move(decoded->stage);
    liveness = computeLiveness(stage);
  }

  StageProgram stage;
  StepLiveness liveness;

private:
  mlir::MLIRContext context;
};

testing::AssertionResult isRange(const MomentRange &range, int64_t begin,
                                 int64_t end) {
  if (range.begin == begin && range.end == end)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "[" << range.begin << ", " << range.end << ")";
}

testing::AssertionResult isRange(const MessageRange &range, CallMoment begin,
                                 CallMoment end) {
  if (range.isUsed && range.begin.call == begin.call &&
      range.begin.moment == begin.moment && range.end.call == end.call &&
      range.end.moment == end.moment)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "[" << range.begin.call << "." << range.begin.moment << ", "
         << range.end.call << "." << range.end.moment << ")";
}

std::string negate(llvm::StringRef from, llvm::StringRef to) {
  return ("ascend.launch \"aclnnNeg\"(" + from + ") -> (" + to +
          ") {} : (!B) -> !B\n")
      .str();
}

TEST(LivenessTest, TemporariesLiveFromFirstToLastUse) {
  const Stage parsed("ascend.routine @r() {\n"
                     "%w = ascend.global @w : !B\n"
                     "%t = ascend.alloc : !B\n"
                     "%u = ascend.alloc : !B\n"
                     "%unused = ascend.alloc : !B\n" +
                         negate("%w", "%t") + negate("%w", "%u") +
                         negate("%t", "%w") + negate("%u", "%w") + "}\n",
                     "ascend.call @r() : () -> ()\n"
                     "ascend.call @r() : () -> ()\n");
  const RoutineLiveness &routine = parsed.liveness.routines[0];
  EXPECT_EQ(routine.getLength(), 4);
  ASSERT_GE(routine.temporaries.size(), 2u);
  EXPECT_TRUE(isRange(routine.temporaries[0], 0, 3));
  EXPECT_TRUE(isRange(routine.temporaries[1], 1, 4));
  for (size_t i = 2; i < routine.temporaries.size(); ++i)
    EXPECT_FALSE(routine.temporaries[i].isUsed());
  EXPECT_TRUE(routine.temporaries[0].onlyCompute);
  EXPECT_EQ(routine.temporaries[0].lastInstruction, 2u);
  // A routine that is called twice is analysed once.
  EXPECT_EQ(parsed.liveness.calls, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(parsed.liveness.starts, (std::vector<int64_t>{0, 4, 8}));
}

/// A gather of %t into %g in the middle of a routine, with two launches behind
/// it that have nothing to do with it; `wait` and `use` follow.
std::string makeGather(llvm::StringRef early, llvm::StringRef late,
                       llvm::StringRef end) {
  return "ascend.routine @r() {\n"
         "%w = ascend.global @w : !B\n"
         "%t = ascend.alloc : !B\n"
         "%g = ascend.alloc : !W\n"
         "%u = ascend.alloc : !B\n"
         "%v = ascend.alloc : !B\n" +
         early.str() + negate("%w", "%t") + late.str() +
         "%done = ascend.collective all_gather %t to %g over <mp> channel "
         "\"mp\" on @mp after %ready : !B to !W -> !ascend.event\n" +
         negate("%w", "%u") + negate("%u", "%v") + end.str() + "}\n";
}

constexpr llvm::StringLiteral record = "%ready = ascend.record @compute\n";
constexpr llvm::StringLiteral wait = "ascend.wait @compute for %done\n";
constexpr llvm::StringLiteral part = "%p = ascend.view %g : !W to !B\n";
constexpr llvm::StringLiteral call = "ascend.call @r() : () -> ()\n";

TEST(LivenessTest, ACollectiveKeepsItsBuffersUntilTheWait) {
  const std::string reader = (part + negate("%p", "%w")).str(),
                    other = negate("%v", "%w");
  const std::string elsewhere = "ascend.wait @h2d for %done\n";
  // What stands before the gather and behind it, and when the input of the
  // gather and its output are live. Others of them are not affected.
  const struct {
    llvm::StringRef early, late;
    std::string end;
    int64_t length, inputEnd, outputBegin, outputEnd;
  } cases[] = {
      // Launch, gather, two launches, wait, launch.
      {"", record, wait.str() + reader, 6, 5, 1, 6},
      // Nothing reads the output.
      {"", record, wait.str() + other, 6, 5, 1, 5},
      // The gather waits for nothing of this routine: it may run beside all of
      // it.
      {record, "", wait.str() + reader, 6, 5, 0, 6},
      // Without a wait buffers are kept to the end.
      {"", record, other, 5, 5, 1, 5},
      // The wait of another stream is not that of the compute stream, but what
      // the compute stream learns through it counts.
      {"", record, elsewhere + other, 5, 5, 1, 5},
      {"", record,
       elsewhere +
           "%later = ascend.record @h2d\n"
           "ascend.wait @compute for %later\n" +
           other + negate("%w", "%w"),
       7, 5, 1, 5},
  };
  for (const auto &each : cases) {
    SCOPED_TRACE(each.end);
    const Stage parsed(makeGather(each.early, each.late, each.end), call);
    const RoutineLiveness &routine = parsed.liveness.routines[0];
    EXPECT_EQ(routine.getLength(), each.length);
    EXPECT_TRUE(isRange(routine.temporaries[0], 0, each.inputEnd));
    EXPECT_TRUE(
        isRange(routine.temporaries[1], each.outputBegin, each.outputEnd));
    EXPECT_TRUE(isRange(routine.temporaries[2], 2, 4));
    EXPECT_FALSE(routine.temporaries[0].onlyCompute);
    EXPECT_TRUE(routine.temporaries[2].onlyCompute);
  }
}

constexpr llvm::StringLiteral onArgument =
    "ascend.routine @r(%x: !B) {\n"
    "%w = ascend.global @w : !B\n"
    "ascend.launch \"aclnnNeg\"(%w) -> (%w) {} : (!B) -> !B\n"
    "ascend.launch \"aclnnNeg\"(%x) -> (%w) {} : (!B) -> !B\n"
    "ascend.launch \"aclnnNeg\"(%w) -> (%w) {} : (!B) -> !B\n"
    "}\n";

TEST(LivenessTest, MessagesLiveFromTheirFillingToTheirUse) {
  const Stage parsed(
      onArgument.str() +
          "ascend.static @x constant : !ascend.buffer<16xf32, host>\n",
      "%x = ascend.global @x : !ascend.buffer<16xf32, host>\n"
      "%m = ascend.message : !B\n"
      "%n = ascend.message : !B\n"
      "%e = ascend.copy %x to %m on @h2d : !ascend.buffer<16xf32, host> to !B "
      "-> !ascend.event\n"
      "ascend.call @r(%m) after %e : (!B) -> ()\n"
      "%started = ascend.record @compute\n"
      "ascend.call @r(%m) : (!B) -> ()\n"
      "%f = ascend.copy %x to %n on @h2d after %started : "
      "!ascend.buffer<16xf32, "
      "host> to !B -> !ascend.event\n"
      "ascend.call @r(%n) after %f : (!B) -> ()\n");
  ASSERT_EQ(parsed.liveness.messages.size(), 2u);
  EXPECT_EQ(parsed.liveness.starts, (std::vector<int64_t>{0, 3, 6, 9}));
  // The second launch of a call reads it.
  EXPECT_TRUE(isRange(parsed.liveness.messages[0], {0, 0}, {1, 2}));
  // Its copy may start beside the end of the first call.
  EXPECT_TRUE(isRange(parsed.liveness.messages[1], {0, 2}, {2, 2}));
  EXPECT_TRUE(parsed.liveness.messages[1].isCopied);
  EXPECT_FALSE(parsed.liveness.messages[1].isExchanged);
}

TEST(LivenessTest, WhatARoutineLeavesGoingOnLivesUntilTheStepWaits) {
  const llvm::StringRef declarations =
      "ascend.frame_layout @f [!B] of [\"a\"]\n"
      "ascend.routine @first(%x: !B, %g: !W) attributes {layout = @f} {\n"
      "%w = ascend.global @w : !B\n"
      "%s = ascend.slot 0 : !B\n"
      "ascend.launch \"aclnnNeg\"(%w) -> (%s) {} : (!B) -> !B\n"
      "ascend.launch \"aclnnNeg\"(%w) -> (%x) {} : (!B) -> !B\n"
      "%ready = ascend.record @compute\n"
      "ascend.collective all_gather %x to %g over <mp> channel \"mp\" on @mp "
      "after %ready : !B to !W\n"
      "ascend.collective all_reduce %s to %s over <mp> channel \"mp\" on @mp "
      "after %ready : !B to !B\n"
      "}\n"
      "ascend.routine @other() {\n"
      "%w = ascend.global @w : !B\n"
      "ascend.launch \"aclnnNeg\"(%w) -> (%w) {} : (!B) -> !B\n"
      "}\n"
      "ascend.routine @second(%x: !B, %g: !W) attributes {layout = @f, "
      "continues} {\n"
      "%w = ascend.global @w : !B\n"
      "%p = ascend.view %g : !W to !B\n"
      "ascend.launch \"aclnnNeg\"(%p) -> (%w) {} : (!B) -> !B\n"
      "}\n";
  const Stage parsed(
      declarations,
      "%m = ascend.message : !B\n"
      "%n = ascend.message : !W\n"
      "%f = ascend.frame @f micro_batch 0 : !ascend.frame<@f>\n"
      "ascend.call @first(%m, %n) frame %f : !ascend.frame<@f> micro_batch 0 : "
      "(!B, !W) -> ()\n"
      "%e = ascend.record @mp\n"
      "ascend.call @other() : () -> ()\n"
      "ascend.call @second(%m, %n) frame %f : !ascend.frame<@f> micro_batch 0 "
      "after %e : (!B, !W) -> ()\n");
  EXPECT_TRUE(parsed.stage.routines[2].continues);
  // The gather needs its input beside the other call, though no later one
  // reads it.
  EXPECT_TRUE(isRange(parsed.liveness.messages[0], {0, 1}, {2, 0}));
  EXPECT_TRUE(isRange(parsed.liveness.messages[1], {0, 2}, {2, 1}));
  const std::vector<Lifetime> lifetimes =
      computeLifetimes(parsed.stage, parsed.liveness);
  const auto slot = std::find_if(lifetimes.begin(), lifetimes.end(),
                                 [](const Lifetime &lifetime) {
                                   return lifetime.kind == BufferKind::Slot;
                                 });
  ASSERT_NE(slot, lifetimes.end());
  EXPECT_EQ(slot->begin, 0);
  EXPECT_EQ(slot->end, parsed.liveness.starts[2]);
}

} // namespace
