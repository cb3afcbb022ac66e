//===- KernelRecords.cpp - The records of class Kernel --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelRecords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TableGen/Error.h"

namespace mf {

/// The number of inputs for which a 32-bit mask has bits.
static constexpr size_t maximumInputs = 32;

/// Measures that the emitter adds to each kernel's own.
static constexpr llvm::StringLiteral commonMeasures[] = {
    "flops", "full_flops", "bytes", "largest_operand_bytes", "element_bytes"};

std::vector<llvm::StringRef> readKinds(const llvm::RecordKeeper &records) {
  const llvm::Record *kinds = records.getDef("KernelKinds");
  if (!kinds)
    llvm::PrintFatalError("expected a record 'KernelKinds'");
  return kinds->getValueAsListOfStrings("names");
}

/// Reads one record and reports its errors.

namespace {

class KernelReader {
public:
  KernelReader(const llvm::Record &record,
               llvm::ArrayRef<llvm::StringRef> kinds)
      : record(record), kinds(kinds) {}

  KernelRecord read() {
    KernelRecord kernel;
    kernel.record = &record;
    kernel.name = readText("name");
    kernel.factory = readText("factory");
    kernel.summary = readText("summary");
    kernel.description = record.getValueAsString("description").trim();
    kernel.inputs = readOperands("inputs");
    kernel.outputs = readOperands("outputs");
    if (kernel.outputs.empty())
      fail("expected an output: a kernel that writes nothing does nothing");
    if (!failed)
      readSharing(kernel);
    kernel.attributes = readAttributes();
    kernel.engine = record.getValueAsDef("engine")->getValueAsString("name");
    kernel.kind = readKind();
    kernel.measures = readMeasures();
    kernel.flops = readText("flops");
    kernel.fullFlops = record.getValueAsString("fullFlops").trim();
    kernel.parts = readText("parts");
    kernel.bytes = record.getValueAsString("bytes").trim();
    kernel.workspace = record.getValueAsString("workspace").trim();
    kernel.members = record.getValueAsString("members").trim();
    kernel.fusion = record.getValueAsString("fusion").trim();
    kernel.fusedFactory = record.getValueAsString("fusedFactory").trim();
    if (kernel.fusion.empty() != kernel.fusedFactory.empty())
      fail("expected both 'fusion' and 'fusedFactory' or neither");
    kernel.profiled = record.getValueAsListOfStrings("profiled");
    kernel.fromProfile = record.getValueAsString("fromProfile").trim();
    kernel.cann = record.getValueAsString("cann").trim();
    kernel.cannBody = record.getValueAsString("cannBody").trim();
    kernel.cannHeaders = record.getValueAsListOfStrings("cannHeaders");
    if (!kernel.cann.empty() && !kernel.cannBody.empty())
      fail("expected one of 'cann' and 'cannBody'");
    if (!kernel.cann.empty() && !kernel.name.starts_with("aclnn"))
      fail("expected 'cannBody': '" + kernel.name + "' is no function of CANN");
    return kernel;
  }

  bool hasFailed() const { return failed; }

private:
  void fail(const llvm::Twine &message) {
    llvm::PrintError(&record, message);
    failed = true;
  }

  llvm::StringRef readText(llvm::StringRef field) {
    const auto *text =
        llvm::dyn_cast<llvm::StringInit>(record.getValueInit(field));
    if (text && !text->getValue().trim().empty())
      return text->getValue().trim();
    fail("expected a text as '" + field + "'");
    return "";
  }
  std::vector<OperandRecord> readOperands(llvm::StringRef list) {
    const bool isInput = list == "inputs";
    std::vector<OperandRecord> operands;
    for (auto [definition, name] :
         readList(list, isInput ? "ins" : "outs", "Operand")) {
      OperandRecord operand;
      operand.name = name;
      operand.access = definition->getValueAsString("access");
      operand.isOptional = definition->getValueAsBit("isOptional");
      operand.isVariadic = definition->getValueAsBit("isVariadic");
      operand.isFactors = definition->getValueAsBit("isFactors");
      if (isInput && operand.access != "In")
        fail("input '" + name +
             "' is written: what a kernel writes is an output alone");
      if (!isInput && operand.access == "In")
        fail("output '" + name + "' is not written");
      operands.push_back(std::move(operand));
    }
    checkOrder(operands, list);
    if (isInput && operands.size() > maximumInputs)
      fail("expected at most " + llvm::Twine(maximumInputs) +
           " inputs, but got " + llvm::Twine(operands.size()));
    return operands;
  }

  std::vector<AttributeRecord> readAttributes() {
    std::vector<AttributeRecord> attributes;
    for (auto [definition, name] :
         readList("attributes", "attrs", "KernelAttribute"))
      attributes.push_back({name, definition->getValueAsString("kind"),
                            definition->getValueAsBit("isOptional"),
                            definition->getValueAsString("whenAbsent")});
    return attributes;
  }

