//===- CellNames.h - Names that a layer's Cells register --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MindSpore Transformers' patterns match the names of Cells and primitives
// that a layer's constructor registers, whether or not its graph uses them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_CELLNAMES_H
#define MF_FRONTEND_IMPORT_CELLNAMES_H

#include "mf/Frontend/Import/ModelSpec.h"
#include <vector>

namespace mf {

/// Returns the facts on which the Cells of a layer depend, with experts or with
/// a dense feed forward.
FactSet getFacts(const ModelSpec &spec, bool hasExperts);

/// Returns the dotted names of all primitives of one layer of the model, with
/// experts or with a dense feed forward, and of Cells without primitives, in
/// the order of registration: a Cell's own primitives precede those of the
/// Cells in it, and Cells are in the order in which the constructor makes them.
/// A pattern finds them in that order.
std::vector<std::string> getCellNames(const ModelSpec &spec,
                                      bool hasExperts = false);

/// Returns the names for the layer that joins hidden states with the embeddings
/// of later tokens. It is a separate layer, or a part of the layer that
/// predicts from both.
std::vector<std::string> getNextTokenCellNames(const ModelSpec &spec);

} // namespace mf

#endif // MF_FRONTEND_IMPORT_CELLNAMES_H
