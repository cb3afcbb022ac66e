//===- WholeTensors.cpp - Tensors assembled from slices -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/WholeTensors.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Exec/Ranks/TokenExperts.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::ranks {

/// Returns, for example, "8x16xf32".
static std::string printShape(const TensorShape &shape) {
  std::string text;
  for (int64_t dim : shape.dims)
    text += std::to_string(dim) + "x";
  return text + getName(shape.type).str();
}

llvm::Error WholeTensors::add(const std::string &name, RankTensor part) {
  Tensor &tensor = tensors[name];
  const TensorShape whole = getWholeShape(part.shape, part.slice);
  if (tensor.parts.empty()) {
    tensor.shape = whole;
    tensor.isTokenExperts = part.isTokenExperts;
  } else if (tensor.shape != whole) {
    return llvm::make_error<LocatedError>(
        part.location,
        "'" + name + "' is " + printShape(whole) + " here, but " +
            printShape(tensor.shape) + " on " +
            describeRank(mesh, tensor.parts.begin()->second.front().rank));
  }
  const SliceRuns runs(mesh, part.shape, part.slice, part.rank);
  Summands &summands = tensor.parts[runs.getFirstElement()];
  if (llvm::none_of(summands, [&](const RankTensor &other) {
        return other.summand == part.summand;
      }))
    summands.push_back(std::move(part));
  return llvm::Error::success();
}

llvm::Error WholeTensors::checkWhole(const std::string &name,
                                     const Tensor &tensor) const {
  int64_t elements = 0;
  for (const auto &[first, summands] : tensor.parts)
    elements += summands.front().shape.getNumElements();
  if (elements == tensor.shape.getNumElements())
    return llvm::Error::success();
  return llvm::createStringError(
      "tensor '" + name + "': the ranks that live here hold " +
      std::to_string(elements) + " of its " +
      std::to_string(tensor.shape.getNumElements()) + " elements");
}

llvm::Expected<llvm::ArrayRef<uint8_t>>
WholeTensors::read(const Summands &summands, std::vector<uint8_t> &sum) const {
  auto first = summands.front().read();
  if (!first || summands.size() == 1)
    return first;
  sum = first->vec();
  auto *const total = reinterpret_cast<std::byte *>(sum.data());
  for (const RankTensor &summand : llvm::drop_begin(summands)) {
    auto next = summand.read();
    if (!next)
      return next.takeError();
    if (isWriter)
      reduceParts({total, reinterpret_cast<const std::byte *>(next->data())},
                  total, summand.shape.getNumElements(), summand.shape.type,
                  Reduction::Sum);
  }
  return llvm::ArrayRef<uint8_t>(sum);
}

llvm::Error WholeTensors::use(const Tensor &tensor, BytesUser user) const {
  const bool isOne = tensor.parts.size() == 1;
  std::vector<uint8_t> whole(isOne || !isWriter ? 0 : tensor.shape.getBytes());
  for (const auto &[begin, summands] : tensor.parts) {
    std::vector<uint8_t> sum;
    auto bytes = read(summands, sum);
    if (!bytes)
      return bytes.takeError();
    if (!isWriter)
      continue;
    if (isOne)
      return user(*bytes);
    const RankTensor &part = summands.front();
    SliceRuns(mesh, part.shape, part.slice, part.rank)
        .put(*bytes, whole, getBytes(tensor.shape.type));
  }
  return isWriter ? user(whole) : llvm::Error::success();
}

llvm::Error WholeTensors::write(llvm::StringRef path) const {
  SafetensorsWriter writer;
  writer.setMetadata("format", "mf");
  for (const auto &[name, tensor] : tensors) {
    if (llvm::Error error = checkWhole(name, tensor))
      return error;
    if (llvm::Error error = writer.declare(
            name, tensor.isTokenExperts ? getTokenExpertsFileShape(tensor.shape)
                                        : tensor.shape))
      return error;
  }
  if (isWriter)
    if (llvm::Error error = writer.open(path))
      return error;
  for (const auto &[name, tensor] : tensors) {
    auto put = [&, name = llvm::StringRef(name),
                &tensor = tensor](llvm::ArrayRef<uint8_t> bytes) {
      return tensor.isTokenExperts
                 ? writer.write(name,
                                writeTokenExperts(tensor.shape.type, bytes))
                 : writer.write(name, bytes);
    };
    if (llvm::Error error = use(tensor, put))
      return error;
  }
  return isWriter ? writer.commit() : llvm::Error::success();
}

llvm::Expected<TensorValues> WholeTensors::get() const {
  TensorValues values;
  for (const auto &[name, tensor] : tensors) {
    if (llvm::Error error = checkWhole(name, tensor))
      return error;
    auto keep = [&, &name = name,
                 &shape = tensor.shape](llvm::ArrayRef<uint8_t> bytes) {
      values[name] = {shape, bytes.vec()};
      return llvm::Error::success();
    };
    if (llvm::Error error = use(tensor, keep))
      return error;
  }
  return values;
}

llvm::Error writeTensors(llvm::StringRef path,
                         llvm::Expected<WholeTensors> tensors) {
  return tensors ? tensors->write(path) : tensors.takeError();
}

} // namespace mf::ranks
