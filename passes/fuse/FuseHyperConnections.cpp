//===- FuseHyperConnections.cpp - Sites of residual streams as kernels ----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"
#include <array>

namespace mf::passes {
#define GEN_PASS_DEF_FUSEHYPERCONNECTIONS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::createNamed;
using mf::passes::Fusion;
using mf::passes::FusionCandidate;
using mf::passes::getCellPrefix;
using mf::passes::getOnlyReadOp;
using mf::passes::getShape;

namespace {

/// One of the three parts of a site's numbers: factor * numbers + bias.
struct NumberPart {
  SliceOp numbers;
  Value factor, bias;
  /// What the part becomes, behind the sum.
  Value sum;
};

/// A site of residual streams, computed by single operators in fp32.
struct StreamSite {
  SinkhornOp sinkhorn;
  RmsNormOp norm;
  /// The streams [batch, sequence, count * hidden] behind their conversion to
  /// fp32, if they have another type.
  Value wide;
  bool convertsStreams = false, convertsOutput = false;
  Value weight, bias;
  std::array<Value, 3> factors;
  int64_t count = 0;
  double least = 0;
  /// What the layer reads, what each stream gets, and what mixes streams.
  Value input, shares, mixing;
  MatmulOp mix;
  /// What reads the layer's result, possibly behind a conversion to fp32.
  ReshapeOp outputRow;
  /// The new streams.
  Value result;
  /// Values that backward reads of the single operators.
  SmallVector<Value> kept;
  int64_t numKernels = 0;

  /// Return the streams and the layer's result, which the fusion of another
  /// site may have replaced since.
  Value getStreams() const {
    Value read = RmsNormOp(norm).getInput();
    return convertsStreams ? read.getDefiningOp<CastOp>().getInput() : read;
  }
  Value getOutput() const {
    Value read = ReshapeOp(outputRow).getInput();
    return convertsOutput ? read.getDefiningOp<CastOp>().getInput() : read;
  }
};

/// Follows the operators of a site from its Sinkhorn iterations.
class SiteMatcher {
public:
  explicit SiteMatcher(SinkhornOp sinkhorn) { site.sinkhorn = sinkhorn; }
  std::optional<StreamSite> match();

private:
  std::optional<NumberPart> matchPart(Value value);
  bool matchNumbers(NumberPart mixing);
  bool matchReads();
  bool matchShares();
  bool matchResult();
  /// Returns the only reader of a value if it is an `Op`.
  template <typename Op> Op next(Value value) {
    auto op =
        value.hasOneUse() ? dyn_cast<Op>(*value.getUsers().begin()) : Op();
    if (op)
      note(op);
    return op;
  }
  /// Returns the value behind a conversion to `type`, or the value itself.
  Value convert(Value value, Type type);
  void note(Operation *op) {
    if (!cast<ComputeOpInterface>(op).isView())
      kernels.insert(op);
  }
  /// Matches the streams as [batch, sequence, count, hidden].
  bool areStreams(Value value) const {
    auto view = value.getDefiningOp<ReshapeOp>();
    ArrayRef<int64_t> wide = getShape(site.wide);
    return view && view.getInput() == site.wide &&
           getShape(value) == ArrayRef<int64_t>{wide[0], wide[1], site.count,
                                                wide[2] / site.count};
  }

