//===- ParallelWork.cpp - Independent work on several threads -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/ParallelWork.h"
#include <algorithm>
#include <atomic>
#include <thread>

size_t mf::planner::getNumProcessors() {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::vector<std::string>
mf::planner::runInParallel(size_t count,
                           llvm::function_ref<llvm::Error(size_t)> work,
                           size_t numThreads) {
  std::vector<std::string> errors(count);
  std::atomic<size_t> next = 0;
  auto takeWork = [&] {
    for (size_t index = next++; index < count; index = next++)
      if (llvm::Error error = work(index))
        errors[index] = toString(std::move(error));
  };
  std::vector<std::thread> threads;
  for (size_t index = 1; index < std::min(count, numThreads); ++index)
    threads.emplace_back(takeWork);
  takeWork();
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}
