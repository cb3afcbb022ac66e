//===- MuonReader.cpp - The optimizer's keys of Muon ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OptimizerReaders.h"

namespace mf {

using Triple = std::array<double, 3>;

/// More steps than any matrix needs.
static constexpr int64_t maxSteps = 64;

static std::optional<Triple> getTriple(const Node &node) {
  const std::vector<Node> &items = node.getElements();
  if (items.size() != 3)
    return std::nullopt;
  Triple triple;
  for (auto [number, item] : llvm::zip(triple, items)) {
    std::optional<double> value = item.getNumber();
    if (!value)
      return std::nullopt;
    number = *value;
  }
  return triple;
}

/// `[[a, b, c], n]` is a triple for n steps.
static bool readRepeated(const Node &node, std::vector<Triple> &coefficients) {
  const std::vector<Node> &items = node.getElements();
  if (items.size() != 2)
    return false;
  std::optional<Triple> triple = getTriple(items[0]);
  std::optional<int64_t> steps = items[1].getInt();
  if (!triple || !steps || *steps < 1 || *steps > maxSteps)
    return false;
  coefficients.insert(coefficients.end(), *steps, *triple);
  return true;
}

static void readCoefficients(SectionReader &reader, MuonConfig &muon) {
  const int64_t steps = reader.readInt("ns_steps", 5);
  if (steps < 1 || steps > maxSteps)
    return reader.rejectValue("ns_steps", reader.get("ns_steps"),
                              "an int from 1 to " + llvm::Twine(maxSteps));
  Node node = reader.get("ns_coefficients");
  if (node.isUndefinedOrNull()) {
    muon.coefficients.assign(steps, {3.4445, -4.7750, 2.0315});
    return;
  }
  if (std::optional<Triple> triple = getTriple(node)) {
    muon.coefficients.assign(steps, *triple);
    return;
  }
  for (const Node &item : node.getElements())
    if (!readRepeated(item, muon.coefficients)) {
      muon.coefficients.clear();
      break;
    }
  if (muon.coefficients.empty())
    reader.rejectValue("ns_coefficients", node,
                       "three numbers, or a list of [[a, b, c], steps]");
  else if (Node ignored = reader.get("ns_steps"))
    reader.diagnostics.warning(
        ignored.getLocation(),
        "'ns_steps' has no effect: 'ns_coefficients' says how many steps each "
        "of its triples is for");
}

static void readIncluded(SectionReader &reader, MuonConfig &muon) {
  Node node = reader.get("adamw_include");
  if (node.isUndefinedOrNull()) {
    // Names of the mcore training graph, then those of legacy layer classes.
    muon.adamwInclude = {"*word_embeddings*", "*output_layer*", "*embedding*",
                         "*lm_head*"};
    return;
  }
  for (const Node &item : node.getElements())
    if (item.isString())
      muon.adamwInclude.push_back(item.getText().str());
  if (muon.adamwInclude.size() != node.getElements().size() || !node.isList())
    reader.rejectValue("adamw_include", node, "a list of patterns");
}

/// The class multiplies the threshold by a number that the trainer does not
/// give it: it counts where the YAML has it.
static void readLogitClip(SectionReader &reader, MuonConfig &muon) {
  const int64_t batches = reader.readInt("micro_batch_num", 1);
  const double threshold = reader.readFloat("qk_clip_threshold", 4.0);
  if (!reader.readBool("qk_clip_enabled", true))
    return;
  if (threshold <= 0)
    return reader.rejectValue("qk_clip_threshold",
                              reader.get("qk_clip_threshold"),
                              "a number above 0");
  if (batches < 1)
    return reader.rejectValue("micro_batch_num", reader.get("micro_batch_num"),
                              "an int of at least 1");
  muon.logitThreshold = threshold * static_cast<double>(batches);
}

void readMuon(SectionReader &reader, OptimizerConfig &config) {
  if (!config.muon)
    return reader.warnOfKeys(&partId<MuonConfig>, "the optimizer is not Muon");
  if (Node betas = reader.get("betas"))
    reader.diagnostics.warning(betas.getLocation(),
                               "'betas' has no effect: Muon takes 'momentum', "
                               "and what AdamW updates 'adamw_betas'");
  MuonConfig &muon = *config.muon;
  muon.eps = config.eps;
  config.eps = reader.readFloat("adamw_eps", 1e-8);
  readCoefficients(reader, muon);
  readIncluded(reader, muon);
  readLogitClip(reader, muon);
  muon.spreadsWeights =
      reader.readString("comm_strategy", "allgather",
                        {"allgather", "allgather_deredundency"}) != "allgather";
}

} // namespace mf
