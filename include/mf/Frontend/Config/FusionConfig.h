//===- FusionConfig.h - Operators that a device fuses -----------*- C++ -*-===//
//
// The keys of model_config and moe_config that select operators which a device
// runs as one kernel. They affect names, time and memory, but not the result of
// a model.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_FUSIONCONFIG_H
#define MF_CONFIG_FUSIONCONFIG_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include <array>

namespace mf {

/// One kind of fusion, and the key that selects it.
struct FusionSwitch {
  bool isOn = false;
  llvm::StringRef key = "";
  Location location; ///< of the key's value; unknown if the YAML lacks it
};

struct FusionConfig {
  FusionSwitch rotary; ///< rotary embedding
  FusionSwitch swiglu; ///< SiLU and its product
  /// The products of all experts. They are one kernel unless the YAML disables
  /// it.
  FusionSwitch groupMatmuls = {/*isOn=*/true, "", Location()};
  FusionSwitch permuteTokens; ///< sorting tokens by expert
  FusionSwitch route;         ///< the places of tokens in their experts

  std::array<const FusionSwitch *, 5> getAll() const {
    return {&rotary, &swiglu, &groupMatmuls, &permuteTokens, &route};
  }
};

/// Returns the fusions that a YAML selects. Layer classes of the mcore training
/// graph (`isMcore`) read only model_config. Classic ones read those of experts
/// from moe_config.
FusionConfig readFusionConfig(const TrainingConfig &config, bool isMcore,
                              DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_FUSIONCONFIG_H
