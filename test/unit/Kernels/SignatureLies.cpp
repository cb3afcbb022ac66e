//===- SignatureLies.cpp - Signatures against what kernels do -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SignatureLies.h"
#include "KernelTesting.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>

namespace mf::testing {
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
  std::vector<KernelTensor> run(std::vector<KernelTensor> outputs,
                                llvm::ArrayRef<int> places,
                                unsigned char poison);
  std::vector<KernelTensor> runApart(std::vector<KernelTensor> outputs,
                                     unsigned char poison) {
    return run(std::move(outputs), std::vector<int>(spec.outputs.size(), -1),
               poison);
  }

  /// Outputs with values where they are read, else with poison.
  std::vector<KernelTensor> makeOutputs(unsigned seed,
                                        unsigned char poison) const;

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
  std::vector<KernelTensor> inputs;
  std::string lies;
};

void fillBytes(KernelTensor &tensor, unsigned char byte) {
  std::memset(tensor.data(), byte, tensor.shape.getBytes());
}

std::vector<KernelTensor> LieFinder::makeOutputs(unsigned seed,
                                                 unsigned char poison) const {
  std::vector<KernelTensor> outputs;
  for (auto [index, shape] : llvm::enumerate(spec.outputs)) {
    KernelTensor output =
        randomTensor(shape.type, shape.dims, seed + index, 0.1);
    if (!readsMemory(signature.getOutput(index).access))
      fillBytes(output, poison);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

std::vector<KernelTensor> LieFinder::run(std::vector<KernelTensor> outputs,
                                         llvm::ArrayRef<int> places,
                                         unsigned char poison) {
  std::vector<KernelTensor> sources = inputs;
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
  std::vector<KernelTensor> first =
      runApart(makeOutputs(90, poisons[0]), poisons[0]);
  std::vector<KernelTensor> second =
      runApart(makeOutputs(90, poisons[1]), poisons[1]);
  for (size_t i = 0; i < first.size(); ++i)
    if (!(first[i] == second[i]))
      report("output " + llvm::Twine(i) +
             " depends on what its memory or the workspace held before, or is "
             "not written whole");
}

void LieFinder::checkReading() {
  std::vector<KernelTensor> before = makeOutputs(90, poisons[0]);
  std::vector<KernelTensor> others = makeOutputs(190, poisons[0]);
  const std::vector<KernelTensor> results = runApart(before, poisons[0]);
  for (size_t i = 0; i < before.size(); ++i) {
    const Access access = signature.getOutput(i).access;
    if (!readsMemory(access))
      continue;
    std::vector<KernelTensor> changed = before;
    changed[i] = others[i];
    if (runApart(changed, poisons[0])[i] == results[i])
      report("output " + llvm::Twine(i) +
             " does not depend on what its memory held before");
    if (access == Access::Accumulated)
      checkSums(i);
  }
}

void LieFinder::checkSums(size_t output) {
  std::vector<KernelTensor> before = makeOutputs(90, poisons[0]);
  const KernelTensor sum = runApart(before, poisons[0])[output];
  std::vector<KernelTensor> zeros = before;
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
  const std::vector<KernelTensor> apart =
      runApart(makeOutputs(90, poisons[0]), poisons[0]);
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

} // namespace

std::string findLie(const KernelSignature &signature, const KernelSpec &spec) {
  return LieFinder(signature, spec).find();
}

} // namespace mf::testing
