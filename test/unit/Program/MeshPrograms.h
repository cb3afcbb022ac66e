//===- MeshPrograms.h - Programs of many ranks, for tests ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PROGRAM_MESHPROGRAMS_H
#define MF_TEST_UNIT_PROGRAM_MESHPROGRAMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace mf::program {

/// A module of two or more stages on `mesh`, which may be empty; stage i runs
/// `steps[i]`. Each has the streams `compute`, `a` and `b` (communication), the
/// moment %g and a message %m of 16 x f32 and a message %n of 32 x f32.
/// `number` is the stage that the last program says it is.
inline std::string makeStages(llvm::StringRef mesh,
                              llvm::ArrayRef<std::string> steps,
                              int64_t number = -1) {
  std::string text = "module";
  if (!mesh.empty())
    text += (" attributes {mf.mesh = " + mesh + "}").str();
  text += " {\n";
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool isLast = i + 1 == steps.size();
    text +=
        ("ascend.program @stage" + llvm::Twine(i) + " stage " +
         llvm::Twine(isLast && number >= 0 ? number : static_cast<int64_t>(i)) +
         " attributes {micro_batches = 1, micro_batch_size = 1, "
         "sequence_length = 4, vocab_size = 16, pad_token_id = -1, "
         "ignore_index = -100, arena_bytes = 256, host_bytes = 0} {\n"
         "ascend.stream @compute compute\n"
         "ascend.stream @a communication\n"
         "ascend.stream @b communication\n"
         "ascend.static @g first_moment of \"w\" : "
         "!ascend.buffer<16xf32, hbm> at 0\n"
         "ascend.step {\n"
         "%g = ascend.global @g : !ascend.buffer<16xf32, hbm>\n"
         "%m = ascend.message at 64 : !ascend.buffer<16xf32, hbm>\n"
         "%n = ascend.message at 128 : !ascend.buffer<32xf32, hbm>\n" +
         steps[i] + "\n}\n}\n")
            .str();
  }
  return text + "}\n";
}

/// "send %g to <pp = 1>" as an operation on a buffer of 16 x f32.
inline std::string transfer(llvm::StringRef what, llvm::StringRef channel,
                            llvm::StringRef stream) {
  return ("ascend." + what + " channel \"" + channel + "\" on @" + stream +
          " : !ascend.buffer<16xf32, hbm>\n")
      .str();
}

/// A collective such as "all_reduce %g to %g over <pp>" of `inputSize` elements
/// to `outputSize`.
inline std::string collective(llvm::StringRef what, llvm::StringRef channel,
                              llvm::StringRef stream, int64_t inputSize = 16,
                              int64_t outputSize = 16,
                              llvm::StringRef cell = "") {
  return ("ascend.collective " + what + " channel \"" + channel + "\"" +
          (cell.empty() ? std::string() : (" cell \"" + cell + "\"").str()) +
          " on @" + stream + " : !ascend.buffer<" + llvm::Twine(inputSize) +
          "xf32, hbm> to !ascend.buffer<" + llvm::Twine(outputSize) +
          "xf32, hbm>\n")
      .str();
}

} // namespace mf::program

#endif // MF_TEST_UNIT_PROGRAM_MESHPROGRAMS_H
