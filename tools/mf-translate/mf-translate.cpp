//===- mf-translate.cpp - Model descriptions to IR, and their weights -----===//
// SPDX-License-Identifier: Apache-2.0

#include "CannProgram.h"
#include "ModelImport.h"
#include "Weights.h"
#include "YamlConversion.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Import/ModelSpec.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

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
  return mf::tools::convertYaml(
      getOptions(), *sources->getMemoryBuffer(sources->getMainFileID()), output,
      context);
}

int mf::tools::mfTranslateMain(int argc, char **argv) {
  TranslateRegistration mindFormers(
      "import-mindformers",
      "import the model of a MindSpore Transformers training YAML",
      makeImport(mf::tools::ModelFormat::MindFormers));
  TranslateRegistration huggingFace(
      "import-hf", "import the model of a Hugging Face config.json",
      makeImport(mf::tools::ModelFormat::HuggingFace));
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
