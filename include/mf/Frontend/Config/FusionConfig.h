//===- FusionConfig.h - Operators that a device fuses -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The keys of model_config and moe_config that select operators which a device
// runs as one kernel. They affect names, time and memory, but not the result of
// a model.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_FUSIONCONFIG_H
#define MF_FRONTEND_CONFIG_FUSIONCONFIG_H

#include "mf/Frontend/Config/ModelKeys.h"

namespace mf {

/// One kind of fusion, and the key that selects it.
struct FusionSwitch {
  bool isOn = false;
  llvm::StringRef key = "";
  Location location; ///< of the key's value; unknown if the YAML lacks it
};

/// The fusions that a YAML selects.
struct FusionConfig {
  FusionSwitch rotary; ///< rotary embedding
  FusionSwitch swiglu; ///< SiLU and its product
  /// The products of all experts. They are one kernel unless the YAML disables
  /// it.
  FusionSwitch groupMatmuls = {/*isOn=*/true, "", Location()};
  FusionSwitch permuteTokens;    ///< sorting tokens by expert
  FusionSwitch route;            ///< the places of tokens in their experts
  FusionSwitch hyperConnections; ///< the sites of residual streams
};

/// A key of model_config with the name of a function.
struct FusionChoice {
  const ModelKey &key;
  llvm::StringLiteral fused; ///< the name that turns the fusion on
  llvm::StringLiteral plain; ///< the name that goes with the fusion's switch
};

/// The keys that select a fusion: the only place that names them both for the
/// reader and for the places in the training attribute.
struct FusionKeys {
  FusionSwitch FusionConfig::*fusion;
  llvm::StringLiteral name; ///< of the parameter of #mf.fusions
  /// The key in model_config that all layer classes read, the key there that
  /// only layer classes of the mcore training graph read, and the key in
  /// moe_config for classic layers with experts.
  const ModelKey *model = nullptr, *mcoreModel = nullptr;
  llvm::StringRef classicExperts = "";
  /// The key of the mcore training graph that selects the fusion by the name of
  /// a function.
  std::optional<FusionChoice> mcoreChoice = std::nullopt;
};

/// Returns a record of each fusion, in the order of FusionConfig.
llvm::ArrayRef<FusionKeys> getFusionKeys();

/// Returns the fusions that a YAML selects. Layer classes of the mcore training
/// graph (`isMcore`) read only model_config. Classic ones read those of experts
/// from moe_config.
FusionConfig readFusionConfig(const TrainingConfig &config, bool isMcore,
                              DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_FUSIONCONFIG_H
