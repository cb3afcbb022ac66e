//===- CannProgram.cpp - Steps as programs on CANN ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CannProgram.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Cann/EmitProgram.h"
#include "mf/Decode/Decoder.h"
#include "mf/Support/AtomicFile.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace mf {

static constexpr llvm::StringLiteral optionName = "ascend-to-cpp";

/// The folder that `-o` names.
static std::string outputFolder;

void takeCannFolder(SmallVectorImpl<char *> &arguments) {
  if (llvm::none_of(arguments, [](StringRef argument) {
        return argument.ltrim('-') == optionName;
      }))
    return;
  SmallVector<char *> kept;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const StringRef argument = arguments[i];
    if (argument == "-o" && i + 1 < arguments.size())
      outputFolder = arguments[++i];
    else if (argument.starts_with("-o="))
      outputFolder = argument.drop_front(3).str();
    else
      kept.push_back(arguments[i]);
  }
  arguments = std::move(kept);
}

llvm::Error writeCannProgram(const cann::ProgramFiles &files,
                             llvm::StringRef folder) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(folder + ": " + code.message());
  for (const auto &[name, text] : files) {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (llvm::Error error = writeFileAtomically(path, text))
      return error;
  }
  return llvm::Error::success();
}

/// Reports an error at the operation that causes it, if it is known.
static LogicalResult report(llvm::Error error, ModuleOp module,
                            const program::DecodedProgram &decoded) {
  llvm::handleAllErrors(
      std::move(error),
      [&](const program::LocatedError &located) { decoded.emit(located); },
      [&](const llvm::ErrorInfoBase &other) {
        mlir::emitError(module.getLoc()) << other.message();
      });
  return failure();
}

static LogicalResult translate(ModuleOp module) {
  if (outputFolder.empty() || outputFolder == "-")
    return module.emitError("expected the folder of the program as -o DIR");
  auto decoded = program::decodeProgram(module);
  if (failed(decoded))
    return failure();
  auto files = cann::emitProgram(decoded->program);
  if (!files)
    return report(files.takeError(), module, *decoded);
  if (llvm::Error error = writeCannProgram(*files, outputFolder))
    return report(std::move(error), module, *decoded);
  return success();
}

static OwningOpRef<ModuleOp>
parseStep(const std::shared_ptr<llvm::SourceMgr> &sources,
          MLIRContext *context) {
  context->getOrLoadDialect<ascend::AscendDialect>();
  context->getOrLoadDialect<ir::MfDialect>();
  return parseSourceFile<ModuleOp>(*sources, context);
}

static LogicalResult
translateToAccount(const std::shared_ptr<llvm::SourceMgr> &sources,
                   llvm::raw_ostream &os, MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parseStep(sources, context);
  if (!module)
    return failure();
  auto decoded = program::decodeProgram(*module);
  if (failed(decoded))
    return failure();
  cann::printAccount(decoded->program, os);
  return success();
}

void registerCannTranslation() {
  static TranslateRegistration account(
      "ascend-to-account",
      "print what a lowered step on CANN does, needs and lacks by stage",
      translateToAccount);
  static TranslateRegistration translation(
      optionName,
      "write a lowered step of one rank as a C++ program on CANN, into the "
      "folder that -o names",
      [](const std::shared_ptr<llvm::SourceMgr> &sources, llvm::raw_ostream &,
         MLIRContext *context) -> LogicalResult {
        OwningOpRef<ModuleOp> module = parseStep(sources, context);
        return module ? translate(*module) : failure();
      });
}

} // namespace mf
