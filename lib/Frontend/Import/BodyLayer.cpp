//===- BodyLayer.cpp - Norms, feed forward and residual stream ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BodyLayer.h"
#include "ExpertLayer.h"
#include "HyperConnections.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

Value addFeedForward(CellBuilder &cells, Value input,
                     const FeedForwardTraits &feedForward) {
  const ModelSpec &spec = cells.spec;
  const FeedForwardNames &names = cells.names.feedForward;
  CellBuilder::Cell cell(cells, feedForward.cell);
  int64_t size = feedForward.size;
  // Shared experts have the Cells of a dense feed forward.
  const FactSet facts = getFacts(spec, /*hasExperts=*/false);
  auto addLinear = [&](PartList parts, Value value, int64_t outSize,
                       LinearTraits traits = {}) {
    CellBuilder::Cell linear(
        cells, findCell(cells.family.cells.layer, facts, parts, names.cell));
    if (!feedForward.isCut)
      traits.axes.clear();
    traits.storesInputRows = spec.storesInputRows;
    if (!traits.cutsInputs)
      traits.hasBias = spec.feedForwardInputBias;
    return cells.addLinear(value, outSize, traits);
  };
  auto activate = [&](Value value, StringRef leaf) {
    if (!feedForward.fused.empty())
      leaf = feedForward.fused;
    switch (spec.activation) {
    case Activation::Silu:
      return cells.create<SiluOp>(leaf, value.getType(), value).getResult();
    case Activation::Gelu:
      return cells.create<GeluOp>(leaf, value.getType(), value).getResult();
    case Activation::FastGelu:
      if (!names.fastActivation.empty())
        leaf = names.fastActivation;
      return cells.create<FastGeluOp>(leaf, value.getType(), value).getResult();
    }
    llvm_unreachable("unknown activation");
  };

  if (!names.cast.empty())
    input = cells.cast(input, spec.computeType, names.cast);
  const bool isLimited = spec.activationLimit.has_value();
  Value gate, up;
  if (spec.concatenatesFeedForward) {
    // Gate and up outputs of a neuron are adjacent, so that ranks can shard the
    // neurons.
    LinearTraits pairTraits;
    pairTraits.matrices = {0, {1, 1}, {}};
    Value both = addLinear({ParameterPart::Gate, ParameterPart::Up}, input,
                           2 * size, pairTraits);
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
    if (!isLimited)
      gate = activate(gate, names.concatenatedActivation);
  } else if (spec.gatesFeedForward) {
    gate = addLinear(ParameterPart::Gate, input, size);
    gate = activate(gate, names.activation);
    up = addLinear(ParameterPart::Up, input, size);
  } else {
    up = addLinear(ParameterPart::Up, input, size);
  }
  Value product =
      isLimited
          ? cells.addLimitedProduct(gate, up, names.concatenatedActivation,
                                    names.activationMultiply)
      : gate ? cells.multiply(gate, up,
                              !feedForward.fused.empty() ? feedForward.fused
                              : spec.activationMultiplies
                                  ? names.activationMultiply
                                  : names.multiply)
             : activate(spec.widensActivation
                            ? cells.cast(up, spec.residualType, "cast")
                            : up,
                        names.activation);
  LinearTraits traits;
  traits.hasBias = spec.feedForwardOutputBias;
  traits.cutsInputs = true;
  if (!cells.names.linearDropout.empty())
    traits.dropout = spec.dropout.hidden;
  Value result =
      addLinear(ParameterPart::Down, product, spec.hiddenSize, traits);
  return names.dropout.empty()
             ? result
             : cells.drop(result, spec.dropout.hidden, names.dropout);
}

bool hasLayerLoss(const ModelSpec &spec, int64_t index, bool hasExperts) {
  return (hasExperts && hasExpertLoss(spec)) || hasIndexerLoss(spec, index);
}

std::pair<StringRef, double> getLayerLossName(const ModelSpec &spec) {
  int64_t expertLosses = 0, indexerLosses = 0;
  for (int64_t index = 0; index < spec.numLayers; ++index) {
    expertLosses += spec.hasExperts(index) && hasExpertLoss(spec);
    indexerLosses += hasIndexerLoss(spec, index);
  }
  if (expertLosses + indexerLosses == 0)
    return {};
  const RouterSpec *router = spec.experts ? &spec.experts->router : nullptr;
  // A mean over layers is one of a single kind of loss.
  if (indexerLosses > 0 || !router->reportsMeanLoss || router->losses.empty())
    return {"aux_loss", 1.0};
  if (spec.hasExperts(spec.numLayers - 1))
    expertLosses += spec.nextTokens.depth;
  return {"load_balancing_loss",
          router->losses.front().factor * static_cast<double>(expertLosses)};
}

SmallVector<Value, 2> addBodyLayer(CellBuilder &cells, Value hidden,
                                   bool hasExperts) {
  const ModelSpec &spec = cells.spec;
  const OperatorNames &names = cells.names;
  cells.beginBody(hasExperts);
  Value loss;
  auto addLoss = [&](Value own) {
    if (own)
      loss = loss ? cells.add(loss, own, "add_loss") : own;
  };
  auto addNorm = [&](ParameterPart part, Value value) {
    CellBuilder::Cell norm(
        cells, findCell(cells.family.cells.layer, cells.facts, part));
    return cells.addNorm(value);
  };
  auto drop = [&](Value value) {
    return names.residualDropout.empty()
               ? value
               : cells.drop(value, spec.dropout.hidden, names.residualDropout);
  };
  // Results of attention and feed forward are added to this.
  auto continueStream = [&](Value stream, Value normalized) {
    return spec.residualScale == 0 ? stream
                                   : cells.scale(normalized, spec.residualScale,
                                                 names.residualScale);
  };
  // Adds `addOutput` of the normalised input, in the residual type, to the
  // residual stream, or to several ones at site `site`.
  auto addTo = [&](StringRef site, ParameterPart norm, auto addOutput) {
    if (spec.streams) {
      HyperConnection streams(cells, site, hidden);
      hidden = streams.addResult(addOutput(addNorm(norm, streams.getInput())));
      return;
    }
    Value input = addNorm(norm, hidden);
    Value output = addOutput(input);
    hidden = cells.add(continueStream(hidden, input), output, "add");
  };
  addTo("attn_hc", ParameterPart::AttentionNorm, [&](Value input) {
    Value attention;
    if (spec.hybrid) {
      HybridResult result = addHybridAttention(cells, input);
      attention = result.hidden;
      addLoss(result.loss);
    } else {
      attention = spec.latent ? addLatentAttention(cells, input)
                              : addAttention(cells, input);
    }
    return cells.cast(drop(attention), spec.residualType,
                      names.attention.castResult);
  });
  addTo("ffn_hc", ParameterPart::FeedForwardNorm, [&](Value input) {
    if (hasExperts) {
      ExpertResult result = addExperts(cells, input);
      addLoss(result.loss);
      return cells.cast(drop(result.hidden), spec.residualType,
                        names.experts.castResult);
    }
    FeedForwardTraits traits;
    traits.cell = names.feedForward.cell;
    traits.size = spec.feedForwardSize;
    return cells.cast(drop(addFeedForward(cells, input, traits)),
                      spec.residualType, names.feedForward.castResult);
  });
  SmallVector<Value, 2> results = {hidden};
  if (loss) {
    results.push_back(loss);
    cells.nameLosses(getLayerLossName(spec));
  }
  return results;
}

} // namespace mf
