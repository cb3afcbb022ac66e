//===- EmitLaunch.cpp - Launches of kernels -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CannCalls.h"
#include "ProgramText.h"
#include "StepEmitter.h"
#include "mf/Cann/Needs/CannNeeds.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::program;

namespace mf::cann {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Returns the name that a static has in the program, which stands for its
/// offset.
static std::string getStaticName(const Static &buffer) {
  return "at::" + getIdentifier(buffer.name);
}

/// Returns the memory of a launch for what CANN needs in addition to the
/// operands, as arguments that follow its stream: ", call.scratch + 512, 640",
/// or nothing. `last` is the number of its last access. Fails with a
/// LocatedError if the memory is too small.
static llvm::Expected<std::string> getWorkspace(const Instruction &instruction,
                                                const LaunchedKernel &kernel,
                                                llvm::StringRef last) {
  const CannNeeds needs = getCannNeeds(kernel.spec);
  if (!needs.refusal.empty())
    return llvm::make_error<LocatedError>(instruction.location,
                                          "'" + kernel.spec.name +
                                              "' on CANN: " + needs.refusal);
  const int64_t needed = needs.bytes;
  if (needed == 0)
    return std::string();
  const size_t numOperands =
      kernel.spec.inputs.size() + kernel.spec.outputs.size();
  const auto given =
      instruction.accesses.size() > numOperands
          ? static_cast<int64_t>(instruction.accesses.back().operand.bytes)
          : 0;
  if (given >= needed)
    return (", " + last + ", " + llvm::Twine(needed)).str();
  return llvm::make_error<LocatedError>(
      instruction.location,
      "'" + kernel.spec.name + "' needs " + std::to_string(needed) +
          " bytes of workspace on CANN, but has " + std::to_string(given) +
          "; lower the model with --for-cann");
}

void StepEmitter::emitNames() {
  for (const Static &buffer : stage.statics)
    text.addConstant(getIdentifier(buffer.name), buffer.offset);
}

std::string StepEmitter::getPlace(const Buffer &buffer, int64_t offset) const {
  const Address &address = buffer.address;
  const int64_t at = address.offset + offset;
  if (buffer.kind == BufferKind::Static) {
    const Static &target = stage.statics[buffer.index];
    return llvm::formatv(
        "rank.{0}({1}{2})", target.space == Space::Device ? "device" : "host",
        getStaticName(target),
        at == target.offset ? std::string()
                            : " + " + std::to_string(at - target.offset));
  }
  auto behind = [&](const llvm::Twine &base) {
    return at == 0 ? base.str() : (base + " + " + llvm::Twine(at)).str();
  };
  switch (address.base) {
  case Base::Device:
    return llvm::formatv("rank.device({0})", at);
  case Base::Host:
    return llvm::formatv("rank.host({0})", at);
  case Base::HostFrame:
    return behind("call.hostFrame");
  case Base::Scratch:
    return behind("call.scratch");
  case Base::Argument:
    return behind("call.arguments[" + llvm::Twine(address.number) + "]");
  case Base::Frame:
    return behind("call.frame[" + llvm::Twine(address.number) + "]");
  }
  llvm_unreachable("unknown base");
}

/// Returns the function of the support header that makes a tensor of this type.
static llvm::StringRef getTypeFunction(DType type) {
  return type == DType::I1 ? "bits" : getName(type);
}

std::string StepEmitter::getTensor(const InstructionList &list,
                                   const Operand &operand,
                                   const TensorShape &shape) const {
  return llvm::formatv("{0}({1}, {2})", getTypeFunction(shape.type),
                       getPlace(list.buffers[operand.buffer], operand.offset),
                       getList(shape.dims));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Returns the operands in the order of the kernel's record. An operand that is
/// left out is an empty tensor, and several operands of one name are a list.
std::string StepEmitter::getOperands(const InstructionList &list,
                                     const Instruction &instruction,
                                     const LaunchedKernel &kernel) const {
  std::string operands;
  size_t access = 0;
  auto addAll = [&](llvm::ArrayRef<OperandSignature> signatures,
                    llvm::ArrayRef<TensorShape> shapes) {
    size_t shape = 0;
    auto take = [&] {
      return getTensor(list, instruction.accesses[access++].operand,
                       shapes[shape++]);
    };
    for (const OperandSignature &signature : signatures) {
      operands += ",\n      ";
      if (signature.isVariadic) {
        std::string tensors;
        while (shape < shapes.size())
          tensors += (tensors.empty() ? "" : ", ") + take();
        operands += "{" + tensors + "}";
      } else {
        operands += shape < shapes.size() ? take() : "CannTensor()";
      }
    }
  };
  addAll(kernel.signature->inputs, kernel.spec.inputs);
  addAll(kernel.signature->outputs, kernel.spec.outputs);
  return operands;
}

static std::string getMending(llvm::StringRef kernel) {
  if (kernel == "mfChain")
    return "; lower the model with --for-cann";
  return "; expected a kernel whose record in dialects/ascend has 'cann' or "
         "'cannBody'";
}

llvm::Error StepEmitter::emitLaunch(const InstructionList &list,
                                    const Instruction &instruction) {
  const LaunchedKernel &kernel = program.kernels[instruction.index];
  const CannCall *call = findCannCall(kernel.spec.name);
  if (!call)
    return llvm::make_error<LocatedError>(instruction.location,
                                          "CANN has no counterpart of '" +
                                              kernel.spec.name + "'" +
                                              getMending(kernel.spec.name));
  const Operand &last = instruction.accesses.back().operand;
  llvm::Expected<std::string> workspace = getWorkspace(
      instruction, kernel, getPlace(list.buffers[last.buffer], last.offset));
  if (!workspace)
    return workspace.takeError();
  kernels.insert(kernel.spec.name);
  os << llvm::formatv("  kernels::{0}(rank.stream({1}{2}), {3}", call->function,
                      instruction.stream, *workspace, quote(instruction.cell))
     << getOperands(list, instruction, kernel);
  if (!kernel.signature->attributes.empty())
    os << ",\n      "
       << llvm::join(llvm::map_range(kernel.signature->attributes,
                                     [&](const AttributeSignature &signature) {
                                       return getAttribute(
                                           signature, kernel.spec.attributes);
                                     }),
                     ", ");
  os << ");\n";
  return llvm::Error::success();
}

} // namespace mf::cann
