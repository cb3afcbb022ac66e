//===- LegalizeForCann.cpp - What CANN needs, before memory is planned ----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "mf/Cann/Needs/CannNeeds.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "mf/Program/Signatures/KernelSpec.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace mf::passes {
#define GEN_PASS_DEF_LEGALIZEFORCANN
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

/// Counts what expandChains has replaced.
struct ExpandedChains {
  /// The number of launches that were replaced.
  int64_t launches = 0;
  /// The number of launches that replace them.
  int64_t replacements = 0;
  /// The size of all new buffers for the values between kernels, in bytes.
  int64_t bufferBytes = 0;
};

} // namespace

/// Returns the kernels that a launch fuses, or null if it fuses none.
static ascend::FusedKernelsAttr getFusedKernels(ascend::LaunchOp launch) {
  for (NamedAttribute named : launch.getKernelAttributes())
    if (auto fused = dyn_cast<ascend::FusedKernelsAttr>(named.getValue()))
      return fused;
  return {};
}

/// Returns the buffer that a value is a view of, if the view has the whole
/// buffer in another shape. Returns the value itself if it is a part of a
/// buffer.
static Value getWhole(Value value) {
  while (auto view = value.getDefiningOp<ascend::ViewOp>()) {
    if (view.getByteOffset() != 0)
      break;
    value = view.getSource();
  }
  return value;
}

namespace {

/// Replaces one launch by launches of its fused.
class ChainExpander {
public:
  ChainExpander(ascend::LaunchOp launch, ascend::FusedKernelsAttr fused)
      : launch(launch), fused(fused), last(fused.getKernels().size() - 1) {}

  /// Returns true if the last kernel may write to the output of the launch. A
  /// kernel that reads the same memory may not, unless its signature lets the
  /// two share it.
  bool isPossible() {
    const KernelSignature *signature =
        findKernelSignature(fused.getKernels()[last]);
    const Value output = getWhole(launch.getOutputs().front());
    for (auto [position, operand] :
         llvm::enumerate(fused.getOperands()[last].asArrayRef()))
      if (operand >= 0 && getWhole(launch.getInputs()[operand]) == output &&
          !(signature && signature->mayShareMemory(0, position)))
        return false;
    return true;
  }

  void run(ExpandedChains &expanded) {
    OpBuilder builder(launch);
    SmallVector<Value> results;
    for (size_t number = 0; number <= last; ++number) {
      SmallVector<Value> inputs;
      for (const int64_t operand : fused.getOperands()[number].asArrayRef())
        inputs.push_back(operand < 0 ? results[~operand]
                                     : launch.getInputs()[operand]);
      results.push_back(
          number == last
              ? launch.getOutputs().front()
              : makeBuffer(builder, fused.getTypes()[number], expanded));
      ascend::LaunchOp::create(
          builder, launch.getLoc(), fused.getKernels()[number], inputs,
          results.back(), Value(), fused.getAttributes()[number],
          launch.getCellAttr());
    }
    ++expanded.launches;
    expanded.replacements += static_cast<int64_t>(last) + 1;
    launch.erase();
  }

private:
  Value makeBuffer(OpBuilder &builder, RankedTensorType tensor,
                   ExpandedChains &expanded) {
    auto type = ascend::BufferType::get(builder.getContext(), tensor,
                                        ascend::Space::Hbm);
    expanded.bufferBytes += type.getBytes();
    return ascend::AllocOp::create(builder, launch.getLoc(), type,
                                   ascend::RegionAttr(), IntegerAttr());
  }

  ascend::LaunchOp launch;
  ascend::FusedKernelsAttr fused;
  size_t last;
};

} // namespace

/// Replaces each launch of fused kernels, such as mfChain, by one launch for
/// each kernel, and adds buffers for the values between them. A call that
/// records events behind instructions of a routine still records them behind
/// the same work. A launch stays as it is if its last kernel could not write to
/// the launch's output, because it reads that memory too.
static ExpandedChains expandChains(ascend::ProgramOp program) {
  ExpandedChains expanded;
  llvm::StringMap<SmallVector<int64_t>> numbers;
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>()) {
    SmallVector<int64_t> &ofRoutine = numbers[routine.getSymName()];
    ofRoutine.push_back(0);
    for (auto launch : llvm::make_early_inc_range(
             routine.getBody().getOps<ascend::LaunchOp>())) {
      const int64_t before = expanded.replacements;
      if (ascend::FusedKernelsAttr fused = getFusedKernels(launch)) {
        ChainExpander expander(launch, fused);
        if (expander.isPossible())
          expander.run(expanded);
      }
      ofRoutine.push_back(ofRoutine.back() +
                          std::max<int64_t>(expanded.replacements - before, 1));
    }
  }
  if (expanded.launches > 0)
    program.walk([&](ascend::CallOp call) {
      ascend::renumberRecords(call, numbers[call.getRoutine()]);
    });
  return expanded;
}