  StreamSite site;
  MatmulOp numbers;
  NumberPart reads, shares;
  llvm::SmallPtrSet<Operation *, 32> kernels;
};

} // namespace

static bool isWide(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isF32();
}

/// Returns whether `part` takes all of its input but in the last dimension.
static bool isOfLast(SliceOp part) {
  return part.getSizes().drop_back() == getShape(part.getInput()).drop_back();
}

Value SiteMatcher::convert(Value value, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  if (cast<RankedTensorType>(value.getType()).getElementType() == element)
    return value;
  auto cast = next<CastOp>(value);
  return cast && getElementTypeOrSelf(cast.getResult()) == element
             ? cast.getResult()
             : Value();
}

/// Matches factor * (part of the numbers) + (the same part of the bias).
std::optional<NumberPart> SiteMatcher::matchPart(Value value) {
  auto sum = value.getDefiningOp<AddOp>();
  auto product = sum ? getOnlyReadOp<MulOp>(sum.getLhs()) : MulOp();
  auto slice = product ? getOnlyReadOp<SliceOp>(product.getLhs()) : SliceOp();
  auto bias = sum ? getOnlyReadOp<SliceOp>(sum.getRhs()) : SliceOp();
  if (!slice || !bias || !isOfLast(slice) ||
      getShape(bias.getInput()).size() != 1 ||
      bias.getStarts().back() != slice.getStarts().back() ||
      bias.getSizes().back() != slice.getSizes().back() ||
      getShape(product.getRhs()) != ArrayRef<int64_t>{1})
    return std::nullopt;
  for (Operation *op :
       std::initializer_list<Operation *>{sum, product, slice, bias})
    note(op);
  return NumberPart{slice, product.getRhs(), bias.getInput(), value};
}

/// Matches the product of the normalised streams with the weight, and the
/// three parts of it.
bool SiteMatcher::matchNumbers(NumberPart mixing) {
  numbers = mixing.numbers.getInput().getDefiningOp<MatmulOp>();
  if (!numbers || numbers.getTransposeA() || !numbers.getTransposeB() ||
      !isWide(numbers))
    return false;
  site.norm = getOnlyReadOp<RmsNormOp>(numbers.getLhs());
  if (!site.norm || !site.norm.getRstd().use_empty() ||
      getShape(site.norm.getInput()).size() != 3)
    return false;
  site.weight = numbers.getRhs();
  site.wide = site.norm.getInput();
  auto cast = site.wide.getDefiningOp<CastOp>();
  site.convertsStreams = static_cast<bool>(cast);
  if (cast)
    note(cast);
  note(numbers);
  note(site.norm);
  const int64_t count = site.count;
  if (getShape(site.weight) !=
          ArrayRef<int64_t>{count * (count + 2), getShape(site.wide).back()} ||
      getShape(site.wide).back() % count != 0 ||
      mixing.numbers.getStarts().back() != 2 * count)
    return false;
  for (Operation *user : numbers.getResult().getUsers()) {
    if (user == mixing.numbers)
      continue;
    auto slice = dyn_cast<SliceOp>(user);
    auto product = slice ? next<MulOp>(slice.getResult()) : MulOp();
    auto sum = product ? next<AddOp>(product.getResult()) : AddOp();
    std::optional<NumberPart> part =
        sum ? matchPart(sum.getResult()) : std::nullopt;
    if (!part || part->bias != mixing.bias || slice.getSizes().back() != count)
      return false;
    const int64_t start = slice.getStarts().back();
    if (start != 0 && start != count)
      return false;
    (start == 0 ? reads : shares) = *part;
  }
  if (!reads.sum || !shares.sum)
    return false;
  site.factors = {reads.factor, shares.factor, mixing.factor};
  site.bias = mixing.bias;
  return true;
}

/// Matches the sum of streams with the weights sigmoid + least.
bool SiteMatcher::matchReads() {
  auto gate = next<SigmoidOp>(reads.sum);
  auto least = gate ? next<AddScalarOp>(gate.getResult()) : AddScalarOp();
  auto row = least ? next<ReshapeOp>(least.getResult()) : ReshapeOp();
  auto pool = row ? next<MatmulOp>(row.getResult()) : MatmulOp();
  if (!pool || pool.getLhs() != row.getResult() || pool.getTransposeA() ||
      pool.getTransposeB() || !areStreams(pool.getRhs()) ||
      getShape(row.getResult())[2] != 1)
    return false;
  // The iterations have the same epsilon.
  site.least = least.getValue().convertToDouble();
  if (site.least != site.sinkhorn.getEpsilon().convertToDouble())
    return false;
  auto view = next<ReshapeOp>(pool.getResult());
  if (!view || getShape(view.getResult()).size() != 3)
    return false;
  llvm::append_range(site.kept, ValueRange{gate.getResult(), row.getResult()});
  site.input = convert(view.getResult(), site.getStreams().getType());
  return static_cast<bool>(site.input);
}

bool SiteMatcher::matchShares() {
  auto gate = next<SigmoidOp>(shares.sum);
  auto twice = gate ? next<ScaleOp>(gate.getResult()) : ScaleOp();
  if (!twice || twice.getValue().convertToDouble() != 2.0)
    return false;
  site.shares = twice.getResult();
  llvm::append_range(site.kept, ValueRange{gate.getResult(), site.shares});
  return true;
}

/// Matches the mixed streams plus the shares of the layer's result.
bool SiteMatcher::matchResult() {
  site.mixing = site.sinkhorn.getResult();
  site.mix = next<MatmulOp>(site.mixing);
  auto column = next<ReshapeOp>(site.shares);
  auto share = column ? next<MatmulOp>(column.getResult()) : MatmulOp();
  auto sum = site.mix ? next<AddOp>(site.mix.getResult()) : AddOp();
  if (!share || !sum || share.getLhs() != column.getResult() ||
      share.getTransposeA() || share.getTransposeB() ||
      site.mix.getLhs() != site.mixing || !site.mix.getTransposeA() ||
      site.mix.getTransposeB() || !areStreams(site.mix.getRhs()) ||
      sum.getLhs() != site.mix.getResult() || sum.getRhs() != share.getResult())
    return false;
  note(share);
  site.outputRow = share.getRhs().getDefiningOp<ReshapeOp>();
  if (!site.outputRow ||
      getShape(site.outputRow.getInput()) != getShape(site.input))
    return false;
  Value output = site.outputRow.getInput();
  site.kept.push_back(output);
  if (output.getType() != site.input.getType()) {
    auto cast = output.getDefiningOp<CastOp>();
    if (!cast || cast.getInput().getType() != site.input.getType())
      return false;
    note(cast);
    site.convertsOutput = true;
  }
  auto view = next<ReshapeOp>(sum.getResult());
  if (!view || getShape(view.getResult()) != getShape(site.wide))
    return false;
  site.result = convert(view.getResult(), site.getStreams().getType());
  return static_cast<bool>(site.result);
}

std::optional<StreamSite> SiteMatcher::match() {
  note(site.sinkhorn);
  auto view = getOnlyReadOp<ReshapeOp>(site.sinkhorn.getInput());
  if (!view || !isWide(view.getResult()) ||
      getShape(view.getResult()).size() != 4)
    return std::nullopt;
  site.count = getShape(view.getResult()).back();
  std::optional<NumberPart> mixing = matchPart(view.getInput());
  if (!mixing || !matchNumbers(*mixing) || !matchReads() || !matchShares() ||
      !matchResult())
    return std::nullopt;
  llvm::append_range(site.kept,
                     ValueRange{site.wide, site.norm.getResult(),
                                site.norm.getRstd(), numbers.getResult(),
                                view.getResult(), site.mixing});
  site.numKernels = static_cast<int64_t>(kernels.size());
  return site;
}

/// Marks an operator as a part of the kernel of the trainer that `of` is a part
/// of.
static Value markLike(Value value, Operation *of) {
  if (Attribute kernel = of->getDiscardableAttr(TrainerKernel::attributeName))
    value.getDefiningOp()->setDiscardableAttr(TrainerKernel::attributeName,
                                              kernel);
  return value;
}

/// Returns the last operator that makes one of the values, or null.
static Operation *findLast(ArrayRef<Value> values) {
  Operation *last = nullptr;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp();
        op && (!last || last->isBeforeInBlock(op)))
      last = op;
  return last;
}

