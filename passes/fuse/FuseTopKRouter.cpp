//===- FuseTopKRouter.cpp - Places of tokens as one operator --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"

namespace mf::passes {

#define GEN_PASS_DEF_FUSETOPKROUTER
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// The assignment of choices to places in experts of limited capacity, computed
/// by operators on tensors [rows, choices, experts].
struct PlacesSite {
  mf::ir::OneHotOp mask;
  mlir::Value chosen; ///< [rows, tokens, k], i32
  /// True if all first choices get places before the second ones.
  bool isKMajor = false;
  int64_t capacity = 0;

  /// 1 + the token of each place, 0 for none: [rows, experts, capacity], i32.
  mf::ir::CastOp dispatch;
  /// (capacity + 1) * expert + place: [rows, tokens, k], i32.
  mf::ir::CastOp combine;
  /// The operator that computes if a choice has a place: [rows, tokens, k].
  mf::ir::CompareScalarOp kept;
  /// The number of kernels that the fusion removes.
  int64_t numKernels = 0;
};

/// Follows chains of operators. `next` returns the single operator of a kind
/// that reads `value`, or null if there are several. Every operator that is
/// visited is counted once.
class PlaceChain {
public:
  template <typename Op> Op next(Value value) {
    Op found;
    for (Operation *user : value.getUsers()) {
      auto op = dyn_cast<Op>(user);
      if (!op || op == found)
        continue;
      if (found)
        return {};
      found = op;
    }
    if (found)
      note(found);
    return found;
  }

  /// Returns the product of two values.
  MulOp product(Value lhs, Value rhs) {
    for (Operation *user : lhs.getUsers())
      if (auto op = dyn_cast<MulOp>(user);
          op && ((op.getLhs() == lhs && op.getRhs() == rhs) ||
                 (op.getLhs() == rhs && op.getRhs() == lhs))) {
        note(op);
        return op;
      }
    return {};
  }

  /// Returns a comparison of `value` with a number, whose result is 1 or 0.
  CompareScalarOp compare(Value value, Comparison comparison, double number) {
    for (Operation *user : value.getUsers())
      if (auto op = dyn_cast<CompareScalarOp>(user);
          op && op.getComparison() == comparison &&
          op.getValue().convertToDouble() == number) {
        note(op);
        return op;
      }
    return {};
  }

  void note(Operation *op) {
    if (!cast<ComputeOpInterface>(op).isView())
      kernels.insert(op);
  }
  int64_t getNumKernels() const { return static_cast<int64_t>(kernels.size()); }

private:
  llvm::SmallPtrSet<Operation *, 32> kernels;
};

} // namespace

static bool isIndex(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isInteger(32);
}

static bool isTransposed(TransposeOp op) {
  return op && op.getPerm() == ArrayRef<int64_t>{0, 2, 1};
}

namespace {

/// Matches the operators that use a mask of choices.
class PlacesMatcher {
public:
  explicit PlacesMatcher(OneHotOp mask) : mask(mask) {}

  std::optional<PlacesSite> match() {
    site.mask = mask;
    if (!matchChoices() || !matchNumbers() || !matchCombine() ||
        !matchDispatch())
      return std::nullopt;
    site.numKernels = chain.getNumKernels();
    return site;
  }

private:
  /// Matches the reshape of [rows, k, tokens] or [rows, tokens, k] to [rows,
  /// choices].
  bool matchChoices() {
    chain.note(mask);
    auto flat = mask.getIndices().getDefiningOp<ReshapeOp>();
    if (!flat || getShape(flat.getInput()).size() != 3 ||
        getShape(flat.getResult()).size() != 2 ||
        getShape(flat.getResult())[0] != getShape(flat.getInput())[0])
      return false;
    numChoices = getShape(flat.getResult())[1];
    site.chosen = flat.getInput();
    auto turned = site.chosen.getDefiningOp<TransposeOp>();
    site.isKMajor = isTransposed(turned);
    if (site.isKMajor) {
      chain.note(turned);
      site.chosen = turned.getInput();
    }
    return true;
  }

  /// Matches the sums of the mask at its elements, where they are below
  /// capacity + 1.
  bool matchNumbers() {
    auto sums = chain.next<CumsumOp>(mask);
    if (!sums || sums.getAxis() != 1)
      return false;
    auto numbers = chain.product(sums, mask);
    if (!numbers)
      return false;
    auto within = chain.next<CompareScalarOp>(numbers);
    if (!within || within.getComparison() != Comparison::Less)
      return false;
    site.capacity =
        static_cast<int64_t>(within.getValue().convertToDouble()) - 1;
    auto kept = chain.product(numbers, within);
    auto sum = kept ? chain.next<ReduceSumOp>(kept) : ReduceSumOp();
    if (!sum || sum.getAxes() != ArrayRef<int64_t>{2})
      return false;
    places = sum.getResult();
    return site.capacity >= 1;
  }

