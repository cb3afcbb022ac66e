//===- BitsTest.cpp - Fingerprints of what kernels compute ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Prints a number for the bits of each example's results on eight lanes, so
// that a test can compare those of AVX2 and of NEON.
//
//===----------------------------------------------------------------------===//

#include "ExampleSpecs.h"
#include "KernelTesting.h"
#include "lib/Exec/Kernels/LoopDispatch.h"
#include "lib/Exec/Kernels/MatrixUnit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

TEST(BitsTest, OfEveryExampleOnEightLanes) {
  const LoopSetLimit loops(LoopSet::EightLanes);
  const MatrixUnitLimit unit(MatrixUnit::None);
  uint64_t all = 0;
  for (const KernelSpec &spec : getExampleSpecs()) {
    uint64_t bits = 0;
    for (const KernelTensor &result : runExample(spec)) {
      const llvm::ArrayRef<uint8_t> bytes(
          static_cast<const uint8_t *>(result.data()),
          static_cast<size_t>(result.shape.getBytes()));
      bits = bits * 31 + llvm::xxh3_64bits(bytes);
    }
    llvm::outs() << "bits of " << spec.name << ": "
                 << llvm::format_hex(bits, 18) << "\n";
    all = all * 31 + bits;
  }
  // GoogleTest writes to the same file without this buffer.
  llvm::outs().flush();
  EXPECT_NE(all, 0u);
}

} // namespace
