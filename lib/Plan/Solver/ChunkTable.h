//===- ChunkTable.h - Numbers of chunks by row and stage ------*- C++ -*-===//

#ifndef MF_LIB_PLAN_SOLVER_CHUNKTABLE_H
#define MF_LIB_PLAN_SOLVER_CHUNKTABLE_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/Support/JSON.h"

namespace mf::solver {

/// Row r has the numbers of chunk r of every stage.
using ChunkTable = std::vector<std::vector<int64_t>>;

/// Makes a table from numbers in the order of execution. All stages have the
/// same number of chunks.
ChunkTable makeTable(const schedule::Pipeline &pipeline,
                     llvm::ArrayRef<int64_t> numbers);

/// Returns a list over the stages if there is one row, and otherwise a list of
/// such lists.
llvm::json::Value toJson(const ChunkTable &table);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_CHUNKTABLE_H
