//===- KernelBenchmark.cpp - The time of one kernel -----------------------===//

#include "KernelBenchmark.h"
#include "mf/Signatures/KernelSignature.h"
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

void Benchmark::run(llvm::StringRef what, const KernelSpec &spec, int calls,
                    double flops) {
  std::string title = what.str();
  if (title.find(settings.filter) == std::string::npos &&
      spec.name.find(settings.filter) == std::string::npos)
    return;
  llvm::Expected<std::unique_ptr<Kernel>> kernel = makeKernel(spec);
  if (!kernel) {
    llvm::errs() << llvm::toString(kernel.takeError()) << "\n";
    std::exit(1);
  }
  std::vector<Memory> inputs, outputs;
  std::vector<void *> from, to;
  double bytes = 0;
  for (const TensorShape &shape : spec.inputs) {
    inputs.emplace_back(shape);
    bytes += static_cast<double>(shape.getBytes());
  }
  for (const TensorShape &shape : spec.outputs) {
    outputs.emplace_back(shape);
    bytes += static_cast<double>(shape.getBytes());
  }
  for (Memory &memory : inputs)
    from.push_back(memory.data());
  for (Memory &memory : outputs)
    to.push_back(memory.data());
  std::vector<char> workspace(static_cast<size_t>(
      findKernelSignature(spec.name)->getWorkspaceBytes(spec)));
  const KernelOperands operands{from, to, workspace.data()};
  std::unique_ptr<Ceiling> ceiling;
  if (spec.name == "aclnnMatmul")
    ceiling = std::make_unique<Ceiling>(spec, settings.threads);

  // In turns, so that a busy machine disturbs both alike.
  double best = INFINITY, bestCeiling = INFINITY, spent = 0;
  for (int round = 0; round < 3 || spent < settings.seconds; ++round) {
    double seconds = settings.timeOnce([&] { (*kernel)->run(operands, pool); });
    best = std::min(best, seconds);
    spent += seconds;
    if (ceiling)
      bestCeiling = std::min(bestCeiling, settings.timeOnce([&] {
        ceiling->run(from[0], from[1], to[0]);
      }));
  }
  print(title, calls, best, flops, bytes, ceiling ? bestCeiling : 0);
}

void Benchmark::printTotal(llvm::StringRef title) {
  llvm::outs() << llvm::formatv("{0}: {1:F3} s of kernels in a step\n\n", title,
                                total);
  total = 0;
}

void Benchmark::print(llvm::StringRef title, int calls, double best,
                      double flops, double bytes, double bestCeiling) {
  total += calls * best;
  std::string rate =
      flops > 0 ? llvm::formatv("{0:F0} GFLOP/s", flops / best / 1e9).str()
                : llvm::formatv("{0:F1} GB/s", bytes / best / 1e9).str();
  std::string share;
  if (bestCeiling > 0)
    share = llvm::formatv("{0:F0} % of oneDNN's {1:F0}",
                          100 * bestCeiling / best, flops / bestCeiling / 1e9)
                .str();
  llvm::outs() << llvm::formatv("{0,-40} {1,9:F3} ms x {2,4} = {3,8:F1} ms"
                                "  {4,14}  {5}\n",
                                title, best * 1e3, calls, calls * best * 1e3,
                                rate, share);
}

} // namespace mf
