//===- CallbackReader.cpp - Section callbacks -----------------------------===//

#include "CallbackReader.h"
#include "SectionReader.h"

namespace mf {

namespace {

class CallbackReader {
public:
  CallbackReader(TrainingConfig &training, DiagnosticList &diagnostics)
      : training(training), config(training.callbacks),
        diagnostics(diagnostics) {}

  void readSection(const Node &section);

private:
  void readBalance(const Node &callback);
  void readDropRate(const Node &callback);
  /// Reports a callback that is there already.
  void checkOnce(const Node &callback, bool isThere);

  TrainingConfig &training;
  CallbackConfig &config;
  DiagnosticList &diagnostics;
};

} // namespace

void CallbackReader::checkOnce(const Node &callback, bool isThere) {
  if (isThere)
    diagnostics.warning(callback.getLocation(),
                        "there is a " + quote(callback["type"].getText()) +
                            " before; this one counts");
}

void CallbackReader::readBalance(const Node &callback) {
  checkOnce(callback, config.balance.has_value());
  SectionReader reader(callback, balanceCallbackSection, diagnostics);
  config.balance.emplace().node = callback;
  reader.readAll(training);
  if (!reader.readBool("balance_via_topk_bias", false))
    config.balance.reset();
}

/// Its keys have no defaults: MindSpore Transformers fails without them.
void CallbackReader::readDropRate(const Node &callback) {
  checkOnce(callback, config.dropRate.has_value());
  SectionReader reader(callback, dropRateCallbackSection, diagnostics);
  config.dropRate.emplace().node = callback;
  for (llvm::StringRef key :
       {"expert_num", "num_layers", "mtp_depth", "capacity_factor"})
    if (!reader.get(key))
      diagnostics.error(callback.getLocation(),
                        "expected " + quote(key) + " of 'MoEDropRateCallback'");
  reader.readAll(training);
  config.dropRate->numLayers += reader.readInt("mtp_depth", 0);
}

void CallbackReader::readSection(const Node &section) {
  if (!section.isList()) {
    if (!section.isUndefinedOrNull())
      diagnostics.error(section.getLocation(),
                        "expected a list of callbacks, each a map with a "
                        "'type'");
    return;
  }
  for (const Node &callback : section.getElements()) {
    llvm::StringRef type = callback["type"].getText();
    if (type == "TopkBiasBalanceCallback")
      readBalance(callback);
    else if (type == "MoEDropRateCallback")
      readDropRate(callback);
  }
}

void readCallbacks(const Node &root, TrainingConfig &config,
                   DiagnosticList &diagnostics) {
  CallbackReader reader(config, diagnostics);
  reader.readSection(root["callbacks"]);
  reader.readSection(root["callback"]);
}

} // namespace mf
