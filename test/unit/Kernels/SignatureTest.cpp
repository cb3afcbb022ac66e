//===- SignatureTest.cpp - Kernels behave as their signatures say ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleSpecs.h"
#include "KernelTesting.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <string>

using namespace mf;
using namespace mf::testing;
using ::testing::HasSubstr;

namespace {

/// Bytes that are poison as any type; no byte is the same in both.
constexpr unsigned char poisons[] = {0x7f, 0xfe};

class LieFinder {
public:
  LieFinder(const KernelSignature &signature, const KernelSpec &spec)
      : signature(signature), spec(spec),
        kernel(llvm::cantFail(makeKernel(spec))), pool(2) {
    unsigned seed = 1;
    for (size_t i = 0; i < spec.inputs.size(); ++i)
      inputs.push_back(makeInput(spec, i, ++seed));
    // A flag that is raised would hide what AdamW does.
    if (spec.name == "aclnnApplyAdamWV2" && inputs.size() >= 4)
      inputs[3].fill(0);
  }

  std::string find();

private:
  /// Runs on copies of the inputs; output i lies in the memory of input
  /// `places[i]` or, if that is -1, in `outputs[i]`.
  Tensors run(Tensors outputs, llvm::ArrayRef<int> places,
              unsigned char poison);
  Tensors runApart(Tensors outputs, unsigned char poison) {
    return run(std::move(outputs), std::vector<int>(spec.outputs.size(), -1),
               poison);
  }

  /// Outputs with values where they are read, else with poison.
  Tensors makeOutputs(unsigned seed, unsigned char poison) const;

  void checkIndependence();
  void checkReading();
  void checkSums(size_t output);
  void checkSharing();

  void report(const llvm::Twine &lie) {
    if (lies.empty())
      lies = (signature.name + ": " + lie).str();
  }

