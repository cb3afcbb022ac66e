//===- mf-run.cpp - Executes training steps -------------------------------===//
//
// `mf-run step.mlir --steps 20 --data FILE` trains: it decodes what mf-opt
// lowered, proves it free of races, and runs every rank as a thread with an
// emulated device of its own. A model that is not lowered is interpreted.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Interpreter/Training.h"
#include "mf/Program/Decoder.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Verifier.h"
#include "mf/Runner/MemoryReport.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace mf::program;
using mf::tools::Options;

/// Programs larger than this are verified on demand: it takes seconds.
static constexpr uint64_t maximumVerifiedByDefault = 10000000;

static int fail(const Twine &message) {
  WithColor::error(errs(), "mf-run") << message << '\n';
  return 1;
}

/// Reports an error, at the operations it points to if there are any.
static int failAt(Error error, const DecodedProgram &decoded) {
  handleAllErrors(
      std::move(error),
      [&](const LocatedError &located) {
        mlir::InFlightDiagnostic diagnostic =
            mlir::emitError(decoded.locations[located.getLocation()])
            << located.getMessage();
        for (const LocatedError::Note &note : located.getNotes())
          diagnostic.attachNote(decoded.locations[note.location]) << note.text;
      },
      [](const ErrorInfoBase &other) { fail(other.message()); });
  return 1;
}

static Error verifyBeforeRun(const Program &program, cl::boolOrDefault verify) {
  uint64_t instructions = 0;
  for (const Rank &rank : program.ranks)
    instructions += countInstructions(rank);
  if (verify == cl::BOU_TRUE ||
      (verify == cl::BOU_UNSET && instructions <= maximumVerifiedByDefault))
    return verifyProgram(program);
  // A program that hangs is refused in any case.
  return verifyProgress(program);
}

/// Prints remarks for the user, unless they want none.
static void printNote(const Options &options, StringRef text) {
  if (!options.quiet)
    WithColor::note(errs(), "mf-run") << text << '\n';
}

static int interpret(mf::ir::ModelOp model, const Options &options) {
  if (!options.hbm.empty() || options.verify == cl::BOU_TRUE)
    return fail("--hbm and --verify are about lowered programs, but this is a "
                "model");
  // An error names the operator; the model around it would bury the message.
  model.getContext()->printOpOnDiagnostic(false);
  return failed(mf::interpreter::train(
      model, options.getTrainingOptions(), outs(), outs().is_displayed(),
      [&](StringRef text) { printNote(options, text); },
      [](StringRef text) { fail(text); }));
}

static int run(const DecodedProgram &decoded, const Options &options) {
  if (Error error = verifyBeforeRun(decoded.program, options.verify))
    return failAt(std::move(error), decoded);
  if (Error error =
          mf::runner::checkMemoryLimit(decoded.program, options.getHbmBytes()))
    return failAt(std::move(error), decoded);
  auto note = [&](StringRef text) { printNote(options, text); };
  if (Error error =
          mf::runner::train(decoded.program, options.getTrainingOptions(),
                            outs(), outs().is_displayed(), note))
    return failAt(std::move(error), decoded);
  return 0;
}

int main(int argc, char **argv) {
  InitLLVM initLlvm(argc, argv);
  mf::tools::removeConflictingOptions();
  Options options;
  options.parse(argc, argv);
  if (StringRef wrong = options.check(); !wrong.empty())
    return fail(wrong);

  std::string message;
  std::unique_ptr<MemoryBuffer> buffer =
      mlir::openInputFile(options.input, &message);
  if (!buffer)
    return fail(message);
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mf::ascend::AscendDialect, mf::ir::MfDialect>();
  mlir::SourceMgrDiagnosticHandler handler(sources, &context, errs());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;
  auto models = module->getOps<mf::ir::ModelOp>();
  if (hasSingleElement(module->getBody()->getOperations()) && !models.empty())
    return interpret(*models.begin(), options);
  mlir::FailureOr<DecodedProgram> decoded = decodeProgram(*module);
  if (failed(decoded))
    return 1;
  return run(*decoded, options);
}
