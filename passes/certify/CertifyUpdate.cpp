//===- CertifyUpdate.cpp - What each update has to compute ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/certify/TermEmitter.h"
#include "passes/lower/ProgramBuilder.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace mf::passes {

#define GEN_PASS_DEF_CERTIFYUPDATE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf;
using namespace mf::passes;
using ir::EmittedBuffer;
using ir::State;
using program::Term;

namespace {

/// Runs the update of a stage on terms, and also the values that a step
/// computes in addition: the mean of losses and their gradient.
class UpdateTerms : public TermEmitter {
public:
  explicit UpdateTerms(ir::UpdateOp update)
      : TermEmitter(update), update(update),
        trained(getTrainedParameters(update->getParentOfType<ir::ModelOp>(),
                                     static_cast<int64_t>(update.getStage()))) {
  }

  /// Runs all operators of the update. Reports an error at an operator that has
  /// no term.
  mlir::LogicalResult run() {
    current = update;
    Block &body = update.getBody().front();
    for (BlockArgument argument : body.getArguments())
      values[argument] = createHostScalar(
          cast<RankedTensorType>(argument.getType()), argument.getArgNumber());
    for (Operation &op : body.without_terminator())
      if (failed(runOperator(&op)))
        return failure();
    current = update;
    runLosses();
    return result;
  }

  /// Returns the terms of the statics that the update writes, by their names.
  std::vector<program::CertifiedResult> getResults() const {
    std::vector<program::CertifiedResult> list;
    for (const auto &[name, view] : results)
      list.push_back({name, getRange(view).read()});
    return list;
  }

  /// Returns the term of the gradient of a loss; none if the stage has no loss.
  std::optional<program::Term> getLossGradient() const { return lossGradient; }

  ir::EmittedBuffer getState(State state, StringRef parameter) override {
    auto param = symbols.lookup<ir::ParamOp>(parameter);
    if (!param) {
      result = current->emitOpError("expected a parameter, but got '")
               << parameter << "'";
      return createTemporary(
          RankedTensorType::get({}, Float32Type::get(update.getContext())));
    }
    state = getOwnState(state, param);
    if (state == State::Parameter && param.getTied() &&
        trained.contains(*param.getTied()))
      return getState(state, *param.getTied());
    auto [found, isNew] = states.try_emplace(getStateName(state, parameter));
    if (isNew) {
      found->second =
          create(ir::getStateType(param, state), getInitial(state, param));
      // Every step makes these anew.
      if (state != State::Gradient && state != State::Accumulated &&
          state != State::Gathered)
        results.insert(*found);
    }
    return add(found->second);
  }

  ir::EmittedBuffer getReport(StringRef quantity,
                              RankedTensorType type) override {
    auto [found, isNew] = results.try_emplace(getHostReportName(quantity));
    if (isNew)
      found->second = create(type, std::nullopt);
    return add(found->second);
  }

private:
  mlir::LogicalResult runOperator(Operation *op) {
    current = op;
    if (auto compute = dyn_cast<ir::ComputeOpInterface>(op))
      runCompute(compute);
    else if (auto change = dyn_cast<ir::UpdateOpInterface>(op))
      change.emitLaunches(*this);
    else
      return op->emitOpError(
          "has no term: expected a tensor operator or one on parameters; run "
          "mf-certify-update right after mf-insert-optimizer");
    views.clear();
    return result;
  }

