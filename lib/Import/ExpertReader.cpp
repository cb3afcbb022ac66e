//===- ExpertReader.cpp - Experts from a YAML -----------------------------===//

#include "ExpertReader.h"
#include <cmath>

namespace mf {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void warnWithoutEffect(SpecReader &reader, llvm::StringLiteral key,
                       llvm::StringRef neutral, const llvm::Twine &why) {
  reader.markRead({key});
  Node value = reader.getNode()[key];
  if (value.isUndefinedOrNull() || value.repr() == neutral)
    return;
  double number = 0;
  if (!neutral.getAsDouble(number) && !value.isBool() &&
      value.getFloat() == number)
    return;
  reader.diagnostics.warning(value.getLocation(), quote(key) + " in " +
                                                      reader.getName() +
                                                      " has no effect " + why);
}

int64_t readCount(SpecReader &reader, SpecReader::Keys keys, int64_t missing) {
  int64_t count = reader.readInt(keys, missing);
  if (count >= 0 && count <= INT32_MAX)
    return count;
  reader.diagnostics.error(reader.locate(keys),
                           "expected an int of at least 0 that fits 32 bits "
                           "for " +
                               quote(*keys.begin()) + ", but got " +
                               llvm::Twine(count));
  return missing;
}

/// The elements of a list; an error if it is something else.
static std::vector<Node> readList(SpecReader &reader, llvm::StringLiteral key) {
  Node value = reader.find({key});
  if (!value)
    return {};
  if (value.isList())
    return value.getElements();
  reader.diagnostics.error(value.getLocation(), "expected a list for " +
                                                    quote(key) + ", but got " +
                                                    describe(value.getKind()) +
                                                    ", " + value.repr(60));
  return {};
}

std::vector<NamedFactor> readLossFactors(SpecReader &reader,
                                         llvm::StringLiteral types,
                                         llvm::StringLiteral factors) {
  std::vector<Node> names = readList(reader, types);
  std::vector<Node> values = readList(reader, factors);
  if (names.size() != values.size()) {
    Node longer =
        reader.getNode()[names.size() > values.size() ? types : factors];
    reader.diagnostics.warning(longer.getLocation(),
                               "got " + llvm::Twine(names.size()) + " " +
                                   types + " but " +
                                   llvm::Twine(values.size()) + " " + factors +
                                   "; what is left over has no effect");
  }
  std::vector<NamedFactor> result;
  for (size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
    std::optional<double> factor = values[i].getFloat();
    if (values[i].isBool() || !factor || !std::isfinite(*factor))
      reader.diagnostics.error(values[i].getLocation(),
                               "expected a number in " + quote(factors) +
                                   ", but got " + values[i].repr(60));
    result.push_back({names[i].getText().str(), factor.value_or(0.0),
                      names[i].getLocation()});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Callbacks
//===----------------------------------------------------------------------===//

Node findCallback(const TrainingConfig &config, llvm::StringRef type) {
  for (const Node &callback : config.root["callbacks"].getElements())
    if (callback["type"].getText() == type)
      return callback;
  return {};
}

LoadBias readLoadBias(const TrainingConfig &config, int64_t numExperts,
                      std::optional<double> rate, const Location &place,
                      DiagnosticList &diagnostics) {
  constexpr llvm::StringLiteral type = "TopkBiasBalanceCallback";
  Node callback = findCallback(config, type);
  LoadBias bias;
  if (!callback) {
    diagnostics.warning(place, "the bias stays 0: expected a callback of type "
                               "TopkBiasBalanceCallback, which updates it");
    return bias;
  }
  SpecReader reader(callback, type, diagnostics);
  bool isOn = reader.readBool({"balance_via_topk_bias"}, false);
  double own = reader.readNumber({"topk_bias_update_rate"}).value_or(0.0);
  int64_t experts = reader.readSize({"expert_num"}, 1);
  int64_t steps = reader.readSize({"micro_batch_num"}, 1) *
                  reader.readSize({"gradient_accumulation_steps"}, 1);
  bias.rate = isOn ? rate.value_or(own) : 0.0;
  bias.target = static_cast<double>(steps) / static_cast<double>(experts);
  if (bias.rate == 0.0)
    diagnostics.warning(callback.getLocation(),
                        "the bias stays 0: expected balance_via_topk_bias True "
                        "and a topk_bias_update_rate");
  else if (experts != numExperts)
    diagnostics.warning(reader.locate({"expert_num"}),
                        "expected the " + llvm::Twine(numExperts) +
                            " experts of the model for 'expert_num' of this "
                            "callback, but got " +
                            llvm::Twine(experts));
  return bias;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

static std::optional<ExpertRules> getRules(ModelFamily family) {
  ExpertRules rules;
  // Routers and MoEV3 of the Llama family ignore init_method_std.
  rules.initializerRange = 0.01;
  switch (family) {
  case ModelFamily::Llama:
    rules.addsLosses = false;
    return rules;
  case ModelFamily::Telechat:
    rules.readsDropless = false;
    return rules;
  default:
    return std::nullopt;
  }
}

void readExperts(const TrainingConfig &config, SpecReader &model,
                 ModelSpec &spec) {
  if (spec.family == ModelFamily::Mcore) {
    spec.experts = readMcoreExperts(config, spec, model);
    return;
  }
  if (std::optional<ExpertRules> rules = getRules(spec.family)) {
    spec.experts = readClassicExperts(config, *rules, spec, model);
    return;
  }
  Node count = config.moe.node["expert_num"];
  if (count.getInt().value_or(1) > 1)
    model.diagnostics.error(
        count.getLocation(),
        "expected 1 for 'expert_num': layers of the " + getName(spec.family) +
            " family have no experts, but got " + count.repr());
}

} // namespace mf