/// Returns the operands of the first kernel: the weight's columns are
/// multiplied by the norm's, which that kernel does not have.
static SmallVector<Value> getParameters(const StreamSite &site) {
  return {site.getStreams(), RmsNormOp(site.norm).getGamma(),
          site.weight,       site.bias,
          site.factors[0],   site.factors[1],
          site.factors[2]};
}

/// Returns whether the site's results are read behind all parameters only.
static bool mayBuild(const StreamSite &site) {
  Operation *last = findLast(getParameters(site));
  for (Value result : {site.input, site.shares, site.mixing})
    for (Operation *user : result.getUsers())
      if (last && !last->isBeforeInBlock(user))
        return false;
  return true;
}

/// Returns the values that replace what the layer reads, the shares, the mixing
/// matrix and the new streams.
static SmallVector<Value, 1> build(OpBuilder &builder, StreamSite site,
                                   const std::string &cell,
                                   const std::string &outputCell) {
  const mlir::Location loc = site.norm.getLoc();
  if (Operation *last = findLast(getParameters(site)))
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(site.norm->getBlock());
  Value weight = markLike(createNamed<MulOp>(builder, loc, cell + "mul",
                                             site.weight, site.norm.getGamma())
                              .getResult(),
                          site.norm);
  Value factors =
      markLike(createNamed<ConcatOp>(builder, loc, cell + "cat",
                                     ValueRange(site.factors), /*axis=*/0)
                   .getResult(),
               site.norm);
  auto pre = createNamed<MhcPreOp>(
      builder, loc, cell + "mhc_pre", site.getStreams(), weight, factors,
      site.bias, site.count,
      static_cast<int64_t>(site.sinkhorn.getIterations()), site.least,
      site.norm.getEpsilon().convertToDouble());
  markLike(pre.getResult(), site.norm);
  builder.setInsertionPoint(site.result.getDefiningOp());
  auto post = createNamed<MhcPostOp>(
      builder, site.mix.getLoc(), outputCell + "mhc_post",
      site.getStreams().getType(), site.getStreams(), pre.getMixing(),
      site.getOutput(), pre.getShares(), nullptr, nullptr, nullptr);
  markLike(post.getResult(), site.mix);
  return {pre.getResult(), pre.getShares(), pre.getMixing(), post.getResult()};
}

