//===- FuseElementwise.cpp - Chains of elementwise kernels as one ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse-elementwise/ChainPlan.h"
#include "llvm/ADT/StringMap.h"
#include <numeric>
#include <set>

namespace mf::passes {

#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

static Value getRoot(Value value) {
  while (auto view = value.getDefiningOp<ascend::ViewOp>())
    value = view.getSource();
  return value;
}

/// Returns for each argument of the routine whether a call passes something
/// else than a message of the step that it passes as no other argument.
static std::vector<bool> findUnclearArguments(ascend::RoutineOp routine,
                                              ArrayRef<ascend::CallOp> calls) {
  std::vector<bool> unclear(routine.getBody().getNumArguments(), false);
  for (ascend::CallOp call : calls) {
    auto roots = llvm::map_to_vector(call.getArguments(), getRoot);
    llvm::DenseMap<Value, int64_t> uses;
    for (Value root : roots)
      ++uses[root];
    for (auto [number, root] : llvm::enumerate(roots))
      if (!root.getDefiningOp<ascend::MessageOp>() || uses.lookup(root) != 1)
        unclear[number] = true;
  }
  return unclear;
}

/// Returns the kernel that the launch would be in a chain, or none if it may
/// not be fused.
static std::optional<KernelSpec> getFusible(ascend::LaunchOp launch) {
  const KernelSignature *signature = findKernelSignature(launch.getKernel());
  if (!signature || !signature->getFusionKind)
    return std::nullopt;
  std::optional<KernelSpec> spec = launch.getKernelSpec();
  if (!spec || signature->getFusionKind(*spec) == FusionKind::None)
    return std::nullopt;
  return spec;
}

/// Returns whether one launch writes the value and all other uses are inputs of
/// launches.
static bool isTemporary(Value root) {
  if (!root.getDefiningOp<ascend::AllocOp>())
    return false;
  int64_t writers = 0;
  for (OpOperand &use : root.getUses()) {
    auto launch = dyn_cast<ascend::LaunchOp>(use.getOwner());
    if (!launch)
      return false;
    writers += !llvm::is_contained(launch.getInputs(), use.get());
  }
  return writers == 1;
}

namespace {

/// A routine in the form of a ChainGraph, and the application of its plan.
class RoutineChains {
public:
  /// `calls` must be all calls of the routine.
  RoutineChains(ascend::RoutineOp routine, ArrayRef<ascend::CallOp> calls)
      : routine(routine), calls(calls),
        unclearArguments(findUnclearArguments(routine, calls)) {
    std::set<int64_t> records;
    for (ascend::CallOp call : calls)
      if (auto counts = call.getRecords())
        records.insert(counts->begin(), counts->end());
    int64_t segment = 0;
    for (auto [position, op] : llvm::enumerate(routine.getBody().front())) {
      positions[&op] = static_cast<int64_t>(position);
      if (auto launch = dyn_cast<ascend::LaunchOp>(op)) {
        addLaunch(launch);
        // No launch may be moved past one that may use any memory.
        const bool isAlone = llvm::any_of(
            op.getOperands(), [&](Value value) { return isUnclear(value); });
        segment += isAlone;
        graph.launches.back().segment = segment;
        segment += isAlone ? 1
                           : static_cast<int64_t>(records.count(
                                 static_cast<int64_t>(launches.size())));
      } else if (isa<ascend::InstructionOpInterface>(op)) {
        ++segment;
      }
    }
    describeBuffers();
  }

  /// Returns the chains to fuse. Takes the graph, so it may be called once.
  ChainPlan plan() { return planChains(std::move(graph)); }