  const KernelSignature &signature;
  const KernelSpec &spec;
  std::unique_ptr<Kernel> kernel;
  ThreadPool pool;
  Tensors inputs;
  std::string lies;
};

void fillBytes(KernelTensor &tensor, unsigned char byte) {
  std::memset(tensor.data(), byte, tensor.shape.getBytes());
}

Tensors LieFinder::makeOutputs(unsigned seed, unsigned char poison) const {
  Tensors outputs;
  for (auto [index, shape] : llvm::enumerate(spec.outputs)) {
    KernelTensor output =
        randomTensor(shape.type, shape.dims, seed + index, 0.1);
    if (!readsMemory(signature.getOutput(index).access))
      fillBytes(output, poison);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Tensors LieFinder::run(Tensors outputs, llvm::ArrayRef<int> places,
                       unsigned char poison) {
  Tensors sources = inputs;
  std::vector<void *> from, to;
  for (KernelTensor &source : sources)
    from.push_back(source.data());
  for (auto [output, place] : llvm::zip_equal(outputs, places))
    to.push_back(place < 0 ? output.data() : sources[place].data());
  KernelTensor workspace = makeWorkspace(spec);
  fillBytes(workspace, poison);
  kernel->run({from, to, workspace.data()}, pool);

  for (auto [output, place] : llvm::zip_equal(outputs, places))
    if (place >= 0)
      output = sources[place];
  for (size_t i = 0; i < sources.size(); ++i)
    if (!llvm::is_contained(places, static_cast<int>(i)) &&
        !(sources[i] == inputs[i]))
      report("writes to input " + llvm::Twine(i));
  for (const KernelTensor &output : outputs)
    if (!output.canaryIsWhole())
      report("writes behind an output");
  if (!workspace.canaryIsWhole())
    report("writes behind its workspace");
  return outputs;
}

/// Checks that results do not depend on the former contents of the workspace
/// and of outputs that are not read.
void LieFinder::checkIndependence() {
  Tensors first = runApart(makeOutputs(90, poisons[0]), poisons[0]);
  Tensors second = runApart(makeOutputs(90, poisons[1]), poisons[1]);
  for (size_t i = 0; i < first.size(); ++i)
    if (!(first[i] == second[i]))
      report("output " + llvm::Twine(i) +
             " depends on what its memory or the workspace held before, or is "
             "not written whole");
}

void LieFinder::checkReading() {
  Tensors before = makeOutputs(90, poisons[0]);
  Tensors others = makeOutputs(190, poisons[0]);
  const Tensors results = runApart(before, poisons[0]);
  for (size_t i = 0; i < before.size(); ++i) {
    const Access access = signature.getOutput(i).access;
    if (!readsMemory(access))
      continue;
    Tensors changed = before;
    changed[i] = others[i];
    if (runApart(changed, poisons[0])[i] == results[i])
      report("output " + llvm::Twine(i) +
             " does not depend on what its memory held before");
    if (access == Access::Accumulated)
      checkSums(i);
  }
}

void LieFinder::checkSums(size_t output) {
  Tensors before = makeOutputs(90, poisons[0]);
  const KernelTensor sum = runApart(before, poisons[0])[output];
  Tensors zeros = before;
  zeros[output].fill(0);
  const KernelTensor added = runApart(zeros, poisons[0])[output];
  for (int64_t i = 0; i < sum.size(); ++i) {
    const double expected = before[output].get(i) + added.get(i);
    if (std::abs(sum.get(i) - expected) > 0.01 * (1 + std::abs(expected)))
      return report("output " + llvm::Twine(output) +
                    " is not what it held before plus something");
  }
}

/// Each input that may lie where an output does, and all of them at once.
void LieFinder::checkSharing() {
  const Tensors apart = runApart(makeOutputs(90, poisons[0]), poisons[0]);
  for (size_t output = 0; output < spec.outputs.size(); ++output)
    for (size_t input = 0; input < spec.inputs.size(); ++input) {
      if (!signature.mayShareMemory(output, input) ||
          spec.outputs[output] != spec.inputs[input])
        continue;
      std::vector<int> places(spec.outputs.size(), -1);
      places[output] = static_cast<int>(input);
      if (!(run(makeOutputs(90, poisons[0]), places, poisons[0])[output] ==
            apart[output]))
        report("output " + llvm::Twine(output) +
               " has other bits in the memory of input " + llvm::Twine(input));
    }
}

std::string LieFinder::find() {
  checkIndependence();
  checkReading();
  checkSharing();
  return lies;
}

/// Runs the kernel of `spec` on memory with different contents before, and on
/// memory that `signature` lets it share. Says what is not as the signature
/// says, or nothing:
/// - inputs keep their bytes, and nothing behind an operand or the workspace is
///   written;
/// - outputs depend on their own bytes before if and only if they are read, on
///   those of the workspace never;
/// - what is accumulated is what was there plus what is added to zeros;
/// - an output in the place of an input has the bits of one of its own.
std::string findLie(const KernelSignature &signature, const KernelSpec &spec) {
  return LieFinder(signature, spec).find();
}

const KernelSpec &getExample(llvm::StringRef name) {
  static const std::vector<KernelSpec> specs = getExampleSpecs();
  return *llvm::find_if(
      specs, [&](const KernelSpec &spec) { return spec.name == name; });
}

TEST(SignatureTest, EveryKernelHasAnExampleAndIsMade) {
  llvm::StringSet<> names;
  for (const KernelSpec &spec : getExampleSpecs()) {
    names.insert(spec.name);
    llvm::Expected<std::unique_ptr<Kernel>> kernel = makeKernel(spec);
    EXPECT_TRUE(static_cast<bool>(kernel))
        << llvm::toString(kernel.takeError());
  }
  for (const KernelSignature &signature : getKernelSignatures())
    EXPECT_TRUE(names.contains(signature.name)) << signature.name.str();
}

TEST(SignatureTest, KernelsDoWhatTheirSignaturesSay) {
  for (const KernelSpec &spec : getExampleSpecs())
    EXPECT_EQ(findLie(*findKernelSignature(spec.name), spec), "");
}

/// Wherever there can be a workspace, an example needs one.
TEST(SignatureTest, WorkspacesAreTried) {
  llvm::StringSet<> tried;
  for (const KernelSpec &spec : getExampleSpecs())
    if (findKernelSignature(spec.name)->getWorkspaceBytes(spec) > 0)
      tried.insert(spec.name);
  for (const KernelSignature &signature : getKernelSignatures())
    EXPECT_EQ(tried.contains(signature.name), signature.mayNeedWorkspace())
        << signature.name.str();
}

TEST(SignatureTest, ALieAboutAnAccessIsFound) {
  auto findWrongAccess = [](llvm::StringRef name, size_t output,
                            Access access) {
    KernelSignature signature = *findKernelSignature(name);
    std::vector<OperandSignature> outputs = signature.outputs;
    outputs[output].access = access;
    signature.outputs = outputs;
    return findLie(signature, getExample(name));
  };
  EXPECT_THAT(findWrongAccess("aclnnInplaceAdd", 0, Access::Out),
              HasSubstr("aclnnInplaceAdd: output 0 depends on what its memory "
                        "or the workspace held before"));
  EXPECT_THAT(findWrongAccess("aclnnApplyAdamWV2", 2, Access::Out),
              HasSubstr("depends on what its memory"));
  EXPECT_THAT(findWrongAccess("aclnnNeg", 0, Access::Updated),
              HasSubstr("output 0 does not depend on what its memory held"));
  EXPECT_THAT(findWrongAccess("aclnnForeachMulScalar", 0, Access::Accumulated),
              HasSubstr("is not what it held before plus something"));
}

TEST(SignatureTest, ALieAboutSharingIsFound) {
  auto findWrongSharing = [](const KernelSpec &spec) {
    KernelSignature signature = *findKernelSignature(spec.name);
    std::vector<OperandSignature> outputs = signature.outputs;
    outputs[0].sharedInputs = 1;
    signature.outputs = outputs;
    return findLie(signature, spec);
  };
  const TensorShape x{DType::F32, {8, 8}};
  EXPECT_EQ(
      findWrongSharing({"aclnnPermute", {x}, {x}, {{"perm", Ints{1, 0}}}}),
      "aclnnPermute: output 0 has other bits in the memory of input 0");
  const TensorShape y{DType::F32, {300, 300}};
  EXPECT_THAT(findWrongSharing({"aclnnMatmul", {y, y}, {y}, {}}),
              HasSubstr("aclnnMatmul: output 0 has other bits"));
}

/// By name, in a test of its own beside what all kernels are tried with here.
TEST(SignatureTest, EveryKernelHasATest) {
  llvm::SmallString<128> folder(MF_TEST_DATA);
  llvm::sys::path::append(folder, "..", "unit", "Kernels");
  std::string tests;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(folder, error), end;
       file != end && !error; file.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(file->path());
    if (!name.ends_with("Test.cpp") || name == "SignatureTest.cpp")
      continue;
    auto text = llvm::MemoryBuffer::getFile(file->path());
    ASSERT_TRUE(static_cast<bool>(text)) << file->path();
    tests += (*text)->getBuffer();
  }
  ASSERT_FALSE(error) << error.message();
  for (const KernelSignature &signature : getKernelSignatures())
    EXPECT_THAT(tests, HasSubstr("\"" + signature.name.str() + "\""));
}

TEST(SignatureTest, EveryKernelIsOfAKind) {
  llvm::StringSet<> used;
  for (const KernelSignature &signature : getKernelSignatures()) {
    EXPECT_TRUE(llvm::is_contained(getKernelKinds(), signature.kind))
        << signature.name.str() << " " << signature.kind.str();
    used.insert(signature.kind);
  }
  for (llvm::StringRef kind : getKernelKinds())
    EXPECT_TRUE(used.contains(kind)) << kind.str();
}

TEST(SignatureTest, MeasuresArePositive) {
  for (const KernelSpec &spec : getExampleSpecs()) {
    const KernelSignature &signature = *findKernelSignature(spec.name);
    for (const MeasureSignature &measure : signature.measures) {
      EXPECT_GT(measure.get(spec), 0) << spec.name << " " << measure.name.str();
      EXPECT_EQ(signature.getMeasure(spec, measure.name), measure.get(spec));
    }
    for (const char *name : {"flops", "full_flops", "bytes",
                             "largest_operand_bytes", "element_bytes"})
      EXPECT_TRUE(signature.getMeasure(spec, name)) << spec.name << " " << name;
    EXPECT_EQ(signature.getMeasure(spec, "flops"), signature.getFlops(spec));
    EXPECT_EQ(signature.getMeasure(spec, "bytes"), signature.getBytes(spec));
    EXPECT_EQ(signature.getMeasure(spec, "none"), std::nullopt);
  }
}

} // namespace
