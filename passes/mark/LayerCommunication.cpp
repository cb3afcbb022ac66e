//===- LayerCommunication.cpp - Collectives of a layer --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/LayerCommunication.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::CollectiveDecision;
using mf::passes::CollectiveRequest;
using mf::passes::CollectiveSite;
using mf::passes::LayerCommunication;

using Kind = CollectiveDecision::Kind;

static CollectiveDecision follow(const CollectiveRequest &request) {
  bool repeats = request.choice == CommunicationChoice::Repeat;
  return {repeats ? Kind::Repeat : Kind::Keep, request.setting};
}

CollectiveDecision mf::passes::decideCollective(const CollectiveSite &site) {
  if (site.sumsParts) {
    if (!site.isProducerRecomputed)
      return {};
    if (site.producer && site.producer->choice != CommunicationChoice::Repeat)
      return follow(*site.producer);
    return {site.mpCommRecompute ? Kind::Repeat : Kind::Keep,
            site.producer ? site.producer->setting : nullptr};
  }
  std::vector<CollectiveRequest> requests = site.readers;
  if (site.producer)
    requests.push_back(*site.producer);
  if (requests.empty())
    return {};
  auto exclude = llvm::find_if(requests, [](const auto &request) {
    return request.choice == CommunicationChoice::Exclude;
  });
  return follow(exclude != requests.end() ? *exclude : requests.front());
}

LayerCommunication::LayerCommunication(LayerOp layer) : layer(layer) {
  auto changesLayout = [](Operation *op) {
    return op->hasTrait<ChangesLayout>();
  };
  for (auto op : layer.getBody().getOps<ComputeOpInterface>())
    if (!changesLayout(op))
      names.insert(op.getCellName());
  // The reshard of a layer's argument has the name of the layer itself.
  for (auto op : layer.getBody().getOps<ComputeOpInterface>())
    if (changesLayout(op) && (names.contains(op.getCellName()) ||
                              op.getCellName() == layer.getSymName()))
      inserted.insert(op);
}

ComputeOpInterface LayerCommunication::findProducer(Operation *op) const {
  Operation *producer = op->getOperand(0).getDefiningOp();
  while (producer && isInserted(producer))
    producer = producer->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<ComputeOpInterface>(producer);
}

/// Returns whether the user's setting names the operator itself rather than a
/// Cell that contains it.
static bool isNamed(const std::optional<CollectiveRequest> &request) {
  return request && !request->setting->isCell;
}

/// Returns the Cell that contains an operator.
static StringRef getCell(StringRef path) {
  return path.contains('.') ? path.rsplit('.').first : "";
}

/// An operator that the Cell tree has and the layer lacks, such as a reshape
/// without effect, counts as a neighbour of the operators of its Cell.
std::optional<CollectiveRequest>
LayerCommunication::getRequest(ComputeOpInterface op,
                               const LayerEffects &effects) const {
  StringRef path = op.getCellName();
  std::optional<CollectiveRequest> request;
  if (std::optional<CommunicationChoice> choice =
          effects.getCommunicationChoice(path))
    request = {*choice, effects.getCommunicationSetting(path)};
  if (isNamed(request))
    return request;
  for (const RecomputeTarget &target : llvm::reverse(effects.commRecompute))
    if (!names.contains(target.path) && getCell(target.path) == getCell(path))
      return CollectiveRequest{target.enabled ? CommunicationChoice::Repeat
                                              : CommunicationChoice::Exclude,
                               &target};
  return request;
}

/// Returns whether `op` passes its value on, in another shape or type.
static bool passesOn(ComputeOpInterface op) {
  return op.isView() || isa<CastOpInterface>(op.getOperation());
}

void LayerCommunication::findReaders(Operation *op, const LayerEffects &effects,
                                     CollectiveSite &site) const {
  // Users are not in program order, so they are sorted.
  SmallVector<Operation *> users(op->getUsers());
  llvm::sort(users, [](Operation *a, Operation *b) {
    return a != b && a->isBeforeInBlock(b);
  });
  for (Operation *user : users) {
    auto reader = dyn_cast<ComputeOpInterface>(user);
    if (!reader)
      continue;
    std::optional<CollectiveRequest> request;
    if (!isInserted(user))
      request = getRequest(reader, effects);
    // The named operator may follow others of the same Cell.
    if (isInserted(user) || (passesOn(reader) && !isNamed(request)))
      findReaders(user, effects, site);
    if (request)
      site.readers.push_back(*request);
  }
}

CollectiveSite LayerCommunication::describe(ComputeOpInterface op,
                                            const LayerEffects &effects) const {
  CollectiveSite site;
  site.sumsParts = op->hasTrait<SumsParts>();
  site.mpCommRecompute = effects.mpCommRecompute;
  ComputeOpInterface producer = findProducer(op);
  site.isProducerRecomputed = producer && isMarkedForRecompute(producer);
  for (; producer && !isNamed(site.producer);
       producer = findProducer(producer)) {
    std::optional<CollectiveRequest> request = getRequest(producer, effects);
    if (!site.producer || isNamed(request))
      site.producer = request;
    if (!passesOn(producer))
      break;
  }
  findReaders(op, effects, site);
  return site;
}

/// Returns the mark of an operator that runs again because of `setting`.
static RecomputeKind getMark(const RecomputeTarget *setting) {
  return setting && setting->isCell && setting->path.empty()
             ? RecomputeKind::Full
             : RecomputeKind::Select;
}

std::pair<int64_t, int64_t> LayerCommunication::countMarked() {
  int64_t repeated = 0, kept = 0;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    if (!isInserted(op) || op.getEngine() != Engine::Communication)
      continue;
    repeated += isMarkedForRecompute(op);
    kept += op.getRecomputeMark() == RecomputeKind::Excluded;
  }
  return {repeated, kept};
}

void LayerCommunication::markRecompute(const LayerEffects &effects) {
  for (auto op : layer.getBody().getOps<ComputeOpInterface>()) {
    if (!isInserted(op))
      continue;
    // An operator that takes a rank's own part sends nothing. It follows the
    // producer of the whole.
    if (op.getEngine() != Engine::Communication) {
      ComputeOpInterface producer = findProducer(op);
      op.setRecomputeMark(producer ? producer.getRecomputeMark()
                                   : std::nullopt);
      continue;
    }
    CollectiveDecision decision = decideCollective(describe(op, effects));
    std::optional<RecomputeKind> mark;
    if (decision.kind == CollectiveDecision::Kind::Keep)
      mark = RecomputeKind::Excluded;
    else if (decision.kind == CollectiveDecision::Kind::Repeat)
      mark = getMark(decision.setting);
    op.setRecomputeMark(mark);
    if (isMarkedForRecompute(op))
      settings[op] = decision.setting;
  }
}
