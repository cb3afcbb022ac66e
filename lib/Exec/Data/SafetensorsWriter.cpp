//===- SafetensorsWriter.cpp - Writing safetensors files ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/SafetensorsWriter.h"
#include "mf/Support/FileError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mf {

static Error tensorError(StringRef name, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           "tensor '" + name + "': " + message);
}

Error SafetensorsWriter::declare(StringRef name, const TensorShape &shape) {
  if (file)
    return tensorError(name, "declared after the file was opened");
  if (name.empty() || name == "__metadata__" || !json::isUTF8(name))
    return tensorError(name, "not a name that a safetensors file can hold");
  int64_t bytes = getBytes(shape.type);
  for (int64_t dim : shape.dims)
    if (dim < 0 || MulOverflow(bytes, dim, bytes))
      return tensorError(name, "its shape is negative or over 2^63 bytes");
  Declaration declaration;
  declaration.shape = shape;
  declaration.size = bytes;
  declaration.written = std::make_unique<std::atomic<uint64_t>>(0);
  if (!tensors.emplace(name.str(), std::move(declaration)).second)
    return tensorError(name, "declared twice");
  return Error::success();
}

void SafetensorsWriter::setMetadata(StringRef key, StringRef value) {
  metadata[key.str()] = value.str();
}

std::string SafetensorsWriter::makeHeader() {
  std::vector<std::pair<const std::string, Declaration> *> order;
  order.reserve(tensors.size());
  for (auto &tensor : tensors)
    order.push_back(&tensor);
  // Large elements first keeps all aligned.
  llvm::sort(order, [](const auto *a, const auto *b) {
    const int64_t aBytes = getBytes(a->second.shape.type);
    const int64_t bBytes = getBytes(b->second.shape.type);
    return aBytes != bBytes ? aBytes > bBytes : a->first < b->first;
  });

  std::string header;
  raw_string_ostream stream(header);
  json::OStream out(stream);
  uint64_t offset = 0;
  out.object([&] {
    if (!metadata.empty())
      out.attributeObject("__metadata__", [&] {
        for (const auto &[key, value] : metadata)
          out.attribute(key, value);
      });
    for (auto *tensor : order) {
      Declaration &declaration = tensor->second;
      declaration.begin = offset;
      offset += declaration.size;
      out.attributeObject(tensor->first, [&] {
        out.attribute("dtype",
                      getName(toSafetensorsType(declaration.shape.type)));
        out.attributeArray("shape", [&] {
          for (int64_t dim : declaration.shape.dims)
            out.value(dim);
        });
        out.attributeArray("data_offsets", [&] {
          out.value(static_cast<int64_t>(declaration.begin));
          out.value(static_cast<int64_t>(offset));
        });
      });
    }
  });
  // Blanks at the end are allowed; they align the data.
  header.resize(alignTo(header.size(), 8), ' ');
  return header;
}

Error SafetensorsWriter::open(StringRef filePath) {
  if (file)
    return fileError(filePath, "the writer is already open");
  int64_t total = 0;
  for (const auto &tensor : tensors)
    if (AddOverflow(total, static_cast<int64_t>(tensor.second.size), total))
      return fileError(filePath, "the tensors have over 2^63 bytes");
  const std::string header = makeHeader();
  Expected<AtomicFile> created = AtomicFile::create(filePath);
  if (!created)
    return created.takeError();
  uint8_t length[8];
  support::endian::write64le(length, header.size());
  if (Error error = created->write(length, 0))
    return error;
  if (Error error = created->write(arrayRefFromStringRef(header), 8))
    return error;
  dataBegin = 8 + header.size();
  path = filePath.str();
  file = std::move(*created);
  return Error::success();
}

Error SafetensorsWriter::write(StringRef name, ArrayRef<uint8_t> bytes,
                               uint64_t offset) {
  if (!file)
    return tensorError(name, "written while no file is open");
  auto found = tensors.find(name.str());
  if (found == tensors.end())
    return fileError(path, "tensor '" + name + "' was not declared");
  Declaration &declaration = found->second;
  if (offset > declaration.size || bytes.size() > declaration.size - offset)
    return fileError(path, "tensor '" + name + "' has " +
                               Twine(declaration.size) +
                               " bytes; cannot write " + Twine(bytes.size()) +
                               " at " + Twine(offset));
  if (Error error = file->write(bytes, dataBegin + declaration.begin + offset))
    return error;
  declaration.written->fetch_add(bytes.size(), std::memory_order_relaxed);
  return Error::success();
}

Error SafetensorsWriter::commit() {
  if (!file)
    return createStringError(inconvertibleErrorCode(), "no file is open");
  for (const auto &[name, declaration] : tensors)
    if (*declaration.written != declaration.size)
      return fileError(path, "tensor '" + name + "' has " +
                                 Twine(declaration.size) + " bytes, but " +
                                 Twine(declaration.written->load()) +
                                 " were written");
  AtomicFile whole = std::move(*file);
  file.reset();
  return whole.commit();
}

} // namespace mf
