//===- EffectsTest.cpp - MLIR's memory effects of instructions ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using testing::ElementsAre;

namespace {

/// Returns the effects of each instruction of `body`, a routine on the buffers
/// `%a`, `%b` and `%c`: `r0` for a read of operand 0, `w0` for a write, and the
/// names of other resources that it changes.
std::vector<std::string> describeEffects(llvm::StringRef body) {
  mlir::MLIRContext context;
  context.loadDialect<ascend::AscendDialect, ir::MfDialect>();
  const std::string buffer = "!ascend.buffer<4xf32, hbm>";
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(
          "module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {\n"
          "ascend.program @p stage 0 attributes {micro_batches = 1, "
          "micro_batch_size = 1, sequence_length = 4, vocab_size = 16, "
          "pad_token_id = -1, ignore_index = -100} {\n"
          "ascend.stream @compute compute\n"
          "ascend.stream @mp communication\n"
          "ascend.routine @r(%a: " +
              buffer + ", %b: " + buffer + ", %c: " + buffer + ") {\n" +
              body.str() + "}\nascend.step {\n}\n}\n}\n",
          &context);
  std::vector<std::string> described;
  EXPECT_TRUE(module);
  if (!module)
    return described;
  module->walk([&](ascend::InstructionOpInterface op) {
    llvm::SmallVector<mlir::MemoryEffects::EffectInstance> effects;
    mlir::cast<mlir::MemoryEffectOpInterface>(op.getOperation())
        .getEffects(effects);
    std::string text;
    for (const mlir::MemoryEffects::EffectInstance &effect : effects) {
      if (auto *operand = effect.getEffectValue<mlir::OpOperand *>())
        text +=
            (mlir::isa<mlir::MemoryEffects::Read>(effect.getEffect()) ? "r"
                                                                      : "w") +
            std::to_string(operand->getOperandNumber()) + " ";
      else
        text += effect.getResource()->getName().str();
    }
    described.push_back(text);
  });
  return described;
}

TEST(EffectsTest, LaunchesReadInputsAndWriteOutputs) {
  EXPECT_THAT(describeEffects(
                  "ascend.launch \"aclnnAdd\"(%a, %b) -> (%c) {} : "
                  "(!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> "
                  "!ascend.buffer<4xf32, hbm>\n"),
              ElementsAre("r0 r1 w2 ascend.stream"));
}

TEST(EffectsTest, ACollectiveInPlaceReadsAndWritesItsBuffer) {
  EXPECT_THAT(
      describeEffects("%e = ascend.record @compute\n"
                      "ascend.collective all_reduce %a to %a over <mp> channel "
                      "\"mp\" on @mp after %e : <4xf32, hbm> to <4xf32, hbm>\n"
                      "ascend.wait @compute for %e\n"),
      ElementsAre("ascend.stream", "r0 w0 ascend.stream", "ascend.stream"));
}

} // namespace
