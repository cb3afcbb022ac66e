//===- FusionConfig.cpp - Operators that a device fuses -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/FusionConfig.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

/// The model's activation, whose value fusedswiglu selects that fusion, too.
llvm::ArrayRef<FusionKeys> getFusionKeys() {
  static const FusionKeys all[] = {
      {&FusionConfig::rotary, "rotary", &keys::fusedRope},
      {&FusionConfig::swiglu, "swiglu", &keys::fusedSwiglu, nullptr, "",
       FusionChoice{keys::activation, "fusedswiglu", "swiglu"}},
      {&FusionConfig::groupMatmuls, "group_matmuls", nullptr,
       &keys::groupedProducts, known::expert::useGmm.name},
      {&FusionConfig::permuteTokens, "permute_tokens", nullptr,
       &keys::fusedPermute, "use_fused_ops_permute"},
      {&FusionConfig::route, "route", nullptr, nullptr,
       "use_fused_ops_topkrouter"},
      {&FusionConfig::hyperConnections, "hyper_connections",
       &keys::fusedStreams}};
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

  FusionConfig read() {
    FusionConfig fusions;
    for (const FusionKeys &keys : getFusionKeys()) {
      FusionSwitch &fusion = fusions.*keys.fusion;
      if (keys.model)
        readSwitch(model, keys.model->getAllNames(), fusion);
      if (isMcore && keys.mcoreModel)
        readSwitch(model, keys.mcoreModel->getNames(keys::Mcore), fusion);
      // The YAML of a dense model may contain the section, too.
      if (!isMcore && numExperts > 1 && !keys.classicExperts.empty())
        readSwitch(moe, keys.classicExperts, fusion);
      if (isMcore && keys.mcoreChoice)
        readChoice(*keys.mcoreChoice, fusion);
    }
    return fusions;
  }

private:
  /// Sets a switch to the value that `section` has for the first of `names`.
  void readSwitch(const Node &section, llvm::ArrayRef<llvm::StringRef> names,
                  FusionSwitch &fusion) {
    const llvm::StringRef key = findWritten(section, names);
    Node value = section[key];
    if (value.isUndefinedOrNull())
      return;
    fusion.key = key;
    fusion.location = value.getLocation();
    if (std::optional<bool> flag = value.getBool())
      fusion.isOn = *flag;
    else
      diagnostics.error(value.getLocation(), "expected a bool for " +
                                                 quote(key) + ", but got " +
                                                 value.repr(60));
  }

  /// Takes the name that says the same as a switch, and compares the two. The
  /// training graph can also request the fusion by the name of the activation.
  void readChoice(const FusionChoice &choice, FusionSwitch &fusion) {
    const llvm::StringRef key = choice.key.getName();
    Node value = model[key];
    llvm::StringRef name = value.getText();
    if (name == choice.fused) {
      fusion.isOn = true;
      fusion.key = key;
      fusion.location = value.getLocation();
    } else if (fusion.isOn && value && name != choice.plain) {
      diagnostics.warning(
          fusion.location,
          quote(fusion.key) + " is done, but MindSpore Transformers wants " +
              key + " " + choice.plain + " with it, not " + value.repr(60));
    }
  }

  const Node &model, &moe;
  const int64_t numExperts;
  const bool isMcore;
  DiagnosticList &diagnostics;
};

} // namespace

FusionConfig readFusionConfig(const TrainingConfig &config, bool isMcore,
                              DiagnosticList &diagnostics) {
  return FusionReader(config, isMcore, diagnostics).read();
}

} // namespace mf
