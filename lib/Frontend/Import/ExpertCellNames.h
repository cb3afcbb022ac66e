//===- ExpertCellNames.h - Names of Cells with experts ----------*- C++ -*-===//

#ifndef MF_LIB_FRONTEND_IMPORT_EXPERTCELLNAMES_H
#define MF_LIB_FRONTEND_IMPORT_EXPERTCELLNAMES_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Returns the names of the primitives of a feed forward with experts, and of
/// Cells without primitives, in the order of registration. They are relative to
/// the layer.
std::vector<std::string> getExpertCellNames(const ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_EXPERTCELLNAMES_H
