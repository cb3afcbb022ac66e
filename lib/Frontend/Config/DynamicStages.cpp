//===- DynamicStages.cpp - Layers of each stage of the trainer ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicLayout.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

namespace {

/// The layers of one chunk, both ends included.
struct ChunkRange {
  int64_t first = 0, last = 0;
};

} // namespace

static bool parseLayerNumber(llvm::StringRef text, int64_t &number) {
  return !text.trim().getAsInteger(10, number);
}

/// Returns the trainer's message about an invalid range; empty if it is valid.
static std::string parseChunkRange(llvm::StringRef text, ChunkRange &range) {
  llvm::SmallVector<llvm::StringRef> ends;
  text.trim().split(ends, '-');
  std::string problem = "Invalid layer range format: " + text.str() + "; ";
  if (ends.size() > 2)
    return problem + "expected format is 'start-end' or 'single_layer'";
  if (!parseLayerNumber(ends.front(), range.first) ||
      !parseLayerNumber(ends.back(), range.last))
    return problem + "layer IDs must be integers, got '" + ends.front().str() +
           "' and '" + ends.back().str() + "'";
  if (range.first > range.last)
    return problem + "layer_start must be less than or equal to layer_end";
  return {};
}

static bool readStageRow(const Node &row, int64_t rank,
                         const DynamicLayout &layout,
                         std::vector<ChunkRange> &ranges,
                         DiagnosticList &diagnostics) {
  if (!row.isString()) {
    diagnostics.error(row.getLocation(),
                      "expected a string such as '0-3' for each stage in "
                      "'pipeline_parallel_layers_per_stage', but got " +
                          row.repr(60) + ", on which the trainer fails");
    return false;
  }
  llvm::SmallVector<llvm::StringRef> chunks;
  row.getText().split(chunks, ',');
  if (static_cast<int64_t>(chunks.size()) != layout.interleave) {
    diagnostics.error(
        row.getLocation(),
        "PP rank " + llvm::Twine(rank) + " has " + llvm::Twine(chunks.size()) +
            " chunk(s) in 'pipeline_parallel_layers_per_stage' (got '" +
            getPythonText(row) +
            "'), but 'pipeline_parallel_interleave_num' is " +
            llvm::Twine(layout.interleave) +
            "; each PP rank must have exactly " +
            llvm::Twine(layout.interleave) + " comma-separated chunk(s)");
    return false;
  }
  for (auto [chunk, text] : llvm::enumerate(chunks)) {
    std::string problem = parseChunkRange(
        text, ranges[chunk * static_cast<size_t>(layout.pipeline) +
                     static_cast<size_t>(rank)]);
    if (problem.empty())
      continue;
    diagnostics.error(row.getLocation(), problem);
    return false;
  }
  return true;
}

/// The trainer accepts ranges with gaps, with which the model would lack
/// layers.
static bool checkCoverage(const Node &written,
                          const std::vector<ChunkRange> &ranges,
                          int64_t numLayers, DiagnosticList &diagnostics) {
  int64_t next = 0;
  for (const ChunkRange &range : ranges) {
    if (range.first != next) {
      diagnostics.error(written.getLocation(),
                        "expected the next stage of "
                        "'pipeline_parallel_layers_per_stage' to begin with "
                        "layer " +
                            llvm::Twine(next) + ", but it has " +
                            llvm::Twine(range.first) + "-" +
                            llvm::Twine(range.last) +
                            "; each layer has one stage, in their order");
      return false;
    }
    next = range.last + 1;
  }
  if (next == numLayers)
    return true;
  diagnostics.error(written.getLocation(),
                    "'pipeline_parallel_layers_per_stage' has layers up to " +
                        llvm::Twine(next - 1) + ", but the model has " +
                        llvm::Twine(numLayers));
  return false;
}

std::vector<std::vector<int64_t>>
readDynamicStages(const Node &root, const DynamicLayout &layout,
                  int64_t numLayers, DiagnosticList &diagnostics) {
  if (layout.pipeline == 1)
    return {};
  /// A limit for hostile input.
  constexpr int64_t mostStages = 1 << 16;
  DynamicReader reader(root, "parallelism", diagnostics);
  const int64_t stages = layout.pipeline * layout.interleave;
  const llvm::StringLiteral key = "pipeline_parallel_layers_per_stage";
  Node written = reader.getNode()[key];
  if (!written)
    written = reader.get(key);
  std::vector<std::vector<int64_t>> counts(
      static_cast<size_t>(layout.interleave));
  if (stages > mostStages) {
    reader.error(key, "expected at most " + llvm::Twine(mostStages) +
                          " stages, but got " + llvm::Twine(stages));
    return {};
  }
  if (written.isString() && written.getText() == "auto") {
    if (numLayers % stages != 0) {
      reader.error(key, "Number of layers (" + llvm::Twine(numLayers) +
                            ") is not divisible by total stages (" +
                            llvm::Twine(stages) +
                            "); configure the model distribution via "
                            "'pipeline_parallel_layers_per_stage'");
      return {};
    }
    for (std::vector<int64_t> &row : counts)
      row.assign(static_cast<size_t>(layout.pipeline), numLayers / stages);
    return counts;
  }
  if (!written.isList()) {
    diagnostics.error(written.getLocation(),
                      "expected 'auto' or a list of strings for "
                      "'pipeline_parallel_layers_per_stage' with several "
                      "stages, but got " +
                          written.repr(60) + ", on which the trainer fails");
    return {};
  }
  const std::vector<Node> &rows = written.getElements();
  if (static_cast<int64_t>(rows.size()) != layout.pipeline) {
    diagnostics.error(written.getLocation(),
                      "The length of 'pipeline_parallel_layers_per_stage' (" +
                          llvm::Twine(rows.size()) +
                          ") must equal 'pipeline_parallel' (" +
                          llvm::Twine(layout.pipeline) + "), but got " +
                          llvm::Twine(rows.size()) + " entries for " +
                          llvm::Twine(layout.pipeline) + " PP ranks");
    return {};
  }
  std::vector<ChunkRange> ranges(static_cast<size_t>(stages));
  for (auto [rank, row] : llvm::enumerate(rows))
    if (!readStageRow(row, static_cast<int64_t>(rank), layout, ranges,
                      diagnostics))
      return {};
  if (!checkCoverage(written, ranges, numLayers, diagnostics))
    return {};
  for (auto [stage, range] : llvm::enumerate(ranges))
    counts[stage / static_cast<size_t>(layout.pipeline)].push_back(
        range.last - range.first + 1);
  return counts;
}

} // namespace mf
