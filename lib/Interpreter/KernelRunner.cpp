//===- KernelRunner.cpp - One kernel at a time on tensors -----------------===//

#include "KernelRunner.h"
#include "mf/Program/Attributes.h"

using namespace mlir;

namespace mf::interpreter {

FailureOr<TensorShape> getTensorShape(Operation *op, Type type) {
  if (auto host = dyn_cast<ir::HostType>(type))
    type = host.getTensor();
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> element;
  if (tensor && tensor.hasStaticShape())
    element = program::decodeElementType(tensor.getElementType());
  if (!element)
    return op->emitOpError("cannot be run: ") << type << " is no tensor";
  TensorShape shape;
  shape.type = *element;
  shape.dims.assign(tensor.getShape().begin(), tensor.getShape().end());
  return shape;
}

FailureOr<std::unique_ptr<Kernel>>
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
    FailureOr<AttributeMap> decoded =
        program::decodeKernelAttributes(op, attributes);
    if (failed(decoded))
      return failure();
    spec.attributes = std::move(*decoded);
  }
  auto kernel = makeKernel(spec);
  if (!kernel)
    return op->emitOpError("cannot be run: ")
           << llvm::toString(kernel.takeError());
  return std::move(*kernel);
}

void KernelRunner::run(const Kernel &kernel, llvm::ArrayRef<Tensor> inputs,
                       llvm::ArrayRef<Tensor> outputs) {
  auto getAddresses = [](llvm::ArrayRef<Tensor> tensors) {
    return llvm::map_to_vector(tensors, [](const Tensor &tensor) -> void * {
      return tensor.getBytes().data();
    });
  };
  kernel.run(getAddresses(inputs), getAddresses(outputs), pool);
}

LogicalResult KernelRunner::launch(Operation *op, llvm::StringRef name,
                                   llvm::ArrayRef<Tensor> inputs,
                                   llvm::ArrayRef<Tensor> outputs,
                                   DictionaryAttr attributes) {
  FailureOr<std::unique_ptr<Kernel>> kernel =
      make(op, name, inputs, outputs, attributes);
  if (failed(kernel))
    return failure();
  run(**kernel, inputs, outputs);
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
  std::unique_ptr<Kernel> &kernel = kernels[op];
  if (!kernel) {
    FailureOr<std::unique_ptr<Kernel>> made = make(
        op, op.getKernelName(), operands, results, op.getKernelAttributes());
    if (failed(made))
      return failure();
    kernel = std::move(*made);
  }
  run(*kernel, operands, results);
  return success();
}

} // namespace mf::interpreter
