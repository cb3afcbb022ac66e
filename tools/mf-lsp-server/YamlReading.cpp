//===- YamlReading.cpp - Messages about a YAML in an editor ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/mf-lsp-server/YamlReading.h"
#include "mf/Frontend/Config/IndependentMessages.h"
#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/CellNames.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "mf/Frontend/Layers/CellTree.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "passes/pipeline/Pipeline.h"
#include <set>

namespace mf::lsp {

namespace {

/// Keeps each message once, as the readers of different tools repeat some.
class MessageCollector {
public:
  explicit MessageCollector(std::vector<Diagnostic> &messages)
      : messages(messages) {}

  void add(const Diagnostic &message) {
    const Location &at = message.location;
    if (seen.insert({at.line, at.column, message.message}).second)
      messages.push_back(message);
  }
  void add(llvm::ArrayRef<Diagnostic> list) {
    for (const Diagnostic &message : list)
      add(message);
  }

private:
  std::vector<Diagnostic> &messages;
  std::set<std::tuple<unsigned, unsigned, std::string>> seen;
};

} // namespace

/// Returns the place in the YAML to which a pass refers; unknown if it refers
/// to the program.
static Location findPlace(mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColLoc>();
  if (!place)
    return {};
  return {place.getFilename().str(), place.getLine(), place.getColumn()};
}

static void addMessage(mlir::Diagnostic &message,
                       std::vector<Diagnostic> &list) {
  if (message.getSeverity() == mlir::DiagnosticSeverity::Remark)
    return;
  Diagnostic result;
  result.severity = message.getSeverity() == mlir::DiagnosticSeverity::Error
                        ? Severity::Error
                        : Severity::Warning;
  result.message = message.str();
  result.location = findPlace(message.getLocation());
  for (mlir::Diagnostic &note : message.getNotes())
    result.attachNote(note.str(), findPlace(note.getLocation()));
  list.push_back(std::move(result));
}

static std::vector<std::string> getCells(const ModelSpec &spec) {
  std::vector<std::string> cells;
  std::set<std::string> seen;
  for (bool hasExperts : {false, true}) {
    bool isUsed = false;
    for (int64_t layer = 0; layer < spec.numLayers; ++layer)
      isUsed |= spec.hasExperts(layer) == hasExperts;
    if (!isUsed)
      continue;
    const CellTree tree =
        CellTree::fromOperators(getCellNames(spec, hasExperts));
    for (const CellTree::Entry &entry : tree.getEntries().drop_front())
      if (seen.insert(entry.path).second)
        cells.push_back(entry.path);
  }
  return cells;
}

/// Runs the passes that read the YAML, the last of which marks operators.
static void runReadingPasses(mlir::ModuleOp module, llvm::StringRef text,
                             llvm::StringRef fileName) {
  passes::TrainingStepOptions options;
  options.config = fileName.str();
  options.configText = text.str();
  mlir::PassManager manager(module.getContext());
  passes::buildMarkingPipeline(manager, options);
  // A failing pass has reported its errors.
  (void)manager.run(module);
}

/// True if the YAML describes the model. mf-opt also accepts a YAML with only
/// the settings to change.
static bool namesModel(const TrainingConfig &config) {
  const Node &model = config.model.node;
  return !config.model.arch.empty() || config.model.config["architectures"] ||
         model["architectures"] || model["model_type"];
}

YamlReading readYaml(llvm::StringRef text, llvm::StringRef fileName,
                     mlir::MLIRContext &context) {
  // Building larger models takes too long to do it at every key press.
  constexpr int64_t mostLayers = 256;
  YamlReading reading;
  MessageCollector collector(reading.messages);
  DiagnosticList diagnostics;
  const Node root = parseYaml(text, fileName, diagnostics);
  const TrainingConfig config = readTrainingConfig(root, diagnostics);
  collector.add(diagnostics.getAll());
  if (!root)
    return reading;
  reading.isDynamic = hasDynamicSections(root);
  if (!namesModel(config))
    return reading;
  DiagnosticList modelMessages;
  const std::optional<ModelSpec> spec =
      readModelSpec(config, {}, modelMessages, &reading.modelKeys);
  collector.add(
      findIndependent(modelMessages.getAll(), diagnostics, root).getAll());
  if (spec)
    reading.cells = getCells(*spec);
  const bool hasModel =
      spec && !diagnostics.hasErrors() && spec->numLayers <= mostLayers;
  std::vector<Diagnostic> ofPasses;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &message) {
        // Warnings about what a model lacks are about a model.
        if (hasModel ||
            message.getSeverity() == mlir::DiagnosticSeverity::Error)
          addMessage(message, ofPasses);
      });
  // Without a model the first pass still finds errors in other sections.
  const mlir::OwningOpRef<mlir::ModuleOp> module =
      hasModel ? buildModel(&context, *spec)
               : mlir::OwningOpRef<mlir::ModuleOp>(
                     mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  if (module)
    runReadingPasses(*module, text, fileName);
  collector.add(findIndependent(ofPasses, modelMessages, root).getAll());
  return reading;
}

} // namespace mf::lsp
