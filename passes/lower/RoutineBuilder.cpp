//===- RoutineBuilder.cpp - Tensor operators to launches ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/RoutineBuilder.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "mlir/IR/Remarks.h"
#include "passes/lower/CopyPlacement.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::StreamKind;

void RoutineSwap::wait(Location loc, Value event) {
  ascend::WaitOp::create(builder, loc, names::compute, event);
}

void RoutineSwap::beforeLaunch() {
  auto next = static_cast<int64_t>(launches.size());
  llvm::erase_if(releases, [&](const Release &release) {
    if (release.kernel > next)
      return false;
    wait(release.loc, release.event);
    return true;
  });
}

/// Starts a copy after all launches so far. Returns the event of its end.
Value RoutineSwap::startCopy(Location loc, StringRef name, StreamKind kind,
                             Value source, Value target) {
  StringRef stream = program.getStream(name, kind);
  Value ready = ascend::RecordOp::create(builder, loc, names::compute);
  return ascend::CopyOp::create(builder, loc, ready.getType(), source, target,
                                stream, ready)
      .getDone();
}

void RoutineSwap::copyOut(Location loc, Value buffer, Value host,
                          int64_t distance) {
  Value done = startCopy(loc, names::deviceToHost, StreamKind::DeviceToHost,
                         buffer, host);
  releases.push_back(
      {placeRelease(static_cast<int64_t>(launches.size()), distance), loc,
       done});
}

Value RoutineSwap::copyBack(Location loc, int64_t slot, Type tensor,
                            int64_t distance) {
  ascend::BufferType type = program.getBufferType(tensor);
  PrefetchPlace place =
      placePrefetch(static_cast<int64_t>(launches.size()), distance);
  if (place.ahead > 0) {
    Block &body = routine.getBody().front();
    Value buffer = body.insertArgument(numBufferArguments++, type, loc);
    Value done =
        body.addArgument(ascend::EventType::get(program.getContext()), loc);
    program.addEarlyPrefetch(routine.getSymName(), {slot, place.ahead, type});
    wait(loc, done);
    return buffer;
  }
  Value done, buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    if (place.kernel < static_cast<int64_t>(launches.size()))
      builder.setInsertionPoint(launches[place.kernel]);
    Value host = ascend::SlotOp::create(
        builder, loc, program.getBufferType(tensor, ascend::Space::Host), slot);
    buffer = ascend::AllocOp::create(builder, loc, type, ascend::RegionAttr(),
                                     IntegerAttr());
    done = startCopy(loc, names::hostToDevice, StreamKind::HostToDevice, host,
                     buffer);
  }
  wait(loc, done);
  return buffer;
}

void RoutineSwap::finish() {
  for (const Release &release : releases)
    wait(release.loc, release.event);
  releases.clear();
  routine.setFunctionType(FunctionType::get(
      program.getContext(), routine.getBody().front().getArgumentTypes(), {}));
}

static Value getRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ascend::ViewOp>())
    buffer = view.getSource();
  return buffer;
}

void RoutineExchanges::wait(const Pending &exchange) {
  ascend::WaitOp::create(builder, exchange.loc, names::compute, exchange.done);
}

void RoutineExchanges::waitFor(ValueRange read, ValueRange written) {
  llvm::erase_if(pending, [&](const Pending &exchange) {
    bool isUsed = llvm::any_of(read,
                               [&](Value buffer) {
                                 return getRoot(buffer) == exchange.output;
                               }) ||
                  llvm::any_of(written, [&](Value buffer) {
                    Value root = getRoot(buffer);
                    return root == exchange.output ||
                           llvm::is_contained(exchange.inputs, root);
                  });
    if (isUsed)
      wait(exchange);
    return isUsed;
  });
}

void RoutineExchanges::waitForAll() {
  for (const Pending &exchange : pending)
    wait(exchange);
  pending.clear();
}

