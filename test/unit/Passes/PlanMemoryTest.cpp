//===- PlanMemoryTest.cpp - Every plan is proven --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Routines drawn at random, in which events order all uses of each buffer and
// nothing more: what planning makes of them, the verifier must accept.
//
//===----------------------------------------------------------------------===//

#include "passes/plan-memory/PlanMemory.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfDialect.h"
#include "mf/Decode/Decoder.h"
#include "mf/Program/Verifier.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/plan-memory/StageProblem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>
#include <random>

using namespace mf;

namespace {

constexpr llvm::StringLiteral type = "!ascend.buffer<16xf32, hbm>";
constexpr llvm::StringLiteral stage =
    "ascend.program @p stage 0 attributes {micro_batches = 2, micro_batch_size "
    "= 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, "
    "ignore_index "
    "= -100} {\n"
    "ascend.stream @compute compute\n"
    "ascend.stream @a communication\n"
    "ascend.stream @b communication\n"
    "ascend.static @w parameter of \"w\" : !ascend.buffer<16xf32, hbm>\n";

/// Draws the body of a routine on streams 0 (compute), 1 and 2.
class RandomRoutine {
public:
  explicit RandomRoutine(uint32_t seed) : random(seed) {}

  std::string draw() {
    text = ("ascend.routine @r() {\n%b0 = ascend.global @w : " + type + "\n")
               .str();
    for (int i = 1; i < numBuffers; ++i)
      text +=
          ("%b" + llvm::Twine(i) + " = ascend.alloc : " + type + "\n").str();
    buffers.resize(numBuffers);
    buffers[0].isWritten = true;
    text += "%start = ascend.record @compute\n";
    const int numOperations = drawBelow(24) + 8;
    for (int i = 0; i < numOperations; ++i)
      drawOperation();
    // The next run may use the same memory.
    for (const auto &[stream, event] : lastEvents)
      if (stream != 0)
        wait(0, event);
    return text + "}\n";
  }

private:
  static constexpr int numBuffers = 7;
  struct Use {
    int stream;
    std::string event;
  };
  struct Buffer {
    bool isWritten = false;
    std::optional<Use> write;
    std::vector<Use> reads;
  };

  int drawBelow(int end) { return static_cast<int>(random() % end); }

  void wait(int stream, llvm::StringRef event) {
    text += ("ascend.wait @" + streams[stream] + " for " + event + "\n").str();
  }

  void drawOperation() {
    int input = drawBelow(numBuffers);
    while (!buffers[input].isWritten)
      input = drawBelow(numBuffers);
    int output = 1 + drawBelow(numBuffers - 1);
    if (output == input)
      return;
    const int stream = drawBelow(5) < 3 ? 0 : 1 + drawBelow(2);
    std::vector<std::string> after;
    auto orderBehind = [&](const Use &use) {
      if (use.stream != stream && !llvm::is_contained(after, use.event))
        after.push_back(use.event);
    };
    if (buffers[input].write)
      orderBehind(*buffers[input].write);
    if (buffers[output].write)
      orderBehind(*buffers[output].write);
    for (const Use &use : buffers[output].reads)
      orderBehind(use);
    const Use use = emit(stream, input, output, std::move(after));
    lastEvents[stream] = use.event;
    buffers[input].reads.push_back(use);
    buffers[output].reads.clear();
    buffers[output].write = use;
    buffers[output].isWritten = true;
  }

  Use emit(int stream, int input, int output, std::vector<std::string> after) {
    const std::string event = "%e" + std::to_string(numEvents++);
    if (stream == 0) {
      for (const std::string &other : after)
        wait(0, other);
      text += ("ascend.launch \"aclnnNeg\"(%b" + llvm::Twine(input) +
               ") -> (%b" + llvm::Twine(output) + ") {} : (" + type + ") -> " +
               type + "\n" + event + " = ascend.record @compute\n")
                  .str();
    } else {
      after.push_back("%start");
      text += (event + " = ascend.collective all_reduce %b" +
               llvm::Twine(input) + " to %b" + llvm::Twine(output) +
               " over <mp> channel \"" + streams[stream] + "\" on @" +
               streams[stream] + " after " + llvm::join(after, ", ") + " : " +
               type + " to " + type + " -> !ascend.event\n")
                  .str();
    }
    return {stream, event};
  }

