//===- AdapterWeights.h - Adapters as checkpoints ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The weights of low-rank adapters, merged into those of the model or with the
// names of Hugging Face's PEFT.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TOOLS_MF_TRANSLATE_ADAPTERWEIGHTS_H
#define MF_TOOLS_MF_TRANSLATE_ADAPTERWEIGHTS_H

#include "dialects/mf/MfOps.h"
#include "llvm/Support/Error.h"

namespace mf {

/// Writes the parameters of the model without adapters to `output`. They are
/// those of `weights`; a layer with adapters has W + B A alpha/r in W's type.
/// If `adapters` is not empty, adapters and other trained parameters are read
/// from these files.
llvm::Error mergeAdapters(ir::ModelOp model, const std::string &weights,
                          const std::string &adapters, llvm::StringRef output);

/// Writes the adapters of the files `adapters` to `adapter_model.safetensors`
/// and their configuration to `adapter_config.json`, both in the folder
/// `output`.
llvm::Error exportPeft(ir::ModelOp model, const std::string &adapters,
                       const std::string &output);

/// Reads a folder that exportPeft or PEFT wrote, and writes its adapters to the
/// file `output` with the model's names. Fails if the adapters do not match the
/// model.
llvm::Error importPeft(ir::ModelOp model, const std::string &folder,
                       llvm::StringRef output);

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_ADAPTERWEIGHTS_H
