//===- CannCallEmitter.cpp - How programs call kernels of CANN ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes a table of the kernels that CANN has a counterpart of: for each one
// the C++ function by which an emitted program launches it.
//
//===----------------------------------------------------------------------===//

#include "KernelRecords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TableGen/TableGenBackend.h"

using llvm::raw_ostream;

namespace mf {

/// Returns the header of a kernel in the folder aclnnop:
/// aclnn_apply_adam_w_v2.h for "aclnnApplyAdamWV2".
static std::string getHeaderName(llvm::StringRef kernel) {
  std::string name;
  for (const char letter : kernel.drop_front(strlen("aclnn"))) {
    if (llvm::isUpper(letter) && !name.empty())
      name += '_';
    name += llvm::toLower(letter);
  }
  return name;
}

/// Returns the function that launches a kernel: applyAdamWV2 for
/// "aclnnApplyAdamWV2" and nonFiniteCheck for "mfNonFiniteCheck".
static std::string getFunctionName(llvm::StringRef kernel) {
  if (!kernel.consume_front("aclnn"))
    kernel.consume_front("mf");
  return llvm::toLower(kernel.front()) + kernel.drop_front().str();
}

/// True if a text contains a name as a word outside of comments.
static bool hasWord(llvm::StringRef text, llvm::StringRef word) {
  auto isPart = [](char letter) {
    return llvm::isAlnum(letter) || letter == '_';
  };
  for (size_t at = text.find(word); at != llvm::StringRef::npos;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !isPart(text[at - 1])) &&
        (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}

static std::string removeComments(llvm::StringRef text) {
  std::string rest;
  for (llvm::StringRef line : llvm::split(text, '\n'))
    rest += (line.split("//").first + "\n").str();
  return rest;
}

/// Returns the head of the function that launches a kernel: its operands and
/// attributes in order. Only parameters that `hasName` allows have a name.
static std::string getHead(const KernelRecord &kernel,
                           llvm::function_ref<bool(llvm::StringRef)> hasName) {
  std::string head = "void " + getFunctionName(kernel.name) +
                     "(CannStream &stream, const char *place";
  auto add = [&](llvm::StringRef type, llvm::StringRef name) {
    head += (",\n    " + type + (hasName(name) ? name : "")).str();
  };
  for (const auto *operands : {&kernel.inputs, &kernel.outputs})
    for (const OperandRecord &operand : *operands)
      add(operand.isVariadic ? "const std::vector<CannTensor> &"
                             : "const CannTensor &",
          operand.name);
  for (const AttributeRecord &attribute : kernel.attributes)
    add(llvm::StringSwitch<llvm::StringRef>(attribute.kind)
            .Case("Bool", "bool ")
            .Case("Int", "int64_t ")
            .Case("Double", "double ")
            .Case("Doubles", "Numbers ")
            .Default("const Dims &"),
        attribute.name);
  return head + ")";
}

/// Returns the statements of the function, indented by two blanks.
static std::string getStatements(const KernelRecord &kernel) {
  if (kernel.cannBody.empty())
    return ("stream.call(MF_CANN(" + kernel.name + "), " + kernel.cann + ");")
        .str();
  std::string text;
  for (llvm::StringRef line : llvm::split(kernel.cannBody, '\n')) {
    line.consume_front("    ");
    text += text.empty() ? line.str() : ("\n  " + line).str();
  }
  return text;
}

/// Returns a statement that reports the results of the kernel, which are the
/// outputs that the statements before it overwrite.
static std::string getMade(const KernelRecord &kernel, llvm::StringRef text) {
  std::string made;
  for (const OperandRecord &output : kernel.outputs)
    if (output.access == "Out" && hasWord(text, output.name))
      made += (made.empty() ? "{\"" : ", {\"") +
              (kernel.outputs.size() > 1 ? output.name : "").str() + "\", " +
              output.name.str() + "}";
  return made.empty() ? "" : "\n  stream.tellMade({" + made + "});";
}

/// Writes the declaration of the function and its definition as two literals.
static void emitFunction(raw_ostream &os, const KernelRecord &kernel) {
  const std::string statements = getStatements(kernel);
  const std::string plain = removeComments(statements);
  os << "R\"~~~(/// " << kernel.summary << "\n"
     << getHead(kernel, [](llvm::StringRef) { return true; })
     << ";\n)~~~\", R\"~~~("
     << getHead(kernel,
                [&](llvm::StringRef name) { return hasWord(plain, name); })
     << " {\n  stream.begin(\"" << kernel.name << "\", place);\n  "
     << statements << getMade(kernel, plain) << "\n}\n)~~~\"";
}

static void emitCannCalls(const llvm::RecordKeeper &records, raw_ostream &os) {
  llvm::emitSourceFileHeader("Kernels that CANN has", os, records);
  for (const KernelRecord &kernel : readKernels(records)) {
    if (kernel.cann.empty() && kernel.cannBody.empty())
      continue;
    std::vector<std::string> headers;
    for (llvm::StringRef header : kernel.cannHeaders)
      headers.push_back(header.str());
    if (headers.empty() && hasWord(getStatements(kernel), kernel.name))
      headers.push_back(getHeaderName(kernel.name));
    os << llvm::formatv("{{\"{0}\", \"{1}\", \"{2}\", ", kernel.name,
                        getFunctionName(kernel.name), llvm::join(headers, " "));
    emitFunction(os, kernel);
    os << "},\n";
  }
}

/// Writes a function that runs the statements on shapes alone.
static void emitMeasure(raw_ostream &os, const KernelRecord &kernel) {
  os << "void measure_" << kernel.name
     << "(NeedsStream &stream, const KernelSpec &spec) {\n"
        "  OperandShapes givenInputs(spec.inputs), "
        "givenOutputs(spec.outputs);\n";
  auto takeAll = [&](llvm::ArrayRef<OperandRecord> operands,
                     llvm::StringRef from) {
    for (const OperandRecord &operand : operands)
      os << "  const auto " << operand.name << " = " << from
         << (operand.isVariadic ? ".takeRest();\n" : ".take();\n");
  };
  takeAll(kernel.inputs, "givenInputs");
  takeAll(kernel.outputs, "givenOutputs");
  for (const AttributeRecord &attribute : kernel.attributes)
    os << "  const auto " << attribute.name << " = getAttributeValue<"
       << llvm::StringSwitch<llvm::StringRef>(attribute.kind)
              .Case("Bool", "bool")
              .Case("Int", "int64_t")
              .Case("Double", "double")
              .Case("Doubles", "std::vector<double>")
              .Default("Dims")
       << ">(spec, \"" << attribute.name << "\");\n";
  os << "  " << getStatements(kernel) << "\n}\n\n";
}

static void emitCannNeeds(const llvm::RecordKeeper &records, raw_ostream &os) {
  llvm::emitSourceFileHeader("What kernels need on CANN", os, records);
  const std::vector<KernelRecord> kernels = readKernels(records);
  for (const KernelRecord &kernel : kernels)
    if (!kernel.cannBody.empty())
      emitMeasure(os, kernel);
  os << "constexpr LaunchedOnCann launchedOnCann[] = {\n";
  for (const KernelRecord &kernel : kernels)
    if (!kernel.cann.empty() || !kernel.cannBody.empty())
      os << "    {\"" << kernel.name << "\", "
         << (kernel.cannBody.empty() ? "nullptr"
                                     : "measure_" + kernel.name.str())
         << "},\n";
  os << "};\n";
}

static llvm::TableGen::Emitter::Opt cannEmitter(
    "gen-cann-calls", emitCannCalls,
    "Generate the functions by which programs call kernels of CANN");
static llvm::TableGen::Emitter::Opt
    needsEmitter("gen-cann-needs", emitCannNeeds,
                 "Generate the functions that say what kernels need on CANN");

} // namespace mf