  const std::array<llvm::StringRef, 3> streams = {"compute", "a", "b"};
  std::mt19937 random;
  std::string text;
  std::vector<Buffer> buffers;
  std::map<int, std::string> lastEvents;
  int numEvents = 0;
};

/// The verifier's message about the plan of `text`; empty if there is none.
std::string planAndVerify(llvm::StringRef text, int64_t &bytes) {
  mlir::MLIRContext context;
  context.loadDialect<ascend::AscendDialect, ir::MfDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "does not parse";
  mlir::PassManager manager(&context);
  manager.addNestedPass<ascend::ProgramOp>(passes::createPlanMemory());
  if (failed(manager.run(*module)))
    return "cannot be planned";
  auto decoded = program::decodeProgram(*module);
  if (failed(decoded))
    return "does not decode";
  bytes = decoded->program.stages[0].arenaBytes;
  return llvm::toString(
      program::prove(decoded->program, {/*ranks=*/false}).takeError());
}

TEST(PlanMemoryTest, EveryPlanOfAnOrderedRoutineIsProven) {
  int numShared = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    const std::string text =
        ("module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {\n" + stage +
         RandomRoutine(seed).draw() +
         "ascend.step {\n"
         "ascend.call @r() : () -> ()\n"
         "ascend.call @r() : () -> ()\n"
         "}\n}\n}\n")
            .str();
    int64_t bytes = 0;
    EXPECT_EQ(planAndVerify(text, bytes), "") << "seed " << seed << "\n"
                                              << text;
    // The parameter and six temporaries that share nothing.
    numShared += bytes < 7 * 512;
  }
  // Plans do reuse memory.
  EXPECT_GT(numShared, 30);
}

/// Puts a second static where the first one lies.
static llvm::Expected<memory::StepPlan>
planOnTopOfEachOther(const memory::StepProblem &problem,
                     const memory::StepPlanOptions &effort) {
  llvm::Expected<memory::StepPlan> plan = memory::planStep(problem, effort);
  if (plan)
    for (int64_t &offset : plan->persistentOffsets)
      offset = plan->persistentOffsets.front();
  return plan;
}

TEST(PlanMemoryTest, RefusesAnIllegalPlan) {
  mlir::MLIRContext context;
  context.loadDialect<ascend::AscendDialect, ir::MfDialect>();
  const std::string text =
      (stage + "ascend.static @v parameter of \"v\" : " + type +
       "\nascend.step {\n}\n}\n")
          .str();
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        llvm::raw_string_ostream(errors) << diagnostic << '\n';
        return mlir::success();
      });
  auto run = [&](passes::MemoryPlanner planner) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    mlir::PassManager manager(&context);
    manager.addNestedPass<ascend::ProgramOp>(passes::createPlanMemory(
        {}, {}, /*handler=*/nullptr, std::move(planner)));
    return module ? manager.run(*module) : mlir::failure();
  };
  EXPECT_TRUE(succeeded(run(memory::planStep))) << errors;
  EXPECT_TRUE(failed(run(planOnTopOfEachOther)));
  EXPECT_NE(errors.find("got an illegal plan of device memory"),
            std::string::npos)
      << errors;
}

