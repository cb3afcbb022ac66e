//===- KernelRunner.cpp - One kernel at a time on tensors -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelRunner.h"
#include "dialects/ascend/KernelSpecs.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mf::interpreter {

FailureOr<TensorShape> getTensorShape(Operation *op, Type type) {
  if (auto host = dyn_cast<ir::HostType>(type))
    type = host.getTensor();
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<TensorShape> shape;
  if (tensor)
    shape = mf::getTensorShape(tensor);
  if (!shape)
    return op->emitOpError("cannot be run: ") << type << " is no tensor";
  return *shape;
}

FailureOr<KernelRunner::Prepared>
KernelRunner::make(Operation *op, llvm::StringRef name,
                   llvm::ArrayRef<Tensor> inputs,
                   llvm::ArrayRef<Tensor> outputs, DictionaryAttr attributes) {
  KernelSpec spec;
  spec.name = name.str();
  for (const Tensor &input : inputs)
    spec.inputs.push_back(input.getShape());
  for (const Tensor &output : outputs)
    spec.outputs.push_back(output.getShape());
  if (attributes) {
    std::optional<AttributeMap> given = getAttributeMap(attributes);
    if (!given)
      return op->emitOpError("cannot be run: has attributes that no kernel "
                             "takes");
    spec.attributes = std::move(*given);
  }
  auto kernel = makeKernel(spec);
  if (!kernel)
    return op->emitOpError("cannot be run: ")
           << llvm::toString(kernel.takeError());
  return Prepared{std::move(*kernel),
                  findKernelSignature(spec.name)->getWorkspaceBytes(spec)};
}

void KernelRunner::run(const Prepared &prepared, llvm::ArrayRef<Tensor> inputs,
                       llvm::ArrayRef<Tensor> outputs) {
  auto getAddresses = [](llvm::ArrayRef<Tensor> tensors) {
    return llvm::map_to_vector(tensors, [](const Tensor &tensor) -> void * {
      return tensor.getBytes().data();
    });
  };
  SmallVector<void *> inputAddresses = getAddresses(inputs);
  SmallVector<void *> outputAddresses = getAddresses(outputs);
  std::vector<uint64_t> workspace(
      llvm::divideCeil(prepared.workspaceBytes, sizeof(uint64_t)));
  prepared.kernel->run({inputAddresses, outputAddresses, workspace.data()},
                       pool);
}

LogicalResult KernelRunner::launch(Operation *op, llvm::StringRef name,
                                   llvm::ArrayRef<Tensor> inputs,
                                   llvm::ArrayRef<Tensor> outputs,
                                   DictionaryAttr attributes) {
  FailureOr<Prepared> kernel = make(op, name, inputs, outputs, attributes);
  if (failed(kernel))
    return failure();
  run(*kernel, inputs, outputs);
  return success();
}

LogicalResult KernelRunner::compute(ir::ComputeOpInterface op,
                                    llvm::ArrayRef<Tensor> operands,
                                    llvm::SmallVectorImpl<Tensor> &results) {
  for (Type type : op->getResultTypes()) {
    FailureOr<TensorShape> shape = getTensorShape(op, type);
    if (failed(shape))
      return failure();
    if (op.isView()) {
      results.push_back(operands.front().getView(*shape));
      return success();
    }
    results.push_back(Tensor(*shape));
  }
  Prepared &kernel = kernels[op];
  if (!kernel.kernel) {
    FailureOr<Prepared> made = make(op, op.getKernelName(), operands, results,
                                    op.getKernelAttributes());
    if (failed(made))
      return failure();
    kernel = std::move(*made);
  }
  run(kernel, operands, results);
  return success();
}

} // namespace mf::interpreter
