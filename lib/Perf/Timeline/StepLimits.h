//===- StepLimits.h - Describes what limits a step --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_STEPLIMITS_H
#define MF_LIB_PERF_TIMELINE_STEPLIMITS_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mf::timeline {

/// Returns the name of a kind of work (Activity::kind, CriticalShare::kind) for
/// users: "tensor-parallel communication" for "all_gather over mp", "attention
/// gradient" for "attention_grad".
std::string describeKind(llvm::StringRef kind);

/// Returns the shares of the critical path by describeKind, largest first.
std::vector<CriticalShare> getLimits(const StepTimeline &timeline);

/// Returns a sentence such as "the step is limited by matmul (61 %), ...,
/// others (4 %)". Empty if the critical path is not known.
std::string describeLimits(const StepTimeline &timeline);

/// The effect of an increase of one of the target's numbers on the step.
struct Gain {
  /// The path of the number, for example "networks.hccs.collective_share".
  std::string path;
  /// The relative change of the step's time if the number grows by 10 %. It is
  /// negative if the step becomes shorter.
  double change = 0;
};

/// Returns the relevant gains, largest first; none if the step's sensitivity is
/// not known.
std::vector<Gain> getGains(const StepTimeline &timeline);

/// Returns, for example, "10 % more of networks.hccs.collective_share: 1.8 %
/// faster".
std::string describe(const Gain &gain);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_STEPLIMITS_H
