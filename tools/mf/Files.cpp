//===- Files.cpp - mf import and mf export --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageMemory.h"
#include "StepInput.h"
#include "Verb.h"
#include "mf/Program/LocatedError.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Support/FileUtilities.h"
#include "tools/help/ToolHelp.h"
#include "tools/mf-translate/CannProgram.h"
#include "tools/mf-translate/ModelImport.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace mf::tools {

/// Prints IR to a file. In local scope there are no aliases, for which printing
/// would search programs without finding any.
static Error printModule(mlir::ModuleOp module, StringRef path,
                         bool inLocalScope) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file =
      mlir::openOutputFile(path, &message);
  if (!file)
    return createStringError(message);
  if (path.ends_with(".mlirbc")) {
    if (failed(mlir::writeBytecodeToFile(module, file->os())))
      return createStringError("'" + path + "' cannot be written");
  } else {
    mlir::OpPrintingFlags flags;
    if (inLocalScope)
      flags.useLocalScope();
    module.print(file->os(), flags);
    // As the other tools print.
    file->os() << (inLocalScope ? "\n\n" : "\n");
  }
  file->keep();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// mf import
//===----------------------------------------------------------------------===//

/// Returns what a description is: a config.json is a JSON object.
static ModelFormat detectFormat(StringRef path, StringRef text) {
  return path.ends_with(".json") || text.ltrim().starts_with("{")
             ? ModelFormat::HuggingFace
             : ModelFormat::MindFormers;
}

static llvm::json::Object describeModel(mlir::ModuleOp module) {
  llvm::json::Object models;
  for (auto model : module.getOps<ir::ModelOp>()) {
    int64_t parameters = 0, layers = 0;
    model.walk([&](ir::ParamOp param) {
      parameters +=
          mlir::cast<mlir::ShapedType>(param.getType()).getNumElements();
    });
    model.walk([&](ir::LayerOp layer) { layers += layer.isNumbered(); });
    models[model.getSymName()] =
        llvm::json::Object{{"parameters", parameters}, {"layers", layers}};
  }
  return models;
}

static int import(const ImportOptions &options, StringRef input,
                  StringRef output, const JsonFile &json) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!buffer)
    return fail(createStringError("cannot read '" + input +
                                  "': " + buffer.getError().message()));
  const ModelFormat format = detectFormat(input, (*buffer)->getBuffer());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      importModel(options, format,
                  *sources.getMemoryBuffer(sources.getMainFileID()), &context);
  if (!module)
    return 1;
  if (Error error = printModule(*module, output, /*inLocalScope=*/false))
    return fail(std::move(error));
  Error error = json.write(describeModel(*module));
  return error ? fail(std::move(error)) : 0;
}

int runImport(int argc, char **argv) {
  ImportOptions options;
  const cl::opt<std::string> input{cl::Positional, cl::Required,
                                   cl::desc("<train.yaml or config.json>"),
                                   cl::cat(options.category)};
  const cl::opt<std::string> output{
      "o", cl::value_desc("file"), cl::init("-"), cl::cat(options.category),
      cl::desc("Where the model is written (default: standard output); a name "
               "that ends with .mlirbc gets bytecode")};
  const JsonFile json(options.category);
  setUpHelp({&options.category},
            "\nEXAMPLES:\n\n"
            "  mf import train.yaml -o model.mlir\n"
            "  mf import config.json --seq-length=4096 -o model.mlir\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf import: writes the model that a file describes, as IR\n\n"
      "The file is a training YAML or a config.json of Hugging Face. Other "
      "verbs import\nthe model themselves; this is for those who look at it or "
      "change it.\n");
  if (json.isStandardOutput() && output == "-")
    return fail(createStringError("-o and --json both take standard output: "
                                  "give one of them a file"));
  return import(options, input, output, json);
}

//===----------------------------------------------------------------------===//
// mf export
//===----------------------------------------------------------------------===//

namespace {

struct ExportOptions {
  cl::OptionCategory category{"An export"};
  cl::OptionCategory loweringCategory{"The step"};
  StepFileOptions file{category};
  cl::opt<std::string> output{
      "o", cl::value_desc("file or folder"), cl::Required, cl::cat(category),
      cl::desc("Where the step is written: a file, or with --cann the folder "
               "of the program")};
  cl::opt<bool> cann{"cann", cl::cat(category),
                     cl::desc("Write a C++ program on CANN's libraries")};
  cl::opt<bool> verify{"verify", cl::init(true), cl::cat(category),
                       cl::desc("Prove the step (default: true)")};
  JsonFile json{category};
  StepOptions step{loweringCategory};
};

} // namespace

static Error exportProgram(const program::DecodedProgram &decoded,
                           StringRef folder) {
  Expected<cann::ProgramFiles> files = cann::emitProgram(decoded.program);
  if (!files)
    return files.takeError();
  return writeCannProgram(*files, folder);
}

static Error exportStep(ExportOptions &options) {
  if (options.cann)
    options.step.lowering.forCann = true;
  mlir::MLIRContext context;
  StepRequest request = options.file.getRequest();
  request.verify = options.verify;
  Expected<InputStep> step = readStep(options.step, request, context);
  if (!step)
    return step.takeError();
  printWarnings(*step, llvm::errs());
  Expected<program::DecodedProgram> decoded = decodeStep(*step);
  if (!decoded)
    return decoded.takeError();
  Error error = options.cann ? exportProgram(*decoded, options.output)
                             : printModule(*step->module, options.output,
                                           /*inLocalScope=*/true);
  if (error)
    return error;
  Expected<std::vector<StagePeakMemory>> stages =
      measureMemory(*step->module, decoded->program, 0);
  if (!stages)
    return stages.takeError();
  llvm::json::Array all;
  for (const StagePeakMemory &stage : *stages)
    all.push_back(toJson(stage));
  return options.json.write(llvm::json::Object{{"stages", std::move(all)}});
}

int runExport(int argc, char **argv) {
  ExportOptions options;
  setUpHelp({&options.category, &options.loweringCategory},
            "\nEXAMPLES:\n\n"
            "  mf export train.yaml -o step.mlir\n"
            "  mf export train.yaml --cann -o program\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf export: writes the step of a YAML for other programs\n\n"
      "The lowered step is IR that all other verbs take in place of the YAML. "
      "With --cann it\nis a C++17 program on AscendCL, aclnn and HCCL.\n");
  Error error = exportStep(options);
  return error ? fail(std::move(error)) : 0;
}

} // namespace mf::tools