void RoutineExchanges::communicate(Location loc,
                                   const ir::EmittedCollective &collective,
                                   StringRef cell) {
  Value output = collective.output.getValue();
  SmallVector<Value, 3> inputs;
  for (ir::EmittedBuffer read :
       {collective.input, collective.send, collective.receive})
    if (read)
      inputs.push_back(read.getValue());
  waitFor(inputs, output);
  MLIRContext *context = program.getContext();
  StringRef stream =
      program.getStream((names::collective + "." + collective.channel).str(),
                        ascend::StreamKind::Communication);
  auto axes = llvm::map_to_vector(collective.axes, [&](StringRef axis) {
    return StringAttr::get(context, axis);
  });
  Value ready = ascend::RecordOp::create(builder, loc, names::compute);
  auto op = ascend::CollectiveOp::create(
      builder, loc, ascend::EventType::get(context),
      ascend::getDialectKind(collective.kind), collective.input.getValue(),
      output, collective.send.getValue(), collective.receive.getValue(),
      ascend::GroupAttr::get(context, axes, collective.stages),
      ascend::getDialectReduction(collective.reduction),
      collective.fill == 0 ? FloatAttr()
                           : builder.getF64FloatAttr(collective.fill),
      collective.channel,
      cell.empty() ? StringAttr() : builder.getStringAttr(cell), stream, ready);
  pending.push_back({llvm::map_to_vector<3>(inputs, getRoot), getRoot(output),
                     op.getDone(), loc});
}

static bool communicates(Operation *op) {
  auto compute = dyn_cast<ir::ComputeOpInterface>(op);
  return compute && compute.getEngine() == Engine::Communication;
}

namespace {

class OperatorDescriber {
public:
  explicit OperatorDescriber(ArrayRef<Operation *> operators)
      : operators(operators), described(operators.size()) {
    for (auto [index, op] : llvm::enumerate(operators))
      indices[op] = static_cast<int64_t>(index);
  }

  std::vector<PlannedOperator> run(ArrayRef<Value> gradients) {
    for (auto [index, op] : llvm::enumerate(operators)) {
      PlannedOperator &entry = described[index];
      entry.isGather = communicates(op) && isMadeOfParameters(op);
      entry.unit = ir::CollectiveUnit::find(op);
      auto compute = dyn_cast<ir::ComputeOpInterface>(op);
      // The values that a barrier waits for are not data.
      OperandRange operands = op->getOperands();
      if (compute && compute.isView())
        operands = operands.take_front();
      for (Value operand : operands)
        if (auto found = indices.find(operand.getDefiningOp());
            found != indices.end())
          entry.producers.push_back(found->second);
    }
    for (Value gradient : gradients)
      addReduction(gradient);
    return std::move(described);
  }

private:
  /// A view, such as a barrier, is computed from parameters if its first
  /// operand is.
  bool isMadeOfParameters(Operation *op) {
    if (!op || isa<ir::GetParamOp>(op))
      return op;
    auto compute = dyn_cast<ir::ComputeOpInterface>(op);
    if (!compute || op->getNumOperands() == 0)
      return false;
    auto [found, isNew] = madeOfParameters.try_emplace(op, false);
    if (!isNew)
      return found->second;
    OperandRange operands = op->getOperands();
    bool isMade =
        llvm::all_of(compute.isView() ? operands.take_front() : operands,
                     [&](Value operand) {
                       return isMadeOfParameters(operand.getDefiningOp());
                     });
    return madeOfParameters[op] = isMade;
  }

  /// Follows a returned gradient back to the collective that summed it, as long
  /// as the values in between have no other readers.
  void addReduction(Value gradient) {
    SmallVector<int64_t, 2> tail;
    std::optional<int64_t> reduction;
    for (Value value = gradient; value && value.hasOneUse();) {
      Operation *op = value.getDefiningOp();
      auto found = indices.find(op);
      if (found == indices.end() || op->getNumResults() != 1)
        break;
      // The first of several collectives is issued where its summand is
      // computed.
      if (communicates(op)) {
        if (reduction)
          tail.push_back(*reduction);
        reduction = found->second;
        value = op->getOperand(0);
        continue;
      }
      // Continues at the producer of the summand.
      if (reduction || op->getNumOperands() != 1)
        break;
      tail.push_back(found->second);
      value = op->getOperand(0);
    }
    if (!reduction)
      return;
    described[*reduction].isReduction = true;
    described[*reduction].tail.assign(tail.rbegin(), tail.rend());
  }

  ArrayRef<Operation *> operators;
  std::vector<PlannedOperator> described;
  DenseMap<Operation *, int64_t> indices;
  DenseMap<Operation *, bool> madeOfParameters;
};

} // namespace

/// Describes `operators`, which are consecutive in a block. `gradients` are the
/// gradients of parameters among the function's results.
static std::vector<PlannedOperator>
describeOperators(ArrayRef<Operation *> operators, ArrayRef<Value> gradients) {
  return OperatorDescriber(operators).run(gradients);
}

