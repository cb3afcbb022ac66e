//===- WeightLayout.cpp - Layout of a model's weights ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Weights.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace mf {

static ArrayRef<int64_t> getDims(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Reads the number of heads and their size from the model's first attention.
/// The attention is the fused operator, or the product of query and key, whose
/// heads may be repeated.
static void readHeads(ir::ModelOp model, ParameterLayout &layout) {
  auto set = [&](ArrayRef<int64_t> query, int64_t keyValueHeads) {
    layout.numHeads = query[1];
    layout.numKeyValueHeads = keyValueHeads;
    layout.headSize = query[3];
    return WalkResult::interrupt();
  };
  model.walk([&](Operation *op) {
    if (auto flash = dyn_cast<ir::FlashAttentionOp>(op))
      return set(getDims(flash.getQuery()), getDims(flash.getKey())[1]);
    auto product = dyn_cast<ir::MatmulOp>(op);
    if (!product || getDims(product.getRhs()).size() != 4)
      return WalkResult::advance();
    Value key = product.getRhs();
    if (auto repeat = key.getDefiningOp<ir::RepeatOp>())
      key = repeat.getInput();
    return set(getDims(product.getLhs()), getDims(key)[1]);
  });
}

namespace {
/// The parameters of a model, found by what they hold.
class HeldParameters {
public:
  struct Held {
    ir::ParamOp param;
    ParameterName name;

    ArrayRef<int64_t> getDims() const {
      return ir::ParamOp(param).getTensorType().getShape();
    }
    bool has(ParameterPart part) const {
      return llvm::is_contained(name.parts, part);
    }
  };

  explicit HeldParameters(ir::ModelOp model) {
    // Names that have several meanings are read as those of latent attention,
    // of which no other attention has all parameters.
    ParameterLayout layout;
    layout.latent.emplace().querySize = 1;
    layout.numLayers = firstLater;
    read(model, layout);
    if (find(ParameterPart::QueryDown))
      return;
    layout.latent->querySize = 0;
    read(model, layout);
  }

  /// Returns the first weight with this part, or null.
  const Held *find(ParameterPart part) const {
    const auto *found = llvm::find_if(list, [&](const Held &held) {
      return held.has(part) && !held.name.isBias;
    });
    return found == list.end() ? nullptr : found;
  }
  ArrayRef<Held> get() const { return list; }

  /// Returns the number of layers without those that predict later tokens.
  int64_t countLayers(const FamilyRecord *family) const {
    int64_t count = 0;
    for (const Held &held : list)
      if (held.name.layer < firstLater)
        count = std::max(count, held.name.layer + 1);
    if (family && family->joinsAfterNorm)
      return count;
    // These layers have numbers behind those of the others.
    return count - llvm::count_if(list, [](const Held &held) {
             return held.has(ParameterPart::PredictionNorm);
           });
  }

private:
  /// The number of the first layer that has a number among those that predict
  /// later tokens.
  static constexpr int64_t firstLater = int64_t{1} << 40;

  void read(ir::ModelOp model, const ParameterLayout &layout) {
    list.clear();
    for (ir::ParamOp param : model.getOps<ir::ParamOp>())
      if (auto name = parseParameterName(param.getSymName(), layout))
        list.push_back({param, *name});
  }

  SmallVector<Held> list;
};
} // namespace

/// Returns the sizes of latent attention. A class stores each part of a
/// projection on its own, or several together.
static std::optional<LatentSizes> readLatent(const HeldParameters &parameters,
                                             int64_t heads) {
  const auto *value = parameters.find(ParameterPart::ValueUp);
  const auto *query = parameters.find(ParameterPart::QueryNope);
  const auto *key = parameters.find(ParameterPart::KeyRope);
  if (!value || !query || !key || heads == 0)
    return std::nullopt;
  LatentSizes latent;
  latent.keyValueSize = value->getDims()[1];
  if (parameters.find(ParameterPart::QueryDown))
    latent.querySize = query->getDims()[1];
  latent.ropeSize = key->getDims()[0];
  if (key->has(ParameterPart::KeyValueDown))
    latent.ropeSize -= latent.keyValueSize;
  if (key->has(ParameterPart::QueryDown))
    latent.ropeSize -= latent.querySize;
  latent.nopeSize = query->getDims()[0] / heads;
  if (query->has(ParameterPart::QueryRope))
    latent.nopeSize -= latent.ropeSize;
  latent.valueSize = value->getDims()[0] / heads;
  if (value->has(ParameterPart::KeyNope))
    latent.valueSize -= latent.nopeSize;
  return latent;
}

/// Returns the number of ranks that shard experts with gate and up in one
/// weight, neuron by neuron.
static int64_t readGateUpBlocks(ir::ModelOp model,
                                const HeldParameters &parameters) {
  const auto *gate = parameters.find(ParameterPart::ExpertGate);
  if (!gate || gate->name.order != RowOrder::Grouped)
    return 1;
  const ir::Layout layout(ir::ParamOp(gate->param).getLayoutAttr(), 3);
  return ir::MeshSizes(ir::MeshAttr::find(model)).getNumParts(layout.cuts[1]);
}

static const FamilyRecord *findFamily(ir::ModelOp model) {
  return findFamily(model.getFamily().value_or(""));
}

ParameterLayout readParameterLayout(ir::ModelOp model) {
  ParameterLayout layout;
  readHeads(model, layout);
  const HeldParameters parameters(model);
  layout.latent = readLatent(parameters, layout.numHeads);
  if (const auto *router = parameters.find(ParameterPart::Router))
    layout.numExperts = router->getDims()[0];
  layout.gateUpBlocks = readGateUpBlocks(model, parameters);
  const FamilyRecord *family = findFamily(model);
  layout.numLayers = parameters.countLayers(family);
  layout.transposesQueries =
      family && When(Fact::TransposedHeads).holds(family->facts);
  // Other tied parameters are the embedding of layers that predict later
  // tokens.
  layout.tiesWordEmbeddings =
      llvm::any_of(parameters.get(), [](const HeldParameters::Held &held) {
        return ir::ParamOp(held.param).getTied() &&
               held.has(ParameterPart::Head);
      });
  return layout;
}

/// A parameter that only records a value for the log, or the largest value of a
/// step, is computed in each step.
static bool isRecord(ir::ParamOp param) {
  return param.getUpdateRule() == ir::UpdateRule::Record ||
         param.keepsLargest();
}

/// Returns whether a parameter belongs to an adapter. No checkpoint of the
/// adapted model contains it.
static bool isAdapter(ir::ModelOp model, ir::ParamOp param) {
  ir::LoraAttr lora = model.getLoraAttr();
  // The names of experts' adapters are `weight1_lora_a`.
  return lora &&
         llvm::any_of(llvm::ArrayRef{lora.getNameA(), lora.getNameB()},
                      [&](mlir::StringAttr leaf) {
                        StringRef name = param.getSymName();
                        return name.consume_back(leaf.getValue()) &&
                               (name.ends_with(".") || name.ends_with("_"));
                      });
}

std::vector<NamedShape> listParameters(ir::ModelOp model) {
  std::vector<NamedShape> parameters;
  for (auto param : model.getOps<ir::ParamOp>()) {
    const bool isTokenExperts =
        param.getFrozen() &&
        param.getInit().getKind() == ir::InitKind::TokenExperts;
    if ((param.getFrozen() && !isTokenExperts) || param.getTied() ||
        isRecord(param) || isAdapter(model, param))
      continue;
    NamedShape shape;
    shape.name = param.getSymName().str();
    // Files hold integers.
    if (isTokenExperts)
      shape.shape.type = DType::I32;
    llvm::append_range(shape.shape.dims, param.getTensorType().getShape());
    parameters.push_back(std::move(shape));
  }
  return parameters;
}

NameScheme getHuggingFaceScheme(ir::ModelOp model,
                                const ParameterLayout &layout) {
  if (model.lookupSymbol((headLayer + "." + headFactor).str()))
    return NameScheme::HuggingFaceBaichuan;
  const HeldParameters parameters(model);
  if (parameters.find(ParameterPart::SharedRouter))
    return NameScheme::HuggingFaceQwen2Moe;
  if (layout.latent || parameters.find(ParameterPart::SharedGate))
    return NameScheme::HuggingFaceDeepSeek;
  const FamilyRecord *family = findFamily(model);
  if (!family)
    return NameScheme::HuggingFace;
  return layout.numExperts != 0
             ? family->huggingFaceExperts.value_or(family->huggingFace)
             : family->huggingFace;
}

bool predictsFromOtherState(ir::ModelOp model) {
  const FamilyRecord *family = findFamily(model);
  return !(family && family->joinsAfterNorm) &&
         HeldParameters(model).find(ParameterPart::PredictionHiddenNorm);
}

} // namespace mf
