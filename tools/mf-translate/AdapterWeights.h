//===- AdapterWeights.h - Adapters as checkpoints ---------------*- C++ -*-===//
//
// The weights of low-rank adapters, merged into those of the model or under the
// names of Hugging Face's PEFT.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TOOLS_MF_TRANSLATE_ADAPTERWEIGHTS_H
#define MF_TOOLS_MF_TRANSLATE_ADAPTERWEIGHTS_H

#include "dialects/mf/MfOps.h"
#include "llvm/Support/Error.h"

namespace mf {

/// Writes the parameters of the model without adapters to `output`: those of
/// `weights`, and where a layer has adapters W + B A alpha/r, in W's type.
/// Adapters come from the files `adapters` if it is not empty, as what was
/// trained beside them does.
llvm::Error mergeAdapters(ir::ModelOp model, const std::string &weights,
                          const std::string &adapters, llvm::StringRef output);

/// Writes adapters of the files `adapters` to `adapter_model.safetensors` in
/// the folder `output`, and `adapter_config.json` beside it.
llvm::Error exportPeft(ir::ModelOp model, const std::string &adapters,
                       const std::string &output);

/// Reads such a folder, and writes its adapters to the file `output` under the
/// model's names. Fails if they are not those of the model.
llvm::Error importPeft(ir::ModelOp model, const std::string &folder,
                       llvm::StringRef output);

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_ADAPTERWEIGHTS_H
