//===- KernelBenchmark.cpp - The time of one kernel -----------------------===//

#include "KernelBenchmark.h"
#include "mf/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <unordered_map>

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void omp_set_num_threads(int);

namespace mf {

namespace {

/// Memory for a tensor with small random values, the same in every run.
class Memory {
public:
  explicit Memory(const TensorShape &shape)
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
  double getBytes() const { return bytes; }

private:
  void add(const TensorShape &shape, std::vector<void *> &places) {
    memories.push_back(std::make_unique<Memory>(shape));
    places.push_back(memories.back()->data());
    bytes += static_cast<double>(shape.getBytes());
  }

  std::unique_ptr<Kernel> kernel;
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<void *> from, to;
  std::vector<char> workspace;
  double bytes = 0;
};

/// oneDNN with its own threads on the same matrices: the ceiling.
class Ceiling {
public:
  Ceiling(const KernelSpec &spec, int threads)
      : threads(threads), engine(dnnl::engine::kind::cpu, 0), stream(engine) {
    omp_set_num_threads(threads);
    auto flag = [&](const char *name) {
      auto found = spec.attributes.find(name);
      return found != spec.attributes.end() && std::get<bool>(found->second);
    };
    bool transposeA = flag("transpose_a"), transposeB = flag("transpose_b");
    auto type = spec.inputs[0].type == DType::F32
                    ? dnnl::memory::data_type::f32
                    : dnnl::memory::data_type::bf16;
    auto matrix = [&](const TensorShape &shape, bool transpose) {
      int64_t rows = shape.dims[0], columns = shape.dims[1];
      return transpose
                 ? dnnl::memory::desc({columns, rows}, type, {1, columns})
                 : dnnl::memory::desc({rows, columns}, type, {columns, 1});
    };
    descriptions[0] = matrix(spec.inputs[0], transposeA);
    descriptions[1] = matrix(spec.inputs[1], transposeB);
    descriptions[2] = matrix(spec.outputs[0], false);
    product = dnnl::matmul(dnnl::matmul::primitive_desc(
        dnnl::matmul::desc(descriptions[0], descriptions[1], descriptions[2]),
        engine));
    omp_set_num_threads(1);
  }

  void run(void *a, void *b, void *c) {
    omp_set_num_threads(threads);
    product.execute(stream, {{DNNL_ARG_SRC, {descriptions[0], engine, a}},
                             {DNNL_ARG_WEIGHTS, {descriptions[1], engine, b}},
                             {DNNL_ARG_DST, {descriptions[2], engine, c}}});
    stream.wait();
    omp_set_num_threads(1);
  }

private:
  int threads;
  dnnl::engine engine;
  dnnl::stream stream;
  dnnl::memory::desc descriptions[3];
  dnnl::matmul product;
};

} // namespace

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

bool Benchmark::isChosen(llvm::StringRef title,
                         llvm::ArrayRef<KernelSpec> kernels) const {
  return title.contains(settings.filter) ||
         llvm::any_of(kernels, [&](const KernelSpec &spec) {
           return llvm::StringRef(spec.name).contains(settings.filter);
         });
}

void Benchmark::run(llvm::StringRef what, const KernelSpec &spec, int calls,
                    double flops) {
  if (!isChosen(what, spec))
    return;
  Launch launch(spec);
  std::unique_ptr<Ceiling> ceiling;
  if (spec.name == "aclnnMatmul")
    ceiling = std::make_unique<Ceiling>(spec, settings.threads);

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
  total += calls * best;
  std::string share;
  if (ceiling)
    share = llvm::formatv("{0:F0} % of oneDNN's {1:F0}",
                          100 * bestCeiling / best, flops / bestCeiling / 1e9)
                .str();
  print(what, calls, best, flops, launch.getBytes(), share);
}

void Benchmark::compare(const Chain &plain, const Chain &fused,
                        llvm::ArrayRef<float> counts, double flops) {
  if (!isChosen(plain.title, plain.kernels) &&
      !isChosen(fused.title, fused.kernels))
    return;
  const Chain *chains[] = {&plain, &fused};
  std::vector<std::unique_ptr<Launch>> launches[2];
  double best[] = {INFINITY, INFINITY}, bytes[] = {0, 0}, spent = 0;
  for (size_t way : {0, 1})
    for (const KernelSpec &spec : chains[way]->kernels) {
      launches[way].push_back(std::make_unique<Launch>(spec, counts));
      bytes[way] += launches[way].back()->getBytes();
    }
  for (int round = 0; round < 3 || spent < 2 * settings.seconds; ++round)
    for (size_t way : {0, 1}) {
      const double seconds = settings.timeOnce([&] {
        for (const std::unique_ptr<Launch> &launch : launches[way])
          launch->run(pool);
      });
      best[way] = std::min(best[way], seconds);
      spent += seconds;
    }
  print(plain.title, 0, best[0], flops, bytes[0], "");
  print(fused.title, 0, best[1], flops, bytes[1],
        llvm::formatv("{0:F2} times as fast", best[0] / best[1]).str());
}

void Benchmark::printTotal(llvm::StringRef title) {
  llvm::outs() << llvm::formatv("{0}: {1:F3} s of kernels in a step\n\n", title,
                                total);
  total = 0;
}

void Benchmark::print(llvm::StringRef title, int calls, double best,
                      double flops, double bytes, llvm::StringRef remark) {
  std::string rate =
      flops > 0 ? llvm::formatv("{0:F0} GFLOP/s", flops / best / 1e9).str()
                : llvm::formatv("{0:F1} GB/s", bytes / best / 1e9).str();
  llvm::outs() << llvm::formatv("{0,-40} {1,9:F3} ms x {2,4} = {3,8:F1} ms"
                                "  {4,14}  {5}\n",
                                title, best * 1e3, calls, calls * best * 1e3,
                                rate, remark);
}

} // namespace mf
