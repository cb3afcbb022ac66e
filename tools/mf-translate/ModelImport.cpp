//===- ModelImport.cpp - Models from descriptions -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ModelImport.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"

using namespace mlir;
using mf::tools::ImportOptions;
using mf::tools::report;

/// Errors for an unknown release are added to `diagnostics`.
static mf::ModelOverrides getOverrides(const ImportOptions &options,
                                       mf::DiagnosticList &diagnostics) {
  auto get = [](const llvm::cl::opt<int64_t> &option) {
    return option.getNumOccurrences() ? std::optional<int64_t>(option)
                                      : std::nullopt;
  };
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

static mlir::Location getLocation(MLIRContext *context,
                                  const mf::Location &place, StringRef file) {
  StringRef name = place.file.empty() ? file : StringRef(place.file);
  // What is wrong with a file as a whole is at its begin.
  return FileLineColLoc::get(context, name, std::max(place.line, 1U),
                             std::max(place.column, 1U));
}

void mf::tools::report(const mf::DiagnosticList &diagnostics, StringRef file,
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
    mlir::Location place = getLocation(context, diagnostic.location, file);
    InFlightDiagnostic out =
        isError ? mlir::emitError(place) : mlir::emitWarning(place);
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
// Models
//===----------------------------------------------------------------------===//

using SpecResult = std::optional<mf::ModelSpec>;

static SpecResult readMindFormers(const ImportOptions &options,
                                  const llvm::MemoryBuffer &buffer,
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
  if (const std::string &path = options.pretrainedConfig; !path.empty())
    mf::addPretrainedConfig(mf::parseYamlFile(path, diagnostics), config,
                            diagnostics);
  const mf::ModelOverrides overrides = getOverrides(options, diagnostics);
  SpecResult spec;
  if (!diagnostics.hasErrors())
    spec = mf::readModelSpec(config, overrides, diagnostics);
  report(diagnostics, file, /*errorsOnly=*/false, context);
  return spec;
}

static SpecResult readHuggingFace(const ImportOptions &options,
                                  const llvm::MemoryBuffer &buffer,
                                  MLIRContext *context) {
  StringRef file = buffer.getBufferIdentifier();
  mf::DiagnosticList diagnostics;
  // JSON is also YAML. The YAML reader records the lines of values.
  mf::Node root = mf::parseYaml(buffer.getBuffer(), file, diagnostics);
  const mf::ModelOverrides overrides = getOverrides(options, diagnostics);
  SpecResult spec;
  if (!diagnostics.hasErrors())
    spec = mf::readHuggingFaceSpec(root, overrides, diagnostics);
  report(diagnostics, file, /*errorsOnly=*/false, context);
  return spec;
}

/// Adapters are part of the model that is printed, so that the reference has
/// them too.
static LogicalResult insertAdapters(const ImportOptions &options,
                                    ModuleOp module) {
  if (!options.insertAdapters)
    return success();
  PassManager manager(module.getContext());
  mf::passes::InsertAdaptersOptions adapters;
  adapters.printPlan = options.printAdapters;
  manager.addNestedPass<mf::ir::ModelOp>(
      mf::passes::createInsertAdapters(adapters));
  return manager.run(module);
}

OwningOpRef<ModuleOp> mf::tools::importModel(const ImportOptions &options,
                                             ModelFormat format,
                                             const llvm::MemoryBuffer &buffer,
                                             MLIRContext *context) {
  context->getOrLoadDialect<mf::ir::MfDialect>();
  SpecResult spec = format == ModelFormat::MindFormers
                        ? readMindFormers(options, buffer, context)
                        : readHuggingFace(options, buffer, context);
  if (!spec)
    return {};
  OwningOpRef<ModuleOp> module = mf::buildModel(context, *spec);
  if (failed(verify(*module)) || failed(insertAdapters(options, *module)))
    return {};
  return module;
}
