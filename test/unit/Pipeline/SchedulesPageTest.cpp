//===- SchedulesPageTest.cpp - What docs/schedules.md shows ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleTesting.h"
#include "gtest/gtest.h"
#include <fstream>
#include <regex>
#include <sstream>

using namespace mf::schedule;

namespace {

std::string readPage() {
  std::ifstream file(MF_TEST_DATA "/../../docs/schedules.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SchedulesPageTest, TimelinesAreThoseOfTheSchedules) {
  std::string page = readPage();
  std::regex block("<!-- timeline: (\\S+), (\\d+) stages, (\\d+) chunks? per "
                   "stage, (\\d+) micro-batches(?:, (\\d+) pieces)? -->\n"
                   "```text\n([^`]*)```\n");
  int64_t blocks = 0;
  for (std::sregex_iterator match(page.begin(), page.end(), block), end;
       match != end; ++match, ++blocks) {
    Schedule schedule =
        build((*match)[1].str(), std::stoll((*match)[2]),
              std::stoll((*match)[3]), std::stoll((*match)[4]),
              (*match)[5].matched ? std::stoll((*match)[5]) : 1);
    EXPECT_EQ((*match)[6].str(), drawUnitTimes(schedule));
  }
  EXPECT_EQ(blocks, 6);
}

TEST(SchedulesPageTest, ListsThePolicies) {
  std::string page = readPage();
  for (const Policy *policy : getPolicies())
    EXPECT_NE(page.find("| `" + policy->getName().str() + "` |"),
              std::string::npos)
        << policy->getName().str();
}

} // namespace