namespace {

/// Emits into a routine. Buffers are values of its program.
class RoutineEmitter : public ir::LaunchEmitter {
public:
  explicit RoutineEmitter(RoutineBuilder &routine) : routine(routine) {}

  ir::EmittedBuffer getBuffer(Value tensor) override {
    return ir::EmittedBuffer(routine.getBuffer(tensor));
  }
  ir::EmittedBuffer createBuffer(Value tensor) override {
    return ir::EmittedBuffer(routine.createBuffer(tensor));
  }
  ir::EmittedBuffer createTemporary(RankedTensorType type) override {
    return ir::EmittedBuffer(routine.createTemporary(type));
  }
  ir::EmittedBuffer getCoordinate(ArrayAttr axes) override {
    return ir::EmittedBuffer(routine.getCoordinate(axes));
  }
  ir::EmittedBuffer getState(ir::State state, StringRef parameter) override {
    return ir::EmittedBuffer(routine.getState(state, parameter));
  }
  ir::ParamOp getParam(StringRef parameter) override {
    return routine.getParam(parameter);
  }
  ir::EmittedBuffer getReport(StringRef quantity,
                              RankedTensorType type) override {
    return ir::EmittedBuffer(routine.getReport(quantity, type));
  }
  ir::EmittedBuffer getPart(ir::EmittedBuffer buffer, int64_t byteOffset,
                            RankedTensorType type) override {
    return ir::EmittedBuffer(
        routine.getPart(buffer.getValue(), byteOffset, type));
  }
  void launch(StringRef kernel, ArrayRef<ir::EmittedBuffer> inputs,
              ArrayRef<ir::EmittedBuffer> outputs,
              DictionaryAttr attributes) override {
    auto getValues = [](ArrayRef<ir::EmittedBuffer> buffers) {
      return llvm::map_to_vector(
          buffers, [](ir::EmittedBuffer buffer) { return buffer.getValue(); });
    };
    routine.launch(kernel, getValues(inputs), getValues(outputs), attributes);
  }
  void communicate(const ir::EmittedCollective &collective) override {
    routine.communicate(collective);
  }

private:
  RoutineBuilder &routine;
};

} // namespace

RoutineBuilder::RoutineBuilder(ProgramBuilder &program,
                               ascend::RoutineOp routine)
    : program(program), routine(routine),
      builder(OpBuilder::atBlockEnd(&routine.getBody().front())),
      loc(routine.getLoc()), swap(program, routine, builder),
      exchanges(program, builder) {}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

bool RoutineBuilder::setStorage(Value root, Value buffer) {
  if (!root.getDefiningOp<ir::ComputeOpInterface>())
    return false;
  return storage.try_emplace(root, getReshaped(buffer, root.getType())).second;
}

void RoutineBuilder::callAfter(Value value, std::function<void()> action) {
  actions[value.getDefiningOp()].push_back(std::move(action));
}

Value RoutineBuilder::getSlot(int64_t index, Type tensor) {
  Value &slot = slots[index];
  if (!slot)
    slot = ascend::SlotOp::create(builder, loc, program.getBufferType(tensor),
                                  index);
  return slot;
}

Value RoutineBuilder::getGlobal(ascend::StaticOp buffer) {
  Value &global = globals[buffer.getSymName()];
  if (!global)
    global = ascend::GlobalOp::create(builder, loc, buffer.getType(),
                                      buffer.getSymName());
  return global;
}

Value RoutineBuilder::getReshaped(Value buffer, Type tensor) {
  auto type = cast<ascend::BufferType>(buffer.getType());
  if (type.getTensor() == tensor)
    return buffer;
  return ascend::ViewOp::create(builder, loc, program.getBufferType(tensor),
                                buffer);
}

Value RoutineBuilder::getBuffer(Value tensor) { return buffers.lookup(tensor); }

Value RoutineBuilder::createBuffer(Value tensor) {
  Value buffer = storage.lookup(tensor);
  if (!buffer)
    buffer = findLastRead(tensor);
  if (!buffer)
    buffer = createTemporary(tensor.getType());
  return buffers[tensor] = buffer;
}

/// Returns whether nothing but its one use reads the memory of a value, which
/// the routine has allocated.
bool RoutineBuilder::isReadOnce(Value value) {
  while (value.hasOneUse()) {
    auto op = value.getDefiningOp<ir::ComputeOpInterface>();
    if (!op || !op.isView()) {
      Value buffer = getBuffer(value);
      return buffer && buffer.getDefiningOp<ascend::AllocOp>();
    }
    value = op->getOperand(0);
  }
  return false;
}

