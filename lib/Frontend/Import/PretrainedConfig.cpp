//===- PretrainedConfig.cpp - The config.json of a YAML's model -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "PretrainedConfig.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

Node findPretrainedFolder(const TrainingConfig &config) {
  Node folder = config.root["pretrained_model_dir"];
  return folder.isString() && !folder.getText().empty() ? folder : Node();
}

void addPretrainedConfig(const Node &root, TrainingConfig &config,
                         DiagnosticList &diagnostics) {
  if (!root.isMap()) {
    if (!diagnostics.hasErrors())
      diagnostics.error(root.getLocation(),
                        "expected a map, but got " + describe(root.getKind()));
    return;
  }
  const Node &written = config.model.config;
  auto merged = std::make_shared<NodeData>();
  merged->kind = NodeKind::Map;
  const Location place =
      (written.isMap() ? written : config.root).getLocation();
  merged->line = place.line;
  merged->column = place.column;
  merged->file = std::make_shared<std::string>(place.file);
  merged->entries = written.getEntries();
  for (const Node::Entry &entry : root.getEntries())
    if (!written[entry.key.getText()])
      merged->entries.push_back(entry);
  config.model.config = Node(std::move(merged));
}

bool checkNoPretrainedConfig(const TrainingConfig &config,
                             DiagnosticList &diagnostics) {
  const Node written = config.model.node["model_config"];
  if (config.model.config.getEntries().size() == written.getEntries().size())
    return true;
  diagnostics.error({}, "expected an mcore model (Qwen3) for "
                        "--pretrained-config: other networks take all from "
                        "model_config; --import-hf imports a config.json "
                        "alone");
  return false;
}

bool checkPretrainedSizes(const TrainingConfig &config,
                          DiagnosticList &diagnostics) {
  const Node folder = findPretrainedFolder(config);
  if (!folder)
    return true;
  llvm::SmallVector<llvm::StringRef> missing;
  for (const ModelKey *key :
       {&keys::vocabSize, &keys::hiddenSize, &keys::numLayers, &keys::numHeads,
        &keys::feedForwardSize}) {
    const auto names = key->getNames(keys::Mcore);
    if (!config.model.config[findWritten(config.model.config, names)])
      missing.push_back(names.front());
  }
  if (missing.empty())
    return true;
  diagnostics.error(folder.getLocation(),
                    "model_config leaves " + llvm::join(missing, ", ") +
                        " to the config.json in 'pretrained_model_dir'; pass "
                        "that file with --pretrained-config");
  return false;
}

} // namespace mf
