//===- PartsTest.cpp - Kernels make of parts what their records say -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each example runs on the whole and on parts of it, cut in every dimension
// that its line allows, and on summands of the operands in which its line
// claims that it is linear. The results for parts, put together by the line,
// equal the result for the whole: to the bit if the kernel is told where its
// part begins.
//
//===----------------------------------------------------------------------===//

#include "ExampleSpecs.h"
#include "KernelTesting.h"
#include "mf/Program/Signatures/KernelParts.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <numeric>

using namespace mf;
using namespace mf::testing;
using ::testing::HasSubstr;

namespace {

Tensors runOnce(const KernelSpec &spec, Tensors inputs, Tensors outputs) {
  KernelSpec local = spec;
  for (auto [shape, tensor] : llvm::zip_equal(local.inputs, inputs))
    shape = tensor.shape;
  for (auto [shape, tensor] : llvm::zip_equal(local.outputs, outputs))
    shape = tensor.shape;
  std::unique_ptr<Kernel> kernel = llvm::cantFail(makeKernel(local));
  std::vector<void *> from, to;
  for (KernelTensor &input : inputs)
    from.push_back(input.data());
  for (KernelTensor &output : outputs)
    to.push_back(output.data());
  KernelTensor workspace = makeWorkspace(local);
  ThreadPool pool(1);
  kernel->run({from, to, workspace.data()}, pool);
  return outputs;
}

/// Where an operand has a dimension.
struct DimPlace {
  /// The dimension of the operand's shape.
  size_t dim = 0;
  /// How often it has it there: once for each element of an outer dimension
  /// that is one with it.
  int64_t blocks = 1;
  int64_t extent = 1;
};

/// One of `parts` parts along a dimension.
KernelTensor takePart(const KernelTensor &whole, const DimPlace &place,
                      int64_t part, int64_t parts) {
  const size_t dim = place.dim;
  Ints dims(whole.shape.dims.begin(), whole.shape.dims.end());
  dims[dim] /= parts;
  KernelTensor result(whole.shape.type, dims);
  if (whole.shape.type == DType::I1) {
    int64_t below = 1;
    for (size_t i = dim; i < dims.size(); ++i)
      below *= dims[i];
    below /= place.blocks;
    for (int64_t i = 0; i < result.size(); ++i)
      result.set(i, whole.get((i / below * parts + part) * below + i % below));
    return result;
  }
  size_t row = getBytes(whole.shape.type);
  for (size_t i = dim; i < dims.size(); ++i)
    row *= dims[i];
  row /= place.blocks;
  const auto *from = static_cast<const char *>(whole.data());
  auto *to = static_cast<char *>(result.data());
  for (size_t i = 0, count = result.shape.getBytes() / row; i < count; ++i)
    std::memcpy(to + i * row, from + (i * parts + part) * row, row);
  return result;
}

class PartsChecker {
public:
  PartsChecker(const KernelSpec &spec, llvm::StringRef line)
      : spec(spec), signature(*findKernelSignature(spec.name)), line(line),
        parts(llvm::cantFail(parseParts(line, spec))) {
    unsigned seed = 1;
    for (size_t number = 0; number < spec.inputs.size(); ++number) {
      inputs.push_back(makeInput(spec, number, ++seed));
      if (!parts.inputs[number].firstIndexOf.empty())
        inputs.back().fill(0);
    }
    for (const TensorShape &shape : spec.outputs)
      before.push_back(randomTensor(shape.type, shape.dims, ++seed, 0.1));
    whole = runOnce(spec, inputs, before);
  }

  /// The number of cuts and of sums that were compared.
  int checkCuts();
  int checkSums();
  /// The first thing that contradicts the line, or nothing.
  const std::string &getLie() const { return lie; }

private:
  /// Where an operand has the dimension, or none. One that is repeated for all
  /// of it has it not.
  std::optional<DimPlace> findDim(const PartOperand &operand,
                                  const TensorShape &shape,
                                  const PartDim &dim) const;
  std::vector<PartDim> listDims() const;
  /// The size in an operand that has it.
  int64_t getExtent(const PartDim &dim) const;
  /// Whether an output is a sum over ranks with what it held before.
  bool isAddedTo(size_t output) const;
  /// The same for all operands, or 1 if they cannot be cut alike.
  int64_t countParts(const PartDim &dim) const;
  bool checkCut(const PartDim &dim);
  Tensors runPart(const PartDim &dim, int64_t part, int64_t count);
  void compareOutput(size_t number, const PartDim &dim,
                     const std::vector<Tensors> &results);
  void checkSum(llvm::ArrayRef<size_t> summed);
  /// Whether the kernel is told where its part along the dimension begins.
  bool isTold(const PartDim &dim) const;
  void compare(const KernelTensor &actual, const KernelTensor &expected,
               const std::string &what, bool hasSameBits = false);

