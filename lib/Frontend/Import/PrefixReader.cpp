//===- PrefixReader.cpp - Reads pet_config of trained prefixes ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PrefixReader.h"
#include "SpecReader.h"
#include "mf/Support/NearestName.h"

namespace mf {

static bool hasPrefixType(const Node &section) {
  llvm::StringRef type = section["pet_type"].getText();
  return type == "prefixtuning" || type == "ptuning2";
}

bool asksForPrefix(const Node &section, const Node &architecture) {
  return architecture.getText() == prefixClass ||
         (section.isMap() && hasPrefixType(section));
}

/// Keys of other adapters, which the trainer's config classes accept.
static constexpr llvm::StringLiteral passedPrefixKeys[] = {
    "pet_type",       "lora_rank",      "lora_alpha",       "lora_dropout",
    "target_modules", "exclude_layers", "pre_seq_len",      "prefix_projection",
    "projection_dim", "dropout_prob",   "prefix_token_num", "mid_dim",
    "dropout_rate",   "reg_rules"};

static void reportUnknownPrefixKeys(const SpecReader &reader) {
  llvm::SmallVector<llvm::StringRef> known(reader.getReadKeys());
  llvm::append_range(known, passedPrefixKeys);
  for (const Node::Entry &entry : reader.getNode().getEntries()) {
    llvm::StringRef name = entry.key.getText();
    if (!llvm::is_contained(known, name))
      reader.diagnostics.warning(
          entry.key.getLocation(),
          "unknown key " + quote(name) + " in pet_config" +
              suggestName(name, known) + " (the key is ignored)");
  }
}

std::optional<PrefixSpec> readPrefix(const Node &section,
                                     const Node &architecture,
                                     DiagnosticList &diagnostics) {
  const bool isOwnClass = architecture.getText() == prefixClass;
  if (!section.isMap() || !hasPrefixType(section) ||
      (isOwnClass && section["pet_type"].getText() != "ptuning2")) {
    diagnostics.error(
        (section.isUndefinedOrNull() ? architecture : section).getLocation(),
        quote(prefixClass) + " needs model_config.pet_config, a map such as "
                             "{pet_type: ptuning2, pre_seq_len: 128}");
    return std::nullopt;
  }
  const size_t errors = diagnostics.getErrorCount();
  SpecReader reader(section, "pet_config", diagnostics);
  PrefixSpec spec;
  const bool isPrefixTuning = section["pet_type"].getText() == "prefixtuning";
  if (isPrefixTuning) {
    spec.length = reader.readSize({"prefix_token_num"}, 128);
    spec.middleSize = reader.readSize({"mid_dim"}, 512);
    spec.dropout = reader.readStrictShare({"dropout_rate"}, 0.1);
  } else {
    spec.length = reader.readSize({"pre_seq_len"}, 128);
    const int64_t middleSize = reader.readSize({"projection_dim"}, 128);
    if (reader.readBool({"prefix_projection"}, false))
      spec.middleSize = middleSize;
    spec.dropout = reader.readStrictShare({"dropout_prob"}, 0.01);
  }
  // The network class with a prefix uses MindPet's encoder, whose table is in
  // fp32.
  spec.tableType = isOwnClass ? DType::F32 : DType::F16;
  spec.cell = isOwnClass ? "prefix_encoder" : "prefix_layers";
  spec.parameterPrefix =
      isPrefixTuning ? "mindpet_delta_prefixtuning" : "mindpet_delta_ptuning2";
  reportUnknownPrefixKeys(reader);
  if (diagnostics.getErrorCount() != errors)
    return std::nullopt;
  return spec;
}

void checkPrefix(const TrainingConfig &config, const ModelSpec &spec,
                 DiagnosticList &diagnostics) {
  const Node &model = config.model.config;
  const Node &section = config.model.adapters;
  const std::string type = quote(section["pet_type"].getText());
  auto refuse = [&](const Node &node, const llvm::Twine &reason) {
    diagnostics.error((node ? node : section).getLocation(),
                      "pet_type " + type + " " + reason);
  };
  if (Node node = keys::compressedMask.find(model); node.getBool() == true)
    refuse(node, "does not run with " + keys::compressedMask.getName() +
                     "; remove the key");
  if (Node node = keys::rowBlocks.find(model); node.getInt().value_or(1) > 1)
    refuse(node, "does not run with " + keys::rowBlocks.getName() + " " +
                     node.repr() + "; set it to 1");
  const PrefixHeads heads = getFamily(spec.family).prefix;
  if (heads == PrefixHeads::None || spec.latent || spec.usesAlibi)
    refuse(section["pet_type"],
           "is supported for classes LlamaForCausalLM and "
           "ChatGLM2WithPtuning2 alone; take pet_type lora");
  else if (heads == PrefixHeads::Queries &&
           spec.numKeyValueHeads != spec.numHeads)
    refuse(section["pet_type"],
           "makes keys and values of " + llvm::Twine(spec.numHeads) +
               " heads, as many as queries have, but the model has " +
               llvm::Twine(spec.numKeyValueHeads) + "; take pet_type lora");
  if (spec.ranks.contextParallel > 1)
    refuse(config.parallel.node["context_parallel"],
           "does not run with context_parallel above 1: a prefix is before the "
           "first part of a sequence alone");
  if (config.parallel.seqSplitNum > 1)
    refuse(config.parallel.node["seq_split_num"],
           "does not run with seq_split_num above 1: a prefix is before the "
           "first piece of a sequence alone");
}

} // namespace mf
