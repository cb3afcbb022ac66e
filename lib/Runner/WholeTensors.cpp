//===- WholeTensors.cpp - Tensors put together from slices ----------------===//

#include "WholeTensors.h"
#include "SliceRuns.h"
#include "StepFacts.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace mf::program;

namespace mf::runner {

/// "8x16xf32"
static std::string printShape(const TensorShape &shape) {
  std::string text;
  for (int64_t dim : shape.dims)
    text += std::to_string(dim) + "x";
  return text + getName(shape.type).str();
}

llvm::Error WholeTensors::add(const std::string &name, int64_t rank,
                              uint32_t number) {
  const Part part{rank, number};
  const Static &buffer = getBuffer(part);
  Tensor &tensor = tensors[name];
  if (tensor.parts.empty())
    tensor.shape = getWholeShape(buffer);
  else if (tensor.shape != getWholeShape(buffer))
    return llvm::make_error<LocatedError>(
        buffer.location, "'" + name + "' is " +
                             printShape(getWholeShape(buffer)) + " here, but " +
                             printShape(tensor.shape) + " on " +
                             describeRank(runner.getProgram().mesh,
                                          tensor.parts.begin()->second.rank));
  const SliceRuns runs(runner.getProgram().mesh, buffer, rank);
  tensor.parts.try_emplace(runs.getFirstElement(), part);
  return llvm::Error::success();
}

llvm::Error WholeTensors::checkWhole(const std::string &name,
                                     const Tensor &tensor) const {
  int64_t elements = 0;
  for (const auto &[first, part] : tensor.parts)
    elements += getBuffer(part).shape.getNumElements();
  if (elements == tensor.shape.getNumElements())
    return llvm::Error::success();
  return llvm::createStringError(
      "tensor '" + name + "': the ranks that live here hold " +
      std::to_string(elements) + " of its " +
      std::to_string(tensor.shape.getNumElements()) + " elements");
}

llvm::Error WholeTensors::writeTensor(SafetensorsWriter &writer,
                                      const std::string &name,
                                      const Tensor &tensor) const {
  const Part &first = tensor.parts.begin()->second;
  if (tensor.parts.size() == 1)
    return writer.write(name, runner.getStatic(first.rank, first.number));
  const int64_t elementBytes = getBytes(tensor.shape.type);
  std::vector<uint8_t> whole(tensor.shape.getBytes());
  for (const auto &[begin, part] : tensor.parts) {
    const llvm::ArrayRef<uint8_t> bytes =
        runner.getStatic(part.rank, part.number);
    SliceRuns(runner.getProgram().mesh, getBuffer(part), part.rank)
        .forEach([&](int64_t to, int64_t from, int64_t count) {
          std::memcpy(whole.data() + to * elementBytes,
                      bytes.data() + from * elementBytes, count * elementBytes);
        });
  }
  return writer.write(name, whole);
}

llvm::Error WholeTensors::write(llvm::StringRef path) const {
  SafetensorsWriter writer;
  writer.setMetadata("format", "mf");
  for (const auto &[name, tensor] : tensors) {
    if (llvm::Error error = checkWhole(name, tensor))
      return error;
    if (llvm::Error error = writer.declare(name, tensor.shape))
      return error;
  }
  if (llvm::Error error = writer.open(path))
    return error;
  for (const auto &[name, tensor] : tensors)
    if (llvm::Error error = writeTensor(writer, name, tensor))
      return error;
  return writer.commit();
}

} // namespace mf::runner
