//===- WeightLayout.cpp - Layout of a model's weights ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "WeightLayout.h"
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
/// Finds sizes in parameters by the ends of their names.
class ParameterSizes {
public:
  explicit ParameterSizes(ir::ModelOp model)
      : params(llvm::to_vector(model.getOps<ir::ParamOp>())) {}

  /// Returns dimension `dim` of the first parameter whose name has this ending,
  /// or 0.
  int64_t get(StringRef ending, size_t dim) {
    for (ir::ParamOp param : params) {
      ArrayRef<int64_t> dims = param.getTensorType().getShape();
      if (param.getSymName().ends_with(ending) && dim < dims.size())
        return dims[dim];
    }
    return 0;
  }
  /// Returns the first of these sizes that exists.
  int64_t get(ArrayRef<StringRef> endings, size_t dim) {
    for (StringRef ending : endings)
      if (int64_t size = get(ending, dim))
        return size;
    return 0;
  }

  int64_t countStarting(StringRef start) {
    return llvm::count_if(params, [&](ir::ParamOp param) {
      return param.getSymName().starts_with(start);
    });
  }

  int64_t getLastLayer() {
    int64_t last = -1;
    for (ir::ParamOp param : params)
      if (std::optional<ParameterName> name =
              parseParameterName(param.getSymName()))
        last = std::max(last, name->layer);
    return last;
  }

private:
  SmallVector<ir::ParamOp> params;
};
} // namespace

/// Returns the sizes of latent attention in the older classes.
static std::optional<LatentSizes> readLatentParts(ParameterSizes &sizes,
                                                  int64_t heads) {
  LatentSizes latent;
  latent.ropeSize = sizes.get(".attention.kv2l_k_pe.weight", 0);
  if (latent.ropeSize == 0 || heads == 0)
    return std::nullopt;
  latent.querySize = sizes.get(".attention.q2l_proj.weight", 0);
  latent.keyValueSize = sizes.get(".attention.kv2l_latent_kv.weight", 0);
  latent.nopeSize = sizes.get(".attention.l2q_nope_proj.weight", 0) / heads;
  latent.valueSize = sizes.get(".attention.lkv2kv_v.weight", 0) / heads;
  return latent;
}

/// Returns the sizes of latent attention in the mcore training graph, where
/// parts are stored together.
static std::optional<LatentSizes> readLatentMcore(ParameterSizes &sizes,
                                                  int64_t heads) {
  static const StringRef values[] = {
      ".self_attention.linear_kvb.weight",
      ".self_attention.linear_kv_up_proj.weight"};
  static const StringRef queries[] = {
      ".self_attention.linear_qb.weight",
      ".self_attention.linear_q_up_proj.weight"};
  LatentSizes latent;
  latent.keyValueSize = sizes.get(values, 1);
  if (latent.keyValueSize == 0 || heads == 0)
    return std::nullopt;
  latent.querySize = sizes.get(queries, 1);
  int64_t head = sizes.get(queries, 0) / heads;
  if (latent.querySize == 0)
    head = sizes.get(".self_attention.linear_q_proj.weight", 0) / heads;
  int64_t down = sizes.get(".self_attention.linear_kv_down_proj.weight", 0);
  if (down == 0)
    down = sizes.get(".self_attention.linear_qkv.weight", 0) - latent.querySize;
  latent.ropeSize = down - latent.keyValueSize;
  latent.nopeSize = head - latent.ropeSize;
  latent.valueSize = sizes.get(values, 0) / heads - latent.nopeSize;
  return latent;
}

/// Returns whether a parameter is a tied head. Other tied parameters are the
/// embedding of layers that predict more tokens.
static bool isTiedHead(ir::ParamOp param) {
  std::optional<ParameterName> name = parseParameterName(param.getSymName());
  return param.getTied() && name && name->parts[0] == ParameterPart::Head;
}

/// Returns the number of ranks that shard experts with gate and up in one
/// weight.
static int64_t readGateUpBlocks(ir::ModelOp model) {
  for (auto param : model.getOps<ir::ParamOp>())
    if (param.getSymName().ends_with(".ffn.w_gate_hidden.weight")) {
      const ir::Layout layout(param.getLayoutAttr(), 3);
      return ir::MeshSizes(ir::MeshAttr::find(model))
          .getNumParts(layout.cuts[1]);
    }
  return 1;
}

ParameterLayout readParameterLayout(ir::ModelOp model) {
  static const StringRef routers[] = {
      ".router.dense.weight", ".router_dense.weight", ".mlp.router.weight"};
  ParameterLayout layout;
  readHeads(model, layout);
  ParameterSizes sizes(model);
  layout.latent = readLatentParts(sizes, layout.numHeads);
  if (!layout.latent)
    layout.latent = readLatentMcore(sizes, layout.numHeads);
  layout.numExperts = sizes.get(routers, 0);
  layout.gateUpBlocks = readGateUpBlocks(model);
  layout.numLayers =
      sizes.getLastLayer() + 1 - sizes.countStarting("model.mtp_norms.");
  const FamilyRecord *family = findFamily(model.getFamily().value_or(""));
  layout.transposesQueries =
      family && When(Fact::TransposedHeads).holds(family->facts);
  layout.tiesWordEmbeddings =
      llvm::any_of(model.getOps<ir::ParamOp>(), isTiedHead);
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
  // Among these families, only Baichuan normalises its head.
  if (model.lookupSymbol("lm_head.norm_scale"))
    return NameScheme::HuggingFaceBaichuan;
  ParameterSizes sizes(model);
  if (sizes.get(".shared_experts_gate.weight", 0) != 0)
    return NameScheme::HuggingFaceQwen2Moe;
  if (layout.latent || sizes.get(".shared_experts.w1.weight", 0) != 0)
    return NameScheme::HuggingFaceDeepSeek;
  const FamilyRecord *family = findFamily(model.getFamily().value_or(""));
  if (!family)
    return NameScheme::HuggingFace;
  return layout.numExperts != 0
             ? family->huggingFaceExperts.value_or(family->huggingFace)
             : family->huggingFace;
}

bool predictsFromOtherState(ir::ModelOp model) {
  return ParameterSizes(model).countStarting("model.mtp_hidden_fusers.") != 0;
}

} // namespace mf
