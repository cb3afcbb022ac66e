//===- ProcessorTime.h - Processor time that a function takes ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_BENCHMARKS_PROCESSORTIME_H
#define MF_BENCHMARKS_PROCESSORTIME_H

#include <ctime>

namespace mf::benchmarks {

/// Seconds of processor time that the process spends in `function`; what else
/// the machine does is left out.
template <typename Function> double getProcessorSeconds(Function function) {
  auto getTime = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) +
           1e-9 * static_cast<double>(time.tv_nsec);
  };
  double start = getTime();
  function();
  return getTime() - start;
}

} // namespace mf::benchmarks

#endif // MF_BENCHMARKS_PROCESSORTIME_H