static FusionCandidate getCandidate(StreamSite site) {
  std::string cell = getCellPrefix(site.norm.getCellName());
  std::string outputCell = getCellPrefix(site.mix.getCellName());
  FusionCandidate candidate;
  candidate.setPlace(site.norm, cell + "mhc_pre");
  candidate.kernelsBefore = site.numKernels;
  // The two kernels, and those of the weight and of the factors.
  candidate.kernelsAfter = 4;
  for (Value value : site.kept)
    candidate.keptBefore += mf::passes::getBytes(value);
  const int64_t count = site.count,
                tokens = mf::passes::getBytes(site.norm.getRstd());
  const int64_t halves = std::max<int64_t>(
      2 * static_cast<int64_t>(site.sinkhorn.getIterations()), 2);
  // The operands, the shares, the matrix, and what is saved beside them.
  candidate.keptAfter =
      mf::passes::getBytes(site.getStreams()) +
      mf::passes::getBytes(site.getOutput()) +
      tokens * (count + count * count + count + count * (count + 2) + 1 +
                halves * (count + count * count));
  candidate.results = {site.input, site.shares, site.mixing, site.result};
  candidate.build = [=](OpBuilder &builder) {
    return build(builder, site, cell, outputCell);
  };
  return candidate;
}

namespace {

struct FuseHyperConnectionsPass
    : mf::passes::PrintingPass<mf::passes::impl::FuseHyperConnectionsBase<
          FuseHyperConnectionsPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    Fusion fusion(model, MhcPreOp::getOperationName(), printPlan);
    for (LayerOp layer : model.getBody().getOps<LayerOp>())
      for (SinkhornOp sinkhorn : layer.getBody().getOps<SinkhornOp>())
        if (std::optional<StreamSite> site = SiteMatcher(sinkhorn).match();
            site && mayBuild(*site))
          fusion.add(getCandidate(*site));
    fusion.run("hyper_connections", &mf::ir::FusionsAttr::getHyperConnections);
  }
};

} // namespace
