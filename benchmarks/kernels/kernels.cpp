//===- kernels.cpp - Speed of the kernels at a model's shapes -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of a training step of a 134M Llama (StepKernels.h), in fp32 and
// bf16: the best of several runs, its share of the step, its GFLOP/s or GB/s,
// its lower bound's share of its time, and for matrix products the share of
// what oneDNN reaches in the same run when it is called directly for the whole
// product with as many threads. The last lines are the sum over a step and what
// is far above its bound. Behind it, ways to the same result: the products of
// experts grouped against one after another, and fused kernels against the
// chain that they stand for.
//
// Usage: mf-benchmark-kernels [--threads=2] [--seconds=0.3] [--only=TEXT]
//        [--types=f32,bf16] [--processor-time]
//        [--ceiling [--product=M,N,K,TT,CALLS]...]
// --seconds is the time spent on each kernel, --only picks kernels by name.
// --processor-time counts what this process used of the processors, divided by
// the threads, instead of the time on the wall: for busy machines.
// --ceiling times oneDNN alone and prints a line for each type: its rate over
// all products of the step, or over those that are given (Ceiling.h).
//
//===----------------------------------------------------------------------===//

#include "Ceiling.h"
#include "Comparisons.h"
#include "StepKernels.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mf;

namespace {

/// The command line.
struct Arguments {
  Settings settings;
  std::vector<DType> types = {DType::F32, DType::BF16};
  bool isCeiling = false;
  std::vector<StepProduct> products;

  /// Takes one argument; false if it cannot be understood.
  bool take(llvm::StringRef argument);

private:
  bool takeTypes(llvm::StringRef names);
  bool takeProduct(llvm::StringRef text);
};

} // namespace

bool Arguments::takeTypes(llvm::StringRef names) {
  types.clear();
  llvm::SmallVector<llvm::StringRef> parts;
  names.split(parts, ',');
  for (llvm::StringRef name : parts) {
    const std::optional<DType> type = parseDType(name);
    if (type != DType::F32 && type != DType::BF16)
      return false;
    types.push_back(*type);
  }
  return true;
}

bool Arguments::takeProduct(llvm::StringRef text) {
  const std::optional<StepProduct> product = parseProduct(text);
  if (product)
    products.push_back(*product);
  return product.has_value();
}

bool Arguments::take(llvm::StringRef argument) {
  if (argument == "--processor-time")
    return settings.processorTime = true;
  if (argument == "--ceiling")
    return isCeiling = true;
  const auto [name, value] = argument.split('=');
  if (name == "--threads")
    return !value.getAsInteger(10, settings.threads) && settings.threads >= 1;
  if (name == "--seconds")
    return !value.getAsDouble(settings.seconds);
  if (name == "--types")
    return takeTypes(value);
  if (name == "--product")
    return takeProduct(value);
  settings.filter = value.str();
  return name == "--only";
}

/// The products of the step, if none are given.
static std::vector<StepProduct> getProducts(const Arguments &arguments,
                                            DType type) {
  std::vector<StepProduct> products = arguments.products;
  if (products.empty())
    for (const StepKernel &kernel : listStepKernels(type))
      if (kernel.spec.name == "aclnnMatmul")
        products.push_back(getProduct(kernel.spec, kernel.calls));
  return products;
}

int main(int argc, char **argv) {
  Arguments arguments;
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front())
    if (!arguments.take(argument)) {
      llvm::errs() << "cannot understand the argument '" << argument << "'\n";
      return 1;
    }
  if (arguments.isCeiling) {
    for (DType type : arguments.types)
      llvm::outs() << llvm::formatv("{0} ceiling: {1:F1} GFLOP/s{2}\n",
                                    getName(type),
                                    measureCeiling(getProducts(arguments, type),
                                                   type, arguments.settings) /
                                        1e9,
                                    describeCeilingType(type));
    return 0;
  }
  Benchmark benchmark(arguments.settings);
  for (DType type : arguments.types) {
    benchmark.runStep(listStepKernels(type), type);
    compareKernels(benchmark, type);
  }
  return 0;
}
