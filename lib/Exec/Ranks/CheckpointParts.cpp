//===- CheckpointParts.cpp - Checkpoints of ranks -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/CheckpointParts.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "mf/Exec/Ranks/TokenExperts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>
#include <optional>

using namespace mf::program;

namespace mf::ranks {

TensorPart::TensorPart(llvm::ArrayRef<int64_t> whole,
                       llvm::ArrayRef<int64_t> dims, int64_t firstElement)
    : whole(whole), first(whole.size()), dims(dims) {
  for (size_t dim = whole.size(); dim-- > 0;) {
    first[dim] = firstElement % whole[dim];
    firstElement /= whole[dim];
  }
}

std::string CheckpointParts::describe(llvm::ArrayRef<int64_t> whole,
                                      int64_t firstElement) {
  std::string text = "from element " + std::to_string(firstElement) + " of";
  for (int64_t extent : whole)
    text += " " + std::to_string(extent);
  return text;
}

/// Parses the output of `describe`. Returns none if the text has another form,
/// or if a part of `dims` is not inside of the tensor.
static std::optional<TensorPart> parsePart(llvm::StringRef text,
                                           llvm::ArrayRef<int64_t> dims) {
  int64_t firstElement = 0, elements = 1;
  if (!text.consume_front("from element ") ||
      text.consumeInteger(10, firstElement) || !text.consume_front(" of"))
    return std::nullopt;
  llvm::SmallVector<int64_t, 4> whole;
  while (text.consume_front(" ")) {
    int64_t extent = 0;
    if (text.consumeInteger(10, extent) || extent < 1 ||
        extent > (int64_t(1) << 48) / elements)
      return std::nullopt;
    elements *= extent;
    whole.push_back(extent);
  }
  if (!text.empty() || whole.size() != dims.size() || firstElement < 0 ||
      firstElement >= elements)
    return std::nullopt;
  TensorPart part(whole, dims, firstElement);
  for (size_t dim = 0; dim < dims.size(); ++dim)
    if (part.first[dim] + dims[dim] > whole[dim])
      return std::nullopt;
  return part;
}

llvm::Error CheckpointParts::add(const SafetensorsFile &file,
                                 llvm::StringRef path,
                                 const std::string &name) {
  auto tensor = file.find(name);
  if (!tensor)
    return tensor.takeError();
  auto described = file.getMetadata().find(getKey(name));
  const std::string text = described == file.getMetadata().end()
                               ? describe(tensor->shape.dims, 0)
                               : described->second;
  std::optional<TensorPart> place = parsePart(text, tensor->shape.dims);
  if (!place)
    return llvm::createStringError(path + ": tensor '" + name +
                                   "' is not part of a tensor '" + text + "'");
  int64_t firstElement = 0;
  for (size_t dim = 0; dim < place->first.size(); ++dim)
    firstElement = firstElement * place->whole[dim] + place->first[dim];
  tensors[name].try_emplace(firstElement, SavedPart{*tensor, *place});
  return llvm::Error::success();
}

llvm::Expected<CheckpointParts>
CheckpointParts::open(llvm::ArrayRef<std::string> paths) {
  CheckpointParts parts;
  for (const std::string &path : paths) {
    auto file = SafetensorsFile::open(path);
    if (!file)
      return file.takeError();
    parts.files.push_back(std::move(*file));
  }
  for (const auto &[file, path] : llvm::zip_equal(parts.files, paths))
    for (const SafetensorsEntry &entry : file.getTensors())
      if (llvm::Error error = parts.add(file, path, entry.name))
        return error;
  return parts;
}

/// Copies the intersection of two parts of a tensor, and returns its number of
/// elements.
static int64_t copyCommon(const TensorPart &from, const uint8_t *source,
                          const TensorPart &to, uint8_t *target,
                          int64_t elementBytes) {
  const size_t rank = to.dims.size();
  llvm::SmallVector<int64_t, 4> begin(rank), extent(rank), index(rank, 0);
  int64_t rows = 1;
  for (size_t dim = 0; dim < rank; ++dim) {
    begin[dim] = std::max(from.first[dim], to.first[dim]);
    extent[dim] = std::min(from.first[dim] + from.dims[dim],
                           to.first[dim] + to.dims[dim]) -
                  begin[dim];
    if (extent[dim] <= 0)
      return 0;
    rows *= dim + 1 < rank ? extent[dim] : 1;
  }
  const int64_t run = rank == 0 ? 1 : extent.back();
  auto getElement = [&](const TensorPart &part) {
    int64_t element = 0;
    for (size_t dim = 0; dim < rank; ++dim)
      element =
          element * part.dims[dim] + begin[dim] + index[dim] - part.first[dim];
    return element;
  };
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(target + getElement(to) * elementBytes,
                source + getElement(from) * elementBytes, run * elementBytes);
    for (size_t dim = rank < 2 ? 0 : rank - 1; dim-- > 0;) {
      if (++index[dim] < extent[dim])
        break;
      index[dim] = 0;
    }
  }
  return rows * run;
}

