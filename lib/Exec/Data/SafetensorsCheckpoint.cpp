//===- SafetensorsCheckpoint.cpp - Tensors in several files ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Support/FileError.h"
#include "mf/Support/NearestName.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mf {

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
