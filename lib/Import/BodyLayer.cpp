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
                       const LinearTraits &traits = {}) {
    CellBuilder::Cell linear(cells, name);
    return cells.addLinear(value, outSize, traits);
  };
  auto addSilu = [&](Value value, StringRef leaf) {
    return cells.create<SiluOp>(leaf, value.getType(), value).getResult();
  };

  if (!names.cast.empty())
    input = cells.cast(input, spec.computeType, names.cast);
  Value gate, up;
  if (spec.concatenatesFeedForward) {
    Value both = addLinear(names.gateUp, input, 2 * size);
    // Gate and up of a neuron lie together, so that ranks can share neurons
    // out.
    SmallVector<int64_t> shape(getShape(both));
    SmallVector<int64_t> pairs = {shape[0], shape[1], size, 2};
    shape.back() = size;
    StringRef split =
        spec.activationMultiplies ? names.activationSplit : names.split;
    both = cells.reshape(both, pairs, names.reshape);
    gate =
        cells.reshape(cells.sliceLast(both, 0, 1, split), shape, names.reshape);
    up =
        cells.reshape(cells.sliceLast(both, 1, 1, split), shape, names.reshape);
    gate = addSilu(gate, names.concatenatedActivation);
  } else {
    gate = addLinear(names.gate, input, size);
    gate = addSilu(gate, names.activation);
    up = addLinear(names.up, input, size);
  }
  Value product = cells.multiply(
      gate, up,
      spec.activationMultiplies ? names.activationMultiply : names.multiply);
  LinearTraits traits;
  traits.hasBias = spec.feedForwardOutputBias;
  traits.cutsInputs = true;
  return addLinear(names.down, product, spec.hiddenSize, traits);
}

Value addBodyLayer(CellBuilder &cells, Value hidden) {
  const FamilyNames &names = cells.names;
  DType residual = cells.spec.residualType;
  auto addNorm = [&](StringRef name, Value value) {
    CellBuilder::Cell norm(cells, name);
    return cells.addNorm(value);
  };
  Value input = addNorm(names.inputNorm, hidden);
  Value attention = cells.spec.latent ? addLatentAttention(cells, input)
                                      : addAttention(cells, input);
  attention = cells.cast(attention, residual, names.attention.castResult);
  hidden = cells.add(hidden, attention, "add");
  Value feedForward =
      addFeedForward(cells, addNorm(names.postAttentionNorm, hidden));
  feedForward = cells.cast(feedForward, residual, names.feedForward.castResult);
  return cells.add(hidden, feedForward, "add");
}

} // namespace mf