llvm::Error CheckpointParts::read(llvm::StringRef name, DType type,
                                  const TensorPart &part,
                                  llvm::MutableArrayRef<uint8_t> to) const {
  auto found = tensors.find(name.str());
  if (found == tensors.end())
    return llvm::createStringError("the checkpoint has no tensor '" + name +
                                   "'");
  int64_t wanted = 1, copied = 0;
  for (int64_t extent : part.dims)
    wanted *= extent;
  for (const auto &[firstElement, saved] : found->second) {
    if (saved.tensor.shape.type != type)
      return llvm::createStringError(
          "tensor '" + name + "' is " + getName(saved.tensor.shape.type) +
          ", but the program holds " + getName(type));
    if (saved.place.whole != part.whole)
      return llvm::createStringError(
          llvm::formatv("tensor '{0}' is a part of [{1:$[, ]}], but the "
                        "program's of [{2:$[, ]}]",
                        name,
                        llvm::make_range(saved.place.whole.begin(),
                                         saved.place.whole.end()),
                        llvm::make_range(part.whole.begin(), part.whole.end()))
              .str());
    copied += copyCommon(saved.place, saved.tensor.bytes.data(), part,
                         to.data(), getBytes(type));
  }
  if (copied == wanted)
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv(
          "tensor '{0}': the checkpoint holds {1} of the {2} elements "
          "that a rank has of it",
          name, copied, wanted)
          .str());
}

llvm::Error
CheckpointParts::readStatic(const StateNames &names, const Mesh &mesh,
                            const Static &buffer, int64_t rank,
                            llvm::MutableArrayRef<uint8_t> to) const {
  std::string name = StateNames::getCheckpointName(buffer);
  // A copy that is on its owner's stage is not saved.
  if (!contains(name) && !buffer.of.empty())
    name = name.substr(0, name.size() - buffer.of.size()) +
           names.getCopied(buffer.of);
  const TensorPart part(getWholeShape(buffer).dims, buffer.shape.dims,
                        SliceRuns(mesh, buffer, rank).getFirstElement());
  if (!isTokenExperts(buffer))
    return read(name, buffer.shape.type, part, to);
  // Without a table in the checkpoint, the first one stays.
  if (!contains(name))
    return llvm::Error::success();
  const TensorShape shape = getTokenExpertsFileShape(buffer.shape);
  std::vector<uint8_t> integers(shape.getBytes());
  if (llvm::Error error = read(name, shape.type, part, integers))
    return error;
  auto numbers =
      readTokenExperts(name, {shape, integers}, *buffer.init, buffer.shape);
  if (!numbers)
    return numbers.takeError();
  llvm::copy(*numbers, to.begin());
  return llvm::Error::success();
}

llvm::Error saveCheckpointRank(const Mesh &mesh, llvm::ArrayRef<Static> statics,
                               int64_t rank, llvm::StringRef path,
                               StaticReader read) {
  SafetensorsWriter writer;
  writer.setMetadata("format", "mf");
  for (const Static &buffer : statics) {
    const std::string name = StateNames::getCheckpointName(buffer);
    if (name.empty())
      continue;
    if (llvm::Error error =
            writer.declare(name, isTokenExperts(buffer)
                                     ? getTokenExpertsFileShape(buffer.shape)
                                     : buffer.shape))
      return error;
    if (const TensorShape whole = getWholeShape(buffer); whole != buffer.shape)
      writer.setMetadata(
          CheckpointParts::getKey(name),
          CheckpointParts::describe(
              whole.dims, SliceRuns(mesh, buffer, rank).getFirstElement()));
  }
  const bool isWriter = !path.empty();
  if (isWriter)
    if (llvm::Error error = writer.open(path))
      return error;
  for (const auto &[number, buffer] : llvm::enumerate(statics)) {
    const std::string name = StateNames::getCheckpointName(buffer);
    if (name.empty())
      continue;
    auto bytes = read(static_cast<uint32_t>(number));
    if (!bytes)
      return bytes.takeError();
    if (!isWriter)
      continue;
    if (llvm::Error error =
            isTokenExperts(buffer)
                ? writer.write(name,
                               writeTokenExperts(buffer.shape.type, *bytes))
                : writer.write(name, *bytes))
      return error;
  }
  return isWriter ? writer.commit() : llvm::Error::success();
}

} // namespace mf::ranks
