//===- mf-translate.cpp - Model descriptions to IR, and their weights -----===//
// SPDX-License-Identifier: Apache-2.0

#include "CannProgram.h"
#include "ModelImport.h"
#include "Weights.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/ConvertYaml.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/ModelSpec.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include <set>

using namespace mlir;
using namespace mf;

//===----------------------------------------------------------------------===//
// YAMLs in the other format
//===----------------------------------------------------------------------===//

namespace {
/// What is trained of a model with adapters, under names of both formats.
struct Trained {
  std::set<std::string> adapted, others;
  bool adaptsExperts = false;

  explicit Trained(mf::ir::ModelOp model);
};
} // namespace

/// The weight of a linear layer or of experts has a name in front of `lora`.
Trained::Trained(mf::ir::ModelOp model) {
  for (auto param : model.getBody().getOps<mf::ir::ParamOp>()) {
    if (!param.needsGradient() || param.getTied())
      continue;
    StringRef name = param.getSymName();
    const size_t place = name.rfind("lora_");
    if (place == StringRef::npos)
      others.insert(name.str());
    else
      adapted.insert(name.take_front(place - 1).str());
    // The names of experts' adapters are `weight1_lora_a`.
    adaptsExperts |= place != StringRef::npos && name[place - 1] == '_' &&
                     param.getTensorType().getRank() == 3;
  }
}

static OwningOpRef<ModuleOp> importYaml(const mf::tools::ImportOptions &options,
                                        const llvm::MemoryBuffer &buffer,
                                        MLIRContext *context) {
  return mf::tools::importModel(options, mf::tools::ModelFormat::MindFormers,
                                buffer, context);
}

static mf::ir::ModelOp getModel(OwningOpRef<ModuleOp> &module) {
  return *module->getOps<mf::ir::ModelOp>().begin();
}

static mf::MatchedAdapters getAdapters(mf::ir::ModelOp model) {
  mf::MatchedAdapters adapters;
  for (const std::string &path : Trained(model).adapted)
    adapters.paths.push_back(path);
  mf::ir::LoraAttr lora = model.getLoraAttr();
  adapters.rank = lora.getRank();
  adapters.alpha = lora.getAlpha().convertToDouble();
  adapters.dropout = lora.getDropout().convertToDouble();
  return adapters;
}

/// Returns the first name that only one of two sets has; empty if none.
static std::string findDifference(const std::set<std::string> &left,
                                  const std::set<std::string> &right) {
  std::vector<std::string> different;
  std::set_symmetric_difference(left.begin(), left.end(), right.begin(),
                                right.end(), std::back_inserter(different));
  return different.empty() ? "" : different.front();
}

/// Checks that the model of the result trains what that of the YAML does.
static void checkTrained(const Trained &before, const Trained &after,
                         const mf::Node &section,
                         mf::DiagnosticList &diagnostics) {
  const bool isOfLayer = before.adapted != after.adapted;
  const std::string name = isOfLayer
                               ? findDifference(before.adapted, after.adapted)
                               : findDifference(before.others, after.others);
  if (name.empty())
    return;
  const bool isBefore =
      (isOfLayer ? before.adapted : before.others).count(name) > 0;
  diagnostics.error(
      section.getLocation(),
      "the other format cannot say what is trained: " + mf::quote(name) +
          (isOfLayer ? " has adapters" : " is trained") +
          (isBefore ? " in this format only" : " in the other format only"));
}

/// Writes a training YAML in the other of the two formats. Adapters are those
/// of the YAML's model; if the model of the result has others, that is an
/// error.
static LogicalResult convertYaml(const mf::tools::ImportOptions &options,
                                 const llvm::MemoryBuffer &buffer,
                                 llvm::raw_ostream &output,
                                 MLIRContext *context) {
  StringRef file = buffer.getBufferIdentifier();
  DiagnosticList diagnostics;
  Node root = parseYaml(buffer.getBuffer(), file, diagnostics);
  const Node section = findAdapterSection(root);
  std::optional<MatchedAdapters> adapters;
  OwningOpRef<ModuleOp> module;
  if (section && !diagnostics.hasErrors()) {
    module = importYaml(options, buffer, context);
    if (!module)
      return failure();
    if (getModel(module).getLoraAttr())
      adapters = getAdapters(getModel(module));
    else if (const Node type = section["pet_type"])
      diagnostics.error(type.getLocation(),
                        "the dynamic graph has no learned prefix; expected "
                        "lora for 'pet_type', but got " +
                            type.repr(60));
    if (Trained(getModel(module)).adaptsExperts)
      diagnostics.error(
          section["target_modules"].getLocation(),
          "the YAML of the static graph has no adapters of routed experts, "
          "which 'target_modules' matches; expected 'exclude_layers' with a "
          "pattern such as 'mlp\\.experts'");
  }
  std::string text;
  if (!diagnostics.hasErrors())
    text = mf::convertYaml(root, adapters, diagnostics);
  if (adapters && !diagnostics.hasErrors()) {
    // Warnings about the model are those of the YAML.
    ScopedDiagnosticHandler onlyErrors(context, [](mlir::Diagnostic &message) {
      return success(message.getSeverity() != DiagnosticSeverity::Error);
    });
    OwningOpRef<ModuleOp> converted = importYaml(
        options, *llvm::MemoryBuffer::getMemBuffer(text, "the converted YAML"),
        context);
    if (!converted)
      return failure();
    checkTrained(Trained(getModel(module)), Trained(getModel(converted)),
                 section, diagnostics);
  }
  mf::tools::report(diagnostics, file, /*errorsOnly=*/false, context);
  if (diagnostics.hasErrors())
    return failure();
  output << text;
  return success();
}

//===----------------------------------------------------------------------===//
// Model descriptions to IR, and their weights
//===----------------------------------------------------------------------===//

/// Registers the options at the first call.
static mf::tools::ImportOptions &getOptions() {
  static mf::tools::ImportOptions options;
  return options;
}

/// Reads, builds and prints a model.
static TranslateFunction makeImport(mf::tools::ModelFormat format) {
  return [format](const std::shared_ptr<llvm::SourceMgr> &sources,
                  llvm::raw_ostream &output, MLIRContext *context) {
    OwningOpRef<ModuleOp> module = mf::tools::importModel(
        getOptions(), format,
        *sources->getMemoryBuffer(sources->getMainFileID()), context);
    if (!module)
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
  mf::printModelKeyPage(output);
  mf::printDynamicKeyPage(output);
  return success();
}

/// Writes a training YAML in the other of the two formats.
static LogicalResult convert(const std::shared_ptr<llvm::SourceMgr> &sources,
                             llvm::raw_ostream &output, MLIRContext *context) {
  return convertYaml(getOptions(),
                     *sources->getMemoryBuffer(sources->getMainFileID()),
                     output, context);
}

int mf::tools::mfTranslateMain(int argc, char **argv) {
  TranslateRegistration mindFormers(
      "import-mindformers",
      "import the model of a MindSpore Transformers training YAML",
      makeImport(mf::tools::ModelFormat::MindFormers));
  TranslateRegistration huggingFace(
      "import-hf", "import the model of a Hugging Face config.json",
      makeImport(mf::tools::ModelFormat::HuggingFace));
  TranslateRegistration keys("yaml-keys",
                             "print all keys of training YAMLs with what they "
                             "mean; the input may be /dev/null",
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
