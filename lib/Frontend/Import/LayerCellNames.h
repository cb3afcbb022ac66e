//===- LayerCellNames.h - Names of Cells of one layer -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The names are relative to the layer, in the form and order of getCellNames.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_IMPORT_LAYERCELLNAMES_H
#define MF_LIB_FRONTEND_IMPORT_LAYERCELLNAMES_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Returns the names of a feed forward with experts.
std::vector<std::string> getExpertCellNames(const ModelSpec &spec);

// Families whose layers have LayerNorm.
std::vector<std::string> getGlmCellNames();
std::vector<std::string> getGpt2CellNames(const ModelSpec &spec);
std::vector<std::string> getSparkCellNames();

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_LAYERCELLNAMES_H
