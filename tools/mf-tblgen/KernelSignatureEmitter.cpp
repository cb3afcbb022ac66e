//===- KernelSignatureEmitter.cpp - Tables of kernels and signatures ------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelRecords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TableGen/TableGenBackend.h"
#include <set>

using llvm::raw_ostream;

namespace mf {

static const char *toText(bool value) { return value ? "true" : "false"; }

static void emitOperands(raw_ostream &os, const KernelRecord &kernel,
                         llvm::ArrayRef<OperandRecord> operands,
                         llvm::StringRef list) {
  if (operands.empty())
    return;
  os << "constexpr mf::OperandSignature " << kernel.name << list << "[] = {\n";
  for (const OperandRecord &operand : operands) {
    uint32_t shared = 0;
    for (unsigned input : operand.sharedInputs)
      shared |= uint32_t{1} << input;
    os << llvm::formatv(
        "    {{\"{0}\", mf::Access::{1}, {2}, {3}, {4}, {5}u},\n", operand.name,
        operand.access, toText(operand.isOptional), toText(operand.isVariadic),
        toText(operand.isFactors), shared);
  }
  os << "};\n";
}

static void emitAttributes(raw_ostream &os, const KernelRecord &kernel) {
  if (kernel.attributes.empty())
    return;
  os << "constexpr mf::AttributeSignature " << kernel.name
     << "Attributes[] = {\n";
  for (const AttributeRecord &attribute : kernel.attributes)
    os << llvm::formatv(
        "    {{\"{0}\", mf::AttributeKind::{1}, {2}, \"{3}\"},\n",
        attribute.name, attribute.kind, toText(attribute.isOptional),
        attribute.whenAbsent);
  os << "};\n";
}

/// Emits a function of the specification, named after the kernel and `what`.
static void emitFormula(raw_ostream &os, const KernelRecord &kernel,
                        const llvm::Twine &what, const llvm::Twine &formula) {
  os << "int64_t " << kernel.name << what
     << "([[maybe_unused]] const mf::KernelSpec &spec) {\n  using namespace "
        "mf;\n  return "
     << formula << ";\n}\n";
}

/// Emits the measures that all kernels have, and then the kernel's own.
static void emitMeasures(raw_ostream &os, const KernelRecord &kernel) {
  for (const MeasureRecord &measure : kernel.measures)
    emitFormula(os, kernel, "_" + measure.name.str(), measure.formula);
  os << llvm::formatv(
      "constexpr mf::MeasureSignature {0}Measures[] = {{\n"
      "    {{\"flops\", {0}Flops},\n"
      "    {{\"full_flops\", {0}{1}},\n"
      "    {{\"bytes\", {0}Bytes},\n"
      "    {{\"largest_operand_bytes\", mf::getLargestOperandBytes},\n"
      "    {{\"element_bytes\", mf::getElementBytes},\n",
      kernel.name, kernel.fullFlops.empty() ? "Flops" : "FullFlops");
  for (const MeasureRecord &measure : kernel.measures)
    os << llvm::formatv("    {{\"{1}\", {0}_{1}},\n", kernel.name,
                        measure.name);
  os << "};\n";
}

/// Emits the kernel's names in profiles, and the function that reads rows of
/// profiles.
static void emitProfiled(raw_ostream &os, const KernelRecord &kernel) {
  if (!kernel.profiled.empty()) {
    os << "constexpr llvm::StringRef " << kernel.name << "Profiled[] = {\n";
    for (llvm::StringRef name : kernel.profiled)
      os << "    \"" << name << "\",\n";
    os << "};\n";
  }
  if (!kernel.fromProfile.empty())
    os << "bool " << kernel.name
       << "FromProfile(mf::KernelSpec &spec) {\n  using namespace mf;\n"
          "  return "
       << kernel.fromProfile << ";\n}\n";
}

static uint32_t getReadOutputs(const KernelRecord &kernel) {
  uint32_t mask = 0;
  for (auto [index, output] : llvm::enumerate(kernel.outputs))
    if (output.access != "Out")
      mask |= uint32_t{1} << index;
  return mask;
}

/// Emits the line of the record, or the expression that computes it.
static void emitLine(raw_ostream &os, const KernelRecord &kernel) {
  const bool isExpression = kernel.parts.contains('(');
  os << "std::string " << kernel.name
     << "Line([[maybe_unused]] const mf::KernelSpec &spec) {\n  using "
        "namespace mf;\n  return ";
  if (isExpression)
    os << kernel.parts << ";\n}\n";
  else
    os << '"' << kernel.parts << "\";\n}\n";
}

static void emitPieces(raw_ostream &os, const KernelRecord &kernel) {
  emitOperands(os, kernel, kernel.inputs, "Inputs");
  emitOperands(os, kernel, kernel.outputs, "Outputs");
  emitAttributes(os, kernel);
  emitFormula(os, kernel, "Flops", kernel.flops);
  if (!kernel.fullFlops.empty())
    emitFormula(os, kernel, "FullFlops", kernel.fullFlops);
  if (kernel.bytes.empty())
    emitFormula(os, kernel, "Bytes",
                "getMovedBytes(spec, " + llvm::Twine(getReadOutputs(kernel)) +
                    "u)");
  else
    emitFormula(os, kernel, "Bytes", kernel.bytes);
  if (!kernel.workspace.empty())
    emitFormula(os, kernel, "Workspace", kernel.workspace);
  if (!kernel.fusion.empty())
    os << "mf::FusionKind " << kernel.name
       << "Fusion([[maybe_unused]] const mf::KernelSpec &spec) {\n  using "
          "namespace mf;\n  return "
       << kernel.fusion << ";\n}\n";
  if (!kernel.members.empty())
    os << "std::vector<mf::KernelSpec> " << kernel.name
       << "Members(const mf::KernelSpec &spec) {\n  using namespace mf;\n"
          "  return "
       << kernel.members << ";\n}\n";
  emitMeasures(os, kernel);
  emitProfiled(os, kernel);
  emitLine(os, kernel);
  os << "\n";
}

static void emitSignature(raw_ostream &os, const KernelRecord &kernel) {
  auto listName = [&](bool isEmpty, llvm::StringRef list) {
    return isEmpty ? std::string("{}") : (kernel.name + list).str();
  };
  os << llvm::formatv(
      "    {{\"{0}\", {1}, {2}, {3}, mf::Engine::{4}, \"{6}\", {0}Flops, "
      "{0}Bytes, {5}, {9}, {0}Line, {0}Measures, {7}, {8}, {10}},\n",
      kernel.name, listName(kernel.inputs.empty(), "Inputs"),
      listName(kernel.outputs.empty(), "Outputs"),
      listName(kernel.attributes.empty(), "Attributes"), kernel.engine,
      kernel.workspace.empty() ? "mf::getNoWorkspace"
                               : (kernel.name + "Workspace").str(),
      kernel.kind, listName(kernel.profiled.empty(), "Profiled"),
      kernel.fromProfile.empty() ? "nullptr"
                                 : (kernel.name + "FromProfile").str(),
      kernel.fusion.empty() ? "nullptr" : (kernel.name + "Fusion").str(),
      kernel.members.empty() ? "nullptr" : (kernel.name + "Members").str());
}

static void emitSignatures(const llvm::RecordKeeper &records, raw_ostream &os) {
  llvm::emitSourceFileHeader("Signatures of kernels", os, records);
  const std::vector<KernelRecord> kernels = readKernels(records);
  os << "namespace {\n\nconstexpr llvm::StringRef kinds[] = {\n";
  for (llvm::StringRef kind : readKinds(records))
    os << "    \"" << kind << "\",\n";
  os << "};\n\n";
  for (const KernelRecord &kernel : kernels)
    emitPieces(os, kernel);
  os << "constexpr mf::KernelSignature signatures[] = {\n";
  for (const KernelRecord &kernel : kernels)
    emitSignature(os, kernel);
  os << "};\n\n} // namespace\n";
}

/// Emits the declarations of all factories and the tables of factories in the
/// signatures' order. Kernels that are never fused have null in the table of
/// fused ones.
static void emitFactories(const llvm::RecordKeeper &records, raw_ostream &os) {
  llvm::emitSourceFileHeader("Factories of kernels", os, records);
  const std::vector<KernelRecord> kernels = readKernels(records);
  std::set<llvm::StringRef> names, fusedNames;
  for (const KernelRecord &kernel : kernels) {
    names.insert(kernel.factory);
    if (!kernel.fusedFactory.empty())
      fusedNames.insert(kernel.fusedFactory);
  }
  os << "#ifdef GET_FACTORY_DECLARATIONS\n#undef GET_FACTORY_DECLARATIONS\n";
  for (llvm::StringRef name : names)
    os << "KernelOrError " << name
       << "(const KernelSpec &spec, SpecChecker &checker);\n";
  os << "#endif\n\n#ifdef GET_FUSED_FACTORY_DECLARATIONS\n"
        "#undef GET_FUSED_FACTORY_DECLARATIONS\n";
  for (llvm::StringRef name : fusedNames)
    os << "FusedFunction " << name << "(const KernelSpec &spec);\n";
  os << "#endif\n\n#ifdef GET_FACTORIES\n#undef GET_FACTORIES\n";
  for (const KernelRecord &kernel : kernels)
    os << kernel.factory << ", // " << kernel.name << "\n";
  os << "#endif\n\n#ifdef GET_FUSED_FACTORIES\n#undef GET_FUSED_FACTORIES\n";
  for (const KernelRecord &kernel : kernels)
    os << (kernel.fusedFactory.empty() ? "nullptr" : kernel.fusedFactory)
       << ", // " << kernel.name << "\n";
  os << "#endif\n";
}

static llvm::TableGen::Emitter::Opt
    signatureEmitter("gen-kernel-signatures", emitSignatures,
                     "Generate the table of kernels' signatures");
static llvm::TableGen::Emitter::Opt
    factoryEmitter("gen-kernel-factories", emitFactories,
                   "Generate declarations and a table of kernels' factories");

} // namespace mf