//===----------------------------------------------------------------------===//
// This file decides which launches get a larger workspace. It takes and returns
// plain values and does not depend on MLIR.
//===----------------------------------------------------------------------===//

namespace {

/// A launch before the pass has changed it.
struct LaunchForCann {
  KernelSpec spec;
  int64_t workspaceBytes = 0;
};

/// A workspace that replaces the one of a launch, if it has one.
struct PlannedWorkspace {
  /// The index of the launch in the list that was given.
  size_t launch = 0;
  int64_t bytes = 0;
};

/// Sums up the launches of one kernel that need temporary memory on CANN.
struct KernelOnCann {
  std::string name;
  /// The number of launches that get a larger workspace, and the number of all
  /// launches that need one.
  int64_t changed = 0, launches = 0;
  /// The size of the largest workspace in bytes, and the temporaries that lie
  /// in it, for example "i64[32], f32[32x64]".
  int64_t bytes = 0;
  std::string temporaries;
};

/// Counts the launches of a kernel that programs on CANN cannot launch.
struct MissingKernel {
  std::string name;
  /// The reason, or empty if CANN has no counterpart of the kernel.
  std::string refusal;
  int64_t launches = 0;
};

/// Counts the launches of a kernel whose sums CANN adds up in any order.
struct UnorderedKernel {
  std::string name;
  int64_t launches = 0;
};

/// The changes that a program needs before it can run on CANN.
struct CannPlan {
  std::vector<PlannedWorkspace> workspaces;
  /// The kernels that need temporary memory, sorted by name.
  std::vector<KernelOnCann> kernels;
  std::vector<MissingKernel> missing;
  std::vector<UnorderedKernel> unordered;
};

constexpr llvm::StringLiteral anyOrder =
    "CANN adds up in any order, so that its last bits may differ from run to "
    "run on Atlas A2 and A3";

} // namespace

/// Finds what the launches need from the records of their kernels.
static CannPlan planForCann(llvm::ArrayRef<LaunchForCann> launches) {
  CannPlan plan;
  std::map<std::string, KernelOnCann> kernels;
  std::map<std::pair<std::string, std::string>, int64_t> missing;
  std::map<std::string, int64_t> unordered;
  for (const auto &[number, launch] : llvm::enumerate(launches)) {
    const cann::CannNeeds needs = cann::getCannNeeds(launch.spec);
    if (!needs.isOnCann || !needs.refusal.empty())
      ++missing[{launch.spec.name, needs.refusal}];
    else if (needs.isInAnyOrder)
      ++unordered[launch.spec.name];
    if (needs.bytes == 0)
      continue;
    KernelOnCann &kernel = kernels[launch.spec.name];
    kernel.name = launch.spec.name;
    ++kernel.launches;
    if (needs.bytes > kernel.bytes) {
      kernel.bytes = needs.bytes;
      kernel.temporaries = needs.temporaries;
    }
    if (needs.bytes <= launch.workspaceBytes)
      continue;
    ++kernel.changed;
    plan.workspaces.push_back({number, needs.bytes});
  }
  for (auto &[name, kernel] : kernels)
    plan.kernels.push_back(std::move(kernel));
  for (const auto &[kernel, count] : missing)
    plan.missing.push_back({kernel.first, kernel.second, count});
  for (const auto &[name, count] : unordered)
    plan.unordered.push_back({name, count});
  return plan;
}

/// Prints one line for each kernel of the plan.
static void printCannPlan(const CannPlan &plan, llvm::raw_ostream &os) {
  for (const KernelOnCann &kernel : plan.kernels)
    os << "  " << kernel.launches << " x " << kernel.name << ": up to "
       << kernel.bytes << " bytes, " << kernel.temporaries << "\n";
  for (const MissingKernel &kernel : plan.missing)
    os << "  " << kernel.launches << " x " << kernel.name << ": "
       << (kernel.refusal.empty() ? "CANN has no counterpart" : kernel.refusal)
       << "\n";
  for (const UnorderedKernel &kernel : plan.unordered)
    os << "  " << kernel.launches << " x " << kernel.name << ": " << anyOrder
       << "\n";
}