/// Two micro-batches of a chunk with two residuals on the device and one in
/// host memory, all of different sizes; a message of each.
constexpr llvm::StringLiteral chunk = R"(
!B = !ascend.buffer<16xf32, hbm>
!L = !ascend.buffer<4096xf32, hbm>
!H = !ascend.buffer<16xf32, host>
module attributes {mf.mesh = #mf.mesh<pp = 1>} {
ascend.program @p stage 0 attributes {micro_batches = 2, micro_batch_size = 1,
    sequence_length = 4, vocab_size = 16, pad_token_id = -1,
    ignore_index = -100} {
ascend.stream @compute compute
ascend.stream @d2h d2h
ascend.static @w parameter of "w" : !B
ascend.static @v parameter of "v" : !L
ascend.static @h constant : !H
ascend.frame_layout @f [!B, !H, !L] of ["a", "b", "c"]
ascend.routine @forward(%x: !B, %y: !L) attributes {layout = @f} {
  %a = ascend.slot 0 : !B
  %b = ascend.slot 1 : !H
  %c = ascend.slot 2 : !L
  %t = ascend.alloc : !L
  %u = ascend.alloc : !B
  ascend.launch "aclnnNeg"(%x) -> (%u) {} : (!B) -> !B
  ascend.launch "aclnnNeg"(%y) -> (%t) {} : (!L) -> !L
  ascend.launch "aclnnNeg"(%u) -> (%a) {} : (!B) -> !B
  ascend.launch "aclnnNeg"(%t) -> (%c) {} : (!L) -> !L
  %e = ascend.record @compute
  %done = ascend.copy %a to %b on @d2h after %e : !B to !H -> !ascend.event
  ascend.wait @compute for %done
}
ascend.routine @backward() attributes {layout = @f} {
  %a = ascend.slot 0 : !B
  %b = ascend.slot 1 : !H
  %c = ascend.slot 2 : !L
  %w = ascend.global @w : !B
  %v = ascend.global @v : !L
  %t = ascend.alloc : !B
  %u = ascend.alloc : !L
  %e = ascend.record @compute
  %done = ascend.copy %b to %t on @d2h after %e : !H to !B -> !ascend.event
  ascend.launch "aclnnNeg"(%c) -> (%u) {} : (!L) -> !L
  ascend.launch "aclnnNeg"(%u) -> (%v) {} : (!L) -> !L
  ascend.wait @compute for %done
  ascend.launch "aclnnNeg"(%a) -> (%w) {} : (!B) -> !B
  ascend.launch "aclnnNeg"(%t) -> (%w) {} : (!B) -> !B
}
ascend.step {
  %w = ascend.global @w : !B
  %v = ascend.global @v : !L
  %h = ascend.global @h : !H
  %x = ascend.message : !B
  %y = ascend.message : !L
  %e = ascend.record @compute
  %filled = ascend.copy %h to %x on @d2h after %e : !H to !B -> !ascend.event
  ascend.wait @compute for %filled
  ascend.launch "aclnnNeg"(%v) -> (%y) {} : (!L) -> !L
  %f = ascend.frame @f micro_batch 0 : !ascend.frame<@f>
  %g = ascend.frame @f micro_batch 1 : !ascend.frame<@f>
  ascend.call @forward(%x, %y) frame %f : !ascend.frame<@f> micro_batch 0 : (!B, !L) -> ()
  ascend.call @forward(%x, %y) frame %g : !ascend.frame<@f> micro_batch 1 : (!B, !L) -> ()
  ascend.call @backward() frame %f : !ascend.frame<@f> micro_batch 0 : () -> ()
  ascend.call @backward() frame %g : !ascend.frame<@f> micro_batch 1 : () -> ()
}
}
}
)";

/// The problem with its parts in another order.
static memory::StepProblem shuffle(memory::StepProblem problem,
                                   std::mt19937 &random) {
  auto reorder = [&](auto &parts) {
    std::shuffle(parts.begin(), parts.end(), random);
  };
  reorder(problem.persistentBuffers);
  reorder(problem.taskBuffers);
  for (memory::RoutineMemory &routine : problem.routines)
    reorder(routine.temporaries);
  for (memory::FrameMemory &frame : problem.frames)
    reorder(frame.residuals);
  return problem;
}

TEST(PlanMemoryTest, IsAppliedByIdentityWhateverTheOrder) {
  mlir::MLIRContext context;
  context.loadDialect<ascend::AscendDialect, ir::MfDialect>();
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(chunk, &context);
    ASSERT_TRUE(module);
    ascend::ProgramOp op = *module->getOps<ascend::ProgramOp>().begin();
    auto unplanned = program::decodeUnplanned(op);
    ASSERT_TRUE(succeeded(unplanned));
    const passes::StageProblem stage(*unplanned);
    const memory::StepProblem device = shuffle(stage.getDevice(), random);
    const memory::StepProblem host = shuffle(stage.getHost(), random);
    const memory::StepPlan plan = llvm::cantFail(memory::planStep(device));
    const memory::StepPlan hostPlan = llvm::cantFail(memory::planStep(host));
    passes::applyPlan(op, stage.getOperations(), {device, plan},
                      {host, hostPlan});
    auto decoded = program::decodeProgram(*module);
    ASSERT_TRUE(succeeded(decoded));
    EXPECT_EQ(
        llvm::toString(
            program::prove(decoded->program, {/*ranks=*/false}).takeError()),
        "");
  }
}

} // namespace
