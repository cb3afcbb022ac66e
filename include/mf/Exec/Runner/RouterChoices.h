//===- RouterChoices.h - Experts chosen by a scenario -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a program as if its routers chose the experts of a scenario, to study
// the effect of uneven choices on a step. A token's gates are its own scores of
// these experts, so that losses and gradients are those of a model that makes
// these choices.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RUNNER_ROUTERCHOICES_H
#define MF_EXEC_RUNNER_ROUTERCHOICES_H

#include "mf/Exec/Kernels/Kernel.h"
#include "mf/Perf/Simulator/TokenRouting.h"

namespace mf::runner {

/// The experts that a scenario chooses in each step.
class RouterChoices {
public:
  /// Fails if no kernel of the program chooses experts.
  static llvm::Expected<std::shared_ptr<RouterChoices>>
  create(simulator::RoutingScenario scenario, const program::Program &program);

  const simulator::RouterSize &getSize() const { return size; }

  /// Returns the kernel to run in place of `kernel`, which was made from
  /// `spec`. It is `kernel` itself if that chooses no experts. This object must
  /// outlive the returned kernel.
  std::unique_ptr<Kernel> replace(const KernelSpec &spec,
                                  std::unique_ptr<Kernel> kernel) const;

  /// Draws the choices of a step, counted from 0. Must not be called during a
  /// step.
  void startStep(int64_t step) { chosen = chooseExperts(scenario, size, step); }

  /// Returns the experts of a rank's tokens in this step, token after token.
  llvm::ArrayRef<int32_t> getChosen() const { return chosen; }

private:
  RouterChoices(simulator::RoutingScenario scenario,
                const simulator::RouterSize &size)
      : scenario(scenario), size(size) {}

  const simulator::RoutingScenario scenario;
  const simulator::RouterSize size;
  std::vector<int32_t> chosen;
};

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_ROUTERCHOICES_H
