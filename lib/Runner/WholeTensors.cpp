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
                                      const Tensor &tensor) {
  const bool isOne = tensor.parts.size() == 1;
  const int64_t elementBytes = getBytes(tensor.shape.type);
  std::vector<uint8_t> whole(
      isOne || !gathered.isWriter() ? 0 : tensor.shape.getBytes());
  for (const auto &[begin, part] : tensor.parts) {
    auto bytes = gathered.get(part.rank, part.number);
    if (!bytes)
      return bytes.takeError();
    if (!gathered.isWriter())
      continue;
    if (isOne)
      return writer.write(name, *bytes);
    SliceRuns(runner.getProgram().mesh, getBuffer(part), part.rank)
        .forEach([&, from = bytes->data()](int64_t to, int64_t local,
                                           int64_t count) {
          std::memcpy(whole.data() + to * elementBytes,
                      from + local * elementBytes, count * elementBytes);
        });
  }
  return gathered.isWriter() ? writer.write(name, whole)
                             : llvm::Error::success();
}

llvm::Error WholeTensors::write(llvm::StringRef path) {
  SafetensorsWriter writer;
  writer.setMetadata("format", "mf");
  for (const auto &[name, tensor] : tensors) {
    if (llvm::Error error = checkWhole(name, tensor))
      return error;
    if (llvm::Error error = writer.declare(name, tensor.shape))
      return error;
  }
  if (gathered.isWriter())
    if (llvm::Error error = writer.open(path))
      return error;
  for (const auto &[name, tensor] : tensors)
    if (llvm::Error error = writeTensor(writer, name, tensor))
      return error;
  return gathered.isWriter() ? writer.commit() : llvm::Error::success();
}

} // namespace mf::runner
