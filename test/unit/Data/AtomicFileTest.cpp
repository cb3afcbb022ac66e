//===- AtomicFileTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/AtomicFile.h"
#include "TestFiles.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

TEST(AtomicFileTest, AppearsOnlyAtCommit) {
  TemporaryDirectory directory;
  Expected<AtomicFile> file = AtomicFile::create(directory.path("a"));
  ASSERT_TRUE(bool(file)) << message(std::move(file));
  EXPECT_EQ(message(file->write(arrayRefFromStringRef("world"), 6)), "");
  EXPECT_EQ(message(file->write(arrayRefFromStringRef("hello "), 0)), "");
  EXPECT_FALSE(sys::fs::exists(directory.path("a")));
  EXPECT_EQ(message(file->commit()), "");
  EXPECT_EQ(readFile(directory.path("a")), "hello world");
  EXPECT_THAT(directory.list(), ElementsAre("a"));
}

TEST(AtomicFileTest, LeavesNothingWithoutCommit) {
  TemporaryDirectory directory;
  directory.write("a", "old");
  {
    Expected<AtomicFile> file = AtomicFile::create(directory.path("a"));
    ASSERT_TRUE(bool(file));
    EXPECT_EQ(message(file->write(arrayRefFromStringRef("new"), 0)), "");
    AtomicFile moved = std::move(*file);
    EXPECT_EQ(directory.list().size(), 2u);
  }
  EXPECT_THAT(directory.list(), ElementsAre("a"));
  EXPECT_EQ(readFile(directory.path("a")), "old");
}

TEST(AtomicFileTest, ReplacesWholeFile) {
  TemporaryDirectory directory;
  directory.write("a", "a longer text");
  EXPECT_EQ(message(writeFileAtomically(directory.path("a"), "short")), "");
  EXPECT_EQ(readFile(directory.path("a")), "short");
}

TEST(AtomicFileTest, ResizePadsWithZeros) {
  TemporaryDirectory directory;
  Expected<AtomicFile> file = AtomicFile::create(directory.path("a"));
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(message(file->resize(4)), "");
  EXPECT_EQ(message(file->write(arrayRefFromStringRef("x"), 1)), "");
  EXPECT_EQ(message(file->commit()), "");
  EXPECT_EQ(readFile(directory.path("a")), std::string("\0x\0\0", 4));
}

TEST(AtomicFileTest, RefusesPlacesItCannotReplace) {
  TemporaryDirectory directory;
  EXPECT_THAT(message(writeFileAtomically("/dev/null", "x")),
              HasSubstr("/dev/null: cannot write: exists and is not a regular "
                        "file"));
  EXPECT_THAT(message(writeFileAtomically(directory.str(), "x")),
              HasSubstr("is not a regular file"));
  EXPECT_THAT(message(writeFileAtomically(directory.path("no/such"), "x")),
              HasSubstr("cannot create: no such file or directory"));
  EXPECT_THAT(directory.list(), IsEmpty());
}

} // namespace
