//===- NewtonSchulz.cpp - Nearly orthogonal matrices ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels one after another, whose bits do not depend on threads.
//
//===----------------------------------------------------------------------===//

#include "Factories.h"
#include "SpecChecker.h"
#include "mf/Program/Signatures/KernelSequence.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {
namespace {

class NewtonSchulzKernel : public Kernel {
public:
  struct Member {
    SequencedKernel place;
    std::unique_ptr<Kernel> kernel;
  };

  explicit NewtonSchulzKernel(std::vector<Member> members)
      : members(std::move(members)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    auto *workspace = static_cast<char *>(operands.workspace);
    auto find = [&](const SequencePlace &place) -> void * {
      switch (place.memory) {
      case SequencePlace::Memory::Input:
        return operands.inputs[0];
      case SequencePlace::Memory::Output:
        return operands.outputs[0];
      case SequencePlace::Memory::Workspace:
        return workspace + place.offset;
      }
      return nullptr;
    };
    for (const auto &[place, kernel] : members) {
      llvm::SmallVector<void *, 2> inputs;
      for (const SequencePlace &input : place.inputs)
        inputs.push_back(find(input));
      void *output = find(place.output);
      kernel->run({inputs, output, workspace + place.workspaceOffset}, pool);
    }
  }

private:
  std::vector<Member> members;
};

} // namespace

KernelOrError makeNewtonSchulz(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &matrices = spec.inputs[0];
  const size_t numbers = checker.getDoubles("coefficients").size();
  checker.require(matrices.dims.size() == 3 && (matrices.type == DType::BF16 ||
                                                matrices.type == DType::F16),
                  "input 0 is " + toString(matrices) +
                      ", expected experts x rows x columns in bf16 or f16");
  checker.require(numbers > 0 && numbers % 3 == 0,
                  "attribute 'coefficients' has " + llvm::Twine(numbers) +
                      " numbers, expected three for each iteration");
  checker.requireOutput(0, matrices);
  if (llvm::Error error = checker.takeError())
    return error;
  std::vector<NewtonSchulzKernel::Member> members;
  for (SequencedKernel &place : getNewtonSchulzSequence(spec)) {
    auto kernel = makeKernel(place.spec);
    if (!kernel)
      return kernel.takeError();
    members.push_back({std::move(place), std::move(*kernel)});
  }
  return std::make_unique<NewtonSchulzKernel>(std::move(members));
}

} // namespace mf
