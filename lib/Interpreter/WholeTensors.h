//===- WholeTensors.h - What the parts of ranks are together ---*- C++ -*-===//

#ifndef MF_LIB_INTERPRETER_WHOLETENSORS_H
#define MF_LIB_INTERPRETER_WHOLETENSORS_H

#include "dialects/mf/MfOps.h"
#include "mf/Interpreter/Tensor.h"
#include "mf/Program/Mesh.h"

namespace mf::interpreter {

/// Where rank `rank` has the elements of its part of a parameter: place by
/// place, those of the whole.
std::vector<int64_t> getPlaces(const program::Mesh &mesh, int64_t rank,
                               ir::ParamOp param);

/// Adds a rank's part of a gradient to the whole one in fp32, once for all
/// ranks that have the same: those of `reduced` axes have summands.
void addPart(const program::Mesh &mesh, int64_t rank, ir::ParamOp param,
             const Tensor &part, const Tensor &whole);

} // namespace mf::interpreter

#endif // MF_LIB_INTERPRETER_WHOLETENSORS_H
