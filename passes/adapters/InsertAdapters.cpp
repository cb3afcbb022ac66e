//===- InsertAdapters.cpp - Adds low-rank adapters to linear layers -------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Families/Family.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/adapters/AdapterPlan.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace mf::passes {

#define GEN_PASS_DEF_INSERTADAPTERS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

/// Prints which weights are trained if the layers of a model get no adapters
/// but not all of its weights are trained, as in a model with a prefix. Prints
/// nothing for other models.
static void printTrained(ModelOp model, llvm::raw_ostream &os) {
  int64_t trained = 0, all = 0;
  std::string lines;
  llvm::raw_string_ostream text(lines);
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (param.getFrozen() || param.getUpdateRule() || param.getTied())
      continue;
    const int64_t count = param.getTensorType().getNumElements();
    all += count;
    if (param.getUntrained())
      continue;
    trained += count;
    text << param.getSymName() << ": " << count << " elements\n";
  }
  if (trained < all)
    os << lines << "trained elements: " << trained << " of " << all << '\n';
}

namespace {

/// The operators of a linear layer, or those of one weight of all experts.
struct LinearSite {
  LayerOp layer;
  /// The product of an input and the weight.
  ComputeOpInterface product;
  ParamOp weight, bias;
  /// The addition of the bias; null without a bias.
  AddOp biasAdd;
  /// The path of the Cell from the network on, and from its layer on.
  std::string path, cell;
  /// What the names of experts' adapters begin with, `weight1_`.
  std::string prefix;
  /// The number of the linear layer. Two products with one weight, such as
  /// those of the heads for the next and for a later token, are of one layer.
  size_t number = 0;
  bool isFirst = true;