  /// Matches expert * (capacity + 1) + place, and whether there is a place.
  bool matchCombine() {
    Value restored = restore(places);
    site.kept = restored ? chain.compare(restored, Comparison::Greater, 0.0)
                         : CompareScalarOp();
    auto ids = chain.next<CastOp>(mask.getIndices());
    auto base = ids ? chain.next<ScaleOp>(ids) : ScaleOp();
    if (!site.kept || !base ||
        base.getValue().convertToDouble() !=
            static_cast<double>(site.capacity + 1))
      return false;
    auto sum = chain.next<AddOp>(base);
    if (!sum || sum.getLhs() != base.getResult() || sum.getRhs() != places)
      return false;
    Value index = restore(sum);
    site.combine = index ? chain.next<CastOp>(index) : CastOp();
    return site.combine && isIndex(site.combine);
  }

  /// Matches the choice that each place of an expert receives.
  bool matchDispatch() {
    auto selected = chain.next<TransposeOp>(mask);
    Value counting = matchCounting();
    if (!isTransposed(selected) || !counting)
      return false;
    Value sorted = matchSorted(selected, counting);
    auto first = sorted ? chain.next<SliceOp>(sorted) : SliceOp();
    auto isZero = [](int64_t value) { return value == 0; };
    if (!first || !llvm::all_of(first.getStarts(), isZero))
      return false;
    Value numbered = matchNumbered(first);
    if (!numbered)
      return false;
    if (auto pad = chain.next<PadOp>(numbered)) {
      if (!llvm::all_of(pad.getLow(), isZero))
        return false;
      numbered = pad;
    }
    site.dispatch = chain.next<CastOp>(numbered);
    int64_t experts = getShape(mask)[2];
    return site.dispatch && isIndex(site.dispatch) &&
           getShape(first) ==
               ArrayRef<int64_t>{getShape(places)[0], experts,
                                 std::min(site.capacity, numChoices)} &&
           getShape(site.dispatch) ==
               ArrayRef<int64_t>{getShape(places)[0], experts, site.capacity};
  }

  /// Matches 0, 1, ... in each row: [rows, 1, choices].
  Value matchCounting() {
    auto ones = chain.compare(places, Comparison::AtLeast, 0.0);
    auto sums = ones ? chain.next<CumsumOp>(ones) : CumsumOp();
    auto numbers = sums && sums.getAxis() == 1 ? chain.next<AddScalarOp>(sums)
                                               : AddScalarOp();
    if (!numbers || numbers.getValue().convertToDouble() != -1.0)
      return {};
    auto row = chain.next<ReshapeOp>(numbers);
    bool fits = row && getShape(row) == ArrayRef<int64_t>{getShape(places)[0],
                                                          1, numChoices};
    return fits ? row.getResult() : Value();
  }

  /// Matches the choices of each expert in ascending order, computed from
  /// `selected`.
  Value matchSorted(Value selected, Value counting) {
    auto large = chain.next<AddScalarOp>(counting);
    auto others = chain.compare(selected, Comparison::Less, 1.0);
    if (!large || !others)
      return {};
    firstOfOthers = large.getValue().convertToDouble();
    auto own = chain.product(selected, counting);
    auto rest = chain.product(others, large);
    auto raw = own ? chain.next<AddOp>(own) : AddOp();
    bool isSum =
        raw && rest &&
        ((raw.getLhs() == own.getResult() &&
          raw.getRhs() == rest.getResult()) ||
         (raw.getLhs() == rest.getResult() && raw.getRhs() == own.getResult()));
    auto sort = isSum ? chain.next<SortOp>(raw) : SortOp();
    return sort && sort.getIndices().use_empty() ? sort.getValues() : Value();
  }

  /// Matches the token of each of the choices `first`, by their order.
  Value matchTokens(Value first) {
    ArrayRef<int64_t> chosen = getShape(site.chosen);
    if (site.isKMajor) {
      auto op = chain.next<RemainderOp>(first);
      bool fits = op && op.getValue().convertToDouble() ==
                            static_cast<double>(chosen[1]);
      return fits ? op.getResult() : Value();
    }
    auto op = chain.next<FloorDivideOp>(first);
    bool fits =
        op && op.getValue().convertToDouble() == static_cast<double>(chosen[2]);
    return fits ? op.getResult() : Value();
  }

