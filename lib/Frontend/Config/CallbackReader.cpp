//===- CallbackReader.cpp - Section callbacks -----------------------------===//

#include "CallbackReader.h"
#include "SectionReader.h"

namespace mf {

namespace {

class CallbackReader {
public:
  explicit CallbackReader(DiagnosticList &diagnostics)
      : diagnostics(diagnostics) {}

  void readSection(const Node &section);

  CallbackConfig config;

private:
  void readBalance(const Node &callback);
  void readDropRate(const Node &callback);
  /// Reports a callback that is there already.
  void checkOnce(const Node &callback, bool isThere);
  int64_t readRequired(SectionReader &reader, llvm::StringRef key,
                       int64_t smallest);

  DiagnosticList &diagnostics;
};

} // namespace

void CallbackReader::checkOnce(const Node &callback, bool isThere) {
  if (isThere)
    diagnostics.warning(callback.getLocation(),
                        "there is a " + quote(callback["type"].getText()) +
                            " before; this one counts");
}

/// `key` has no default: MindSpore Transformers fails without it.
int64_t CallbackReader::readRequired(SectionReader &reader, llvm::StringRef key,
                                     int64_t smallest) {
  if (!reader.get(key))
    diagnostics.error(reader.getNode().getLocation(),
                      "expected " + quote(key) + " of 'MoEDropRateCallback'");
  return reader.readInt(key, smallest, smallest);
}

void CallbackReader::readBalance(const Node &callback) {
  checkOnce(callback, config.balance.has_value());
  SectionReader reader(callback, balanceCallbackSection, diagnostics);
  BalanceCallback balance;
  balance.node = callback;
  bool isOn = reader.readBool("balance_via_topk_bias", false);
  balance.rate = reader.readFloat("topk_bias_update_rate", balance.rate);
  balance.expertNum = reader.readInt("expert_num", balance.expertNum);
  balance.microBatchNum =
      reader.readInt("micro_batch_num", balance.microBatchNum);
  balance.gradientAccumulationSteps = reader.readInt(
      "gradient_accumulation_steps", balance.gradientAccumulationSteps);
  if (isOn)
    config.balance = balance;
  else
    config.balance.reset();
}

void CallbackReader::readDropRate(const Node &callback) {
  checkOnce(callback, config.dropRate.has_value());
  SectionReader reader(callback, dropRateCallbackSection, diagnostics);
  DropRateCallback dropRate;
  dropRate.node = callback;
  dropRate.expertNum = readRequired(reader, "expert_num", 1);
  dropRate.numLayers = readRequired(reader, "num_layers", 1) +
                       readRequired(reader, "mtp_depth", 0);
  if (!reader.get("capacity_factor"))
    diagnostics.error(callback.getLocation(),
                      "expected 'capacity_factor' of 'MoEDropRateCallback'");
  dropRate.capacityFactor =
      reader.readFloat("capacity_factor", dropRate.capacityFactor);
  config.dropRate = dropRate;
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

CallbackConfig readCallbacks(const Node &root, DiagnosticList &diagnostics) {
  CallbackReader reader(diagnostics);
  reader.readSection(root["callbacks"]);
  reader.readSection(root["callback"]);
  return reader.config;
}

} // namespace mf