  Value getInput() { return product->getOperand(0); }
  Value getWeight() { return product->getOperand(1); }
  /// Returns the value to which adapters add.
  Value getResult() {
    return biasAdd ? Value(biasAdd.getResult()) : product->getResult(0);
  }
  bool isOfExperts() { return !prefix.empty(); }
  std::string getName(StringRef leaf) {
    return path + "." + prefix + leaf.str();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding linear layers
//===----------------------------------------------------------------------===//

/// Returns the parameter that `value` reads, possibly through a cast, and
/// through the shape that has the ranks of experts.
static ParamOp findParameter(ModelOp model, Value value) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  if (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getInput();
  auto read = value.getDefiningOp<GetParamOp>();
  return read ? model.lookupSymbol<ParamOp>(read.getParam()) : ParamOp();
}

/// Returns `name` without `suffix`, or an empty name if it does not end with
/// it.
static StringRef dropSuffix(StringRef name, StringRef suffix) {
  return name.consume_back(suffix) ? name : StringRef();
}

static AddOp findBiasAdd(ModelOp model, MatmulOp product, StringRef path,
                         ParamOp &bias) {
  if (!product.getResult().hasOneUse())
    return {};
  auto add = dyn_cast<AddOp>(*product->user_begin());
  if (!add || add.getLhs() != product.getResult())
    return {};
  ParamOp param = findParameter(model, add.getRhs());
  if (!param || dropSuffix(param.getSymName(), ".bias") != path)
    return {};
  bias = param;
  return add;
}

/// Returns the linear layer of a product: its input times the transpose of a
/// weight that is named `<path>.weight`.
static std::optional<LinearSite> matchLinear(ModelOp model, LayerOp layer,
                                             MatmulOp product) {
  LinearSite site;
  site.layer = layer;
  site.product = product;
  site.weight = findParameter(model, product.getRhs());
  if (!site.weight || product.getTransposeA() || !product.getTransposeB() ||
      site.weight.getTensorType().getRank() != 2)
    return std::nullopt;
  StringRef path = dropSuffix(site.weight.getSymName(), ".weight");
  // A head is the linear layer itself; a router is not one.
  StringRef cell = product.getCellName(), leaf = cell;
  if (cell.contains('.'))
    std::tie(cell, leaf) = cell.rsplit('.');
  else
    cell = "";
  if (path.empty() || !path.ends_with(cell) || leaf != "matmul")
    return std::nullopt;
  site.path = path.str();
  site.cell = cell.str();
  site.biasAdd = findBiasAdd(model, product, path, site.bias);
  return site;
}

/// Returns the products of all experts with a weight of each, which is named
/// `<path>.weight1` or `<path>.weight2`.
static std::optional<LinearSite> matchExperts(ModelOp model, LayerOp layer,
                                              ExpertMatmulOp product) {
  LinearSite site;
  site.layer = layer;
  site.product = product;
  site.weight = findParameter(model, product.getWeight());
  if (!site.weight || product.getTransposeWeight() ||
      site.weight.getTensorType().getRank() != 3)
    return std::nullopt;
  auto [path, leaf] = site.weight.getSymName().rsplit('.');
  site.path = path.str();
  site.cell = product.getCellName().rsplit('.').first.str();
  site.prefix = leaf.str() + "_";
  return site;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static std::vector<std::string> getTexts(ArrayAttr names) {
  std::vector<std::string> texts;
  if (names)
    for (auto name : names.getAsRange<StringAttr>())
      texts.push_back(name.getValue().str());
  return texts;
}

/// Returns the shape of a weight as that of a layer: inputs and outputs, and
/// the number of experts.
static LinearLayer describeLayer(LinearSite &site) {
  ArrayRef<int64_t> shape = site.weight.getTensorType().getShape();
  if (site.isOfExperts())
    return {site.path, shape[1], shape[2], site.prefix, shape[0]};
  return {site.path, shape[1], shape[0]};
}

/// Returns `name` without its last `count` components.
static StringRef dropParts(StringRef name, unsigned count) {
  for (; count > 0; --count)
    name = name.contains('.') ? name.rsplit('.').first : StringRef();
  return name;
}

/// Replaces an operand. If the previous operand is a cast without other
/// readers, it is erased.
static void replaceOperand(Operation *op, unsigned number, Value value) {
  Operation *before = op->getOperand(number).getDefiningOp();
  op->setOperand(number, value);
  if (isa_and_nonnull<CastOp>(before) && before->use_empty())
    before->erase();
}

/// Returns alpha / rank, rounded to the type of the product.
static double getFactor(LoraAttr lora, Type element) {
  llvm::APFloat factor(lora.getAlpha().convertToDouble() /
                       static_cast<double>(lora.getRank()));
  bool losesInfo = false;
  factor.convert(cast<FloatType>(element).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return factor.convertToDouble();
}

namespace {

class AdapterInserter {
public:
  AdapterInserter(ModelOp model, LoraAttr lora, bool printPlan)
      : model(model), lora(lora), printPlan(printPlan),
        builder(model.getContext()) {}

  LogicalResult run() {
    collect();
    const AdapterRules rules = getRules();
    std::string error;
    std::optional<AdapterPlan> plan =
        planAdapters(rules, layers, parameters, error);
    mlir::Location place = lora.getLocation()
                               ? mlir::Location(lora.getLocation())
                               : model.getLoc();
    if (!plan)
      return emitError(place) << error;
    if (!plan->warning.empty())
      emitWarning(place) << plan->warning;
    if (printPlan)
      printAdapters(rules, layers, parameters, *plan,
                    mf::passes::PrintedPlan(model).os());
    for (LinearSite &site : sites)
      if (plan->isAdapted[site.number])
        apply(site, plan->trainsA[site.number], plan->trainsB[site.number]);
    freeze(*plan);
    model.setLoraAttr(LoraAttr::get(
        model.getContext(), lora.getRank(), lora.getAlpha(), lora.getDropout(),
        lora.getTarget(), lora.getNameA(), lora.getNameB(), lora.getInitA(),
        lora.getInitB(), lora.getParamType(), lora.getComputeType(),
        lora.getExclude(), lora.getFreezeInclude(), lora.getFreezeExclude(),
        lora.getMatchesPaths(), lora.getTrainsOthers(), /*inserted=*/true,
        lora.getLocation()));
    emitRemark(*plan);
    return success();
  }

private:
  void collect() {
    llvm::StringMap<size_t> numbers;
    auto add = [&](std::optional<LinearSite> site) {
      if (!site)
        return;
      auto [entry, isNew] =
          numbers.try_emplace(site->getName(""), layers.size());
      site->number = entry->second;
      site->isFirst = isNew;
      if (isNew)
        layers.push_back(describeLayer(*site));
      sites.push_back(std::move(*site));
    };
    for (auto layer : model.getBody().getOps<LayerOp>()) {
      for (MatmulOp product : layer.getBody().getOps<MatmulOp>())
        add(matchLinear(model, layer, product));
      // In the static graph only Cells of class Linear get adapters.
      if (lora.getMatchesPaths())
        for (auto product : layer.getBody().getOps<ExpertMatmulOp>())
          add(matchExperts(model, layer, product));
    }
    // Tables are constants, statistics are not updated by the optimizer, and a
    // tied parameter is represented by its owner.
    for (auto param : model.getBody().getOps<ParamOp>())
      if (!param.getFrozen() && !param.getUpdateRule() && !param.getTied()) {
        weights.push_back(param);
        parameters.push_back(
            {param.getSymName().str(), param.getTensorType().getNumElements()});
      }
  }

  AdapterRules getRules() {
    AdapterRules rules;
    rules.rank = lora.getRank();
    rules.target = lora.getTarget().getValue().str();
    rules.matchesPaths = lora.getMatchesPaths();
    rules.trainsOthers = lora.getTrainsOthers();
    rules.nameA = lora.getNameA().getValue().str();
    rules.nameB = lora.getNameB().getValue().str();
    // Parameters of mcore's networks are named from GPTModel on.
    if (mf::isMcore(model.getFamily()))
      rules.network = "model";
    rules.exclude = getTexts(lora.getExclude());
    rules.freezeInclude = getTexts(lora.getFreezeInclude());
    rules.freezeExclude = getTexts(lora.getFreezeExclude());
    return rules;
  }

  void apply(LinearSite &site, bool trainsA, bool trainsB) {
    auto before = cast<RankedTensorType>(site.getResult().getType());
    if (Type element = lora.getComputeType();
        element && element != before.getElementType())
      convertProduct(site, element);
    Type element = getElementTypeOrSelf(site.getResult().getType());
    const LinearLayer layer = describeLayer(site);
    const int64_t rank = lora.getRank();
    const int64_t inputs = layer.numInputs, outputs = layer.numOutputs;
    Attribute whole = builder.getArrayAttr({});
    ArrayAttr cuts = site.weight.getCutsAttr();
    auto getCut = [&](unsigned dim) { return cuts ? cuts[dim] : whole; };
    // Of [out, in], or of [experts, in, out].
    SmallVector<int64_t> shapeA = {rank, inputs}, shapeB = {outputs, rank};
    SmallVector<Attribute> cutsA = {whole, getCut(1)},
                           cutsB = {getCut(0), whole};
    if (site.isOfExperts()) {
      shapeA = {layer.numExperts, inputs, rank};
      shapeB = {layer.numExperts, rank, outputs};
      cutsA = {getCut(0), getCut(1), whole};
      cutsB = {getCut(0), whole, getCut(2)};
    }

    builder.setInsertionPointAfterValue(site.getResult());
    Value input = dropInput(site, site.getInput());
    ParamOp paramA, paramB;
    InitAttr initA = lora.getInitA(), initB = lora.getInitB();
    // This is HeUniform with a negative slope of sqrt(5).
    if (!initA)
      initA = InitAttr::get(builder.getContext(), InitKind::Uniform,
                            1 / std::sqrt(static_cast<double>(inputs)));
    if (!initB)
      initB = InitAttr::get(builder.getContext(), InitKind::Zeros, 0.0);
    Operation *last = site.bias ? site.bias : site.weight;
    Value a = addParameter(site, last, lora.getNameA(), shapeA, initA, cutsA,
                           trainsA, paramA);
    Value u = multiply(site, "lora_a_matmul", input, a);
    Value b = addParameter(site, paramA, lora.getNameB(), shapeB, initB, cutsB,
                           trainsB, paramB);
    Value v = multiply(site, "lora_b_matmul", u, b);
    Value z = create<ScaleOp>(site, "mul", v.getType(), v,
                              builder.getF64FloatAttr(getFactor(lora, element)),
                              StringAttr(), RecomputeKindAttr(), SwapAttr());
    auto sum = create<AddOp>(site, "add", site.getResult(), z);
    site.getResult().replaceAllUsesExcept(sum.getResult(), sum);
  }

  /// Computes the layer in `element`. The readers of its result still see the
  /// former type.
  void convertProduct(LinearSite &site, Type element) {
    auto before = cast<RankedTensorType>(site.getResult().getType());
    builder.setInsertionPoint(site.product);
    Value input = convert(site.getInput(), element, site);
    Value weight = convert(site.getWeight(), element, site);
    replaceOperand(site.product, 0, input);
    replaceOperand(site.product, 1, weight);
    site.product->getResult(0).setType(before.clone(element));
    if (site.biasAdd) {
      builder.setInsertionPoint(site.biasAdd);
      replaceOperand(site.biasAdd, 1,
                     convert(site.biasAdd.getRhs(), element, site));
      site.biasAdd.getResult().setType(before.clone(element));
    }
    builder.setInsertionPointAfterValue(site.getResult());
    auto back = create<CastOp>(site, "cast", before, site.getResult());
    site.getResult().replaceAllUsesExcept(back.getResult(), back);
  }

  /// Converts a value. Linear layers with the same input share its conversion.
  Value convert(Value value, Type element, LinearSite &site) {
    if (getElementTypeOrSelf(value.getType()) == element)
      return value;
    if (auto op = value.getDefiningOp<CastOp>();
        op && dropParts(op.getCellName(), 2) == dropParts(site.cell, 1))
      value = op.getInput();
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType() == element)
      return value;
    for (Operation *user : value.getUsers())
      if (auto known = dyn_cast<CastOp>(user);
          known && known.getType() == type.clone(element) &&
          known->isBeforeInBlock(&*builder.getInsertionPoint()))
        return known.getResult();
    return create<CastOp>(site, "cast", type.clone(element), value).getResult();
  }

  /// Multiplies by a matrix of an adapter, or by that of each expert.
  Value multiply(LinearSite &site, StringRef leaf, Value input, Value weight) {
    if (!site.isOfExperts())
      return create<MatmulOp>(site, leaf, input, weight, /*transposeA=*/false,
                              /*transposeB=*/true);
    // [experts, in, out] as [ranks, experts of a rank, in, out].
    ArrayRef<int64_t> dims =
        cast<RankedTensorType>(weight.getType()).getShape();
    auto original = cast<RankedTensorType>(site.getWeight().getType());
    auto type = RankedTensorType::get(
        {original.getDimSize(0), original.getDimSize(1), dims[1], dims[2]},
        getElementTypeOrSelf(weight.getType()));
    Value shared = create<ReshapeOp>(site, leaf, type, weight);
    return create<ExpertMatmulOp>(site, leaf, input, shared,
                                  site.product->getOperand(2));
  }

  Value addParameter(LinearSite &site, Operation *after, StringAttr leaf,
                     ArrayRef<int64_t> shape, InitAttr init,
                     ArrayRef<Attribute> cuts, bool isTrained, ParamOp &param) {
    ParamOp original = site.weight;
    Value product = site.getResult();
    Type element = lora.getParamType();
    if (!element)
      element = original.getTensorType().getElementType();
    auto type = RankedTensorType::get(shape, element);
    std::string name = site.getName(leaf.getValue());
    auto readParameter = [&] {
      // A layer reads a parameter once, since its chunk has one gradient of it.
      auto reads = site.layer.getBody().getOps<GetParamOp>();
      auto known = llvm::find_if(
          reads, [&](GetParamOp other) { return other.getParam() == name; });
      Value read =
          known != reads.end()
              ? (*known).getResult()
              : GetParamOp::create(builder, site.product.getLoc(), type, name)
                    .getResult();
      return convert(read, getElementTypeOrSelf(product.getType()), site);
    };
    if (!site.isFirst) {
      param = model.lookupSymbol<ParamOp>(name);
      return readParameter();
    }
    OpBuilder outside(model.getContext());
    outside.setInsertionPointAfter(after);
    param = ParamOp::create(outside, after->getLoc(), name, type, init,
                            /*frozen=*/false, FlatSymbolRefAttr());
    param.setUntrained(!isTrained);
    if (Type kept = KeptType::find(original))
      KeptType::setOn(param, kept);
    auto isCut = [](Attribute axes) { return !cast<ArrayAttr>(axes).empty(); };
    if (llvm::any_of(cuts, isCut)) {
      param.setCutsAttr(builder.getArrayAttr(cuts));
      param.setMayStayWhole(original.getMayStayWhole());
    }
    return readParameter();
  }

  /// Returns the values that seed random bits, which are the last argument of
  /// the layer.
  Value getDraw(LayerOp layer) {
    Type type = getDrawType(builder.getContext());
    for (BlockArgument argument : layer.getBody().getArguments())
      if (argument.getType() == type)
        return argument;
    Value draw = layer.getBody().addArgument(type, layer.getLoc());
    layer.setFunctionType(builder.getFunctionType(
        layer.getBody().getArgumentTypes(), layer.getResultTypes()));
    return draw;
  }

  Value dropInput(LinearSite &site, Value input) {
    const double rate = lora.getDropout().convertToDouble();
    if (rate == 0)
      return input;
    StringRef leaf = "lora_dropout.dropout";
    std::string source = site.getName(leaf);
    // Each product drops other elements.
    if (!site.isFirst)
      source = site.layer.getSymName().str() + "." + source;
    Value mask = create<DropoutMaskOp>(site, leaf, input, getDraw(site.layer),
                                       rate, source);
    return create<DropoutOp>(site, leaf, input, mask, rate).getResult();
  }

  /// A tied parameter is trained if and only if its owner is.
  void freeze(const AdapterPlan &plan) {
    for (auto [param, isTrained] : llvm::zip_equal(weights, plan.isTrained))
      param.setUntrained(!isTrained);
    for (auto param : model.getBody().getOps<ParamOp>())
      if (std::optional<StringRef> owner = param.getTied())
        param.setUntrained(model.lookupSymbol<ParamOp>(*owner).getUntrained());
    narrow();
  }

  /// Gives weights that are not trained the type in which layers read them. The
  /// wider type is that of the optimizer's copy.
  void narrow() {
    SymbolTable symbols(model);
    auto getKept = [](ParamOp param) {
      Type kept = KeptType::find(param);
      const bool isNarrower =
          kept && param.getUntrained() &&
          kept.getIntOrFloatBitWidth() <
              param.getTensorType().getElementType().getIntOrFloatBitWidth();
      return isNarrower ? kept : Type();
    };
    SmallVector<GetParamOp> reads;
    model.walk([&](GetParamOp read) {
      if (getKept(symbols.lookup<ParamOp>(read.getParam())))
        reads.push_back(read);
    });
    for (GetParamOp read : reads) {
      auto type = cast<RankedTensorType>(read.getType())
                      .clone(getKept(symbols.lookup<ParamOp>(read.getParam())));
      read.getResult().setType(type);
      for (Operation *user : llvm::make_early_inc_range(read->getUsers()))
        if (auto conversion = dyn_cast<CastOp>(user)) {
          conversion.replaceAllUsesWith(read.getResult());
          conversion.erase();
        }
    }
    for (auto param : model.getBody().getOps<ParamOp>())
      if (Type kept = getKept(param)) {
        param.setType(param.getTensorType().clone(kept));
        param->removeAttr(KeptType::attributeName);
      }
  }

  void emitRemark(const AdapterPlan &plan) {
    remark::passed(model.getLoc(), remark::RemarkOpts::name("Adapters")
                                       .category("adapters")
                                       .function(model.getSymName()))
        << remark::add("{0} linear layers get adapters of rank {1}",
                       plan.numAdapted, lora.getRank())
        << remark::metric("trained elements", plan.getTrainedElements())
        << remark::metric("frozen elements", plan.frozenElements);
  }

  template <typename OpT, typename... Args>
  OpT create(LinearSite &site, StringRef leaf, Args &&...args) {
    OpT op = OpT::create(builder, site.product.getLoc(),
                         std::forward<Args>(args)...);
    op.setCellName(site.cell.empty() ? leaf.str()
                                     : site.cell + "." + leaf.str());
    return op;
  }

  ModelOp model;
  LoraAttr lora;
  bool printPlan;
  OpBuilder builder;
  std::vector<LinearSite> sites;
  std::vector<LinearLayer> layers;
  SmallVector<ParamOp> weights;
  std::vector<WeightToTrain> parameters;
};

struct InsertAdaptersPass
    : mf::passes::PrintingPass<
          mf::passes::impl::InsertAdaptersBase<InsertAdaptersPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    LoraAttr lora = model.getLoraAttr();
    if (!lora && printPlan)
      printTrained(model, mf::passes::PrintedPlan(model).os());
    if (!lora || lora.getInserted())
      return;
    if (failed(AdapterInserter(model, lora, printPlan).run()))
      signalPassFailure();
  }
};

} // namespace