  /// The step reports the mean of the losses. Backward begins with the share of
  /// each loss in the mean, times the loss scale.
  void runLosses() {
    auto model = update->getParentOfType<ir::ModelOp>();
    const bool hasLoss = llvm::any_of(
        model.getBody().getOps<ir::ForwardOp>(), [&](ir::ForwardOp forward) {
          return forward.getPlacement().getStage() ==
                     static_cast<int64_t>(update.getStage()) &&
                 llvm::any_of(forward.getOutputTypes(), ir::isLoss);
        });
    if (!hasLoss)
      return;
    ir::TrainingAttr training = model.getTrainingAttr();
    const auto runs =
        static_cast<double>(training.getParallel().getMicroBatches());
    const auto copies = static_cast<double>(training.getParallel().getCopies());
    auto scalar =
        RankedTensorType::get({}, Float32Type::get(update.getContext()));
    auto report = [&](StringRef part, double unit) {
      View sum = create(scalar, program::getInputTerm("total", part));
      results[getHostReportName(part)] =
          multiply(sum, 1.0 / (runs * copies * unit));
    };
    report(names::loss, 1.0);
    for (const ir::LossPart &part :
         ir::getLossParts(model, static_cast<int64_t>(update.getStage())))
      report(part.name, part.unit.getValueAsDouble());
    lossGradient =
        training.scalesLoss()
            ? getRange(multiply(createHostScalar(scalar, 2), 1.0 / runs)).read()
            : program::getConstantTerm(1.0 / runs);
  }

  /// Returns the term of an argument of the update that the step copies from
  /// the host.
  View createHostScalar(RankedTensorType type, unsigned argument) {
    constexpr ascend::Role roles[] = {ascend::Role::LearningRate,
                                      ascend::Role::StepNumber,
                                      ascend::Role::LossScale};
    return create(
        type, program::getInputTerm("static", getHostName(roles[argument])));
  }

  View multiply(const View &value, double factor) {
    Builder builder(update.getContext());
    View product = create(value.type, std::nullopt);
    launch("aclnnMuls", add(value), add(product),
           builder.getDictionaryAttr(
               builder.getNamedAttr("value", builder.getF64FloatAttr(factor))));
    return product;
  }

  /// Returns the state that has the memory of `state`, which may be another
  /// one.
  ir::State getOwnState(State state, ir::ParamOp param) const {
    if (state == State::Accumulated &&
        param.getAccumulatedType() == param.getStoredType())
      return State::Gradient;
    if (state == State::Gathered && !param.getGathered())
      return State::Parameter;
    return state;
  }

  /// Backward adds either to the gradient of the step, or to a sum that is
  /// later reduced to the ranks' shards.
  program::Term getInitial(State state, ir::ParamOp param) const {
    StringRef name = param.getSymName();
    if (state == State::Parameter)
      return program::getInputTerm("parameter", param.getTied().value_or(name));
    if (state == getOwnState(State::Accumulated, param))
      return program::getInputTerm("total", name);
    return program::getInputTerm("static", getStateName(state, name));
  }

  ir::UpdateOp update;
  llvm::StringSet<> trained;
  /// The states and the results, by the names of their statics.
  std::map<std::string, View> states, results;
  std::optional<program::Term> lossGradient;
};

} // namespace

/// Writes the certificate of an update (mf/Program/Certificate.h).
static LogicalResult certify(UpdateOp update) {
  UpdateTerms terms(update);
  if (failed(terms.run()))
    return failure();
  Builder builder(update.getContext());
  auto getTerm = [&](mf::program::Term term) {
    return builder.getI64IntegerAttr(static_cast<int64_t>(term));
  };
  SmallVector<Attribute> results;
  for (const mf::program::CertifiedResult &result : terms.getResults())
    results.push_back(builder.getArrayAttr(
        {builder.getStringAttr(result.name), getTerm(result.term)}));
  NamedAttrList entries;
  entries.set("results", builder.getArrayAttr(results));
  if (std::optional<mf::program::Term> gradient = terms.getLossGradient())
    entries.set("loss_gradient", getTerm(*gradient));
  update->setAttr(certificateAttribute,
                  entries.getDictionary(update.getContext()));
  remark::analysis(update.getLoc(), remark::RemarkOpts::name("Certificate")
                                        .category("certify")
                                        .function(update.getSymName()))
      << remark::add("has terms for what it leaves")
      << remark::metric("results", results.size());
  return success();
}

namespace {

struct CertifyUpdatePass
    : mf::passes::impl::CertifyUpdateBase<CertifyUpdatePass> {
  void runOnOperation() override {
    for (auto update : getOperation().getBody().getOps<UpdateOp>())
      if (failed(certify(update)))
        return signalPassFailure();
  }
};

} // namespace