  /// Replaces the launches of each chain by one, which belongs to the operator
  /// of its result, and renumbers launches where calls record events.
  void apply(const ChainPlan &plan) {
    for (const PlannedChain &chain : plan.chains)
      build(chain);
    recount(plan);
  }

private:
  void addLaunch(ascend::LaunchOp launch) {
    ChainLaunch &added = graph.launches.emplace_back();
    added.kernel = getFusible(launch);
    for (Value input : launch.getInputs())
      added.inputs.push_back(getValue(input));
    for (Value output : launch.getOutputs())
      added.outputs.push_back(getValue(output));
    if (Value workspace = launch.getWorkspace())
      added.outputs.push_back(getValue(workspace));
    launches.push_back(launch);
  }

  int64_t getValue(Value value) {
    auto [found, isNew] = valueNumbers.try_emplace(value, values.size());
    if (isNew) {
      values.push_back(value);
      graph.values.push_back(getBuffer(getRoot(value)));
    }
    return found->second;
  }

  /// Returns the index of a buffer. All values of one slot or one static share
  /// an index.
  int64_t getBuffer(Value root) {
    auto add = [&] {
      graph.buffers.emplace_back();
      roots.push_back(root);
      return static_cast<int64_t>(graph.buffers.size()) - 1;
    };
    auto find = [&](auto &known, const auto &key) {
      auto found = known.find(key);
      return found != known.end() ? found->second
                                  : known.try_emplace(key, add()).first->second;
    };
    if (auto global = root.getDefiningOp<ascend::GlobalOp>())
      return find(globals, static_cast<Attribute>(global.getBufferAttr()));
    if (auto slot = root.getDefiningOp<ascend::SlotOp>())
      return find(slots, static_cast<Attribute>(slot.getIndexAttr()));
    return find(others, root);
  }

  /// Returns whether the value may share memory with other buffers of the
  /// routine.
  bool isUnclear(Value value) const {
    auto argument = dyn_cast<BlockArgument>(getRoot(value));
    return argument && unclearArguments[argument.getArgNumber()];
  }

  void describeBuffers() {
    std::set<int64_t> written;
    for (const ChainLaunch &launch : graph.launches)
      for (int64_t value : launch.outputs)
        written.insert(graph.values[value]);
    for (auto [number, buffer] : llvm::enumerate(graph.buffers)) {
      const Value root = roots[number];
      buffer.bytes = cast<ascend::BufferType>(root.getType()).getBytes();
      buffer.isTemporary = isTemporary(root);
      // A residual that is not written in this routine is read here for the
      // last time. One that is written here, or is a result for the caller,
      // stays live.
      const bool isMade = written.count(static_cast<int64_t>(number)) > 0;
      const bool isSlot = root.getDefiningOp<ascend::SlotOp>() != nullptr;
      buffer.isKept = isMade && (isSlot || isa<BlockArgument>(root));
      buffer.isFreed =
          root.getDefiningOp<ascend::AllocOp>() || isSlot || buffer.isKept;
    }
  }

  /// Moves the operation that makes a buffer's value before `op`. Positions are
  /// tracked here, because Operation::isBeforeInBlock would renumber the
  /// routine after each move.
  void makeBefore(Value value, Operation *op) {
    Operation *maker = value.getDefiningOp();
    if (!maker || positions.at(maker) <= positions.at(op))
      return;
    for (Value source : maker->getOperands())
      makeBefore(source, op);
    maker->moveBefore(op);
    positions[maker] = positions.at(op);
  }

