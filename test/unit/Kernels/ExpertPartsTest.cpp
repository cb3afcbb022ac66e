//===- ExpertPartsTest.cpp - Kernels of experts on parts of tensors -------===//
//
// What the lines of the records say of parts is tried: every dimension that may
// be cut is cut in two, and every operand that may be a summand is one.
//
//===----------------------------------------------------------------------===//

#include "KernelTesting.h"
#include "mf/Signatures/KernelParts.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

/// Half number `half` of the tensor's dimension `cut`, if it has it.
Tensor takeHalf(const Tensor &x, const PartOperand &part, const PartDim &cut,
                int64_t half) {
  const auto *found = llvm::find(part.dims, cut);
  if (found == part.dims.end())
    return x;
  const auto dim = static_cast<size_t>(found - part.dims.begin());
  llvm::SmallVector<int64_t, 4> dims = x.shape.dims;
  int64_t inner = 1;
  for (int64_t size : llvm::ArrayRef(dims).drop_front(dim + 1))
    inner *= size;
  EXPECT_EQ(dims[dim] % 2, 0);
  const int64_t run = dims[dim] / 2 * inner;
  dims[dim] /= 2;
  Tensor result(x.shape.type, dims);
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, x.get((2 * (i / run) + half) * run + i % run));
  return result;
}

std::vector<double> add(const Tensor &a, const Tensor &b) {
  std::vector<double> sum = a.toVector();
  for (auto [value, other] : llvm::zip_equal(sum, b.toVector()))
    value += other;
  return sum;
}

struct Case {
  const char *name;
  std::vector<Tensor> inputs, outputs;
  AttributeMap attributes;

  KernelParts getParts() const {
    KernelSpec spec;
    for (const Tensor &input : inputs)
      spec.inputs.push_back(input.shape);
    for (const Tensor &output : outputs)
      spec.outputs.push_back(output.shape);
    spec.attributes = attributes;
    return llvm::cantFail(
        parseParts(findKernelSignature(name)->getParts(spec), spec));
  }
};

Tensor random(llvm::ArrayRef<int64_t> dims, unsigned seed) {
  return randomTensor(DType::F32, dims, seed);
}

std::vector<Case> getCases() {
  auto f32 = [](std::initializer_list<int64_t> dims) {
    return Tensor(DType::F32, dims);
  };
  Tensor counts(DType::F32, {2, 2, 3});
  for (int64_t i = 0; i < counts.size(); ++i)
    counts.set(i, static_cast<double>(i * 5 % 4));
  const Tensor x = random({2, 2, 9, 6}, 1), weight = random({2, 3, 6, 4}, 2);
  const Tensor swapped = random({2, 3, 4, 6}, 2), dy = random({2, 2, 9, 4}, 3);
  const AttributeMap transpose = {{"transpose_weight", true}};
  Tensor ids(DType::F32, {2, 2, 9}), send(DType::F32, {2, 2, 2, 3});
  for (int64_t i = 0; i < ids.size(); ++i)
    ids.set(i, static_cast<double>(i * 7 % 5));
  send.fill(1);
  std::vector<Case> cases = {
      {"mfGatherRows",
       {x, randomIndices({2, 2, 4}, 4, -1, 9)},
       {f32({2, 2, 4, 6})},
       {}},
      {"mfGatherRowsBackward",
       {random({2, 2, 4, 6}, 1), randomIndices({2, 2, 4}, 4, -1, 9)},
       {f32({2, 2, 9, 6})},
       {}},
      {"aclnnMoeTokenPermute",
       {x, ids},
       {x, Tensor(DType::I32, {2, 2, 9})},
       {}},
      {"aclnnMoeTokenUnpermute",
       {x, randomIndices({2, 2, 9}, 4, -1, 9)},
       {x},
       {}},
      {"mfExchangeTokens",
       {x, send, send},
       {f32({2, 2, 10, 6})},
       {{"fill", 0.0}}},
      {"mfExchangeTokens",
       {x, send, send},
       {f32({2, 2, 10, 6})},
       {{"fill", 3.0}}}};
  for (const char *name : {"mfExpertMatmul", "aclnnGroupedMatmul"}) {
    cases.push_back({name, {x, weight, counts}, {dy}, {}});
    cases.push_back({name, {x, swapped, counts}, {dy}, transpose});
  }
  for (const char *name :
       {"mfExpertMatmulWeightGrad", "mfGroupedMatmulWeightGrad"})
    cases.push_back({name, {x, dy, counts}, {weight}, {}});
  return cases;
}