  const KernelSpec &spec;
  const KernelSignature &signature;
  std::string line;
  KernelParts parts;
  Tensors inputs, before, whole;
  std::string lie;
};

void PartsChecker::compare(const KernelTensor &actual,
                           const KernelTensor &expected,
                           const std::string &what, bool hasSameBits) {
  // Parts and summands are rounded on their way.
  auto isNarrow = [](const TensorShape &shape) {
    return shape.type == DType::BF16 || shape.type == DType::F16;
  };
  const double tolerance = hasSameBits || expected.shape.type == DType::I32 ? 0
                           : llvm::any_of(spec.inputs, isNarrow) ||
                                   llvm::any_of(spec.outputs, isNarrow)
                               ? 0.04
                               : 1e-3;
  for (int64_t i = 0; i < actual.size() && lie.empty(); ++i) {
    const double got = actual.get(i), wanted = expected.get(i);
    if (got == wanted || (std::isnan(got) && std::isnan(wanted)))
      continue;
    if (!(std::abs(got - wanted) <= tolerance * (1 + std::abs(wanted))))
      lie = spec.name + ": " + line + ": " + what + " has " +
            std::to_string(got) + ", but the whole has " +
            std::to_string(wanted);
  }
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

std::optional<DimPlace> PartsChecker::findDim(const PartOperand &operand,
                                              const TensorShape &shape,
                                              const PartDim &dim) const {
  for (auto [number, own] : llvm::enumerate(operand.dims)) {
    const int64_t outer = shape.dims[number] / own.innerExtent;
    if (!dim.isLeading && own.inner == dim.letter)
      return DimPlace{number, outer, own.innerExtent};
    const bool isRepeated = dim.isLeading && outer == 1;
    if (own == dim && !isRepeated)
      return DimPlace{number, 1, outer};
  }
  return std::nullopt;
}

std::vector<PartDim> PartsChecker::listDims() const {
  std::vector<PartDim> dims;
  for (const auto *operands : {&parts.inputs, &parts.outputs})
    for (const PartOperand &operand : *operands)
      for (const PartDim &dim : operand.dims)
        for (const PartDim &each : {dim, PartDim{dim.inner, false}})
          if (each.mayBeCut() && !llvm::is_contained(dims, each))
            dims.push_back(each);
  return dims;
}

int64_t PartsChecker::getExtent(const PartDim &dim) const {
  for (auto [operand, shape] : llvm::zip_equal(parts.inputs, spec.inputs))
    if (std::optional<DimPlace> place = findDim(operand, shape, dim))
      return place->extent;
  for (auto [operand, shape] : llvm::zip_equal(parts.outputs, spec.outputs))
    if (std::optional<DimPlace> place = findDim(operand, shape, dim))
      return place->extent;
  return 1;
}

bool PartsChecker::isAddedTo(size_t output) const {
  return readsMemory(signature.getOutput(output).access) &&
         parts.outputs[output].linearity == Linearity::Together;
}

int64_t PartsChecker::countParts(const PartDim &dim) const {
  int64_t common = 0;
  auto add = [&](llvm::ArrayRef<PartOperand> operands,
                 llvm::ArrayRef<TensorShape> shapes) {
    for (auto [operand, shape] : llvm::zip_equal(operands, shapes))
      if (std::optional<DimPlace> place = findDim(operand, shape, dim))
        common = std::gcd(common, place->extent);
  };
  add(parts.inputs, spec.inputs);
  add(parts.outputs, spec.outputs);
  for (int64_t count = 2; count <= common; ++count)
    if (common % count == 0)
      return count;
  return 1;
}

bool PartsChecker::isTold(const PartDim &dim) const {
  return llvm::any_of(parts.inputs, [&](const PartOperand &operand) {
    return !dim.isLeading &&
           llvm::is_contained(operand.firstIndexOf, dim.letter);
  });
}

Tensors PartsChecker::runPart(const PartDim &dim, int64_t part, int64_t count) {
  Tensors from, to;
  for (auto [operand, input] : llvm::zip_equal(parts.inputs, inputs)) {
    std::optional<DimPlace> place = findDim(operand, input.shape, dim);
    from.push_back(place ? takePart(input, *place, part, count) : input);
    const std::string &letters = operand.firstIndexOf;
    const size_t cut =
        dim.isLeading ? std::string::npos : letters.find(dim.letter);
    if (cut != std::string::npos) {
      int64_t begin = part * getExtent(dim) / count;
      for (char inner : letters.substr(cut + 1))
        begin *= getExtent({inner, false});
      from.back().fill(static_cast<double>(begin));
    }
  }
  for (auto [number, output] : llvm::enumerate(before)) {
    std::optional<DimPlace> place =
        findDim(parts.outputs[number], output.shape, dim);
    to.push_back(place ? takePart(output, *place, part, count) : output);
    // The tensor that a sum is added to is a summand, too.
    if (!place && part > 0 && isAddedTo(number))
      to.back().fill(0);
  }
  return runOnce(spec, std::move(from), std::move(to));
}

void PartsChecker::compareOutput(size_t number, const PartDim &dim,
                                 const std::vector<Tensors> &results) {
  const PartOperand &operand = parts.outputs[number];
  const KernelTensor &expected = whole[number];
  const auto count = static_cast<int64_t>(results.size());
  if (std::optional<DimPlace> place = findDim(operand, expected.shape, dim)) {
    // Where ranks share blocks out, queries are added to keys in other groups.
    const bool hasSameBits =
        isTold(dim) &&
        (spec.name != "mfHybridAttentionPartGrad" || number == 0);
    for (int64_t part = 0; part < count; ++part)
      compare(results[part][number], takePart(expected, *place, part, count),
              "output " + std::to_string(number) + ", part " +
                  std::to_string(part),
              hasSameBits);
    return;
  }
  KernelTensor joined = expected;
  for (int64_t i = 0; i < joined.size(); ++i) {
    double sum = 0, largest = -INFINITY, squares = 0;
    for (const Tensors &result : results) {
      const double value = result[number].get(i);
      sum += value;
      largest = std::max(largest, value);
      squares += value * value;
    }
    joined.set(i, operand.reduction == PartReduction::Sum ? sum
                  : operand.reduction == PartReduction::Largest
                      ? largest
                      : std::sqrt(squares));
  }
  compare(joined, expected,
          "output " + std::to_string(number) + ", of all parts");
}

bool PartsChecker::checkCut(const PartDim &dim) {
  const int64_t count = countParts(dim);
  if (count == 1)
    return false;
  std::vector<Tensors> results;
  for (int64_t part = 0; part < count; ++part)
    results.push_back(runPart(dim, part, count));
  for (size_t number = 0; number < whole.size(); ++number)
    compareOutput(number, dim, results);
  return true;
}

int PartsChecker::checkCuts() {
  int cuts = 0;
  for (const PartDim &dim : listDims())
    cuts += checkCut(dim) ? 1 : 0;
  return cuts;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Checks that the kernel is linear in these inputs together.
void PartsChecker::checkSum(llvm::ArrayRef<size_t> summed) {
  Tensors first = inputs, second = inputs;
  for (size_t number : summed)
    for (int64_t i = 0; i < inputs[number].size(); ++i) {
      const double share = 0.25 * static_cast<double>(i % 7) - 0.5;
      first[number].set(i, share * inputs[number].get(i));
      second[number].set(i, inputs[number].get(i) - first[number].get(i));
    }
  const Tensors a = runOnce(spec, std::move(first), before);
  Tensors rest = before;
  for (size_t number = 0; number < rest.size(); ++number)
    if (isAddedTo(number))
      rest[number].fill(0);
  const Tensors b = runOnce(spec, std::move(second), rest);
  for (auto [number, expected] : llvm::enumerate(whole)) {
    KernelTensor sum = expected;
    for (int64_t i = 0; i < sum.size(); ++i)
      sum.set(i, a[number].get(i) + b[number].get(i));
    compare(sum, expected, "output " + std::to_string(number) + " of sums");
  }
}

int PartsChecker::checkSums() {
  std::vector<size_t> together;
  int sums = 0;
  for (auto [number, operand] : llvm::enumerate(parts.inputs)) {
    if (operand.linearity == Linearity::Together)
      together.push_back(number);
    if (operand.linearity == Linearity::Alone) {
      checkSum({number});
      ++sums;
    }
  }
  if (together.empty())
    return sums;
  checkSum(together);
  return sums + 1;
}

//===----------------------------------------------------------------------===//
// All examples
//===----------------------------------------------------------------------===//

std::string getLine(const KernelSpec &spec) {
  return findKernelSignature(spec.name)->getParts(spec);
}

TEST(PartsTest, CutsMakeParts) {
  int cuts = 0;
  for (const KernelSpec &spec : getExampleSpecs()) {
    // Attributes with the sizes of what is cut; a part of a part.
    if (spec.attributes.count("sizes") || spec.attributes.count("steps") ||
        spec.name == "mfOwnPart")
      continue;
    PartsChecker checker(spec, getLine(spec));
    cuts += checker.checkCuts();
    EXPECT_EQ(checker.getLie(), "");
  }
  EXPECT_GT(cuts, 100);
}

TEST(PartsTest, SumsMakeSums) {
  int sums = 0;
  for (const KernelSpec &spec : getExampleSpecs()) {
    PartsChecker checker(spec, getLine(spec));
    sums += checker.checkSums();
    EXPECT_EQ(checker.getLie(), "");
  }
  EXPECT_GT(sums, 30);
}

/// The operator's own rule lets ranks have parts of the width, because each of
/// them then finds the same places.
TEST(PartsTest, PlacesOfRowsDoNotDependOnTheWidth) {
  const TensorShape tokens{DType::F32, {2, 6, 4}}, keys{DType::F32, {2, 6}};
  const TensorShape places{DType::I32, {2, 6}};
  const KernelSpec spec{
      "aclnnMoeTokenPermute", {tokens, keys}, {tokens, places}, {}};
  PartsChecker checker(spec, "*Th, *T -> *Th, >*T");
  EXPECT_EQ(checker.checkCuts(), 2);
  EXPECT_EQ(checker.getLie(), "");
}

TEST(PartsTest, ALieAboutPartsIsFound) {
  auto findLie = [](const KernelSpec &spec, llvm::StringRef line) {
    PartsChecker checker(spec, line);
    checker.checkCuts();
    checker.checkSums();
    return checker.getLie();
  };
  const TensorShape x{DType::F32, {4, 6}}, row{DType::F32, {6}};
  const TensorShape rows{DType::F32, {4}};
  const AttributeMap axis = {{"axis", int64_t{1}}};
  EXPECT_EQ(findLie({"aclnnSilu", {x}, {x}, {}}, "* -> *"), "");
  EXPECT_THAT(findLie({"aclnnSilu", {x}, {x}, {}}, "+* -> *"),
              HasSubstr("aclnnSilu: +* -> *: output 0 of sums has"));
  EXPECT_THAT(findLie({"aclnnSoftmax", {x}, {x}, {}}, "*k -> *k"),
              HasSubstr("output 0, part 0 has"));
  EXPECT_EQ(findLie({"aclnnCumsum", {x}, {x}, axis}, "+aB -> aB"), "");
  EXPECT_THAT(findLie({"aclnnCumsum", {x}, {x}, axis}, "+ab -> ab"),
              HasSubstr("output 0, part 1 has"));
  EXPECT_EQ(findLie({"mfRowMax", {x}, {rows}, {}}, "*c -> >*"), "");
  EXPECT_THAT(findLie({"mfRowMax", {x}, {rows}, {}}, "*c -> *"),
              HasSubstr("output 0, of all parts has"));
  EXPECT_THAT(findLie({"aclnnMul", {x, row}, {x}, {}}, "+*, +* -> *"),
              HasSubstr("of sums has"));
}

} // namespace
