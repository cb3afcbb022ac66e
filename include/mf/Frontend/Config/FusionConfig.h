//===- FusionConfig.h - Operators that a device fuses -----------*- C++ -*-===//
//
// The keys of model_config and moe_config that say which operators a device
// runs as one kernel. They change names, time and memory, not the result of a
// model.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_FUSIONCONFIG_H
#define MF_CONFIG_FUSIONCONFIG_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include <array>

namespace mf {

/// One kind of fusion, and the key that says so.
struct FusionSwitch {
  bool isOn = false;
  llvm::StringRef key = "";
  Location location; ///< of the key's value; unknown if the YAML lacks it
};

struct FusionConfig {
  FusionSwitch rotary; ///< rotary embedding
  FusionSwitch swiglu; ///< SiLU and its product
  /// The products of all experts, which are one unless the YAML says no.
  FusionSwitch groupMatmuls = {/*isOn=*/true, "", Location()};
  FusionSwitch permuteTokens; ///< sorting tokens by expert
  FusionSwitch route;         ///< the places of tokens in their experts

  std::array<const FusionSwitch *, 5> getAll() const {
    return {&rotary, &swiglu, &groupMatmuls, &permuteTokens, &route};
  }
};

/// The fusions that a YAML asks for. Layer classes of the mcore training graph
/// (`isMcore`) read model_config alone, classic ones have experts in
/// moe_config.
FusionConfig readFusionConfig(const TrainingConfig &config, bool isMcore,
                              DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_FUSIONCONFIG_H
