//===- IrHover.cpp - Costs of operators in an editor ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/mf-lsp-server/IrHover.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
// The alias distinguishes llvm::lsp from mf::lsp.
namespace protocol = llvm::lsp;

namespace mf::lsp {

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Returns none for a type that uses no device memory.
static std::optional<int64_t> getBytes(Type type) {
  if (auto buffer = dyn_cast<ascend::BufferType>(type))
    return buffer.getBytes();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape())
    return ir::getTensorBytes(tensor);
  return std::nullopt;
}

static void addLine(std::string &words, StringRef what, const Twine &text) {
  words += ("- **" + what + "**: " + text + "\n").str();
}

static std::string describeResults(Operation *op) {
  std::string words;
  for (Type type : op->getResultTypes())
    if (std::optional<int64_t> bytes = getBytes(type))
      words += (words.empty() ? "" : ", ") + describeMemorySize(*bytes);
  return words;
}

static StringRef describeMark(ir::RecomputeKind kind) {
  switch (kind) {
  case ir::RecomputeKind::Full:
    return "full: backward computes the results again, with all of the layer "
           "or Cell";
  case ir::RecomputeKind::Select:
    return "select: a pattern of the YAML names the operator, and backward "
           "computes the results again";
  case ir::RecomputeKind::Preset:
    return "preset: the model itself asks for it, and backward computes the "
           "results again";
  case ir::RecomputeKind::Excluded:
    return "excluded: the results are kept for backward though a Cell above is "
           "recomputed";
  case ir::RecomputeKind::Output:
    return "output: the results leave a recomputed Cell and are kept";
  }
  return "";
}

static void describeCompute(ir::ComputeOpInterface op, std::string &words) {
  if (op.isView())
    addLine(words, "work", "none, the result is the operand's memory");
  else
    addLine(words, "work",
            Twine(op.getFlops()) + " FLOPs by `" + op.getKernelName() + "`");
  if (std::optional<ir::RecomputeKind> kind = op.getRecomputeMark())
    addLine(words, "recompute", describeMark(*kind));
  if (std::optional<int64_t> distance = op.getSwapMark())
    addLine(words, "swap",
            "the results are in host memory from forward to backward; the copy "
            "back begins " +
                Twine(*distance) + " kernels before the first reader");
}

std::string describeCost(Operation *op) {
  std::string words;
  if (const std::string results = describeResults(op); !results.empty())
    addLine(words, "results", results);
  if (auto compute = dyn_cast<ir::ComputeOpInterface>(op)) {
    describeCompute(compute, words);
  } else if (auto instruction = dyn_cast<ascend::InstructionOpInterface>(op)) {
    const ascend::Cost cost = instruction.getCost();
    if (cost.flops != 0)
      addLine(words, "work", Twine(cost.flops) + " FLOPs");
    if (cost.bytes != 0)
      addLine(words, "reads and writes", describeMemorySize(cost.bytes));
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

struct IrHover::ReadText {
  std::shared_ptr<const std::string> text;
  llvm::SourceMgr sources;
  Block block;
  AsmParserState places;
};

IrHover::IrHover(const DialectRegistry &registry)
    : context(registry, MLIRContext::Threading::DISABLED) {}

IrHover::~IrHover() = default;

static bool contains(SMRange range, SMLoc place) {
  return range.Start.getPointer() <= place.getPointer() &&
         place.getPointer() < range.End.getPointer();
}

static bool isAt(const AsmParserState::OperationDefinition &definition,
                 SMLoc place) {
  return contains(definition.loc, place) ||
         llvm::any_of(definition.resultGroups, [&](const auto &group) {
           return contains(group.definition.loc, place) ||
                  llvm::any_of(group.definition.uses, [&](SMRange use) {
                    return contains(use, place);
                  });
         });
}

std::string IrHover::describe(const std::shared_ptr<const std::string> &text,
                              const protocol::Position &position) {
  if (!last || last->text != text) {
    last = std::make_unique<ReadText>();
    last->text = text;
    last->sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(*text),
                                     SMLoc());
    // MLIR's server reports the errors of the text.
    ScopedDiagnosticHandler ignore(&context, [](Diagnostic &) {});
    if (failed(parseAsmSourceFile(last->sources, &last->block,
                                  ParserConfig(&context), &last->places)))
      return "";
  }
  const SMLoc place = position.getAsSMLoc(last->sources);
  if (!place.isValid())
    return "";
  for (const auto &definition : last->places.getOpDefs())
    if (isAt(definition, place))
      return describeCost(definition.op);
  return "";
}

} // namespace mf::lsp
