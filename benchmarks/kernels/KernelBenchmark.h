//===- KernelBenchmark.h - The time of one kernel --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_BENCHMARKS_KERNELS_KERNELBENCHMARK_H
#define MF_BENCHMARKS_KERNELS_KERNELBENCHMARK_H

#include "Settings.h"
#include "mf/Exec/Kernels/Kernel.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mf {

/// A kernel, and how often a step runs it: 0 if it is no part of the step that
/// is added up.
struct StepKernel {
  std::string title;
  KernelSpec spec;
  int calls = 0;
};

/// Kernels that compute something together, one after another.
struct BenchmarkChain {
  std::string title;
  std::vector<KernelSpec> kernels;
};

/// Rates per second that lower bounds are computed with.
struct Rates {
  /// oneDNN's over all products of the step; 0 if no product matters.
  double flops = 0;
  /// Read and written, of a plain `c = a + b`.
  double bytes = 0;
};

/// Times kernels one by one and prints a line for each, with the share of its
/// lower bound in its time: the larger of its FLOPs and its bytes at the rates,
/// each operand moved once and those that are read and written twice.
class Benchmark {
public:
  explicit Benchmark(const Settings &settings)
      : settings(settings), pool(settings.threads) {}

  /// The kernels of a step in elements of `type`, their sum, and those that
  /// take more than 1 % of it with less than 70 % of their bound. Rates are
  /// measured before, also for the chains that are compared then.
  void runStep(const std::vector<StepKernel> &kernels, DType type);

  /// A line for each of two ways to the same result, which are timed in turns;
  /// the second with how many times as fast as the first it is. `counts` are
  /// what inputs of that name hold. No part of a step.
  void compare(const BenchmarkChain &plain, const BenchmarkChain &fused,
               llvm::ArrayRef<float> counts = {});

private:
  /// The contents of a line.
  struct Line {
    std::string title, remark;
    int calls = 0;
    double seconds = 0, flops = 0, bytes = 0, bound = 0;
  };

  bool isChosen(llvm::StringRef title,
                llvm::ArrayRef<KernelSpec> kernels) const;
  void measureRates(const std::vector<StepKernel> &kernels, DType type);
  Line makeLine(const std::string &title,
                llvm::ArrayRef<KernelSpec> kernels) const;
  Line timeKernel(const StepKernel &kernel);
  static void print(const Line &line, double stepSeconds);
  static void printSlowest(const std::vector<Line> &lines, double stepSeconds);

  Settings settings;
  ThreadPool pool;
  Rates rates;
};

} // namespace mf

#endif // MF_BENCHMARKS_KERNELS_KERNELBENCHMARK_H
