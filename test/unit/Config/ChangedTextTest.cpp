//===- ChangedTextTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ChangedText.h"
#include <gtest/gtest.h>

using namespace mf;

namespace {

std::vector<unsigned> findLines(llvm::StringRef before, llvm::StringRef after) {
  const ChangedText changed(before, after);
  std::vector<unsigned> lines;
  for (unsigned line = 1; line <= after.count('\n') + 1; ++line)
    lines.push_back(changed.findLine(line));
  return lines;
}

using Lines = std::vector<unsigned>;

TEST(ChangedTextTest, LinesThatStayKeepTheirNumber) {
  EXPECT_EQ(findLines("a\nb\nc", "a\nb\nc"), Lines({1, 2, 3}));
  EXPECT_EQ(findLines("a\nb\nc", "a\nx\nb\ny\nc"), Lines({1, 0, 2, 0, 3}));
  EXPECT_EQ(findLines("a\nb\nc", "a\nc"), Lines({1, 3}));
  EXPECT_EQ(findLines("a\nb\nb\nc", "a\nb\nx\nb\nc"), Lines({1, 2, 0, 3, 4}));
}

TEST(ChangedTextTest, LinesReplaceThoseBetweenTheSameNeighbours) {
  EXPECT_EQ(findLines("a\nb\nc", "a\nx\nc"), Lines({1, 2, 3}));
  EXPECT_EQ(findLines("a\nb\nc\nd", "x\nb\ny\nz\nd"), Lines({1, 2, 3, 0, 4}));
  EXPECT_EQ(findLines("a", "x\ny"), Lines({1, 0}));
}

TEST(ChangedTextTest, LinesOutsideOfTheTextAreUnknown) {
  const ChangedText changed("a\nb", "a\nb");
  EXPECT_EQ(changed.findLine(0), 0U);
  EXPECT_EQ(changed.findLine(3), 0U);
}

TEST(ChangedTextTest, PlacesInOtherFilesStay) {
  const ChangedText changed("a\nb", "new\na\nb");
  Diagnostic diagnostic{Severity::Error, "text", {"a.yaml", 3, 5}, {}};
  diagnostic.attachNote("added", {"a.yaml", 1, 2});
  diagnostic.attachNote("elsewhere", {"b.yaml", 3, 5});
  changed.moveBack(diagnostic, "a.yaml");
  EXPECT_EQ(diagnostic.str(), "a.yaml:2:5: error: text\n"
                              "a.yaml: note: added\n"
                              "b.yaml:3:5: note: elsewhere\n");
}

} // namespace
