//===- Safetensors.cpp - Reading safetensors files ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Support/FileError.h"
#include "mf/Support/NearestName.h"
#include "mf/Support/ShapeText.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mf {

namespace {

struct TypeDescription {
  SafetensorsType type;
  const char *name;
  int64_t bytes;
  std::optional<DType> dtype;
};

constexpr TypeDescription typeDescriptions[] = {
    {SafetensorsType::Bool, "BOOL", 1, std::nullopt},
    {SafetensorsType::U8, "U8", 1, std::nullopt},
    {SafetensorsType::I8, "I8", 1, std::nullopt},
    {SafetensorsType::F8E5M2, "F8_E5M2", 1, std::nullopt},
    {SafetensorsType::F8E4M3, "F8_E4M3", 1, std::nullopt},
    {SafetensorsType::I16, "I16", 2, std::nullopt},
    {SafetensorsType::U16, "U16", 2, std::nullopt},
    {SafetensorsType::F16, "F16", 2, DType::F16},
    {SafetensorsType::BF16, "BF16", 2, DType::BF16},
    {SafetensorsType::I32, "I32", 4, DType::I32},
    {SafetensorsType::U32, "U32", 4, std::nullopt},
    {SafetensorsType::F32, "F32", 4, DType::F32},
    {SafetensorsType::I64, "I64", 8, DType::I64},
    {SafetensorsType::U64, "U64", 8, std::nullopt},
    {SafetensorsType::F64, "F64", 8, std::nullopt},
    {SafetensorsType::C64, "C64", 8, std::nullopt},
};

const TypeDescription &describe(SafetensorsType type) {
  for (const TypeDescription &description : typeDescriptions)
    if (description.type == type)
      return description;
  llvm_unreachable("unknown safetensors type");
}

/// The reference implementation's limit on the header.
constexpr uint64_t maximumHeaderBytes = 100'000'000;

Error entryError(StringRef name, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           "tensor '" + name + "': " + message);
}

/// Reads the array of non-negative integers called `key`.
Error readIntegers(StringRef name, const json::Object &object, StringRef key,
                   SmallVectorImpl<int64_t> &integers) {
  const json::Array *array = object.getArray(key);
  if (!array)
    return entryError(name, "expected an array of integers '" + key + "'");
  for (const json::Value &element : *array) {
    const std::optional<int64_t> integer = element.getAsInteger();
    if (!integer || *integer < 0)
      return entryError(name, "'" + key +
                                  "' holds something other than integers "
                                  "from 0 to 2^63 - 1");
    integers.push_back(*integer);
  }
  return Error::success();
}

/// Converts one member of the header to an entry. `data` are the bytes after
/// the header.
Expected<SafetensorsEntry> readEntry(StringRef name, const json::Value &value,
                                     ArrayRef<uint8_t> data) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return entryError(name, "expected an object");
  SafetensorsEntry entry;
  entry.name = name.str();

  const std::optional<StringRef> typeName = object->getString("dtype");
  if (!typeName)
    return entryError(name, "expected a string 'dtype'");
  const std::optional<SafetensorsType> type = parseSafetensorsType(*typeName);
  if (!type)
    return entryError(name, "unknown dtype '" + *typeName + "'");
  entry.type = *type;

  if (Error error = readIntegers(name, *object, "shape", entry.dims))
    return error;
  SmallVector<int64_t, 2> offsets;
  if (Error error = readIntegers(name, *object, "data_offsets", offsets))
    return error;
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return entryError(name, "expected 'data_offsets' to be [begin, end] with "
                            "begin <= end");
  if (object->size() != 3)
    return entryError(name, "expected 'dtype', 'shape' and 'data_offsets' and "
                            "nothing else");

  int64_t bytes = getBytes(entry.type);
  for (int64_t dim : entry.dims)
    if (MulOverflow(bytes, dim, bytes))
      return entryError(name, "the shape has more than 2^63 bytes");
  if (offsets[1] - offsets[0] != bytes)
    return entryError(name, "its shape takes " + Twine(bytes) +
                                " bytes but its data_offsets hold " +
                                Twine(offsets[1] - offsets[0]));
  if (static_cast<uint64_t>(offsets[1]) > data.size())
    return entryError(name, "its data end at byte " + Twine(offsets[1]) +
                                " after the header, but the file has only " +
                                Twine(data.size()) +
                                " there (is it cut short?)");
  entry.bytes = data.slice(offsets[0], bytes);
  return entry;
}

