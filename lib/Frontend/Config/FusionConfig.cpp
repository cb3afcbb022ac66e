//===- FusionConfig.cpp - Operators that a device fuses -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/FusionConfig.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

/// The model's activation, whose value fusedswiglu selects that fusion, too.
llvm::ArrayRef<FusionKeys> getFusionKeys() {
  static const FusionKeys all[] = {
      {&FusionConfig::rotary,
       "rotary",
       {"use_fused_rope", "apply_rope_fusion"},
       {},
       {}},
      {&FusionConfig::swiglu,
       "swiglu",
       {"use_fused_swiglu", "bias_swiglu_fusion"},
       {},
       {},
       FusionChoice{"hidden_act", "fusedswiglu", "swiglu"}},
      {&FusionConfig::groupMatmuls,
       "group_matmuls",
       {},
       {"moe_grouped_gemm", "use_gmm"},
       {"use_gmm"}},
      {&FusionConfig::permuteTokens,
       "permute_tokens",
       {},
       {"moe_permute_fusion"},
       {"use_fused_ops_permute"}},
      {&FusionConfig::route, "route", {}, {}, {"use_fused_ops_topkrouter"}}};
  return all;
}

namespace {

class FusionReader {
public:
  FusionReader(const TrainingConfig &config, bool isMcore,
               DiagnosticList &diagnostics)
      : model(config.model.config), moe(config.moe.node),
        numExperts(config.moe.expertNum), isMcore(isMcore),
        diagnostics(diagnostics) {}

  FusionConfig read();

private:
  /// Sets a switch to the value of the first of `keys` that `section` has.
  void readSwitch(const Node &section, llvm::ArrayRef<llvm::StringLiteral> keys,
                  FusionSwitch &fusion);
  /// Takes the name that says the same as a switch, and compares the two.
  void readChoice(const FusionChoice &choice, FusionSwitch &fusion);

  const Node &model, &moe;
  const int64_t numExperts;
  const bool isMcore;
  DiagnosticList &diagnostics;
};

} // namespace

void FusionReader::readSwitch(const Node &section,
                              llvm::ArrayRef<llvm::StringLiteral> keys,
                              FusionSwitch &fusion) {
  const auto *key = llvm::find_if(keys, [&](llvm::StringRef name) {
    return !section[name].isUndefinedOrNull();
  });
  if (key == keys.end())
    return;
  Node value = section[*key];
  fusion.key = *key;
  fusion.location = value.getLocation();
  if (std::optional<bool> flag = value.getBool())
    fusion.isOn = *flag;
  else
    diagnostics.error(value.getLocation(), "expected a bool for " +
                                               quote(*key) + ", but got " +
                                               value.repr(60));
}

/// The training graph can also request the fusion by the name of the
/// activation.
void FusionReader::readChoice(const FusionChoice &choice,
                              FusionSwitch &fusion) {
  Node value = model[choice.key];
  llvm::StringRef name = value.getText();
  if (name == choice.fused) {
    fusion.isOn = true;
    fusion.key = choice.key;
    fusion.location = value.getLocation();
  } else if (fusion.isOn && value && name != choice.plain) {
    diagnostics.warning(fusion.location,
                        quote(fusion.key) +
                            " is done, but MindSpore Transformers wants " +
                            choice.key + " " + choice.plain + " with it, not " +
                            value.repr(60));
  }
}

FusionConfig FusionReader::read() {
  FusionConfig fusions;
  for (const FusionKeys &keys : getFusionKeys()) {
    FusionSwitch &fusion = fusions.*keys.fusion;
    readSwitch(model, keys.model, fusion);
    if (isMcore)
      readSwitch(model, keys.mcoreModel, fusion);
    // The YAML of a dense model may contain the section, too.
    else if (numExperts > 1)
      readSwitch(moe, keys.classicExperts, fusion);
    if (isMcore && keys.mcoreChoice)
      readChoice(*keys.mcoreChoice, fusion);
  }
  return fusions;
}

FusionConfig readFusionConfig(const TrainingConfig &config, bool isMcore,
                              DiagnosticList &diagnostics) {
  return FusionReader(config, isMcore, diagnostics).read();
}

} // namespace mf
