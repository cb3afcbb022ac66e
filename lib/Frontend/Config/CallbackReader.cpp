//===- CallbackReader.cpp - Section callbacks -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SectionReader.h"

namespace mf {

static void readBalance(const Node &callback, TrainingConfig &config,
                        DiagnosticList &diagnostics) {
  SectionReader reader(callback, balanceCallbackSection, diagnostics);
  config.callbacks.balance.emplace().node = callback;
  reader.readAll(config);
  if (!reader.readBool("balance_via_topk_bias", false))
    config.callbacks.balance.reset();
}

/// Its keys have no defaults: MindSpore Transformers fails without them.
static void readDropRate(const Node &callback, TrainingConfig &config,
                         DiagnosticList &diagnostics) {
  SectionReader reader(callback, dropRateCallbackSection, diagnostics);
  DropRateCallback &dropRate = config.callbacks.dropRate.emplace();
  dropRate.node = callback;
  for (llvm::StringRef key :
       {"expert_num", "num_layers", "mtp_depth", "capacity_factor"})
    if (reader.get(key))
      reader.read(key, config);
    else
      diagnostics.error(callback.getLocation(),
                        "expected " + quote(key) + " of 'MoEDropRateCallback'");
  dropRate.numLayers += reader.readInt("mtp_depth", 0);
}

void readCallbacks(const Node &root, TrainingConfig &config,
                   DiagnosticList &diagnostics) {
  const CallbackConfig &callbacks = config.callbacks;
  for (const Node &section : {root["callbacks"], root["callback"]}) {
    if (!section.isUndefinedOrNull() && !section.isList())
      diagnostics.error(section.getLocation(),
                        "expected a list of callbacks, each a map with a "
                        "'type'");
    for (const Node &callback : section.getElements()) {
      llvm::StringRef type = callback["type"].getText();
      const bool isBalance = type == "TopkBiasBalanceCallback";
      if (!isBalance && type != "MoEDropRateCallback")
        continue;
      if (isBalance ? callbacks.balance.has_value()
                    : callbacks.dropRate.has_value())
        diagnostics.warning(callback.getLocation(),
                            "there is a " + quote(type) +
                                " before; this one counts");
      (isBalance ? readBalance : readDropRate)(callback, config, diagnostics);
    }
  }
}

} // namespace mf
