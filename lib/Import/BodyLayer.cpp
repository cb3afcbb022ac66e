//===- BodyLayer.cpp - Norms, feed forward and residual stream ------------===//

#include "BodyLayer.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

/// down(silu(gate(x)) * up(x)), the SwiGLU of Shazeer, 2020.
static Value addFeedForward(CellBuilder &cells, Value input) {
  const ModelSpec &spec = cells.spec;
  const FeedForwardNames &names = cells.names.feedForward;
  CellBuilder::Cell cell(cells, names.cell);
  int64_t size = spec.feedForwardSize;
  auto addLinear = [&](StringRef name, Value value, int64_t outSize,
                       bool hasBias = false) {
    CellBuilder::Cell linear(cells, name);
    return cells.addLinear(value, outSize, hasBias);
  };
  auto addSilu = [&](Value value, StringRef leaf) {
    return cells.create<SiluOp>(leaf, value.getType(), value).getResult();
  };

  if (!names.cast.empty())
    input = cells.cast(input, spec.computeType, names.cast);
  Value gate, up;
  if (spec.concatenatesFeedForward) {
    Value both = addLinear(names.gateUp, input, 2 * size);
    gate = cells.sliceLast(both, 0, size, names.split);
    up = cells.sliceLast(both, size, size, names.split);
    gate = addSilu(gate, names.concatenatedActivation);
  } else {
    gate = addLinear(names.gate, input, size);
    gate = addSilu(gate, names.activation);
    up = addLinear(names.up, input, size);
  }
  Value product = cells.multiply(gate, up, names.multiply);
  return addLinear(names.down, product, spec.hiddenSize,
                   spec.feedForwardOutputBias);
}

Value addBodyLayer(CellBuilder &cells, Value hidden) {
  const FamilyNames &names = cells.names;
  DType residual = cells.spec.residualType;
  auto addNorm = [&](StringRef name, Value value) {
    CellBuilder::Cell norm(cells, name);
    return cells.addNorm(value);
  };
  Value attention = addAttention(cells, addNorm(names.inputNorm, hidden));
  attention = cells.cast(attention, residual, names.attention.castResult);
  hidden = cells.add(hidden, attention, "add");
  Value feedForward =
      addFeedForward(cells, addNorm(names.postAttentionNorm, hidden));
  feedForward = cells.cast(feedForward, residual, names.feedForward.castResult);
  return cells.add(hidden, feedForward, "add");
}

} // namespace mf