/// Returns the buffer of an operand that nothing reads behind the operator and
/// that its kernel may overwrite with `result`, or null. Only kernels with a
/// workspace work in place, since operands, results and workspace are all in
/// memory while they run.
Value RoutineBuilder::findLastRead(Value result) {
  auto op = result.getDefiningOp<ir::ComputeOpInterface>();
  const KernelSignature *kernel =
      op ? findKernelSignature(op.getKernelName()) : nullptr;
  if (!kernel || !kernel->mayNeedWorkspace())
    return {};
  const unsigned number = cast<OpResult>(result).getResultNumber();
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get().getType() == result.getType() &&
        kernel->mayShareMemory(number, operand.getOperandNumber()) &&
        isReadOnce(operand.get()))
      return getBuffer(operand.get());
  return {};
}

Value RoutineBuilder::createTemporary(Type tensor) {
  return ascend::AllocOp::create(builder, loc, program.getBufferType(tensor),
                                 ascend::RegionAttr(), IntegerAttr());
}

Value RoutineBuilder::getCoordinate(ArrayAttr axes) {
  return getGlobal(program.getCoordinate(axes));
}

Value RoutineBuilder::getState(ir::State state, StringRef parameter) {
  return getGlobal(program.getState(state, parameter));
}

Value RoutineBuilder::getReport(StringRef quantity, RankedTensorType type) {
  return getGlobal(program.getReport(quantity, type));
}

