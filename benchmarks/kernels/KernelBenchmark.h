//===- KernelBenchmark.h - The time of one kernel --------------*- C++ -*-===//

#ifndef MF_BENCHMARKS_KERNELS_KERNELBENCHMARK_H
#define MF_BENCHMARKS_KERNELS_KERNELBENCHMARK_H

#include "mf/Kernels/Kernel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mf {

/// What the command line asks for.
struct Settings {
  int threads = 2;
  /// Spent on each kernel.
  double seconds = 0.3;
  /// Part of a kernel's name or title.
  std::string filter;
  bool processorTime = false;

  double getTime() const;
  double timeOnce(llvm::function_ref<void()> work) const;
};

/// Kernels that compute something together, one after another.
struct Chain {
  std::string title;
  std::vector<KernelSpec> kernels;
};

/// Times kernels one by one, prints a line for each and adds up a step.
class Benchmark {
public:
  explicit Benchmark(const Settings &settings)
      : settings(settings), pool(settings.threads) {}

  /// `calls` in a step; `flops` 0 if bandwidth is what counts.
  void run(llvm::StringRef what, const KernelSpec &spec, int calls,
           double flops = 0);

  /// A line for each of two ways to the same result, which are timed in turns;
  /// the second with how many times as fast as the first it is. `counts` are
  /// what inputs of that name hold. No part of a step.
  void compare(const Chain &plain, const Chain &fused,
               llvm::ArrayRef<float> counts = {}, double flops = 0);

  void printTotal(llvm::StringRef title);

private:
  bool isChosen(llvm::StringRef title,
                llvm::ArrayRef<KernelSpec> kernels) const;
  void print(llvm::StringRef title, int calls, double best, double flops,
             double bytes, llvm::StringRef remark);

  Settings settings;
  ThreadPool pool;
  double total = 0;
};

} // namespace mf

#endif // MF_BENCHMARKS_KERNELS_KERNELBENCHMARK_H
