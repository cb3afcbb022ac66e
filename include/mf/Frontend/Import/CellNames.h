//===- CellNames.h - Names that a layer's Cells register --------*- C++ -*-===//
//
// MindSpore Transformers' patterns match the names of Cells and primitives
// that a layer's constructor registers, whether or not its graph uses them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_IMPORT_CELLNAMES_H
#define MF_IMPORT_CELLNAMES_H

#include "mf/Frontend/Import/ModelSpec.h"
#include <vector>

namespace mf {

/// Dotted names of all primitives of one layer of the model, with experts or
/// with a dense feed forward, and of Cells that have none, in the order of
/// registration: a Cell's own primitives before those of the Cells in it, Cells
/// in the order their constructor makes them. A pattern finds them in that
/// order.
std::vector<std::string> getCellNames(const ModelSpec &spec,
                                      bool hasExperts = false);

/// The same for the layer that joins hidden states with the embeddings of later
/// tokens: a layer of its own, or all of the layer that predicts from both.
std::vector<std::string> getNextTokenCellNames(const ModelSpec &spec);

} // namespace mf

#endif // MF_IMPORT_CELLNAMES_H