namespace {

struct LegalizeForCannPass
    : mf::passes::PrintingPass<
          mf::passes::impl::LegalizeForCannBase<LegalizeForCannPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ascend::ProgramOp program = getOperation();
    const ExpandedChains expanded = expandChains(program);
    SmallVector<ascend::LaunchOp> launches;
    std::vector<LaunchForCann> described;
    program.walk([&](ascend::LaunchOp launch) {
      if (std::optional<KernelSpec> spec = launch.getKernelSpec()) {
        launches.push_back(launch);
        described.push_back({std::move(*spec), getWorkspaceBytes(launch)});
      }
    });
    const CannPlan plan = planForCann(described);
    for (const PlannedWorkspace &planned : plan.workspaces)
      setWorkspace(launches[planned.launch], planned.bytes);
    emitRemark(program, expanded);
    emitRemarks(program, plan);
    if (printPlan)
      print(program, expanded, plan);
  }

private:
  /// Returns the bytes of a launch's workspace, or 0 if it has none.
  static int64_t getWorkspaceBytes(ascend::LaunchOp launch) {
    Value workspace = launch.getWorkspace();
    return workspace ? cast<ascend::BufferType>(workspace.getType()).getBytes()
                     : 0;
  }

  /// Gives a launch a new workspace, and erases the buffer of its previous one
  /// if nothing else uses that. The buffer consists of words of 32 bits, like
  /// the workspaces that the lowering makes.
  static void setWorkspace(ascend::LaunchOp launch, int64_t bytes) {
    OpBuilder builder(launch);
    const auto words =
        RankedTensorType::get({(bytes + 3) / 4}, builder.getI32Type());
    auto made = ascend::AllocOp::create(
        builder, launch.getLoc(),
        ascend::BufferType::get(builder.getContext(), words,
                                ascend::Space::Hbm),
        ascend::RegionAttr(), IntegerAttr());
    Value before = launch.getWorkspace();
    launch.getWorkspaceMutable().assign(made);
    Operation *maker = before ? before.getDefiningOp() : nullptr;
    if (maker && maker->use_empty())
      maker->erase();
  }

  static remark::RemarkOpts getOptions(ascend::ProgramOp program,
                                       StringRef name) {
    return remark::RemarkOpts::name(name).category("cann").function(
        program.getSymName());
  }

  static void print(ascend::ProgramOp program, const ExpandedChains &expanded,
                    const CannPlan &plan) {
    PrintedPlan text(program);
    text.os() << "stage " << program.getStage() << ": on CANN\n";
    if (expanded.launches > 0)
      text.os() << "  " << expanded.launches
                << " launches of fused kernels: " << expanded.replacements
                << " launches, " << expanded.bufferBytes
                << " bytes of buffers between them\n";
    printCannPlan(plan, text.os());
  }

  static void emitRemark(ascend::ProgramOp program,
                         const ExpandedChains &expanded) {
    if (expanded.launches > 0)
      remark::passed(program.getLoc(), getOptions(program, "CannChains"))
          << remark::add("kernels that run as one are launched one by one")
          << remark::metric("launches", expanded.launches)
          << remark::metric("kernels", expanded.replacements)
          << remark::metric("buffer bytes", expanded.bufferBytes);
  }

  static void emitRemarks(ascend::ProgramOp program, const CannPlan &plan) {
    for (const KernelOnCann &kernel : plan.kernels)
      if (kernel.changed > 0)
        remark::passed(program.getLoc(), getOptions(program, "CannWorkspace"))
            << remark::add("{0} has {1} in its workspace", kernel.name,
                           kernel.temporaries)
            << remark::metric("launches", kernel.changed)
            << remark::metric("most bytes", kernel.bytes);
    for (const MissingKernel &kernel : plan.missing)
      remark::missed(program.getLoc(), getOptions(program, "CannKernel"))
          << (kernel.refusal.empty()
                  ? remark::add("CANN has no counterpart of {0}", kernel.name)
                  : remark::add("{0}: {1}", kernel.name, kernel.refusal))
          << remark::metric("launches", kernel.launches);
    for (const UnorderedKernel &kernel : plan.unordered)
      remark::analysis(program.getLoc(), getOptions(program, "CannOrder"))
          << remark::add("{0}: {1}", kernel.name, anyOrder)
          << remark::metric("launches", kernel.launches);
  }
};

} // namespace
