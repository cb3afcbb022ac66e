//===- Campaign.h - Seeds and numbers of cases of long tests ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A test that draws cases has a seed and a number of cases of its own, few
// enough for every run. The nightly run (scripts/nightly.py) gives others.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_CAMPAIGN_H
#define MF_TEST_UNIT_CAMPAIGN_H

#include <cstdint>
#include <cstdlib>

namespace mf {

inline uint64_t getCampaignNumber(const char *variable, uint64_t usual) {
  const char *given = std::getenv(variable);
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

inline uint64_t getCampaignSeed(uint64_t usual) {
  return getCampaignNumber("MF_SEED", usual);
}

inline uint64_t getCampaignCount(uint64_t usual) {
  return getCampaignNumber("MF_COUNT", usual);
}

} // namespace mf

#endif // MF_TEST_UNIT_CAMPAIGN_H