  /// Returns the records and names of the elements of a list. Its operator is
  /// `listOperator` and its elements are of class `elementClass`.
  std::vector<std::pair<const llvm::Record *, llvm::StringRef>>
  readList(llvm::StringRef list, llvm::StringRef listOperator,
           llvm::StringRef elementClass) {
    std::vector<std::pair<const llvm::Record *, llvm::StringRef>> elements;
    const llvm::DagInit *dag = record.getValueAsDag(list);
    if (dag->getOperatorAsDef(record.getLoc())->getName() != listOperator)
      fail("expected (" + listOperator + " ...) as '" + list + "'");
    llvm::StringSet<> names;
    for (auto [element, nameInit] :
         llvm::zip_equal(dag->getArgs(), dag->getArgNames())) {
      const auto *definition = llvm::dyn_cast<llvm::DefInit>(element);
      if (!definition || !definition->getDef()->isSubClassOf(elementClass)) {
        fail("expected elements of class " + elementClass + " in '" + list +
             "', but got " + element->getAsString());
        continue;
      }
      llvm::StringRef name = nameInit ? nameInit->getValue() : "";
      if (name.empty())
        fail("an element of '" + list + "' has no name");
      else if (!names.insert(name).second)
        fail("two elements of '" + list + "' are named '" + name + "'");
      elements.push_back({definition->getDef(), name});
    }
    return elements;
  }

  /// Positions identify operands only if a variadic one is last and no operand
  /// that is always present follows an optional one.
  void checkOrder(llvm::ArrayRef<OperandRecord> operands,
                  llvm::StringRef list) {
    for (size_t i = 0; i + 1 < operands.size(); ++i) {
      if (operands[i].isVariadic)
        fail("variadic '" + operands[i].name + "' must be the last of '" +
             list + "'");
      if (operands[i].isOptional && !operands[i + 1].isOptional)
        fail("optional '" + operands[i].name + "' must stand behind '" +
             operands[i + 1].name + "', which is always there");
    }
  }

  /// Converts the names of shared inputs to indices.
  void readSharing(KernelRecord &kernel) {
    auto outputs = readList("outputs", "outs", "Operand");
    for (auto [output, element] : llvm::zip_equal(kernel.outputs, outputs)) {
      std::vector<llvm::StringRef> shared =
          element.first->getValueAsListOfStrings("sharedInputs");
      if (!shared.empty() && output.access != "Out")
        fail("output '" + output.name +
             "' is read: its memory cannot be that of an input, too");
      for (llvm::StringRef name : shared) {
        auto input =
            llvm::find_if(kernel.inputs, [&](const OperandRecord &candidate) {
              return candidate.name == name;
            });
        if (input == kernel.inputs.end())
          fail("output '" + output.name + "' shares the memory of '" + name +
               "', which is no input");
        else
          output.sharedInputs.push_back(input - kernel.inputs.begin());
      }
    }
  }

  llvm::StringRef readKind() {
    llvm::StringRef kind = readText("kind");
    if (!kind.empty() && !llvm::is_contained(kinds, kind))
      fail("there is no kind '" + kind + "'; known are " +
           llvm::join(kinds, ", "));
    return kind;
  }
  std::vector<MeasureRecord> readMeasures() {
    llvm::StringSet<> names;
    for (llvm::StringRef name : commonMeasures)
      names.insert(name);
    std::vector<MeasureRecord> measures;
    for (const llvm::Record *measure :
         record.getValueAsListOfDefs("measures")) {
      llvm::StringRef name = measure->getValueAsString("name");
      if (!names.insert(name).second)
        fail("two measures are named '" + name + "'");
      measures.push_back({name, measure->getValueAsString("formula").trim()});
      if (measures.back().formula.empty())
        fail("measure '" + name + "' has no formula");
    }
    return measures;
  }

  const llvm::Record &record;
  llvm::ArrayRef<llvm::StringRef> kinds;
  bool failed = false;
};

} // namespace

std::vector<KernelRecord> readKernels(const llvm::RecordKeeper &records) {
  const std::vector<llvm::StringRef> kinds = readKinds(records);
  std::vector<KernelRecord> kernels;
  llvm::StringMap<const llvm::Record *> names, profiledNames;
  bool failed = false;
  auto claim = [&](llvm::StringMap<const llvm::Record *> &known,
                   llvm::StringRef name, const llvm::Record *record,
                   llvm::StringRef what) {
    auto [first, isNew] = known.try_emplace(name, record);
    if (isNew)
      return;
    llvm::PrintError(record,
                     "there is a kernel " + what + "'" + name + "' already");
    llvm::PrintNote(first->second->getLoc(), "it is here");
    failed = true;
  };
  // Records are sorted by their place in the file, so that errors are, too.
  auto definitions =
      llvm::to_vector(records.getAllDerivedDefinitions("Kernel"));
  llvm::sort(definitions, llvm::LessRecordByID());
  for (const llvm::Record *record : definitions) {
    KernelReader reader(*record, kinds);
    kernels.push_back(reader.read());
    failed |= reader.hasFailed();
    claim(names, kernels.back().name, record, "");
    for (llvm::StringRef name : kernels.back().profiled)
      claim(profiledNames, name, record, "profiled as ");
  }
  if (failed)
    llvm::PrintFatalError("nothing is generated from inconsistent records");
  llvm::sort(kernels, [](const KernelRecord &a, const KernelRecord &b) {
    return a.name < b.name;
  });
  return kernels;
}

} // namespace mf
