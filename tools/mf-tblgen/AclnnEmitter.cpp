//===- AclnnEmitter.cpp - Headers and phases of aclnn's operators ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the headers that programs include
// (lib/Cann/Headers/AclnnOperators.td). The main file includes them all,
// declares the functions that make executors, and defines the operators where
// GET_ACLNN_OPERATORS is.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using llvm::Record;
using llvm::StringRef;

namespace mf {

namespace {

struct AclnnOperator {
  explicit AclnnOperator(const Record &record);

  StringRef name;
  std::string maker;
  /// The parameters with and without their types.
  std::string parameters, arguments;
  /// The statements that bind the arguments.
  std::string bindings;
};

} // namespace

static std::string replaceAll(StringRef text, StringRef from, StringRef to) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, from);
  return llvm::join(parts, to);
}

AclnnOperator::AclnnOperator(const Record &record)
    : name(record.getValueAsString("name")),
      maker(record.getValueAsString("maker")) {
  if (maker.empty())
    maker = ("make" + name.drop_front(strlen("aclnn"))).str();
  const llvm::DagInit &dag = *record.getValueAsDag("parameters");
  for (const auto &[type, parameter] :
       llvm::zip(dag.getArgs(), dag.getArgNames())) {
    const Record *typeRecord = llvm::cast<llvm::DefInit>(type)->getDef();
    const StringRef text = parameter->getValue();
    parameters += (typeRecord->getValueAsString("cType") + text + ", ").str();
    arguments += (", " + text).str();
    const StringRef binding = typeRecord->getValueAsString("binding");
    if (!binding.empty())
      bindings += "  " + replaceAll(binding, "{0}", text) + "\n";
  }
}

static std::vector<AclnnOperator> readOperators(const Record &header) {
  std::vector<AclnnOperator> operators;
  for (const Record *record : header.getValueAsListOfDefs("operators"))
    operators.emplace_back(*record);
  return operators;
}

static std::string getFirstPhase(const AclnnOperator &made) {
  return llvm::formatv("aclnnStatus {0}GetWorkspaceSize({1}uint64_t "
                       "*workspaceSize, aclOpExecutor **executor)",
                       made.name, made.parameters);
}

static std::string getSecondPhase(const AclnnOperator &made) {
  return llvm::formatv("aclnnStatus {0}(void *workspace, uint64_t "
                       "workspaceSize, aclOpExecutor *executor, aclrtStream "
                       "stream)",
                       made.name);
}

static std::string getHeader(const Record &header) {
  const std::string guard =
      "ACLNNOP_ACLNN" + header.getValueAsString("suffix").drop_back(2).upper() +
      "_H";
  std::string text = "#ifndef " + guard + "\n#define " + guard +
                     "\n\n#include \"aclnn/aclnn_base.h\"\n\n"
                     "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const AclnnOperator &declared : readOperators(header))
    text += getFirstPhase(declared) + ";\n" + getSecondPhase(declared) + ";\n";
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

static std::string getDefinitions(const AclnnOperator &made) {
  const std::string first = getFirstPhase(made) + " {\n  OperatorCall call(\"" +
                            made.name.str() +
                            "\", workspaceSize, executor);\n" + made.bindings +
                            "  if (call.hasFailed())\n    return "
                            "call.finish(0, nullptr);\n  return " +
                            made.maker + "(call" + made.arguments + ");\n}\n";
  return first + getSecondPhase(made) + " {\n  return runExecutor(\"" +
         made.name.str() +
         "\", workspace, workspaceSize, executor, stream);\n}\n";
}

static llvm::TableGenOutputFiles emitAclnn(StringRef prefix,
                                           const llvm::RecordKeeper &records) {
  llvm::TableGenOutputFiles files;
  std::string includes, makers, definitions;
  for (const Record *header : records.getAllDerivedDefinitions("Header")) {
    const StringRef suffix = header->getValueAsString("suffix");
    files.AdditionalFiles[suffix] = getHeader(*header);
    includes += ("#include \"aclnnop/aclnn" + suffix + "\"\n").str();
    for (const AclnnOperator &made : readOperators(*header)) {
      makers += "aclnnStatus " + made.maker + "(OperatorCall &call, " +
                StringRef(made.parameters).drop_back(2).str() + ");\n";
      definitions += getDefinitions(made);
    }
  }
  files.MainFile =
      includes + "\nnamespace mf::hostcann {\nclass OperatorCall;\n" + makers +
      "}\n\n#ifdef GET_ACLNN_OPERATORS\nusing namespace mf::hostcann;\n" +
      definitions + "#undef GET_ACLNN_OPERATORS\n#endif\n";
  return files;
}

static llvm::TableGen::Emitter::Opt
    aclnnEmitter("gen-aclnn", emitAclnn,
                 "Generate the headers and phases of operators of aclnn");

} // namespace mf
