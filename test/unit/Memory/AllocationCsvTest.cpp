//===- AllocationCsvTest.cpp - Text form of allocation problems -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/AllocationCsv.h"
#include "test/unit/CaseTable.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::memory;

namespace {

std::string parseError(llvm::StringRef text) {
  return llvm::toString(parseAllocationCsv(text, "p.csv").takeError());
}

std::string print(const AllocationProblem &problem,
                  const std::vector<int64_t> &offsets = {}) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printAllocationCsv(problem, os, offsets);
  return text;
}

TEST(AllocationCsvTest, ReadsMiniMallocsForm) {
  llvm::Expected<AllocationProblem> problem = parseAllocationCsv(
      "id,lower,upper,size\na,0,4,10\r\n\n b , 2 ,6,20", "p.csv");
  ASSERT_TRUE(static_cast<bool>(problem));
  ASSERT_EQ(problem->buffers.size(), 2u);
  EXPECT_EQ(problem->buffers[1].id, "b");
  EXPECT_EQ(problem->buffers[1].lower, 2);
  EXPECT_EQ(problem->buffers[1].upper, 6);
  EXPECT_EQ(problem->buffers[1].size, 20);
  EXPECT_EQ(problem->buffers[1].alignment, 1);
  EXPECT_FALSE(problem->buffers[1].fixedOffset);
  EXPECT_EQ(print(*problem), "id,lower,upper,size\na,0,4,10\nb,2,6,20\n");
  EXPECT_EQ(print(*problem, {20, 0}),
            "id,lower,upper,size,offset\na,0,4,10,20\nb,2,6,20,0\n");
}

TEST(AllocationCsvTest, ReadsColumnsInAnyOrder) {
  llvm::Expected<AllocationProblem> problem =
      parseAllocationCsv("size,offset,end,start,hint,buffer,alignment\n"
                         "8,16,4,1,,\"x, \"\"y\"\"\",4\n"
                         "9,,4,1,7,z,\n",
                         "p.csv");
  ASSERT_TRUE(static_cast<bool>(problem));
  const AllocationBuffer &first = problem->buffers[0];
  EXPECT_EQ(first.id, "x, \"y\"");
  EXPECT_EQ(first.lower, 1);
  EXPECT_EQ(first.upper, 5) << "the column 'end' is inclusive";
  EXPECT_EQ(first.alignment, 4);
  EXPECT_EQ(first.fixedOffset, 16);
  EXPECT_FALSE(first.hint);
  EXPECT_EQ(problem->buffers[1].hint, 7);
  std::string text = print(*problem);
  EXPECT_EQ(text, "id,lower,upper,size,alignment,hint,offset\n"
                  "\"x, \"\"y\"\"\",1,5,8,4,,16\n"
                  "z,1,5,9,1,7,\n");
  EXPECT_EQ(print(llvm::cantFail(parseAllocationCsv(text, "q.csv"))), text);
}

/// A text in each line, with `+` for the usual header, and its error.
constexpr llvm::StringLiteral errors = R"(
 => 1:1: expected a header line that names the columns id, lower, upper and size
\n\n => 1:1: expected a header line that names the columns id, lower, upper and size
id,lower,size\n => 1:1: the header has no column 'upper'
id,lower,gaps,upper,size\n => 1:10: unknown column 'gaps', expected id, lower, upper, size, alignment, hint or offset
id,lower,start,upper,size\n => 1:10: column 'start' has the meaning of an earlier one
+a,0,4\n => 2:5: expected 4 cells as in the header, found 3
+a,0,4,1,1\n => 2:9: expected 4 cells as in the header, found 5
+a,0,4,1\n,0,4,1\n => 3:1: the buffer has no id
+a,0,4,1\nb,0,4,1\na,0,4,1\n => 4:1: buffer 'a' is already defined in line 2
+a,0x1,4,1\n => 2:3: the lower end of the lifetime is '0x1', expected a whole number of 64 bits
+a,0,,1\n => 2:5: the upper end of the lifetime is '', expected a whole number of 64 bits
+a,0,4,99999999999999999999\n => 2:7: the size is '99999999999999999999', expected a whole number of 64 bits
id,lower,end,size\na,0,9223372036854775807,1\n => 2:5: the lifetime ends beyond 2^63 - 1
+"a,0,4,1\n => 2:1: this double quote is not closed
+"a"b,0,4,1\n => 2:4: expected a comma after the closing double quote
)";

TEST(AllocationCsvTest, SaysWhatIsWrongAndWhere) {
  const std::string header = "id,lower,upper,size\n";
  for (auto [given, message] : mf::readTable(errors)) {
    std::string text = given.consume_front("+") ? header : "";
    llvm::SmallVector<llvm::StringRef> lines;
    given.split(lines, "\\n");
    text += llvm::join(lines, "\n");
    EXPECT_EQ(parseError(text), "p.csv:" + message.str());
  }
  EXPECT_EQ(parseError(header + std::string("a,0,4,\0\xff", 8) +
                       std::string(50, 'y')),
            "p.csv:2:7: the size is '\\00\\FF" + std::string(38, 'y') +
                "...', expected a whole number of 64 bits");
}

TEST(AllocationCsvTest, SurvivesDamagedText) {
  std::mt19937 random(5);
  const std::string original =
      "id,lower,upper,size,alignment,hint,offset\n\"a\",0,4,10,2,,8\n"
      "b,2,6,20,,3,\nc,-5,9223372036854775807,1,1,1,\n";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = original;
    for (int changes = 1 + random() % 4; changes > 0; --changes) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        text.erase(at, 1 + random() % 9);
        break;
      default:
        text.insert(at, 1, ",\"\n-9"[random() % 5]);
        break;
      }
      if (text.empty())
        break;
    }
    llvm::Expected<AllocationProblem> problem =
        parseAllocationCsv(text, "p.csv");
    if (!problem) {
      EXPECT_NE(llvm::toString(problem.takeError()).find("p.csv:"),
                std::string::npos);
      continue;
    }
    if (llvm::Error error = problem->check()) {
      llvm::consumeError(std::move(error));
      continue;
    }
    ++accepted;
    std::string printed = print(*problem);
    EXPECT_EQ(print(llvm::cantFail(parseAllocationCsv(printed, "q.csv"))),
              printed);
  }
  EXPECT_GT(accepted, 500);
}

} // namespace
