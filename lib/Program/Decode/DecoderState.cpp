//===- DecoderState.cpp - What decoding one module gathers ----------------===//

#include "DecoderState.h"

using namespace mlir;

namespace mf::program {

static FailureOr<uint32_t> addKernel(ascend::LaunchOp op, Program &program,
                                     uint32_t location,
                                     llvm::ArrayRef<Operand> inputs,
                                     llvm::ArrayRef<Operand> outputs) {
  KernelSpec spec;
  spec.name = op.getKernel().str();
  for (const Operand &operand : inputs)
    spec.inputs.push_back(operand.shape);
  for (const Operand &operand : outputs)
    spec.outputs.push_back(operand.shape);
  FailureOr<AttributeMap> attributes =
      decodeKernelAttributes(op, op.getKernelAttributes());
  if (failed(attributes))
    return failure();
  spec.attributes = std::move(*attributes);
  program.kernels.push_back(std::move(spec));
  program.kernelLocations.push_back(location);
  return static_cast<uint32_t>(program.kernels.size() - 1);
}

FailureOr<uint32_t> DecoderState::getKernel(ascend::LaunchOp op,
                                            uint32_t location,
                                            llvm::ArrayRef<Operand> inputs,
                                            llvm::ArrayRef<Operand> outputs) {
  // MLIR keeps one object for each distinct attribute, so equal launches have
  // equal keys.
  auto typesOf = [&](OperandRange range) {
    SmallVector<Attribute> types;
    for (Type type : range.getTypes())
      types.push_back(TypeAttr::get(type));
    return ArrayAttr::get(op.getContext(), types);
  };
  Attribute key = ArrayAttr::get(
      op.getContext(), {op.getKernelAttr(), op.getKernelAttributesAttr(),
                        typesOf(op.getInputs()), typesOf(op.getOutputs())});
  auto found = kernels.find(key);
  if (found != kernels.end())
    return found->second;
  FailureOr<uint32_t> kernel =
      addKernel(op, result.program, location, inputs, outputs);
  if (succeeded(kernel))
    kernels[key] = *kernel;
  return kernel;
}

uint32_t DecoderState::getChannel(llvm::StringRef name, bool isAllReduce,
                                  llvm::ArrayRef<int64_t> ranks) {
  std::vector<Channel> &table = result.program.channels;
  auto [entry, isNew] = channels.try_emplace(
      std::make_tuple(name.str(), isAllReduce, ranks.vec()), table.size());
  if (isNew)
    table.push_back({name.str(), isAllReduce, ranks.vec()});
  return entry->second;
}

LogicalResult checkOffset(Operation *op, std::optional<int64_t> offset,
                          int64_t bytes, int64_t alignment, int64_t capacity,
                          llvm::StringRef memory) {
  if (!offset)
    return op->emitError("has no offset: the program's memory is not planned; "
                         "run mf-opt --ascend-plan-memory on it");
  if (*offset < 0 || *offset % alignment != 0)
    return op->emitError("offset ")
           << *offset << " is negative or not a multiple of " << alignment;
  if (*offset > capacity || bytes > capacity - *offset)
    return op->emitError() << bytes << " bytes at offset " << *offset
                           << " are outside of " << memory << ", which has "
                           << capacity << " bytes";
  return success();
}

} // namespace mf::program
