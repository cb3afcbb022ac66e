//===- ChunkGraph.h - A chunk of a model as values --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_MEMORY_CHUNKGRAPH_H
#define MF_TEST_UNIT_MEMORY_CHUNKGRAPH_H

#include "TransformerStep.h"
#include <string>
#include <vector>

namespace mf::memory {

/// A forward operator with one result. Backward reads what `saves` lists: the
/// inputs with these numbers, and the result if `savesResult`.
struct Operator {
  std::string name;
  std::vector<int64_t> inputs;
  int64_t result = 0;
  std::vector<int64_t> saves;
  bool savesResult = false;
  bool isCheap = false;
  int64_t weightBytes = 0;
  int64_t layer = 0;
};

/// A chunk of the model as a graph of values, numbered; value 0 is its input.
class ChunkGraph {
public:
  ChunkGraph(const TransformerStepOptions &options, int64_t inputBytes)
      : options(options), bytes(1, inputBytes) {}

  int64_t add(std::string name, std::vector<int64_t> inputs, int64_t size,
              std::vector<int64_t> saves, bool savesResult = false,
              bool isCheap = false, int64_t weightBytes = 0) {
    bytes.push_back(size);
    int64_t result = bytes.size() - 1;
    operators.push_back({std::move(name), std::move(inputs), result,
                         std::move(saves), savesResult, isCheap, weightBytes,
                         layer});
    return result;
  }

  int64_t addLayer(int64_t input);
  int64_t addHead(int64_t input);

  const TransformerStepOptions &options;
  std::vector<int64_t> bytes;
  std::vector<Operator> operators;
  int64_t layer = 0;

private:
  int64_t addNorm(int64_t input);
  int64_t addRotary(int64_t input, int64_t size);
  int64_t addAttention(int64_t q, int64_t k, int64_t v);
  int64_t linear(const std::string &name, int64_t input, int64_t in,
                 int64_t out) {
    int64_t shard = options.tensorParallel;
    return add(name, {input}, options.sequence * out * 2, {0}, false, false,
               in * out * 2 / shard);
  }
};

} // namespace mf::memory

#endif // MF_TEST_UNIT_MEMORY_CHUNKGRAPH_H
