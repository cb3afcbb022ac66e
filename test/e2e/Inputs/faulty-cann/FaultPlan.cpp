//===- FaultPlan.cpp - The fault of a run ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FaultPlan.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sstream>
#include <utility>

FaultPlan &FaultPlan::get() {
  // Never destroyed: the program's own destructors call CANN, too.
  static auto *plan = new FaultPlan;
  return *plan;
}

FaultPlan::FaultPlan() {
  for (const char *kind :
       {"stream", "event", "communicator", "memory", "host memory"})
    made[kind];
  const char *text = std::getenv("MF_FAULT");
  const char *rank = std::getenv("RANK_ID");
  const char *faulty = std::getenv("MF_FAULT_RANK");
  if (!text || std::string(rank ? rank : "0") != (faulty ? faulty : "0"))
    return;
  std::istringstream parts(text);
  std::string digits;
  std::getline(parts, site, ':');
  std::getline(parts, change, ':');
  std::getline(parts, digits, ':');
  number = std::stoull(digits);
  std::getline(parts, digits);
  choice = std::stoull(digits);
}

std::string FaultPlan::next(const char *callSite) {
  std::lock_guard<std::mutex> lock(mutex);
  const uint64_t call = counts[callSite]++;
  return site == callSite && call == number ? change : std::string();
}

void FaultPlan::writeCounts() const {
  const char *path = std::getenv("MF_FAULT_COUNTS");
  FILE *file = path ? std::fopen(path, "w") : nullptr;
  if (!file)
    return;
  for (const auto &[name, calls] : counts)
    std::fprintf(file, "%s %llu\n", name.c_str(),
                 static_cast<unsigned long long>(calls));
  std::fclose(file);
}

void *FaultPlan::findOther(const char *kind, void *known) const {
  std::vector<void *> others;
  for (void *handle : made.at(kind))
    if (handle != known)
      others.push_back(handle);
  return others.empty() ? known : others[choice % others.size()];
}

int FaultPlan::callInTurn(const char *callSite, bool isLate,
                          std::function<int()> call) {
  std::function<int()> &waiting = late[callSite];
  if (isLate) {
    waiting = std::move(call);
    return 0;
  }
  int code = call();
  if (waiting)
    if (const int lateCode = std::exchange(waiting, nullptr)(); code == 0)
      code = lateCode;
  return code;
}

void *findNext(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) {
    std::fprintf(stderr, "faulty CANN: there is no %s\n", name);
    std::abort();
  }
  return found;
}

namespace {

struct CountsAtExit {
  ~CountsAtExit() { plan().writeCounts(); }
} countsAtExit;

} // namespace