Error readMetadata(const json::Value &value,
                   std::map<std::string, std::string> &metadata) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return createStringError(inconvertibleErrorCode(),
                             "expected '__metadata__' to be an object");
  for (const auto &member : *object) {
    const std::optional<StringRef> text = member.second.getAsString();
    if (!text)
      return createStringError(inconvertibleErrorCode(),
                               "expected '__metadata__' to map strings to "
                               "strings");
    metadata[member.first.str()] = text->str();
  }
  return Error::success();
}

/// Sorts by offset and checks that the tensors cover `data` exactly.
Error checkLayout(std::vector<SafetensorsEntry> &tensors,
                  ArrayRef<uint8_t> data) {
  llvm::sort(tensors, [](const SafetensorsEntry &a, const SafetensorsEntry &b) {
    return std::make_tuple(a.bytes.begin(), a.bytes.end(), StringRef(a.name)) <
           std::make_tuple(b.bytes.begin(), b.bytes.end(), StringRef(b.name));
  });
  const uint8_t *end = data.begin();
  StringRef previous = "the header";
  for (const SafetensorsEntry &entry : tensors) {
    const int64_t gap = entry.bytes.begin() - end;
    if (gap < 0)
      return entryError(entry.name, "overlaps '" + previous + "' by " +
                                        Twine(-gap) + " bytes");
    if (gap > 0)
      return entryError(entry.name, "a hole of " + Twine(gap) +
                                        " bytes lies between it and '" +
                                        previous + "'");
    end = entry.bytes.end();
    previous = entry.name;
  }
  if (end != data.end())
    return createStringError(inconvertibleErrorCode(),
                             Twine(data.end() - end) +
                                 " bytes follow the last tensor");
  return Error::success();
}

/// Returns the header's text and the data after it.
Expected<std::pair<StringRef, ArrayRef<uint8_t>>> splitFile(StringRef file) {
  if (file.size() < 8)
    return createStringError(inconvertibleErrorCode(),
                             "not a safetensors file: " + Twine(file.size()) +
                                 " bytes, expected at least 8");
  const uint64_t headerBytes = support::endian::read64le(file.data());
  if (headerBytes > maximumHeaderBytes)
    return createStringError(
        inconvertibleErrorCode(),
        "not a safetensors file: its header would have " + Twine(headerBytes) +
            " bytes, expected at most " + Twine(maximumHeaderBytes));
  if (headerBytes > file.size() - 8)
    return createStringError(inconvertibleErrorCode(),
                             "cut short: the header has " + Twine(headerBytes) +
                                 " bytes, but only " + Twine(file.size() - 8) +
                                 " follow its length");
  StringRef header = file.substr(8, headerBytes);
  if (!header.starts_with("{"))
    return createStringError(inconvertibleErrorCode(),
                             "not a safetensors file: its header does not "
                             "start with '{'");
  return std::make_pair(header,
                        arrayRefFromStringRef(file.substr(8 + headerBytes)));
}

} // namespace

StringRef getName(SafetensorsType type) { return describe(type).name; }

int64_t getBytes(SafetensorsType type) { return describe(type).bytes; }

std::optional<SafetensorsType> parseSafetensorsType(StringRef name) {
  for (const TypeDescription &description : typeDescriptions)
    if (description.name == name)
      return description.type;
  return std::nullopt;
}

std::optional<DType> toDType(SafetensorsType type) {
  return describe(type).dtype;
}

SafetensorsType toSafetensorsType(DType type) {
  for (const TypeDescription &description : typeDescriptions)
    if (description.dtype == type)
      return description.type;
  llvm_unreachable("element type without a safetensors type");
}

