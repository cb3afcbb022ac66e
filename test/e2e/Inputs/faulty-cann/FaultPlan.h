//===- FaultPlan.h - The fault of a run -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A library to preload: it stands between an emitted program and CANN, and
// changes one call as a wrong program would have made it. So one compiled
// program serves for all faults. MF_FAULT=SITE:CHANGE:NUMBER:CHOICE says which
// change the call with that number among those of a site gets, from 0, and
// which of several values it takes. With MF_FAULT_COUNTS=FILE the number of
// calls of each site is written when the process ends.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_E2E_INPUTS_FAULTY_CANN_FAULTPLAN_H
#define MF_TEST_E2E_INPUTS_FAULTY_CANN_FAULTPLAN_H

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

/// Knows the change of the run, and what the program has made so far.
class FaultPlan {
public:
  static FaultPlan &get();

  /// Counts a call of a site. The change that it gets; empty for none.
  std::string next(const char *callSite);
  uint64_t getChoice() const { return choice; }
  /// A distance between places in memory, in bytes.
  int64_t getDistance() const {
    return static_cast<int64_t>(64 * (1 + choice % 16));
  }

  void writeCounts() const;

  /// Handles of streams, events, communicators and memory, by their kind.
  std::map<std::string, std::vector<void *>> made;
  /// One of a kind other than `known`, which is given back if there is none.
  void *findOther(const char *kind, void *known) const;
  void *find(const char *kind) const { return findOther(kind, nullptr); }

  /// Makes a call, or lets the next one of the site go first.
  int callInTurn(const char *callSite, bool isLate, std::function<int()> call);

private:
  FaultPlan();

  std::mutex mutex;
  std::string site, change;
  uint64_t number = 0, choice = 0;
  std::map<std::string, uint64_t> counts;
  /// By site: a call that comes behind the next one.
  std::map<std::string, std::function<int()>> late;
};

inline FaultPlan &plan() { return FaultPlan::get(); }

/// The function of a name that this library stands before.
void *findNext(const char *name);
#define NEXT(NAME) reinterpret_cast<decltype(&NAME)>(findNext(#NAME))

/// Releases a thing of a site: once, or as the change of the call says.
template <typename Release>
auto release(const char *callSite, Release &&next) -> decltype(next()) {
  const std::string change = plan().next(callSite);
  if (change == "left" || change == "left out")
    return {};
  if (change == "twice")
    next();
  return next();
}

inline char *shift(const void *address, int64_t bytes) {
  return const_cast<char *>(static_cast<const char *>(address)) + bytes;
}

#endif // MF_TEST_E2E_INPUTS_FAULTY_CANN_FAULTPLAN_H
