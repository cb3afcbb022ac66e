//===- SignatureTest.cpp - Kernels behave as their signatures say ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleSpecs.h"
#include "KernelTesting.h"
#include "SignatureLies.h"
#include "mf/Program/Signatures/KernelParts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;
using ::testing::HasSubstr;

namespace {

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
      findWrongSharing(
          {"aclnnPermute", {x}, {x}, {{"perm", std::vector<int64_t>{1, 0}}}}),
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

TEST(SignatureTest, EveryKernelSaysWhatItMakesOfParts) {
  for (const KernelSpec &spec : getExampleSpecs()) {
    const std::string line = findKernelSignature(spec.name)->getParts(spec);
    llvm::Expected<KernelParts> parts = parseParts(line, spec);
    ASSERT_TRUE(static_cast<bool>(parts))
        << spec.name << ": " << llvm::toString(parts.takeError());
    EXPECT_EQ(parts->inputs.size(), spec.inputs.size()) << spec.name;
    EXPECT_EQ(parts->outputs.size(), spec.outputs.size()) << spec.name;
  }
}

} // namespace