Error readTensor(StringRef name, const TensorView &view,
                 const TensorShape &shape, MutableArrayRef<uint8_t> to) {
  if (view.shape.dims != shape.dims)
    return entryError(name, "has shape " + printDims(view.shape.dims) +
                                ", expected " + printDims(shape.dims));
  if (Error error =
          convertElements(view.shape.type, view.bytes, shape.type, to))
    return entryError(name, toString(std::move(error)));
  return Error::success();
}

Expected<SafetensorsFile> SafetensorsFile::open(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  return parse(std::move(*buffer));
}

Expected<SafetensorsFile>
SafetensorsFile::parse(std::unique_ptr<MemoryBuffer> buffer) {
  const std::string path = buffer->getBufferIdentifier().str();
  auto fail = [&](Error error) {
    return fileError(path, toString(std::move(error)));
  };

  auto parts = splitFile(buffer->getBuffer());
  if (!parts)
    return fail(parts.takeError());
  // The format nests four deep: file, tensor, shape, and one more, so that the
  // message points at the first level too many.
  Expected<json::Value> header =
      parseStrictJson(parts->first, /*maximumDepth=*/4);
  if (!header)
    return fail(header.takeError());
  const json::Object *object = header->getAsObject();
  if (!object)
    return fail(createStringError(inconvertibleErrorCode(),
                                  "expected the header to be an object"));

  SafetensorsFile file;
  file.tensors.reserve(object->size());
  std::vector<StringRef> names;
  for (const auto &member : *object)
    names.push_back(member.first);
  llvm::sort(names); // sorted so that the reported error is deterministic
  for (StringRef name : names) {
    const json::Value &value = *object->get(name);
    if (name == "__metadata__") {
      if (Error error = readMetadata(value, file.metadata))
        return fail(std::move(error));
      continue;
    }
    Expected<SafetensorsEntry> entry = readEntry(name, value, parts->second);
    if (!entry)
      return fail(entry.takeError());
    file.tensors.push_back(std::move(*entry));
  }
  if (Error error = checkLayout(file.tensors, parts->second))
    return fail(std::move(error));
  for (const auto &[index, entry] : llvm::enumerate(file.tensors))
    file.indices[entry.name] = index;
  file.buffer = std::move(buffer);
  return file;
}

const SafetensorsEntry *SafetensorsFile::lookup(StringRef name) const {
  auto found = indices.find(name);
  return found == indices.end() ? nullptr : &tensors[found->second];
}

Expected<TensorView> SafetensorsFile::find(StringRef name) const {
  const SafetensorsEntry *entry = lookup(name);
  if (!entry)
    return fileError(getPath(),
                     "no tensor '" + name + "'" +
                         suggestName(name, map_range(tensors, [](auto &tensor) {
                                       return StringRef(tensor.name);
                                     })));
  const std::optional<DType> type = toDType(entry->type);
  if (!type)
    return fileError(getPath(), "tensor '" + name + "' is of type " +
                                    getName(entry->type) +
                                    ", expected F32, BF16, F16, I32 or I64");
  return TensorView{TensorShape{*type, entry->dims}, entry->bytes};
}

//===----------------------------------------------------------------------===//
// Tensors in several files
//===----------------------------------------------------------------------===//

Expected<SafetensorsCheckpoint> SafetensorsCheckpoint::open(StringRef path) {
  SafetensorsCheckpoint checkpoint;
  checkpoint.path = path.str();
  if (Error error = sys::fs::is_directory(path) ? checkpoint.openDirectory(path)
                    : path.ends_with(".json")   ? checkpoint.openIndex(path)
                                                : checkpoint.addFile(path))
    return error;
  for (const auto &entry : checkpoint.fileOfName)
    checkpoint.names.push_back(entry.first().str());
  llvm::sort(checkpoint.names);
  return checkpoint;
}

Expected<SafetensorsCheckpoint>
SafetensorsCheckpoint::openAll(ArrayRef<std::string> paths) {
  SafetensorsCheckpoint all;
  for (const std::string &one : paths) {
    auto opened = open(one);
    if (!opened)
      return opened.takeError();
    for (const auto &entry : opened->fileOfName)
      all.fileOfName[entry.first()] = all.files.size() + entry.second;
    std::move(opened->files.begin(), opened->files.end(),
              std::back_inserter(all.files));
    all.path += (all.path.empty() ? "" : ", ") + one;
  }
  for (const auto &entry : all.fileOfName)
    all.names.push_back(entry.first().str());
  llvm::sort(all.names);
  return all;
}

