//===- Settings.cpp - Options of the command line -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Settings.h"
#include <ctime>

namespace mf {

double Settings::getTime() const {
  timespec now;
  clock_gettime(processorTime ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC,
                &now);
  double time =
      static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return processorTime ? time / threads : time;
}

double Settings::timeOnce(llvm::function_ref<void()> work) const {
  double begin = getTime();
  work();
  return getTime() - begin;
}

} // namespace mf
