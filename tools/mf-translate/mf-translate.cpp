//===- mf-translate.cpp - Model descriptions to IR, and their weights -----===//
// SPDX-License-Identifier: Apache-2.0

#include "CannProgram.h"
#include "Weights.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/ConvertYaml.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "passes/Passes.h"
#include "tools/help/ToolHelp.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace {
struct ImportOptions {
  llvm::cl::OptionCategory category{"A model from a file"};
  llvm::cl::opt<int64_t> numLayers{
      "num-layers", llvm::cl::desc("Import a model of N body layers"),
      llvm::cl::value_desc("N"), llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> sequenceLength{
      "seq-length", llvm::cl::desc("Import a model for N tokens per sample"),
      llvm::cl::value_desc("N"), llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> batchSize{
      "batch-size",
      llvm::cl::desc("Import a model for micro-batches of N samples"),
      llvm::cl::value_desc("N"), llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> routerRows{
      "router-rows",
      llvm::cl::desc("Import a model whose routers see the tokens of a "
                     "micro-batch in N rows, as many as there are data, "
                     "context and model parallel ranks in a run to be "
                     "reproduced on fewer"),
      llvm::cl::value_desc("N"), llvm::cl::cat(category)};
  llvm::cl::opt<double> expertRoom{
      "expert-room",
      llvm::cl::desc("Let a rank take F times as many tokens for its experts, "
                     "of those without a capacity, as it sends (default: what "
                     "a balanced router needs; at least 1024 tokens, at most "
                     "all)"),
      llvm::cl::value_desc("F"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> release{
      "mindformers-release",
      llvm::cl::desc("Import the layers of this release of MindSpore "
                     "Transformers, such as 1.4, where releases differ (the "
                     "newest)"),
      llvm::cl::value_desc("release"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> pretrainedConfig{
      "pretrained-config",
      llvm::cl::desc("Hugging Face config.json that completes model_config, "
                     "as the one in the YAML's pretrained_model_dir does"),
      llvm::cl::value_desc("file"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> insertAdapters{
      "insert-adapters",
      llvm::cl::desc("Import the model with the adapters of pet_config; else "
                     "mf-opt inserts them"),
      llvm::cl::init(true), llvm::cl::cat(category)};
  llvm::cl::opt<bool> printAdapters{
      "print-adapters",
      llvm::cl::desc("Print on standard error which layers get adapters and "
                     "how many elements are trained"),
      llvm::cl::cat(category)};
};
} // namespace

/// Registers the options at the first call.
static ImportOptions &getOptions() {
  static ImportOptions options;
  return options;
}

/// Errors for an unknown release are added to `diagnostics`.
static mf::ModelOverrides getOverrides(mf::DiagnosticList &diagnostics) {
  auto get = [](const llvm::cl::opt<int64_t> &option) {
    return option.getNumOccurrences() ? std::optional<int64_t>(option)
                                      : std::nullopt;
  };
  ImportOptions &options = getOptions();
  mf::ModelOverrides overrides = {get(options.numLayers),
                                  get(options.sequenceLength),
                                  get(options.batchSize)};
  overrides.routerRows = get(options.routerRows);
  if (options.expertRoom.getNumOccurrences())
    overrides.expertRoom = options.expertRoom;
  if (options.release.getNumOccurrences()) {
    overrides.release = mf::parseRelease(options.release);
    if (!overrides.release)
      diagnostics.error({}, "expected a release such as 1.4 or 1.5.0 for "
                            "--mindformers-release, but got " +
                                mf::quote(options.release));
  }
  return overrides;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

static Location getLocation(MLIRContext *context, const mf::Location &place,
                            StringRef file) {
  StringRef name = place.file.empty() ? file : StringRef(place.file);
  return FileLineColLoc::get(context, name, place.line, place.column);
}

/// Reports diagnostics in the order of the file. Diagnostics with a place are
/// reported through MLIR, whose handler shows the line and checks expected
/// diagnostics.
static void report(const mf::DiagnosticList &diagnostics, StringRef file,
                   bool errorsOnly, MLIRContext *context) {
  // Diagnostics at the same place keep their order.
  SmallVector<const mf::Diagnostic *> sorted;
  for (const mf::Diagnostic &diagnostic : diagnostics.getAll())
    sorted.push_back(&diagnostic);
  auto getKey = [](const mf::Diagnostic *diagnostic) {
    return std::tuple(diagnostic->location.line, diagnostic->location.column,
                      diagnostic);
  };
  llvm::sort(sorted, [&](const mf::Diagnostic *lhs, const mf::Diagnostic *rhs) {
    return getKey(lhs) < getKey(rhs);
  });
  for (const mf::Diagnostic *entry : sorted) {
    const mf::Diagnostic &diagnostic = *entry;
    bool isError = diagnostic.severity == mf::Severity::Error;
    if (errorsOnly && !isError)
      continue;
    if (diagnostic.location.file.empty()) {
      diagnostic.print(llvm::errs());
      continue;
    }
    Location place = getLocation(context, diagnostic.location, file);
    InFlightDiagnostic out = isError ? emitError(place) : emitWarning(place);
    out << diagnostic.message;
    for (const mf::Diagnostic::Note &note : diagnostic.notes) {
      if (note.location.isKnown())
        out.attachNote(getLocation(context, note.location, file))
            << note.message;
      else
        out.attachNote() << note.message;
    }
  }
}

//===----------------------------------------------------------------------===//
// Translations
//===----------------------------------------------------------------------===//

using SpecResult = std::optional<mf::ModelSpec>;

static SpecResult readMindFormers(const llvm::MemoryBuffer &buffer,
                                  MLIRContext *context) {
  StringRef file = buffer.getBufferIdentifier();
  mf::DiagnosticList reading;
  mf::TrainingConfig config =
      mf::parseTrainingConfig(buffer.getBuffer(), file, reading);
  // Warnings of the sections on training are left to mf-opt, which reads them
  // too.
  report(reading, file, /*errorsOnly=*/true, context);
  if (reading.hasErrors())
    return std::nullopt;
  mf::DiagnosticList diagnostics;
  if (const std::string &path = getOptions().pretrainedConfig; !path.empty())
    mf::addPretrainedConfig(mf::parseYamlFile(path, diagnostics), config,
                            diagnostics);
  const mf::ModelOverrides overrides = getOverrides(diagnostics);
  SpecResult spec;
  if (!diagnostics.hasErrors())
    spec = mf::readModelSpec(config, overrides, diagnostics);
  report(diagnostics, file, /*errorsOnly=*/false, context);
  return spec;
}

static SpecResult readHuggingFace(const llvm::MemoryBuffer &buffer,
                                  MLIRContext *context) {
  StringRef file = buffer.getBufferIdentifier();
  mf::DiagnosticList diagnostics;
  // JSON is also YAML. The YAML reader records the lines of values.
  mf::Node root = mf::parseYaml(buffer.getBuffer(), file, diagnostics);
  const mf::ModelOverrides overrides = getOverrides(diagnostics);
  SpecResult spec;
  if (!diagnostics.hasErrors())
    spec = mf::readHuggingFaceSpec(root, overrides, diagnostics);
  report(diagnostics, file, /*errorsOnly=*/false, context);
  return spec;
}

/// Adapters are part of the model that is printed, so that the reference has
/// them too.
static LogicalResult insertAdapters(ModuleOp module) {
  ImportOptions &options = getOptions();
  if (!options.insertAdapters)
    return success();
  PassManager manager(module.getContext());
  mf::passes::InsertAdaptersOptions adapters;
  adapters.printPlan = options.printAdapters;
  manager.addNestedPass<mf::ir::ModelOp>(
      mf::passes::createInsertAdapters(adapters));
  return manager.run(module);
}

/// Reads with `read`, then builds, verifies and prints the model.
static TranslateFunction
makeImport(SpecResult (*read)(const llvm::MemoryBuffer &, MLIRContext *)) {
  return [read](const std::shared_ptr<llvm::SourceMgr> &sources,
                llvm::raw_ostream &output, MLIRContext *context) {
    context->getOrLoadDialect<mf::ir::MfDialect>();
    SpecResult spec =
        read(*sources->getMemoryBuffer(sources->getMainFileID()), context);
    if (!spec)
      return failure();
    OwningOpRef<ModuleOp> module = mf::buildModel(context, *spec);
    if (failed(verify(*module)) || failed(insertAdapters(*module)))
      return failure();
    module->print(output);
    output << '\n';
    return success();
  };
}

/// Prints the page of YAML keys. The input, which every translation has, is not
/// read.
static LogicalResult printKeys(const std::shared_ptr<llvm::SourceMgr> &,
                               llvm::raw_ostream &output, MLIRContext *) {
  mf::printKeyPage(output);
  mf::printDynamicKeyPage(output);
  return success();
}

/// Writes a training YAML in the other of the two formats.
static LogicalResult convert(const std::shared_ptr<llvm::SourceMgr> &sources,
                             llvm::raw_ostream &output, MLIRContext *context) {
  const llvm::MemoryBuffer &buffer =
      *sources->getMemoryBuffer(sources->getMainFileID());
  StringRef file = buffer.getBufferIdentifier();
  mf::DiagnosticList diagnostics;
  mf::Node root = mf::parseYaml(buffer.getBuffer(), file, diagnostics);
  std::string text;
  if (!diagnostics.hasErrors())
    text = mf::convertYaml(root, diagnostics);
  report(diagnostics, file, /*errorsOnly=*/false, context);
  output << text;
  return failure(diagnostics.hasErrors());
}

int main(int argc, char **argv) {
  TranslateRegistration mindFormers(
      "import-mindformers",
      "import the model of a MindSpore Transformers training YAML",
      makeImport(readMindFormers));
  TranslateRegistration huggingFace(
      "import-hf", "import the model of a Hugging Face config.json",
      makeImport(readHuggingFace));
  TranslateRegistration keys(
      "yaml-keys",
      "print all keys of training YAMLs with what they mean; the input may be "
      "/dev/null",
      printKeys);
  TranslateRegistration conversion(
      "convert-yaml",
      "write a static graph's training YAML as one of the dynamic graph, or "
      "the other way round; what cannot be said is listed",
      convert);
  mf::registerWeightTranslations(getOptions().category);
  mf::registerCannTranslation();
  SmallVector<char *> arguments(argv, argv + argc);
  mf::takeWeightsOutput(arguments);
  mf::takeCannFolder(arguments);
  mf::tools::setUpHelp(
      {&getOptions().category},
      "\nEXAMPLES:\n\n"
      "  mf-translate --import-mindformers train.yaml -o model.mlir\n"
      "  mf-translate --import-hf config.json --seq-length=4096 -o model.mlir\n"
      "  mf-translate --import-hf-weights model.mlir --weights=llama/ -o "
      "weights.safetensors\n");
  return failed(
      mlirTranslateMain(static_cast<int>(arguments.size()), arguments.data(),
                        "mf model importer, and converter of weights\n"));
}
