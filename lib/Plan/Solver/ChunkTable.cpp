//===- ChunkTable.cpp - Numbers of chunks by row and stage ----------------===//

#include "ChunkTable.h"

using llvm::json::Array;
using llvm::json::Value;

namespace mf::solver {

ChunkTable makeTable(const schedule::Pipeline &pipeline,
                     llvm::ArrayRef<int64_t> numbers) {
  const auto chunks = pipeline.getChunksOfStages();
  ChunkTable table(chunks.front().size());
  for (const std::vector<int32_t> &ofStage : chunks)
    for (size_t row = 0; row < table.size(); ++row)
      table[row].push_back(numbers[ofStage[row]]);
  return table;
}

Value toJson(const ChunkTable &table) {
  Array rows;
  for (const std::vector<int64_t> &row : table)
    rows.push_back(Array(row));
  // The result has the form of files if every stage has one chunk.
  return rows.size() == 1 ? Value(std::move(rows.front()))
                          : Value(std::move(rows));
}

} // namespace mf::solver
