//===- KernelBenchmark.cpp - The time of one kernel -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelBenchmark.h"
#include "Ceiling.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "mf/Exec/Kernels/MachineRates.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

namespace mf {

namespace {

/// BenchmarkMemory for a tensor with small random values, the same in every
/// run.
class BenchmarkMemory {
public:
  explicit BenchmarkMemory(const TensorShape &shape)
      : bytes(static_cast<size_t>(shape.getBytes())) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> real(-0.5f, 0.5f);
    for (int64_t i = 0; i < shape.getNumElements(); ++i) {
      float value = real(random);
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      if (shape.type == DType::I32)
        bits = random() % 32000;
      if (shape.type == DType::BF16)
        bits >>= 16;
      int64_t size = getBytes(shape.type);
      std::memcpy(bytes.data() + i * size, &bits, static_cast<size_t>(size));
    }
  }

  void *data() { return bytes.data(); }

private:
  std::vector<char> bytes;
};

/// A kernel and the memory that it works on.
class Launch {
public:
  explicit Launch(const KernelSpec &spec, llvm::ArrayRef<float> counts = {}) {
    llvm::Expected<std::unique_ptr<Kernel>> made = makeKernel(spec);
    if (!made) {
      llvm::errs() << llvm::toString(made.takeError()) << "\n";
      std::exit(1);
    }
    kernel = std::move(*made);
    const KernelSignature &signature = *findKernelSignature(spec.name);
    for (auto [index, shape] : llvm::enumerate(spec.inputs)) {
      add(shape, from);
      if (signature.getInput(index).name == "counts")
        std::memcpy(from.back(), counts.data(), counts.size() * sizeof(float));
    }
    for (const TensorShape &shape : spec.outputs)
      add(shape, to);
    workspace.resize(static_cast<size_t>(signature.getWorkspaceBytes(spec)));
  }

  void run(ThreadPool &pool) {
    kernel->run({from, to, workspace.data()}, pool);
  }

  void *getInput(size_t index) const { return from[index]; }
  void *getOutput(size_t index) const { return to[index]; }

private:
  void add(const TensorShape &shape, std::vector<void *> &places) {
    memories.push_back(std::make_unique<BenchmarkMemory>(shape));
    places.push_back(memories.back()->data());
  }

  std::unique_ptr<Kernel> kernel;
  std::vector<std::unique_ptr<BenchmarkMemory>> memories;
  std::vector<void *> from, to;
  std::vector<char> workspace;
};

bool isProduct(const KernelSpec &spec) { return spec.name == "aclnnMatmul"; }

/// Whether FLOPs are what counts.
bool isOnCube(const KernelSpec &spec) {
  return findKernelSignature(spec.name)->engine == Engine::Cube;
}

constexpr double percent = 100, giga = 1e9, milli = 1e-3;

} // namespace

bool Benchmark::isChosen(llvm::StringRef title,
                         llvm::ArrayRef<KernelSpec> kernels) const {
  return title.contains(settings.filter) ||
         llvm::any_of(kernels, [&](const KernelSpec &spec) {
           return llvm::StringRef(spec.name).contains(settings.filter);
         });
}

void Benchmark::measureRates(const std::vector<StepKernel> &kernels,
                             DType type) {
  rates.bytes = measureStreamingRate(pool, [&] { return settings.getTime(); });
  // The products take seconds: measured only for kernels that are bound by
  // them.
  rates.flops = 0;
  if (llvm::any_of(kernels, [&](const StepKernel &kernel) {
        return isOnCube(kernel.spec) && isChosen(kernel.title, kernel.spec);
      })) {
    std::vector<StepProduct> products;
    for (const StepKernel &kernel : kernels)
      if (isProduct(kernel.spec))
        products.push_back(getProduct(kernel.spec, kernel.calls));
    rates.flops = measureCeiling(products, type, settings);
  }
  std::string text;
  if (rates.flops > 0)
    text = llvm::formatv("{0:F0} GFLOP/s of oneDNN called directly on the "
                         "step's products{1}, ",
                         rates.flops / giga, describeCeilingType(type))
               .str();
  llvm::outs() << llvm::formatv(
      "{0}: bounds at {1}{2:F1} GB/s of c = a + b, on {3} thread{4} with {5}\n",
      getName(type), text, rates.bytes / giga, settings.threads,
      settings.threads == 1 ? "" : "s", getInstructionSetName());
}

Benchmark::Line Benchmark::makeLine(const std::string &title,
                                    llvm::ArrayRef<KernelSpec> kernels) const {
  Line line;
  line.title = title;
  for (const KernelSpec &spec : kernels) {
    const KernelSignature &signature = *findKernelSignature(spec.name);
    const auto flops = static_cast<double>(signature.getFlops(spec)),
               bytes = static_cast<double>(signature.getBytes(spec));
    if (isOnCube(spec))
      line.flops += flops;
    line.bytes += bytes;
    line.bound += std::max(bytes / rates.bytes,
                           rates.flops > 0 ? flops / rates.flops : 0);
  }
  // Products whose rate is not known have no bound.
  if (line.flops > 0 && rates.flops == 0)
    line.bound = 0;
  return line;
}