Value RoutineBuilder::getPart(Value buffer, int64_t byteOffset,
                              RankedTensorType type) {
  return ascend::ViewOp::create(builder, loc, program.getBufferType(type),
                                buffer, byteOffset);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void RoutineBuilder::launch(StringRef kernel, ValueRange inputs,
                            ValueRange outputs, DictionaryAttr attributes) {
  exchanges.waitFor(inputs, outputs);
  swap.beforeLaunch();
  auto op = ascend::LaunchOp::create(
      builder, loc, builder.getStringAttr(kernel), inputs, outputs, Value(),
      attributes ? attributes : builder.getDictionaryAttr({}),
      cell.empty() ? StringAttr() : builder.getStringAttr(cell));
  ++numLaunches;
  addWorkspace(op);
  swap.addLaunch(op);
}

/// Adds the workspace that a launch's kernel needs, as words of 32 bits.
void RoutineBuilder::addWorkspace(ascend::LaunchOp op) {
  int64_t bytes = op.getWorkspaceBytes();
  if (bytes == 0)
    return;
  auto words = RankedTensorType::get({(bytes + 3) / 4}, builder.getI32Type());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  op.getWorkspaceMutable().assign(createTemporary(words));
}

void RoutineBuilder::communicate(const ir::EmittedCollective &collective) {
  exchanges.communicate(loc, collective, cell);
}

LogicalResult RoutineBuilder::lowerCompute(ir::ComputeOpInterface op) {
  if (op.isView()) {
    bind(op->getResult(0),
         getReshaped(getBuffer(op->getOperand(0)), op->getResult(0).getType()));
    return success();
  }
  cell = op.getCellName();
  RoutineEmitter emitter(*this);
  op.emitInstructions(emitter);
  cell = {};
  return success();
}

void RoutineBuilder::lowerOffload(ir::OffloadOp op) {
  // Without a slot, the copy has no reader.
  auto slot = hostSlots.find(op.getHost());
  if (slot == hostSlots.end())
    return;
  exchanges.waitFor(getBuffer(op.getTensor()), {});
  swap.copyOut(loc, getBuffer(op.getTensor()),
               getSlot(slot->second, op.getHost().getType()),
               static_cast<int64_t>(op.getDistance()));
}

void RoutineBuilder::lowerPrefetch(ir::PrefetchOp op) {
  int64_t slot = hostSlots.lookup(op.getHost());
  bind(op.getTensor(), swap.copyBack(loc, slot, op.getTensor().getType(),
                                     static_cast<int64_t>(op.getDistance())));
}

/// Returns the static buffer that already has the result of `op`, if `op`
/// converts a parameter to a type in which the rank keeps it; otherwise null.
ascend::StaticOp RoutineBuilder::findRounded(Operation *op) {
  auto conversion = dyn_cast<ir::CastOp>(op);
  auto read = conversion ? conversion.getInput().getDefiningOp<ir::GetParamOp>()
                         : ir::GetParamOp();
  if (!read || storage.contains(conversion.getResult()) ||
      read.getType() != getParam(read.getParam()).getStoredType())
    return {};
  return program.getRounded(read.getParam(),
                            getElementTypeOrSelf(conversion.getType()));
}

void RoutineBuilder::lowerRead(ir::GetParamOp read) {
  // A parameter is not read itself if all of its readers convert it to a type
  // in which the rank has it already.
  const bool isUsed =
      read->use_empty() || llvm::any_of(read->getUsers(), [&](Operation *user) {
        return !findRounded(user);
      });
  if (isUsed)
    bind(read.getResult(), getState(ir::State::Gathered, read.getParam()));
}

LogicalResult RoutineBuilder::lowerOp(Operation *op) {
  if (skipped.contains(op))
    return success();
  loc = op->getLoc();
  if (auto read = dyn_cast<ir::GetParamOp>(op)) {
    lowerRead(read);
    return success();
  }
  if (ascend::StaticOp rounded = findRounded(op)) {
    bind(op->getResult(0), getGlobal(rounded));
    return success();
  }
  if (auto offload = dyn_cast<ir::OffloadOp>(op)) {
    lowerOffload(offload);
    return success();
  }
  if (auto prefetch = dyn_cast<ir::PrefetchOp>(op)) {
    lowerPrefetch(prefetch);
    return success();
  }
  if (auto compute = dyn_cast<ir::ComputeOpInterface>(op))
    return lowerCompute(compute);
  if (auto update = dyn_cast<ir::UpdateOpInterface>(op)) {
    RoutineEmitter emitter(*this);
    update.emitLaunches(emitter);
    return success();
  }
  return op->emitOpError("cannot be lowered: it is neither a tensor operator "
                         "nor one on parameters");
}

void RoutineBuilder::round(ir::ParamOp param) {
  loc = param.getLoc();
  Type kept = ir::KeptType::find(param);
  StringRef name = param.getSymName();
  launch("aclnnCast", getState(ir::State::Parameter, name),
         getGlobal(program.getRounded(name, kept)));
}

void RoutineBuilder::gather(ir::ParamOp param) {
  loc = param.getLoc();
  RoutineEmitter emitter(*this);
  std::optional<ir::EmittedBuffer> part;
  if (ascend::StaticOp rounded = program.getRounded(
          param.getSymName(), param.getReadType().getElementType()))
    part = ir::EmittedBuffer(getGlobal(rounded));
  ir::emitGather(emitter, param, part);
}

LogicalResult RoutineBuilder::lower(Block &body, ArrayRef<Value> gradients) {
  SmallVector<Operation *> operators;
  for (Operation &op : body.without_terminator())
    operators.push_back(&op);
  return lower(operators, gradients);
}

void RoutineBuilder::runActions(Operation *op) {
  auto found = actions.find(op);
  if (found != actions.end())
    for (const std::function<void()> &action : found->second)
      action();
}

void RoutineBuilder::emitRemark(const IssuePlan &plan) {
  if (plan.numGathers + plan.numReductions == 0)
    return;
  auto remark = remark::passed(
      routine.getLoc(),
      remark::RemarkOpts::name("Overlap").category("lower").function(
          program.getProgram().getSymName()));
  remark << remark::add("{0} communicates beside its operators",
                        routine.getSymName())
         << remark::metric("parameters gathered", plan.numGathers)
         << remark::metric("gradients reduced", plan.numReductions)
         << remark::metric("in flight", program.getInFlight());
  if (plan.numUnits > 0)
    remark << remark::metric("units", plan.numUnits);
}

LogicalResult RoutineBuilder::lower(ArrayRef<Operation *> operators,
                                    ArrayRef<Value> gradients) {
  std::vector<PlannedOperator> described =
      describeOperators(operators, gradients);
  IssuePlan plan = planIssue(described, program.getInFlight());
  for (const PlannedItem &item : plan.items) {
    Operation *op = operators[item.index];
    if (item.kind == PlannedItem::Kind::Operator) {
      if (failed(lowerOp(op)))
        return failure();
      if (!described[item.index].isReduction)
        runActions(op);
      continue;
    }
    loc = op->getLoc();
    exchanges.waitFor(getBuffer(op->getResult(0)), {});
    runActions(op);
  }
  runActions(nullptr);
  finish();
  emitRemark(plan);
  return success();
}

void RoutineBuilder::finish() {
  swap.finish();
  exchanges.waitForAll();
}
