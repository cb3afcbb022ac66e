//===- HyperConnections.cpp - Several residual streams --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HyperConnections.h"
#include "dialects/mf/Tape.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

/// Added to weights that must not be 0, and to sums that are divisors.
static constexpr double leastWeight = 1e-6;

static SmallVector<int64_t> withLast(Value value,
                                     std::initializer_list<int64_t> last) {
  SmallVector<int64_t> shape(getShape(value).drop_back());
  shape.append(last);
  return shape;
}

static Value addSigmoid(CellBuilder &cells, Value value) {
  return cells.create<SigmoidOp>("sigmoid", value.getType(), value).getResult();
}

/// Adds a weight or a vector in fp32, which no axis cuts. Ranks divide weights
/// along the streams, and keep vectors whole.
static Value addParameter(CellBuilder &cells, StringRef leaf,
                          ArrayRef<int64_t> shape, InitAttr init,
                          bool frozen = false) {
  ParameterTraits traits;
  traits.frozen = frozen;
  traits.staysWhole = !frozen && shape.size() == 1;
  traits.parallelOptimizer = shape.size() > 1;
  traits.storageDim = shape.size() > 1 ? 1 : 0;
  return cells.addParameter(leaf, shape, DType::F32, init, traits);
}

/// Returns the streams multiplied with a projection to `size` numbers.
static Value project(CellBuilder &cells, StringRef cell, Value flat,
                     int64_t size) {
  CellBuilder::Cell linear(cells, cell);
  Value weight = addParameter(
      cells, "weight", {size, getShape(flat).back()},
      cells.getInit(InitKind::Normal, cells.spec.streams->initializerRange));
  return cells.create<MatmulOp>("matmul", flat, weight, false, true)
      .getResult();
}

/// Returns the sum over streams [batch, sequence, streams, hidden] with
/// `weights` [batch, sequence, streams], in the residual type.
static Value addWeighedStreams(CellBuilder &cells, Value streams,
                               Value weights) {
  weights = cells.reshape(weights, withLast(weights, {1, getShape(weights)[2]}),
                          "reshape");
  Value sum = cells.create<MatmulOp>("pool", weights, streams, false, false)
                  .getResult();
  const int64_t hidden = getShape(streams).back();
  sum = cells.reshape(sum, {getShape(streams)[0], getShape(streams)[1], hidden},
                      "reshape");
  return cells.cast(sum, cells.spec.residualType, "cast");
}

static Value splitStreams(CellBuilder &cells, Value flat) {
  const int64_t count = cells.spec.streams->streams;
  return cells.reshape(
      flat, withLast(flat, {count, getShape(flat).back() / count}), "reshape");
}

