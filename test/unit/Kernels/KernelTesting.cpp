//===- KernelTesting.cpp - Running kernels in tests -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

namespace mf::testing {
namespace {

constexpr size_t canaryBytes = 96;
constexpr unsigned char canary = 0xa5;

const llvm::fltSemantics &getSemantics(DType type) {
  return type == DType::BF16 ? llvm::APFloat::BFloat()
                             : llvm::APFloat::IEEEhalf();
}

/// LLVM's own conversions, so that the kernels' are checked against others.
uint16_t toBits(DType type, double value) {
  llvm::APFloat number(value);
  bool losesInformation;
  number.convert(getSemantics(type), llvm::APFloat::rmNearestTiesToEven,
                 &losesInformation);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

double fromBits(DType type, uint16_t bits) {
  llvm::APFloat number(getSemantics(type), llvm::APInt(16, bits));
  bool losesInformation;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInformation);
  return number.convertToDouble();
}

double getTolerance(DType type) {
  switch (type) {
  case DType::F32:
    return 4e-6;
  case DType::BF16:
    return 1.0 / 128;
  case DType::F16:
    return 1.0 / 1024;
  case DType::I32:
  case DType::I64:
  case DType::I1:
    return 0;
  }
  return 0;
}

} // namespace

KernelTensor::KernelTensor(DType type, llvm::ArrayRef<int64_t> dims)
    : shape{type, {dims.begin(), dims.end()}},
      bytes(shape.getBytes() + canaryBytes, canary) {
  std::memset(bytes.data(), 0, shape.getBytes());
}

double KernelTensor::get(int64_t index) const {
  const unsigned char *from = bytes.data() + index * mf::getBytes(shape.type);
  auto read = [&](auto value) {
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  switch (shape.type) {
  case DType::F32:
    return read(float());
  case DType::I32:
    return read(int32_t());
  case DType::I64:
    return static_cast<double>(read(int64_t()));
  case DType::I1:
    return bytes[index / 8] >> (index % 8) & 1;
  case DType::BF16:
  case DType::F16:
    return fromBits(shape.type, read(uint16_t()));
  }
  return 0;
}

void KernelTensor::set(int64_t index, double value) {
  unsigned char *to = bytes.data() + index * mf::getBytes(shape.type);
  auto write = [&](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (shape.type) {
  case DType::F32:
    return write(static_cast<float>(value));
  case DType::I32:
    return write(static_cast<int32_t>(value));
  case DType::I64:
    return write(static_cast<int64_t>(value));
  case DType::I1: {
    unsigned char &byte = bytes[index / 8];
    const auto bit = static_cast<unsigned char>(1U << (index % 8));
    byte = value > 0 ? byte | bit : byte & ~bit;
    return;
  }
  case DType::BF16:
  case DType::F16:
    return write(toBits(shape.type, value));
  }
}

Values KernelTensor::toVector() const {
  Values values(size());
  for (int64_t i = 0; i < size(); ++i)
    values[i] = get(i);
  return values;
}

void KernelTensor::fill(double value) {
  for (int64_t i = 0; i < size(); ++i)
    set(i, value);
}

void KernelTensor::fillRandom(std::mt19937 &random, double low, double high) {
  std::uniform_real_distribution<double> distribution(low, high);
  for (int64_t i = 0; i < size(); ++i)
    set(i, distribution(random));
}

bool KernelTensor::canaryIsWhole() const {
  for (size_t i = shape.getBytes(); i < bytes.size(); ++i)
    if (bytes[i] != canary)
      return false;
  return true;
}

KernelTensor randomTensor(DType type, llvm::ArrayRef<int64_t> dims,
                          unsigned seed, double low, double high) {
  KernelTensor tensor(type, dims);
  std::mt19937 random(seed);
  tensor.fillRandom(random, low, high);
  return tensor;
}

KernelTensor makeTensor(DType type, llvm::ArrayRef<int64_t> dims,
                        const Values &values) {
  KernelTensor tensor(type, dims);
  EXPECT_EQ(tensor.size(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

KernelTensor makeRow(DType type, const Values &values) {
  return makeTensor(type, {static_cast<int64_t>(values.size())}, values);
}

KernelTensor makeScalar(double value) {
  return makeTensor(DType::F32, {}, {value});
}

KernelTensor makePosition(int64_t position) {
  return makeRow(DType::I32, {static_cast<double>(position)});
}

KernelTensor takeRange(const KernelTensor &x, size_t dim, int64_t first,
                       int64_t count) {
  Ints dims(x.shape.dims.begin(), x.shape.dims.end());
  int64_t inner = 1;
  for (size_t i = dim + 1; i < dims.size(); ++i)
    inner *= dims[i];
  const int64_t whole = dims[dim] * inner, part = count * inner;
  dims[dim] = count;
  KernelTensor result(x.shape.type, dims);
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, x.get(i / part * whole + first * inner + i % part));
  return result;
}

KernelTensor randomIndices(llvm::ArrayRef<int64_t> dims, unsigned seed,
                           int64_t low, int64_t high) {
  KernelTensor tensor(DType::I32, dims);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int64_t> distribution(low, high);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>(distribution(random)));
  return tensor;
}

KernelTensor runOne(llvm::StringRef name, const Tensors &inputs,
                    KernelTensor output, const AttributeMap &attributes) {
  return runKernel(name, inputs, {std::move(output)}, attributes)[0];
}

KernelSpec getSpec(llvm::StringRef name, const Tensors &inputs,
                   const Tensors &outputs, const AttributeMap &attributes) {
  KernelSpec spec;
  spec.name = name.str();
  for (const KernelTensor &input : inputs)
    spec.inputs.push_back(input.shape);
  for (const KernelTensor &output : outputs)
    spec.outputs.push_back(output.shape);
  spec.attributes = attributes;
  return spec;
}

KernelTensor makeInput(const KernelSpec &spec, size_t index, unsigned seed) {
  const TensorShape &shape = spec.inputs[index];
  if (shape.type == DType::I32)
    return randomIndices(shape.dims, seed, 0, 3);
  KernelTensor input = randomTensor(shape.type, shape.dims, seed, 0.1);
  const llvm::StringRef name =
      findKernelSignature(spec.name)->getInput(index).name;
  if (name == "send" || name == "receive")
    input.fill(2);
  if (name == "counts")
    for (int64_t i = 0; i < input.size(); ++i)
      input.set(i, static_cast<double>(i % 4));
  return input;
}

KernelTensor makeWorkspace(const KernelSpec &spec) {
  const KernelSignature &signature = *findKernelSignature(spec.name);
  const int64_t bytes = signature.getWorkspaceBytes(spec);
  EXPECT_EQ(bytes % 4, 0);
  KernelTensor workspace(DType::F32, {bytes / 4});
  workspace.fill(NAN);
  return workspace;
}

Tensors runKernel(llvm::StringRef name, const Tensors &inputs, Tensors outputs,
                  const AttributeMap &attributes) {
  llvm::Expected<std::unique_ptr<Kernel>> kernel =
      makeKernel(getSpec(name, inputs, outputs, attributes));
  if (!kernel) {
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return outputs;
  }
  Tensors sources = inputs;
  std::vector<void *> from, to;
  KernelTensor workspace =
      makeWorkspace(getSpec(name, inputs, outputs, attributes));
  for (KernelTensor &source : sources)
    from.push_back(source.data());
  Tensors first;
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    Tensors results = outputs;
    to.clear();
    for (KernelTensor &result : results)
      to.push_back(result.data());
    (*kernel)->run({from, to, workspace.data()}, pool);
    EXPECT_TRUE(workspace.canaryIsWhole()) << name.str();
    for (KernelTensor &result : results)
      EXPECT_TRUE(result.canaryIsWhole()) << name.str();
    if (threads == 1)
      first = results;
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_TRUE(results[i] == first[i])
          << name.str() << " output " << i << " with " << threads << " threads";
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(sources[i] == inputs[i])
        << name.str() << " wrote to input " << i;
  return first;
}

Tensors runExample(const KernelSpec &spec) {
  Tensors inputs, outputs;
  for (size_t i = 0; i < spec.inputs.size(); ++i)
    inputs.push_back(makeInput(spec, i, static_cast<unsigned>(i + 1)));
  for (const TensorShape &shape : spec.outputs) {
    outputs.emplace_back(shape.type, shape.dims);
    outputs.back().fill(0.25);
  }
  return runKernel(spec.name, inputs, outputs, spec.attributes);
}

std::string getRefusal(const KernelSpec &spec) {
  llvm::Expected<std::unique_ptr<Kernel>> kernel = makeKernel(spec);
  return kernel ? "" : llvm::toString(kernel.takeError());
}

void expectNear(const KernelTensor &actual, const Values &expected,
                double scale, double tolerance) {
  ASSERT_EQ(actual.size(), static_cast<int64_t>(expected.size()));
  if (tolerance == 0)
    tolerance = getTolerance(actual.shape.type);
  int failures = 0;
  for (int64_t i = 0; i < actual.size() && failures < 3; ++i) {
    double got = actual.get(i), want = expected[i];
    if (got == want || (std::isnan(got) && std::isnan(want)))
      continue;
    if (std::abs(got - want) <= tolerance * (scale + std::abs(want)))
      continue;
    ADD_FAILURE() << "element " << i << " of " << actual.size() << ": got "
                  << got << ", expected " << want << " ("
                  << getName(actual.shape.type).str() << ")";
    ++failures;
  }
}

Values differentiate(const std::function<Values(const Values &)> &forward,
                     const Values &at, const Values &weights) {
  constexpr double step = 1e-5;
  auto loss = [&](const Values &x) {
    Values y = forward(x);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i)
      sum += weights[i] * y[i];
    return sum;
  };
  Values gradient(at.size()), x = at;
  for (size_t i = 0; i < at.size(); ++i) {
    x[i] = at[i] + step;
    double above = loss(x);
    x[i] = at[i] - step;
    double below = loss(x);
    x[i] = at[i];
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

void expectGradients(
    const Tensors &gradients, const Tensors &inputs,
    const std::function<Values(const std::vector<Values> &)> &forward,
    const Values &weights, double scale, double tolerance) {
  std::vector<Values> at;
  for (const KernelTensor &input : inputs)
    at.push_back(input.toVector());
  for (size_t i = 0; i < gradients.size(); ++i) {
    SCOPED_TRACE("gradient " + std::to_string(i));
    auto changeInput = [&](const Values &changed) {
      std::vector<Values> values = at;
      values[i] = changed;
      return forward(values);
    };
    expectNear(gradients[i], differentiate(changeInput, at[i], weights), scale,
               tolerance);
  }
}

} // namespace mf::testing