  /// Matches 1 + the token of each choice that has a place, and 0 for others.
  Value matchNumbered(Value first) {
    Value tokens = matchTokens(first);
    auto isChoice = chain.next<CompareScalarOp>(first);
    auto numbers = tokens ? chain.next<AddScalarOp>(tokens) : AddScalarOp();
    if (!isChoice || isChoice.getComparison() != Comparison::Less || !numbers ||
        numbers.getValue().convertToDouble() != 1.0)
      return {};
    // The limit must be between the last choice and the first number of the
    // others.
    double limit = isChoice.getValue().convertToDouble();
    if (limit < static_cast<double>(numChoices) || limit > firstOfOthers)
      return {};
    MulOp numbered = chain.product(numbers, isChoice);
    return numbered ? numbered.getResult() : Value();
  }

  /// Matches the reshape of [rows, choices] to [rows, tokens, k].
  Value restore(Value flat) {
    ArrayRef<int64_t> chosen = getShape(site.chosen);
    for (Operation *user : flat.getUsers()) {
      auto view = dyn_cast<ReshapeOp>(user);
      if (!view || getShape(view).size() != 3)
        continue;
      if (!site.isKMajor && getShape(view) == chosen)
        return view;
      if (!site.isKMajor ||
          getShape(view) != ArrayRef<int64_t>{chosen[0], chosen[2], chosen[1]})
        continue;
      auto turned = chain.next<TransposeOp>(view);
      if (isTransposed(turned))
        return turned;
    }
    return {};
  }

  OneHotOp mask;
  PlacesSite site;
  PlaceChain chain;
  /// The place of each choice, from 1; 0 for none. [rows, choices].
  Value places;
  int64_t numChoices = 0;
  /// In the rows that are sorted, choices of other experts have at least this
  /// value.
  double firstOfOthers = 0;
};

} // namespace

/// Returns the site in which `mask` is the one-hot form of the choices, if it
/// is one.
static std::optional<PlacesSite> matchPlaces(OneHotOp mask) {
  return PlacesMatcher(mask).match();
}

namespace {

/// Returns the values that replace those of the site: dispatch and combine of
/// the fused operator, and the mask of choices that have a place.
SmallVector<Value, 1> build(OpBuilder &builder, PlacesSite site,
                            const std::string &cell) {
  mlir::Location loc = site.mask.getLoc();
  builder.setInsertionPoint(site.mask);
  auto router = createNamed<TopKRouterOp>(
      builder, loc, cell + "topkrouter",
      TypeRange{site.dispatch.getType(), site.combine.getType()}, site.chosen,
      site.isKMajor, StringAttr(), RecomputeKindAttr(), SwapAttr());
  Value index = createNamed<CastOp>(builder, loc, cell + "cast",
                                    site.kept.getType(), router.getCombine());
  Value place = createNamed<RemainderOp>(
      builder, loc, cell + "mod", index.getType(), index,
      llvm::APFloat(static_cast<double>(site.capacity + 1)), StringAttr(),
      RecomputeKindAttr(), SwapAttr());
  Value kept = createNamed<CompareScalarOp>(
      builder, loc, cell + "not_equal", place.getType(), place,
      Comparison::NotEqual, llvm::APFloat(0.0), StringAttr(),
      RecomputeKindAttr(), SwapAttr());
  return {router.getDispatch(), router.getCombine(), kept};
}

FusionCandidate getCandidate(PlacesSite site) {
  std::string cell = mf::passes::getCellPrefix(site.mask.getCellName());
  FusionCandidate candidate;
  candidate.setPlace(site.mask, cell + "topkrouter");
  candidate.kernelsBefore = site.numKernels;
  // These are the router and three kernels for choices that have a place.
  candidate.kernelsAfter = 4;
  candidate.keptBefore = mf::passes::getBytes(site.dispatch) +
                         mf::passes::getBytes(site.combine) +
                         mf::passes::getBytes(site.kept);
  candidate.keptAfter = candidate.keptBefore;
  candidate.results = {site.dispatch.getResult(), site.combine.getResult(),
                       site.kept.getResult()};
  candidate.build = [=](OpBuilder &builder) {
    return build(builder, site, cell);
  };
  return candidate;
}

struct FuseTopKRouterPass
    : mf::passes::PrintingPass<
          mf::passes::impl::FuseTopKRouterBase<FuseTopKRouterPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    Fusion fusion(model, TopKRouterOp::getOperationName(), printPlan);
    for (LayerOp layer : model.getBody().getOps<LayerOp>())
      for (OneHotOp mask : layer.getBody().getOps<OneHotOp>())
        if (std::optional<PlacesSite> site = matchPlaces(mask))
          fusion.add(getCandidate(*site));
    fusion.run("route", &mf::ir::FusionsAttr::getRoute);
  }
};

} // namespace
