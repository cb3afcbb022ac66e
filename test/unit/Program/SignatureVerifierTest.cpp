//===- SignatureVerifierTest.cpp - What the proof of memory rests on ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel accesses its operands' memory as its signature says and not
// otherwise: another record gives another verdict.
//
//===----------------------------------------------------------------------===//

#include "ParsedProgram.h"
#include "mf/Program/Verifier.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using ::testing::HasSubstr;

namespace {

/// A routine with two temporaries of 4 x 4 at the given places of its scratch
/// memory, and `launches`; `!B` is their type.
std::string makeProgram(int64_t firstOffset, int64_t secondOffset,
                        llvm::StringRef launches) {
  return ("!B = !ascend.buffer<4x4xf32, hbm>\n"
          "ascend.program @p stage 0 attributes {micro_batches = 1, "
          "micro_batch_size = 1, sequence_length = 4, vocab_size = 16, "
          "pad_token_id = -1, ignore_index = -100, arena_bytes = 512, "
          "host_bytes = 0} {\n"
          "ascend.stream @compute compute\n"
          "ascend.static @w parameter of \"w\" : !B at 0\n"
          "ascend.static @v parameter of \"v\" : !B at 64\n"
          "ascend.routine @r() {\n"
          "%w = ascend.global @w : !B\n"
          "%v = ascend.global @v : !B\n"
          "%t = ascend.alloc in scratch at " +
          llvm::Twine(firstOffset) + " : !B\n%u = ascend.alloc in scratch at " +
          llvm::Twine(secondOffset) + " : !B\n" + launches +
          "\n}\n"
          "ascend.step {\n"
          "ascend.call @r() scratch at 128 : () -> ()\n"
          "}\n}\n")
      .str();
}

std::string launch(llvm::StringRef kernel, llvm::StringRef inputs,
                   llvm::StringRef output, llvm::StringRef cell,
                   llvm::StringRef attributes = "") {
  const size_t numInputs = llvm::count(inputs, '%');
  std::string types;
  for (size_t i = 0; i < numInputs; ++i)
    types += i == 0 ? " !B" : ", !B";
  return ("ascend.launch \"" + kernel + "\"(" + inputs + ") -> (" + output +
          ") {" + attributes + "} cell \"" + cell + "\" : (" + types +
          ") -> !B\n")
      .str();
}

/// The verifier's message if all launches of one kernel follow `record` instead
/// of its own signature.
std::string verifyAs(const std::string &text, const KernelSignature &record) {
  ParsedProgram parsed(text);
  EXPECT_TRUE(parsed.decoded) << parsed.messages;
  if (!parsed.decoded)
    return "does not decode";
  Program &program = parsed.decoded->program;
  int numChanged = 0;
  for (Routine &routine : program.stages[0].routines)
    for (Instruction &instruction : routine.body.instructions) {
      const KernelSpec &spec = program.kernels[instruction.index].spec;
      if (spec.name != record.name)
        continue;
      applySignature(record, spec.inputs.size(), instruction);
      ++numChanged;
    }
  EXPECT_GT(numChanged, 0);
  return llvm::toString(prove(program, {/*ranks=*/false}).takeError());
}

std::string verify(const std::string &text) {
  ParsedProgram parsed(text);
  EXPECT_TRUE(parsed.decoded) << parsed.messages;
  return parsed.decoded
             ? llvm::toString(
                   prove(parsed.get(), {/*ranks=*/false}).takeError())
             : "does not decode";
}

/// A kernel's record with another output.
class Record {
public:
  Record(llvm::StringRef kernel, Access access, uint32_t sharedInputs)
      : signature(*findKernelSignature(kernel)),
        output(signature.outputs.front()) {
    output.access = access;
    output.sharedInputs = sharedInputs;
    signature.outputs = output;
  }
  Record(const Record &) = delete;

  const KernelSignature &get() const { return signature; }

private:
  KernelSignature signature;
  OperandSignature output;
};

TEST(SignatureVerifierTest, AnAccumulatingKernelReadsWhatItAddsTo) {
  const std::string text =
      makeProgram(0, 64, launch("aclnnInplaceAdd", "%w", "%t", "sum"));
  EXPECT_EQ(verify(text), "aclnnInplaceAdd ('sum', task 'r', stream 'compute') "
                          "reads result of 'sum', but nothing wrote its bytes "
                          "0 to 64 before");
  EXPECT_EQ(verifyAs(text, Record("aclnnInplaceAdd", Access::Out, 0).get()),
            "");
  EXPECT_THAT(
      verifyAs(text, Record("aclnnInplaceAdd", Access::Updated, 0).get()),
      HasSubstr("nothing wrote its bytes"));
}

TEST(SignatureVerifierTest, AnOverwritingKernelDoesNotRead) {
  const std::string text =
      makeProgram(0, 64, launch("aclnnInplaceCopy", "%w", "%t", "copy"));
  EXPECT_EQ(verify(text), "");
  EXPECT_EQ(
      verifyAs(text, Record("aclnnInplaceCopy", Access::Accumulated, 0).get()),
      "aclnnInplaceCopy ('copy', task 'r', stream 'compute') reads result of "
      "'copy', but nothing wrote its bytes 0 to 64 before");
}

TEST(SignatureVerifierTest, OutputsShareMemoryOnlyAsRecorded) {
  // The view is another value with the same address.
  const std::string text =
      makeProgram(0, 64,
                  "%x = ascend.view %w : !B to !B\n" +
                      launch("aclnnAdd", "%w, %v", "%x", "add"));
  EXPECT_EQ(verify(text), "");
  EXPECT_EQ(verifyAs(text, Record("aclnnAdd", Access::Out, 1).get()), "");
  llvm::StringRef refused =
      "aclnnAdd ('add', task 'r', stream 'compute') writes parameter 'w', but "
      "it may not be the memory of parameter 'w', which the same operation "
      "reads";
  EXPECT_EQ(verifyAs(text, Record("aclnnAdd", Access::Out, 0).get()), refused);
  // Sharing with the other input does not help.
  EXPECT_EQ(verifyAs(text, Record("aclnnAdd", Access::Out, 2).get()), refused);
}

TEST(SignatureVerifierTest, OneAddressIsNotOneBuffer) {
  // Two temporaries at one offset. A kernel that may work in place may do so on
  // one buffer, and these are two: the plan believes that both are live.
  for (llvm::StringRef kernel : {"aclnnMatmul", "aclnnAdd"}) {
    const std::string text =
        makeProgram(0, 0,
                    launch("aclnnNeg", "%w", "%t", "negate") +
                        launch(kernel, "%t, %v", "%u", "use"));
    EXPECT_EQ(verify(text), (kernel + " ('use', task 'r', stream 'compute') "
                                      "writes result of 'use', but it overlaps "
                                      "result of 'negate', which the same "
                                      "operation reads")
                                .str());
  }
  // Partly over each other.
  EXPECT_THAT(
      verify(makeProgram(0, 32,
                         launch("aclnnNeg", "%w", "%t", "negate") +
                             launch("aclnnAdd", "%t, %v", "%u", "use"))),
      HasSubstr("writes result of 'use', but it overlaps result of 'negate'"));
}

} // namespace