Benchmark::Line Benchmark::timeKernel(const StepKernel &kernel) {
  Launch launch(kernel.spec);
  std::unique_ptr<CeilingProduct> ceiling;
  // Without a product of the type, oneDNN's would need other matrices.
  const DType type = kernel.spec.inputs[0].type;
  if (isProduct(kernel.spec) && getCeilingType(type) == type)
    ceiling = std::make_unique<CeilingProduct>(
        getProduct(kernel.spec, kernel.calls), type, settings.threads);

  // In turns, so that a busy machine disturbs both alike.
  double best = INFINITY, bestCeiling = INFINITY, spent = 0;
  for (int round = 0; round < 3 || spent < settings.seconds; ++round) {
    double seconds = settings.timeOnce([&] { launch.run(pool); });
    best = std::min(best, seconds);
    spent += seconds;
    if (ceiling)
      bestCeiling = std::min(bestCeiling, settings.timeOnce([&] {
        ceiling->run(launch.getInput(0), launch.getInput(1),
                     launch.getOutput(0));
      }));
  }
  Line line = makeLine(kernel.title, kernel.spec);
  line.calls = kernel.calls;
  line.seconds = best;
  if (ceiling)
    line.remark = llvm::formatv("{0:F0} % of oneDNN's {1:F0}",
                                percent * bestCeiling / best,
                                line.flops / bestCeiling / giga)
                      .str();
  return line;
}

void Benchmark::runStep(const std::vector<StepKernel> &kernels, DType type) {
  measureRates(kernels, type);
  std::vector<Line> lines;
  double stepSeconds = 0;
  for (const StepKernel &kernel : kernels)
    if (isChosen(kernel.title, kernel.spec)) {
      lines.push_back(timeKernel(kernel));
      stepSeconds += lines.back().calls * lines.back().seconds;
    }
  for (const Line &line : lines)
    print(line, stepSeconds);
  llvm::outs() << llvm::formatv("{0}: {1:F3} s of kernels in a step\n",
                                getName(type), stepSeconds);
  printSlowest(lines, stepSeconds);
  llvm::outs() << "\n";
}

void Benchmark::compare(const BenchmarkChain &plain,
                        const BenchmarkChain &fused,
                        llvm::ArrayRef<float> counts) {
  if (!isChosen(plain.title, plain.kernels) &&
      !isChosen(fused.title, fused.kernels))
    return;
  const BenchmarkChain *chains[] = {&plain, &fused};
  std::vector<std::unique_ptr<Launch>> launches[2];
  double best[] = {INFINITY, INFINITY}, spent = 0;
  for (size_t way : {0, 1})
    for (const KernelSpec &spec : chains[way]->kernels)
      launches[way].push_back(std::make_unique<Launch>(spec, counts));
  for (int round = 0; round < 3 || spent < 2 * settings.seconds; ++round)
    for (size_t way : {0, 1}) {
      const double seconds = settings.timeOnce([&] {
        for (const std::unique_ptr<Launch> &launch : launches[way])
          launch->run(pool);
      });
      best[way] = std::min(best[way], seconds);
      spent += seconds;
    }
  for (size_t way : {0, 1}) {
    Line line = makeLine(chains[way]->title, chains[way]->kernels);
    line.seconds = best[way];
    if (way == 1)
      line.remark =
          llvm::formatv("{0:F2} times as fast", best[0] / best[1]).str();
    print(line, 0);
  }
}

/// "83 % of the bound", or nothing if that is not known.
static std::string describeShare(double bound, double seconds) {
  if (bound == 0)
    return "";
  return llvm::formatv("{0,3:F0} % of the bound", percent * bound / seconds)
      .str();
}

void Benchmark::print(const Line &line, double stepSeconds) {
  const std::string rate =
      line.flops > 0
          ? llvm::formatv("{0:F0} GFLOP/s", line.flops / line.seconds / giga)
                .str()
          : llvm::formatv("{0:F1} GB/s", line.bytes / line.seconds / giga)
                .str();
  const double seconds = line.calls * line.seconds;
  llvm::outs() << llvm::formatv(
      "{0,-40} {1,9:F3} ms x {2,4} = {3,8:F1} ms {4,5:F1} %  {5,14}  {6}  "
      "{7}\n",
      line.title, line.seconds / milli, line.calls, seconds / milli,
      stepSeconds > 0 ? percent * seconds / stepSeconds : 0, rate,
      describeShare(line.bound, line.seconds), line.remark);
}

void Benchmark::printSlowest(const std::vector<Line> &lines,
                             double stepSeconds) {
  constexpr double leastOfStep = 0.01, leastOfBound = 0.7;
  llvm::outs() << "more than 1 % of the step with less than 70 % of the "
                  "bound:";
  bool isEmpty = true;
  for (const Line &line : lines) {
    const double seconds = line.calls * line.seconds;
    if (seconds <= leastOfStep * stepSeconds ||
        line.bound >= leastOfBound * line.seconds)
      continue;
    isEmpty = false;
    llvm::outs() << llvm::formatv("\n  {0,-38} {1,8:F1} ms {2,5:F1} %  {3}",
                                  line.title, seconds / milli,
                                  percent * seconds / stepSeconds,
                                  describeShare(line.bound, line.seconds));
  }
  llvm::outs() << (isEmpty ? " none\n" : "\n");
}

} // namespace mf
