//===- RouterChoices.cpp - Experts chosen by a scenario -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/RouterChoices.h"
#include <cstring>

using mf::simulator::RouterSize;

namespace mf::runner {

/// Returns the sizes if a kernel chooses the largest of a token's scores: those
/// of experts, or of groups of them.
static std::optional<RouterSize> getChoice(const KernelSpec &spec) {
  if (spec.name != "aclnnTopk" || spec.inputs.front().dims.size() < 2)
    return std::nullopt;
  const TensorShape &scores = spec.inputs.front();
  return RouterSize{scores.dims.back(), spec.outputs.back().dims.back(),
                    scores.dims.end()[-2]};
}

namespace {

/// Gives each token its drawn experts, and the scores of these.
class DrawnTopk : public Kernel {
public:
  DrawnTopk(const KernelSpec &spec, const RouterSize &size,
            const RouterChoices &choices)
      : size(size), choices(choices),
        bytes(mf::getBytes(spec.inputs.front().type)),
        numTokens(spec.inputs.front().getNumElements() / size.experts) {}

  void run(const KernelOperands &operands, ThreadPool &) const override {
    const auto *scores = static_cast<const uint8_t *>(operands.inputs[0]);
    auto *values = static_cast<uint8_t *>(operands.outputs[0]);
    auto *indices = static_cast<int32_t *>(operands.outputs[1]);
    const llvm::ArrayRef<int32_t> chosen = choices.getChosen();
    for (int64_t token = 0; token < numTokens; ++token) {
      // All rows of tokens have the same choices.
      const int64_t drawn = token % size.tokens * size.choices;
      for (int64_t choice = 0; choice < size.choices; ++choice) {
        const int32_t expert = chosen[drawn + choice];
        *indices++ = expert;
        std::memcpy(values, scores + (token * size.experts + expert) * bytes,
                    bytes);
        values += bytes;
      }
    }
  }

private:
  const RouterSize size;
  const RouterChoices &choices;
  const int64_t bytes, numTokens;
};

} // namespace

llvm::Expected<std::shared_ptr<RouterChoices>>
RouterChoices::create(simulator::RoutingScenario scenario,
                      const program::Program &program) {
  // Groups of experts are fewer than the experts.
  std::optional<RouterSize> largest;
  for (const program::LaunchedKernel &kernel : program.kernels)
    if (std::optional<RouterSize> found = getChoice(kernel.spec);
        found && (!largest || found->experts > largest->experts))
      largest = found;
  if (!largest)
    return llvm::createStringError(
        "the program has no router: expected layers with several experts");
  return std::shared_ptr<RouterChoices>(new RouterChoices(scenario, *largest));
}

std::unique_ptr<Kernel>
RouterChoices::replace(const KernelSpec &spec,
                       std::unique_ptr<Kernel> kernel) const {
  const std::optional<RouterSize> found = getChoice(spec);
  if (!found || found->experts != size.experts ||
      found->choices != size.choices || found->tokens != size.tokens)
    return kernel;
  return std::make_unique<DrawnTopk>(spec, size, *this);
}

} // namespace mf::runner