TEST(ExpertPartsTest, HalvesOfWhatMayBeCutMakeTheWhole) {
  for (const Case &one : getCases()) {
    const KernelParts parts = one.getParts();
    const std::vector<Tensor> whole =
        runKernel(one.name, one.inputs, one.outputs, one.attributes);
    std::vector<PartDim> tried;
    for (const PartOperand &operand : parts.inputs)
      for (const PartDim &cut : operand.dims) {
        if (!cut.mayBeCut() || llvm::is_contained(tried, cut))
          continue;
        tried.push_back(cut);
        std::vector<Tensor> halves[2];
        for (int64_t half : {0, 1}) {
          std::vector<Tensor> inputs, outputs;
          for (auto [tensor, part] : llvm::zip_equal(one.inputs, parts.inputs))
            inputs.push_back(takeHalf(tensor, part, cut, half));
          for (auto [tensor, part] :
               llvm::zip_equal(one.outputs, parts.outputs))
            outputs.push_back(takeHalf(tensor, part, cut, half));
          halves[half] = runKernel(one.name, inputs, outputs, one.attributes);
        }
        for (size_t i = 0; i < whole.size(); ++i)
          if (llvm::is_contained(parts.outputs[i].dims, cut)) {
            for (int64_t half : {0, 1})
              expectNear(
                  halves[half][i],
                  takeHalf(whole[i], parts.outputs[i], cut, half).toVector());
          } else {
            expectNear(whole[i], add(halves[0][i], halves[1][i]));
          }
      }
    EXPECT_GE(tried.size(), 2u) << one.name;
  }
}

TEST(ExpertPartsTest, SummandsMakeTheSum) {
  for (const Case &one : getCases()) {
    const KernelParts parts = one.getParts();
    const std::vector<Tensor> whole =
        runKernel(one.name, one.inputs, one.outputs, one.attributes);
    for (size_t operand = 0; operand < one.inputs.size(); ++operand) {
      if (parts.inputs[operand].linearity == PartLinearity::None)
        continue;
      std::vector<Tensor> first = one.inputs, second = one.inputs;
      first[operand] = random(one.inputs[operand].shape.dims, 11);
      for (int64_t i = 0; i < first[operand].size(); ++i)
        second[operand].set(i,
                            one.inputs[operand].get(i) - first[operand].get(i));
      expectNear(
          whole[0],
          add(runKernel(one.name, first, one.outputs, one.attributes)[0],
              runKernel(one.name, second, one.outputs, one.attributes)[0]),
          4);
    }
  }
}

TEST(ExpertPartsTest, WhatIsNotLinearMayNotBeASummand) {
  std::vector<std::string> linear;
  for (const Case &one : getCases())
    for (const PartOperand &operand : one.getParts().inputs)
      if (operand.linearity != PartLinearity::None)
        linear.push_back(one.name);
  // Sorting has an output that is none of its tokens'; a fill is added once.
  EXPECT_EQ(llvm::count(linear, "aclnnMoeTokenPermute"), 0);
  EXPECT_EQ(llvm::count(linear, "mfExchangeTokens"), 1);
  EXPECT_EQ(llvm::count(linear, "aclnnGroupedMatmul"), 4);
}

} // namespace
