//===- CallProofTest.cpp - Proofs with calls by summaries -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step of many micro-batches, broken at random: what proofs say that look at
// the instructions of a routine once is what those say that walk every call.
//
//===----------------------------------------------------------------------===//

#include "../Campaign.h"
#include "ParsedProgram.h"
#include "ProgramMutator.h"
#include "mf/Program/Verifier.h"
#include <gtest/gtest.h>
#include <set>

using namespace mf;
using namespace mf::program;

namespace {

/// A forward that swaps a residual out, and a backward that gets it back and
/// writes its result to memory that it has read.
constexpr llvm::StringLiteral routines =
    R"(!B = !ascend.buffer<16xf32, hbm>
!H = !ascend.buffer<16xf32, host>
ascend.program @stage0 stage 0 attributes {micro_batches = 9, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 4096, host_bytes = 1024} {
ascend.stream @compute compute
ascend.stream @h2d h2d
ascend.stream @d2h d2h
ascend.static @w parameter of "w" : !B at 0
ascend.static @g first_moment of "w" : !B at 64
ascend.static @x constant : !H at 0
ascend.static @loss report of "loss" : !H at 64
ascend.frame_layout @f [!B, !H] of ["layer.mul", "layer.add"] at [64, 0] {bytes = 128 : i64, host_bytes = 64 : i64}
ascend.routine @forward(%x: !B) attributes {layout = @f} {
  %w = ascend.global @w : !B
  %s = ascend.slot 0 : !B
  %h = ascend.slot 1 : !H
  %t = ascend.alloc in scratch at 0 : !B
  %u = ascend.alloc in scratch at 64 : !B
  ascend.launch "aclnnAdd"(%x, %x) -> (%t) {} cell "layer.add" : (!B, !B) -> !B
  %e = ascend.record @compute
  %d = ascend.copy %t to %h on @d2h after %e : !B to !H -> !ascend.event
  ascend.launch "aclnnAdd"(%t, %w) -> (%u) {} cell "layer.add2" : (!B, !B) -> !B
  ascend.launch "aclnnMul"(%u, %t) -> (%s) {} cell "layer.mul" : (!B, !B) -> !B
  ascend.wait @compute for %d
}
ascend.routine @backward(%x: !B, %y: !B, %late: !ascend.event) attributes {layout = @f} {
  %g = ascend.global @g : !B
  %s = ascend.slot 0 : !B
  %h = ascend.slot 1 : !H
  %t = ascend.alloc in frame at 0 : !B
  %b = ascend.alloc in scratch at 0 : !B
  %c = ascend.alloc in scratch at 64 : !B
  %v = ascend.alloc in scratch at 128 : !B
  ascend.launch "aclnnAdd"(%x, %x) -> (%v) {} cell "layer.grad" : (!B, !B) -> !B
  %e = ascend.record @compute
  %d = ascend.copy %h to %b on @h2d after %e, %late : !H to !B -> !ascend.event
  ascend.launch "aclnnMul"(%v, %s) -> (%t) {} cell "layer.mul.grad" : (!B, !B) -> !B
  ascend.wait @compute for %d
  ascend.launch "aclnnMul"(%t, %b) -> (%c) {} cell "layer.add.grad" : (!B, !B) -> !B
  ascend.launch "aclnnAdd"(%b, %c) -> (%y) {} cell "layer.sum" : (!B, !B) -> !B
  ascend.launch "aclnnAdd"(%g, %c) -> (%g) {} cell "w.accumulate" : (!B, !B) -> !B
}
ascend.step {
  %x = ascend.global @x : !H
  %loss = ascend.global @loss : !H
  %g = ascend.global @g : !B
)";

constexpr int numMicroBatches = 9;
constexpr int numInFlight = 3;

/// Frames lie in three places and messages in four, so no two calls of six are
/// alike in all.
std::string makeText() {
  std::string text = routines.str();
  llvm::raw_string_ostream os(text);
  for (int i = 0; i < numMicroBatches; ++i)
    os << "  %f" << i << " = ascend.frame @f micro_batch " << i << " at "
       << 512 + 128 * (i % numInFlight) << " host at "
       << 128 + 64 * (i % numInFlight) << " : !ascend.frame<@f>\n"
       << "  %m" << i << " = ascend.message at " << 256 + 64 * (i % 4)
       << " : !B\n  %n" << i << " = ascend.message at " << 256 + 64 * (i % 4)
       << " : !B\n";
  auto addForward = [&](int i) {
    os << "  %r" << i << " = ascend.record @compute\n  %e" << i
       << " = ascend.copy %x to %m" << i << " on @h2d after %r" << i
       << " : !H to !B -> !ascend.event\n  %l" << i
       << " = ascend.call @forward(%m" << i << ") frame %f" << i
       << " : !ascend.frame<@f> micro_batch " << i
       << " scratch at 1024 records [2] after %e" << i
       << " : (!B) -> (!ascend.event)\n";
  };
  auto addBackward = [&](int i) {
    os << "  ascend.call @backward(%m" << i << ", %n" << i << ", %l" << i
       << ") frame %f" << i << " : !ascend.frame<@f> micro_batch " << i
       << " scratch at 1024 : (!B, !B, !ascend.event) -> ()\n";
  };
  for (int i = 0; i < numMicroBatches + numInFlight - 1; ++i) {
    if (i < numMicroBatches)
      addForward(i);
    if (i >= numInFlight - 1)
      addBackward(i - numInFlight + 1);
  }
  os << "  %last = ascend.record @compute\n"
        "  ascend.copy %g to %loss on @d2h after %last : !B to !H\n}\n}\n";
  return text;
}

std::string getMessage(llvm::Error error) {
  std::string text;
  llvm::handleAllErrors(std::move(error), [&](const LocatedError &located) {
    text = std::to_string(located.getLocation()) + ": " + located.getMessage();
    for (const LocatedError::Note &note : located.getNotes())
      text += "\n" + std::to_string(note.location) + ": " + note.text;
  });
  return text;
}

std::string verifyMemory(const Program &program, CallProof calls) {
  return getMessage(verifyMemory(program, program.stages[0], calls));
}

std::string verifyProgress(const Program &program, CallProof calls) {
  return getMessage(verifyProgress(program, {}, calls));
}

TEST(CallProofTest, AgreesWithTheWalk) {
  ParsedProgram parsed(makeText());
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  for (CallProof calls : {CallProof::Walked, CallProof::Summarized}) {
    EXPECT_EQ(verifyMemory(parsed.get(), calls), "");
    EXPECT_EQ(verifyProgress(parsed.get(), calls), "");
  }
  // Mutations of one stage without exchanges.
  ProgramMutator mutator(getCampaignSeed(20261123));
  std::set<std::string> errors;
  uint64_t numAccepted = 0;
  const uint64_t count = getCampaignCount(4000);
  for (uint64_t i = 0; i < count; ++i) {
    Program program = parsed.get();
    const uint64_t numChanges = 1 + i % 3;
    for (uint64_t change = 0; change < numChanges; ++change)
      (void)mutator.mutate(program, static_cast<Mutation>(mutator.below(14)));
    const std::string memory = verifyMemory(program, CallProof::Walked);
    const std::string progress = verifyProgress(program, CallProof::Walked);
    ASSERT_EQ(verifyMemory(program, CallProof::Summarized), memory) << i;
    ASSERT_EQ(verifyProgress(program, CallProof::Summarized), progress) << i;
    numAccepted += memory.empty() && progress.empty();
    errors.insert(memory);
    errors.insert(progress);
  }
  // The mutations are neither too weak nor too strong to tell something.
  EXPECT_GT(numAccepted, count / 20);
  EXPECT_GT(errors.size(), 100u);
}

} // namespace
