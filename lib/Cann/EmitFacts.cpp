//===- EmitFacts.cpp - What a program tells libmf-step --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProgramText.h"
#include "StageText.h"
#include "mf/Step/StepRun.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <charconv>

using namespace mf::program;

namespace mf::cann {

std::string getIdentifier(llvm::StringRef name) {
  std::string text;
  for (const char letter : name)
    text += llvm::isAlnum(letter) ? letter : '_';
  return text.empty() || llvm::isDigit(text.front()) ? "_" + text : text;
}

std::string quote(llvm::StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream os(quoted);
  os << '"';
  llvm::printEscapedString(text, os);
  os << '"';
  return quoted;
}

std::string getList(llvm::ArrayRef<int64_t> values) {
  return "{" +
         llvm::join(
             llvm::map_range(
                 values, [](int64_t value) { return std::to_string(value); }),
             ", ") +
         "}";
}

std::string getNumber(double value) {
  // The text is the shortest one that reads as the same number.
  std::array<char, 32> text = {};
  const std::to_chars_result end =
      std::to_chars(text.data(), text.data() + text.size(), value);
  std::string number(text.data(), end.ptr);
  return number.find_first_of(".en") == std::string::npos ? number + ".0"
                                                          : number;
}

std::string getAttribute(const AttributeSignature &signature,
                         const AttributeMap &attributes) {
  auto given = attributes.find(signature.name.str());
  if (given == attributes.end() && !signature.whenAbsent.empty())
    return signature.whenAbsent.str();
  if (given == attributes.end())
    return signature.kind == AttributeKind::Bool ? "false" : "0";
  if (const auto *flag = std::get_if<bool>(&given->second))
    return *flag ? "true" : "false";
  if (const auto *integer = std::get_if<int64_t>(&given->second))
    return std::to_string(*integer);
  if (const auto *number = std::get_if<double>(&given->second))
    return getNumber(*number);
  if (const auto *list = std::get_if<std::vector<int64_t>>(&given->second))
    return getList(*list);
  if (const auto *numbers = std::get_if<std::vector<double>>(&given->second))
    return "{" + llvm::join(llvm::map_range(*numbers, getNumber), ", ") + "}";
  llvm_unreachable("fused kernels have no counterpart");
}

static void emitSchedule(const LearningRateRule &rule, llvm::StringRef target,
                         llvm::raw_ostream &os) {
  os << "  " << target << ".type = " << quote(rule.type) << ";\n";
  for (const auto &[key, value] : rule.parameters) {
    os << "  " << target << ".parameters[" << quote(key) << "] = ";
    if (const auto *flag = std::get_if<bool>(&value))
      os << (*flag ? "true" : "false");
    else if (const auto *integer = std::get_if<int64_t>(&value))
      os << "int64_t{" << *integer << "}";
    else if (const auto *number = std::get_if<double>(&value))
      os << getNumber(*number);
    else
      os << "std::string(" << quote(std::get<std::string>(value)) << ")";
    os << ";\n";
  }
}

static void emitInitial(const InitialValue &initial, llvm::raw_ostream &os) {
  os << llvm::formatv(
      "  setInitial(facts, {0}, {1}, {2}, {3}, {{{4}});\n",
      quote(getName(initial.kind)), getNumber(initial.value),
      getNumber(initial.scale), getNumber(initial.amplitude),
      llvm::join(llvm::map_range(initial.frequencies, getNumber), ", "));
}

/// Returns a list of names in braces.
static std::string getNames(llvm::ArrayRef<std::string> names) {
  return "{" + llvm::join(llvm::map_range(names, quote), ", ") + "}";
}

static void emitStatic(const Static &buffer, llvm::raw_ostream &os) {
  os << llvm::formatv(
      "  addStatic(facts, {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8});\n",
      quote(buffer.name), quote(getName(buffer.role)), quote(buffer.of),
      quote(buffer.tied), quote(getName(buffer.shape.type)),
      getList(buffer.shape.dims), buffer.bytes,
      buffer.space == Space::Host ? "true" : "false", buffer.offset);
  if (buffer.init)
    emitInitial(*buffer.init, os);
  if (!buffer.slice)
    return;
  os << "  setSlice(facts, " << getList(buffer.slice->dims) << ", {";
  for (const std::vector<std::string> &axes : buffer.slice->axes)
    os << getNames(axes) << ", ";
  os << "});\n";
}

/// Writes the channels and the mesh, from which each rank finds its groups.
static void emitChannels(const Program &program, llvm::raw_ostream &os) {
  os << "  facts.axes = {";
  for (const Axis &axis : program.mesh.getAxes())
    os << "{" << quote(axis.name) << ", " << axis.size << "}, ";
  os << "};\n";
  for (const Channel &channel : program.channels)
    os << llvm::formatv(
        "  addChannel(facts, {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7});\n",
        quote(channel.name), channel.isTransfer ? "true" : "false",
        getNames(channel.group.axes), getList(channel.group.stages),
        channel.fromStage, channel.toStage, quote(channel.axis), channel.shift);
}

static double countFlops(const Program &program, const StageProgram &stage,
                         const InstructionList &list) {
  double flops = 0;
  for (const Instruction &instruction : list.instructions)
    if (instruction.work == Work::Kernel)
      flops += static_cast<double>(program.kernels[instruction.index].flops);
    else if (const Call *call = list.getCall(instruction))
      flops += countFlops(program, stage, stage.routines[call->routine].body);
  return flops;
}

void emitStatics(const StageProgram &stage, StageText &text) {
  constexpr size_t mostStatics = 100;
  std::vector<std::string> parts(1);
  for (const auto [number, buffer] : llvm::enumerate(stage.statics)) {
    if (number > 0 && number % mostStatics == 0)
      parts.emplace_back();
    llvm::raw_string_ostream os(parts.back());
    emitStatic(buffer, os);
  }
  text.addFunction({"addStatics",
                    "Adds the stage's statics to the last stage of the facts.",
                    Parameters::Facts},
                   parts);
}

void emitFacts(const Program &program, llvm::raw_ostream &os) {
  os << "/// The program's tensors, and the settings of its run.\n"
        "static mf::step::Facts getFacts() {\n  mf::step::Facts facts;\n";
  os << "  facts.version = " << step::interfaceVersion << ";\n";
  os << llvm::formatv("  facts.microBatches = {0};\n"
                      "  facts.batchSize = {1};\n"
                      "  facts.sequenceLength = {2};\n"
                      "  facts.vocabularySize = {3};\n"
                      "  facts.padTokenId = {4};\n"
                      "  facts.ignoreIndex = {5};\n"
                      "  facts.lossScale = {6};\n"
                      "  facts.lossScaleFactor = {7};\n"
                      "  facts.lossScaleWindow = {8};\n",
                      program.microBatches, program.microBatchSize,
                      program.sequenceLength, program.vocabSize,
                      program.padTokenId, program.ignoreIndex,
                      getNumber(program.lossScale.value),
                      program.lossScale.factor, program.lossScale.window);
  double flops = 0;
  for (const StageProgram &stage : program.stages)
    flops += countFlops(program, stage, stage.step);
  os << "  facts.flopsPerStep = "
     << getNumber(flops * static_cast<double>(program.mesh.getRanksPerStage()))
     << ";\n  facts.sampleOrder = " << quote(getName(program.sampleOrder))
     << ";\n";
  emitChannels(program, os);
  if (program.lrSchedule) {
    os << "  facts.hasSchedule = true;\n";
    emitSchedule(*program.lrSchedule, "facts.schedule", os);
    for (const auto &[number, group] :
         llvm::enumerate(program.lrSchedule->groups)) {
      os << "  facts.groups.emplace_back();\n";
      emitSchedule(group, "facts.groups.back()", os);
    }
  }
  for (const StageProgram &stage : program.stages)
    os << "  facts.stages.emplace_back();\n  stage" << stage.stage
       << "::addStatics(facts);\n";
  os << "  return facts;\n}\n\n";
}

} // namespace mf::cann