  void build(const PlannedChain &chain) {
    ascend::LaunchOp place = launches[chain.position];
    ascend::LaunchOp root = launches[chain.launches.back()];
    auto inputs = llvm::map_to_vector(
        chain.inputs, [&](int64_t value) { return values[value]; });
    for (Value input : inputs)
      makeBefore(input, place);
    const Value output = root.getOutputs().front();
    makeBefore(output, place);
    MLIRContext *context = routine.getContext();
    SmallVector<StringAttr> kernels;
    SmallVector<DenseI64ArrayAttr> operands;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<RankedTensorType> types;
    const auto &fused =
        std::get<std::vector<FusedKernel>>(chain.spec.attributes.at("steps"));
    for (auto [launch, kernel] : llvm::zip_equal(chain.launches, fused)) {
      ascend::LaunchOp op = launches[launch];
      kernels.push_back(op.getKernelAttr());
      operands.push_back(DenseI64ArrayAttr::get(context, kernel.operands));
      attributes.push_back(op.getKernelAttributes());
      types.push_back(
          cast<ascend::BufferType>(op.getOutputs().front().getType())
              .getTensor());
    }
    OpBuilder builder(place);
    const NamedAttribute named(
        StringAttr::get(context, "steps"),
        ascend::FusedKernelsAttr::get(context, kernels, operands, attributes,
                                      types));
    ascend::LaunchOp::create(
        builder, root.getLoc(), builder.getStringAttr(chain.spec.name), inputs,
        output, Value(), builder.getDictionaryAttr(named), root.getCellAttr());
    // Readers are erased before the launches whose results they read.
    for (int64_t launch : llvm::reverse(chain.launches)) {
      const Value result = launches[launch].getOutputs().front();
      launches[launch].erase();
      if (launch != chain.launches.back())
        result.getDefiningOp()->erase();
    }
  }

  void recount(const ChainPlan &plan) {
    // A chain stands where its last launch stood.
    std::vector<int64_t> counts(launches.size() + 1, 1);
    counts.front() = 0;
    for (const PlannedChain &chain : plan.chains)
      counts[chain.launches.back() + 1] -=
          static_cast<int64_t>(chain.launches.size()) - 1;
    std::vector<int64_t> numbers(counts.size());
    std::partial_sum(counts.begin(), counts.end(), numbers.begin());
    for (ascend::CallOp call : calls)
      ascend::renumberRecords(call, numbers);
  }

  ascend::RoutineOp routine;
  llvm::SmallVector<ascend::CallOp> calls;
  /// For each argument of the routine, whether it may share memory with others.
  std::vector<bool> unclearArguments;
  ChainGraph graph;
  std::vector<ascend::LaunchOp> launches;
  /// Values, and the buffers that they are (parts of), by index.
  std::vector<mlir::Value> values, roots;
  llvm::DenseMap<mlir::Value, int64_t> valueNumbers;
  llvm::DenseMap<mlir::Attribute, int64_t> globals, slots;
  llvm::DenseMap<mlir::Value, int64_t> others;
  /// Positions in the routine. An operation that was moved has the position of
  /// the one that it was moved before.
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
};

struct FuseElementwisePass
    : mf::passes::PrintingPass<
          mf::passes::impl::FuseElementwiseBase<FuseElementwisePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ascend::ProgramOp program = getOperation();
    llvm::StringMap<SmallVector<ascend::CallOp>> calls;
    program.walk(
        [&](ascend::CallOp call) { calls[call.getRoutine()].push_back(call); });
    std::vector<ChainKind> kinds;
    for (auto routine : program.getBody().getOps<ascend::RoutineOp>()) {
      RoutineChains chains(routine, calls[routine.getSymName()]);
      const ChainPlan plan = chains.plan();
      addKinds(kinds, plan.getKinds());
      chains.apply(plan);
    }
    for (const ChainKind &kind : kinds)
      emitRemark(program, kind);
    if (printPlan && !kinds.empty()) {
      PrintedPlan text(program);
      text.os() << "stage " << program.getStage() << ": chains\n";
      printKinds(kinds, text.os());
    }
  }

private:
  static void emitRemark(ascend::ProgramOp program, const ChainKind &kind) {
    remark::passed(program.getLoc(),
                   remark::RemarkOpts::name("Chain").category("fuse").function(
                       program.getSymName()))
        << remark::add("{0} run as one kernel", kind.kernels)
        << remark::metric("chains", kind.chains)
        << remark::metric("launches joined", kind.launches)
        << remark::metric("buffer bytes gone", kind.bytesGone)
        << remark::metric("bytes not moved", kind.bytesUnmoved);
  }
};

} // namespace
