//===- LayerNormCellNames.h - Cells of layers with LayerNorm ----*- C++ -*-===//

#ifndef MF_LIB_FRONTEND_IMPORT_LAYERNORMCELLNAMES_H
#define MF_LIB_FRONTEND_IMPORT_LAYERNORMCELLNAMES_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Return names relative to the layer, in the form of getCellNames.
std::vector<std::string> getGlmCellNames();
std::vector<std::string> getGpt2CellNames(const ModelSpec &spec);
std::vector<std::string> getSparkCellNames();

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_LAYERNORMCELLNAMES_H