Error SafetensorsCheckpoint::addFile(StringRef filePath) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(filePath);
  if (!file)
    return file.takeError();
  for (const SafetensorsEntry &entry : file->getTensors()) {
    auto inserted = fileOfName.try_emplace(entry.name, files.size());
    if (!inserted.second)
      return fileError(filePath, "tensor '" + entry.name + "' is also in " +
                                     files[inserted.first->second].getPath());
  }
  files.push_back(std::move(*file));
  return Error::success();
}

Error SafetensorsCheckpoint::openDirectory(StringRef directory) {
  SmallString<128> index(directory);
  sys::path::append(index, "model.safetensors.index.json");
  if (sys::fs::exists(index))
    return openIndex(index);

  std::vector<std::string> paths;
  std::error_code code;
  for (sys::fs::directory_iterator entry(directory, code), end;
       entry != end && !code; entry.increment(code))
    if (StringRef(entry->path()).ends_with(".safetensors"))
      paths.push_back(entry->path());
  if (code)
    return fileError(directory, "list", code);
  if (paths.empty())
    return fileError(directory, "no safetensors files in this directory");
  llvm::sort(paths);
  for (StringRef file : paths)
    if (Error error = addFile(file))
      return error;
  return Error::success();
}

Error SafetensorsCheckpoint::openIndex(StringRef indexPath) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = mapFile(indexPath);
  if (!buffer)
    return buffer.takeError();
  Expected<json::Value> index =
      parseStrictJson((*buffer)->getBuffer(), /*maximumDepth=*/16);
  if (!index)
    return fileError(indexPath, toString(index.takeError()));
  const json::Object *object = index->getAsObject();
  const json::Object *map = object ? object->getObject("weight_map") : nullptr;
  if (!map)
    return fileError(indexPath, "expected an object 'weight_map' of tensor "
                                "names and file names");

  // The names in each file. Each file is opened once, and sorting makes errors
  // deterministic.
  std::map<std::string, std::vector<std::string>> namesOfFile;
  for (const auto &member : *map) {
    const std::optional<StringRef> file = member.second.getAsString();
    if (!file || file->empty() || sys::path::filename(*file) != *file ||
        *file == "..")
      return fileError(indexPath, "tensor '" + StringRef(member.first) +
                                      "': expected the name of a file beside "
                                      "the index");
    namesOfFile[file->str()].push_back(member.first.str());
  }
  for (auto &[fileName, tensorNames] : namesOfFile) {
    SmallString<128> filePath(sys::path::parent_path(indexPath));
    sys::path::append(filePath, fileName);
    Expected<SafetensorsFile> file = SafetensorsFile::open(filePath);
    if (!file)
      return file.takeError();
    llvm::sort(tensorNames);
    for (StringRef name : tensorNames) {
      if (!file->lookup(name))
        return fileError(filePath, "no tensor '" + name +
                                       "', which the index " + indexPath +
                                       " puts here");
      fileOfName[name] = files.size();
    }
    files.push_back(std::move(*file));
  }
  return Error::success();
}

StringRef SafetensorsCheckpoint::getFormat() const {
  StringRef format;
  for (const SafetensorsFile &file : files) {
    auto entry = file.getMetadata().find("format");
    if (entry == file.getMetadata().end())
      return {};
    if (!format.empty() && format != entry->second)
      return {};
    format = entry->second;
  }
  return format;
}

const SafetensorsEntry *SafetensorsCheckpoint::lookup(StringRef name) const {
  auto found = fileOfName.find(name);
  return found == fileOfName.end() ? nullptr
                                   : files[found->second].lookup(name);
}

Expected<TensorView> SafetensorsCheckpoint::find(StringRef name) const {
  auto found = fileOfName.find(name);
  if (found == fileOfName.end())
    return fileError(path,
                     "no tensor '" + name + "'" + suggestName(name, names));
  return files[found->second].find(name);
}

} // namespace mf
