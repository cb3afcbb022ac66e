//===- ModelImport.h - Models from descriptions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TRANSLATE_MODELIMPORT_H
#define MF_TOOLS_MF_TRANSLATE_MODELIMPORT_H

#include "mf/Support/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mf::tools {

/// The options of an import. The only object is created before the command
/// line is parsed.
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

/// The descriptions of models.
enum class ModelFormat : uint8_t {
  /// A training YAML of MindSpore Transformers.
  MindFormers,
  /// A config.json of Hugging Face.
  HuggingFace
};

/// Reads a description, then builds and verifies its model. Reports messages
/// through the context; returns null after an error.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const ImportOptions &options,
                                              ModelFormat format,
                                              const llvm::MemoryBuffer &buffer,
                                              mlir::MLIRContext *context);

/// Reports diagnostics in the order of the file. Diagnostics with a place are
/// reported through MLIR, whose handler shows the line and checks expected
/// diagnostics.
void report(const DiagnosticList &diagnostics, llvm::StringRef file,
            bool errorsOnly, mlir::MLIRContext *context);

} // namespace mf::tools

#endif // MF_TOOLS_MF_TRANSLATE_MODELIMPORT_H
