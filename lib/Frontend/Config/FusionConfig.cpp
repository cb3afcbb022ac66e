//===- FusionConfig.cpp - Operators that a device fuses -------------------===//

#include "mf/Frontend/Config/FusionConfig.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {
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
  /// Returns the value of the first of `keys` in `section`, or `missing` if it
  /// has none of them.
  FusionSwitch readSwitch(const Node &section,
                          llvm::ArrayRef<llvm::StringLiteral> keys,
                          bool missing = false);
  void readActivation(FusionSwitch &swiglu);

  const Node &model, &moe;
  const int64_t numExperts;
  const bool isMcore;
  DiagnosticList &diagnostics;
};

} // namespace

FusionSwitch FusionReader::readSwitch(const Node &section,
                                      llvm::ArrayRef<llvm::StringLiteral> keys,
                                      bool missing) {
  FusionSwitch result;
  result.isOn = missing;
  const auto *key = llvm::find_if(keys, [&](llvm::StringRef name) {
    return !section[name].isUndefinedOrNull();
  });
  if (key == keys.end())
    return result;
  Node value = section[*key];
  result.key = *key;
  result.location = value.getLocation();
  if (std::optional<bool> flag = value.getBool())
    result.isOn = *flag;
  else
    diagnostics.error(value.getLocation(), "expected a bool for " +
                                               quote(*key) + ", but got " +
                                               value.repr(60));
  return result;
}

/// The training graph can also request the fusion by the name of the
/// activation.
void FusionReader::readActivation(FusionSwitch &swiglu) {
  Node activation = model["hidden_act"];
  llvm::StringRef name = activation.getText();
  if (name == "fusedswiglu") {
    swiglu.isOn = true;
    swiglu.key = "hidden_act";
    swiglu.location = activation.getLocation();
  } else if (swiglu.isOn && activation && name != "swiglu") {
    diagnostics.warning(swiglu.location,
                        quote(swiglu.key) +
                            " is done, but MindSpore Transformers wants "
                            "hidden_act swiglu with it, not " +
                            activation.repr(60));
  }
}

FusionConfig FusionReader::read() {
  FusionConfig fusions;
  fusions.rotary = readSwitch(model, {"use_fused_rope", "apply_rope_fusion"});
  fusions.swiglu =
      readSwitch(model, {"use_fused_swiglu", "bias_swiglu_fusion"});
  if (isMcore) {
    readActivation(fusions.swiglu);
    fusions.groupMatmuls =
        readSwitch(model, {"moe_grouped_gemm", "use_gmm"}, /*missing=*/true);
    fusions.permuteTokens = readSwitch(model, {"moe_permute_fusion"});
    return fusions;
  }
  // The YAML of a dense model may contain the section, too.
  if (numExperts <= 1)
    return fusions;
  fusions.groupMatmuls = readSwitch(moe, {"use_gmm"}, /*missing=*/true);
  fusions.permuteTokens = readSwitch(moe, {"use_fused_ops_permute"});
  fusions.route = readSwitch(moe, {"use_fused_ops_topkrouter"});
  return fusions;
}

FusionConfig readFusionConfig(const TrainingConfig &config, bool isMcore,
                              DiagnosticList &diagnostics) {
  return FusionReader(config, isMcore, diagnostics).read();
}

} // namespace mf
