//===- DynamicFormat.cpp - Which of the two formats a YAML has ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

/// Returns the first entry that only one of the formats has.
static Node findFormatKey(const Node &root, bool isDynamic) {
  static constexpr llvm::StringRef dynamicSections[] = {
      "training",  "parallelism",    "lr_scheduler",
      "recompute", "recompute_comm", "swap"};
  static constexpr llvm::StringRef staticSections[] = {
      "runner_config", "parallel_config", "lr_schedule", "recompute_config",
      "swap_config",   "trainer",         "use_legacy",  "runner_wrapper",
      "moe_config",    "parallel",        "use_parallel"};
  const llvm::ArrayRef<llvm::StringRef> names =
      isDynamic ? llvm::ArrayRef(dynamicSections)
                : llvm::ArrayRef(staticSections);
  for (const Node::Entry &entry : root.getEntries())
    if (llvm::is_contained(names, entry.key.getText()))
      return entry.key;
  Node model = root["model"];
  if (isDynamic) {
    for (const ModelKey *key : {&keys::modelType, &keys::architectures})
      if (!model["model_config"] && !model["arch"] && key->find(model))
        return model.getKeyNode(key->getName());
    return root["train_dataset"].getKeyNode("dataloader");
  }
  if (Node key = model.getKeyNode("model_config"))
    return key;
  return root["train_dataset"].getKeyNode("data_loader");
}

bool isDynamicFormat(const Node &root, DiagnosticList &diagnostics) {
  Node dynamic = findFormatKey(root, /*isDynamic=*/true);
  Node other = findFormatKey(root, /*isDynamic=*/false);
  if (dynamic && other)
    diagnostics
        .error(other.getLocation(),
               quote(other.getText()) + " is of the static graph's YAML and " +
                   quote(dynamic.getText()) +
                   " of the dynamic graph's; expected the sections of one of "
                   "them")
        .attachNote(quote(dynamic.getText()) + " is here",
                    dynamic.getLocation());
  return dynamic.isDefined();
}

} // namespace mf