/// Returns the streams divided by the root of their mean square, all of a token
/// together.
static Value normalize(CellBuilder &cells, Value flat) {
  Value scale = addParameter(cells, "rms_weight", {getShape(flat).back()},
                             cells.getInit(InitKind::Ones), /*frozen=*/true);
  return cells
      .create<RmsNormOp>("norm", flat, scale, cells.spec.streams->epsilon)
      .getResult();
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

/// Returns the fused kernel from streams to the site's weights and input, or
/// null if the trainer has single operators. All streams of a token together
/// have `width` elements.
static DictionaryAttr getWeightsKernel(CellBuilder &cells, int64_t width) {
  const HyperConnectionSpec &spec = *cells.spec.streams;
  if (!spec.isFused)
    return {};
  const RankLayout &ranks = cells.spec.ranks;
  const int64_t length = cells.spec.sequenceLength / ranks.contextParallel,
                rows = ranks.sequenceParallel ? length / ranks.modelParallel
                                              : length,
                tokens = cells.spec.microBatchSize / ranks.dataParallel * rows,
                count = spec.streams;
  TrainerKernel kernel;
  kernel.keepsOperands = true;
  // In fp32, for each token: what is read of each stream, all weights before
  // the norm, and the inverse root of the mean square.
  const int64_t numbers = count + spec.getNumWeights() + 1;
  // For each half of an iteration, the sums and the matrix divided by them.
  const int64_t halves = 2 * spec.iterations * (count + count * count);
  kernel.keptBytes = 4 * tokens * (numbers + halves);
  // The workspace: that of a norm, the streams in fp32 and the input.
  kernel.forwardBytes =
      normWorkspace + tokens * (4 * width + 2 * width / count);
  return cells.getKernel(kernel);
}

/// Returns the fused kernel that mixes streams and adds a result, or null if
/// the trainer has single operators.
static DictionaryAttr getMixingKernel(CellBuilder &cells) {
  if (!cells.spec.streams->isFused)
    return {};
  TrainerKernel kernel;
  kernel.keepsOperands = true;
  return cells.getKernel(kernel);
}

HyperConnection::HyperConnection(CellBuilder &cells, StringRef name, Value flat)
    : cells(cells), name(name) {
  CellBuilder::Cell cell(cells, name);
  // Outside of the kernel, whose operand is the value in front of the cast.
  flat = cells.cast(flat, DType::F32, "cast");
  streams = splitStreams(cells, flat);
  const HyperConnectionSpec &spec = *cells.spec.streams;
  const int64_t count = spec.streams;
  CellBuilder::KernelScope scope(
      cells, getWeightsKernel(cells, getShape(flat).back()));
  Value weights = project(cells, "mapping_proj", normalize(cells, flat),
                          spec.getNumWeights());
  Value bias = addParameter(cells, "bias", {spec.getNumWeights()},
                            cells.getInit(InitKind::StreamMixing));
  Value reads = addSigmoid(cells, takePart(weights, bias, "pre", 0, count));
  reads = cells.addScalar(reads, leastWeight, "add");
  input = addWeighedStreams(cells, streams, reads);
  shares = addSigmoid(cells, takePart(weights, bias, "post", count, count));
  shares = cells.scale(shares, 2.0, "mul");
  mixing = takePart(weights, bias, "res", 2 * count, count * count);
  mixing = cells.reshape(mixing, withLast(mixing, {count, count}), "reshape");
  mixing = cells
               .create<SinkhornOp>("_sinkhorn_op.sinkhorn", mixing,
                                   spec.iterations, leastWeight)
               .getResult();
}

Value HyperConnection::takePart(Value weights, Value bias, StringRef factor,
                                int64_t start, int64_t size) {
  Value part = cells.sliceLast(weights, start, size, "slice");
  Value alpha = addParameter(
      cells, ("alpha_" + factor).str(), {1},
      cells.getInit(InitKind::Constant, cells.spec.streams->initialFactor));
  part = cells.multiply(part, alpha, "mul");
  return cells.add(part, cells.sliceLast(bias, start, size, "slice"), "add");
}

/// Stream j becomes the sum over i of mixing[i, j] * stream i, plus its share
/// of the result.
Value HyperConnection::addResult(Value result) {
  CellBuilder::Cell cell(cells, name);
  CellBuilder::Cell output(cells, "output_cell");
  CellBuilder::KernelScope scope(cells, getMixingKernel(cells));
  const int64_t count = cells.spec.streams->streams;
  Value mixed =
      cells.create<MatmulOp>("mix", mixing, streams, true, false).getResult();
  result = cells.cast(result, DType::F32, "cast");
  result = cells.reshape(result, withLast(result, {1, getShape(result).back()}),
                         "reshape");
  Value columns =
      cells.reshape(shares, withLast(shares, {count, 1}), "reshape");
  Value shared = cells.create<MatmulOp>("share", columns, result, false, false)
                     .getResult();
  Value sum = cells.add(mixed, shared, "add");
  SmallVector<int64_t> flat(getShape(sum).drop_back(2));
  flat.push_back(count * getShape(sum).back());
  return cells.cast(cells.reshape(sum, flat, "reshape"),
                    cells.spec.residualType, "cast");
}

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

Value addStreams(CellBuilder &cells, Value hidden) {
  const int64_t count = cells.spec.streams->streams,
                width = getShape(hidden).back();
  hidden = cells.reshape(hidden, withLast(hidden, {1, width}), "reshape");
  hidden = cells.create<RepeatOp>("expand_streams", hidden, /*axis=*/2, count)
               .getResult();
  SmallVector<int64_t> flat(getShape(hidden).drop_back(2));
  flat.push_back(count * width);
  return cells.reshape(hidden, flat, "reshape");
}

Value collapseStreams(CellBuilder &cells, Value flat) {
  const HyperConnectionSpec &spec = *cells.spec.streams;
  const int64_t count = spec.streams;
  if (!spec.learnsCollapse) {
    Value sum = cells.reduceSum(splitStreams(cells, flat), {2}, "mean");
    return cells.scale(sum, 1.0 / static_cast<double>(count), "mean");
  }
  flat = cells.cast(flat, DType::F32, "cast");
  Value weights = project(cells, "hc_fn", normalize(cells, flat), count);
  Value scale =
      addParameter(cells, "hc_scale", {1}, cells.getInit(InitKind::Zeros));
  Value base =
      addParameter(cells, "hc_base", {count}, cells.getInit(InitKind::Zeros));
  weights = cells.multiply(weights, scale, "mul");
  weights = addSigmoid(cells, cells.add(weights, base, "add"));
  weights = cells.addScalar(weights, leastWeight, "add");
  return addWeighedStreams(cells, splitStreams(cells, flat), weights);
}

} // namespace mf
