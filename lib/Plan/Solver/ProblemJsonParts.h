//===- ProblemJsonParts.h - Parts of the file of a problem ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_PROBLEMJSONPARTS_H
#define MF_LIB_PLAN_SOLVER_PROBLEMJSONPARTS_H

#include "ProblemJsonObject.h"
#include "mf/Plan/Solver/Problem.h"

namespace mf::solver {

/// Reads `layers`, `embedding`, `head` and `extras` into a problem that has its
/// schedule.
void readLayers(JsonObject &top, Problem &problem, Complaint &complaint);

/// Reads `memory_limit` and `constant_mem` into a problem that has its
/// schedule.
void readMemory(JsonObject &top, Problem &problem, Complaint &complaint);

/// Reads the choices into a problem that already has its layers.
void readChoices(JsonObject &top, Problem &problem, Complaint &complaint);

/// Returns numbers of chunks, given in the order of execution: a list over the
/// stages for each row of chunks, or one list if there is one row. All stages
/// have the same number of chunks.
llvm::json::Value writeByChunk(const schedule::Pipeline &pipeline,
                               llvm::ArrayRef<int64_t> numbers);

/// Returns the treatments by name with their numbers of layers, for each kind
/// of a chunk and without treatments that have no layers. The form is that of
/// `forbidden`.
llvm::json::Object writeChunk(const Problem &problem, const ChunkPlan &chunk);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_PROBLEMJSONPARTS_H
