//===- KernelDocEmitter.cpp - The page of kernels -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelRecords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TableGen/TableGenBackend.h"

using llvm::raw_ostream;

namespace mf {

/// Returns a list such as "`self`, `other` (optional)". Outputs have their
/// access and the inputs with which they may share memory.
static std::string describe(const KernelRecord &kernel,
                            llvm::ArrayRef<OperandRecord> operands) {
  std::vector<std::string> texts;
  for (const OperandRecord &operand : operands) {
    std::vector<std::string> notes;
    if (operand.isOptional && operand.isVariadic)
      notes.push_back("any number");
    else if (operand.isOptional)
      notes.push_back("optional");
    else if (operand.isVariadic)
      notes.push_back("one or more");
    if (operand.access != "In" && operand.access != "Out")
      notes.push_back(operand.access.lower());
    for (unsigned input : operand.sharedInputs)
      notes.push_back(("may be `" + kernel.inputs[input].name + "`").str());
    std::string text = ("`" + operand.name + "`").str();
    if (!notes.empty())
      text += " (" + llvm::join(notes, ", ") + ")";
    texts.push_back(text);
  }
  return llvm::join(texts, ", ");
}

static std::string describeAttributes(const KernelRecord &kernel) {
  std::vector<std::string> texts;
  for (const AttributeRecord &attribute : kernel.attributes)
    texts.push_back(("`" + attribute.name + "`: " + attribute.kind.lower() +
                     (attribute.isOptional ? ", optional" : "") +
                     (attribute.whenAbsent.empty() ? "" : ", else ") +
                     attribute.whenAbsent)
                        .str());
  return llvm::join(texts, "; ");
}

static std::string describeMeasures(const KernelRecord &kernel) {
  std::vector<std::string> texts;
  for (const MeasureRecord &measure : kernel.measures)
    texts.push_back(("`" + measure.name + "`").str());
  return llvm::join(texts, ", ");
}

/// Returns a text of several lines as one line, for a table.
static std::string join(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words);
  return llvm::join(words, " ");
}

static void emitPage(const llvm::RecordKeeper &records, raw_ostream &os) {
  os << "# Kernels\n\n"
        "What a program can launch. Inputs are read; an output is overwritten "
        "whole unless it is\n*updated* (read and overwritten) or *accumulated* "
        "(added to), and shares no memory with an\ninput unless it *may be* "
        "one: then exactly its bytes.\n\n"
        "*Parts* say what it makes of parts of tensors, as einsum does: inputs "
        "and outputs with a\nletter for each dimension, `*` for all leading "
        "ones, `.` for none. Ranks may cut a dimension\nof a small letter, and "
        "all of one letter alike; an output that lacks it is then a summand,\n"
        "with `>` the largest and with `~` the norm of a part. Summands may go "
        "into all operands\nwith `+` together, or into one with `^`. `@v` says "
        "where a rank's part of v begins, `&b`\nwhich part above b it takes of "
        "its own. With `%` the output is the input, its dimensions in another\n"
        "order. A formula makes the line of the attributes.\n\n"
        "A target says how fast kernels of a *kind* run, which may depend on "
        "their *measures*;\n`flops`, `full_flops`, `bytes`, "
        "`largest_operand_bytes` and `element_bytes` (of the largest input) "
        "all have.\n\n"
        "| kernel | inputs | outputs | attributes | engine | kind | measures | "
        "workspace | parts |\n"
        "|---|---|---|---|---|---|---|---|---|\n";
  const std::vector<KernelRecord> kernels = readKernels(records);
  for (const KernelRecord &kernel : kernels)
    os << "| `" << kernel.name << "` | " << describe(kernel, kernel.inputs)
       << " | " << describe(kernel, kernel.outputs) << " | "
       << describeAttributes(kernel) << " | " << kernel.engine.lower() << " | "
       << kernel.kind << " | " << describeMeasures(kernel) << " | "
       << (kernel.workspace.empty() ? "" : "yes") << " | `" << kernel.parts
       << "` |\n";
  os << "\n## What they compute\n\n";
  for (const KernelRecord &kernel : kernels) {
    os << "- `" << kernel.name << "`: " << join(kernel.summary) << ".";
    if (!kernel.description.empty())
      os << " " << join(kernel.description);
    os << "\n";
  }
}

static llvm::TableGen::Emitter::Opt
    pageEmitter("gen-kernel-doc", emitPage,
                "Generate the documentation's page of kernels");

} // namespace mf
