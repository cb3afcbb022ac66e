//===- AssertionsTest.cpp - Assertions are checked ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Debian's LLVM has none, and its flags would silence those of our code and of
// LLVM's headers.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/ArrayRef.h"
#include "gtest/gtest.h"

namespace {

TEST(AssertionsTest, IndexBehindTheEndOfAnArrayEndsTheProgram) {
#ifdef NDEBUG
  GTEST_SKIP() << "built with MF_ASSERTIONS=OFF";
#endif
  const llvm::ArrayRef<int> none;
  EXPECT_DEATH((void)none[0], "Assertion .* failed");
}

} // namespace
