//===- Checkpoint.cpp - Saving and resuming a training run ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/Checkpoint.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Support/AtomicFile.h"
#include "mf/Support/FileError.h"
#include "mf/Support/FileFaults.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace llvm;

namespace mf {

namespace {

/// The contents of state.json.
struct CheckpointManifest {
  struct File {
    std::string name;
    int64_t bytes = 0;
  };

  CheckpointState state;
  int64_t sequence = 0;
  std::vector<File> files;
};

constexpr int64_t formatVersion = 1;

/// Counts above this are refused, so that a run which resumes can count further
/// without overflow.
constexpr int64_t maximumCount = int64_t{1} << 62;

Error memberError(StringRef name, StringRef expected) {
  return createStringError(inconvertibleErrorCode(), "'%s': expected %s",
                           name.data(), expected.data());
}

Error readCount(const json::Object &object, StringRef name, int64_t &value) {
  const std::optional<int64_t> number = object.getInteger(name);
  if (!number || *number < 0 || *number > maximumCount)
    return memberError(name, "an integer from 0 to 2^62");
  value = *number;
  return Error::success();
}

Error readFiles(const json::Object &object,
                std::vector<CheckpointManifest::File> &files) {
  const json::Array *array = object.getArray("ranks");
  if (!array || array->empty())
    return memberError("ranks", "one entry per rank");
  for (const json::Value &element : *array) {
    const json::Object *entry = element.getAsObject();
    const std::optional<StringRef> name =
        entry ? entry->getString("file") : std::nullopt;
    if (!name || name->empty() || *name == ".." ||
        sys::path::filename(*name) != *name)
      return memberError("ranks", "the name of a file in the checkpoint");
    CheckpointManifest::File file;
    file.name = name->str();
    if (Error error = readCount(*entry, "bytes", file.bytes))
      return error;
    files.push_back(std::move(file));
  }
  return Error::success();
}

} // namespace

/// Fails on values that could not be read back.
static Error checkState(const CheckpointState &state) {
  const int64_t counts[] = {state.step, state.updates, state.dataPosition,
                            state.cleanSteps};
  if (llvm::any_of(counts, [](int64_t n) { return n < 0 || n > maximumCount; }))
    return createStringError(
        inconvertibleErrorCode(),
        "cannot save step %lld with %lld updates, data position %lld and %lld "
        "clean steps: expected 0 to 2^62",
        static_cast<long long>(state.step),
        static_cast<long long>(state.updates),
        static_cast<long long>(state.dataPosition),
        static_cast<long long>(state.cleanSteps));
  if (!std::isfinite(state.lossScale))
    return createStringError(inconvertibleErrorCode(),
                             "cannot save a loss scale that is not finite");
  return Error::success();
}

static std::string printManifest(const CheckpointManifest &manifest) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream out(stream, /*IndentSize=*/2);
  out.object([&] {
    out.attribute("format", "mf checkpoint");
    out.attribute("version", formatVersion);
    out.attribute("sequence", manifest.sequence);
    out.attribute("step", manifest.state.step);
    out.attribute("updates", manifest.state.updates);
    out.attribute("data_position", manifest.state.dataPosition);
    out.attribute("seed", manifest.state.seed);
    // A float is a double: it reads back exactly.
    out.attribute("loss_scale", static_cast<double>(manifest.state.lossScale));
    out.attribute("clean_steps", manifest.state.cleanSteps);
    out.attributeArray("ranks", [&] {
      for (const CheckpointManifest::File &file : manifest.files)
        out.object([&] {
          out.attribute("file", file.name);
          out.attribute("bytes", file.bytes);
        });
    });
  });
  text += '\n';
  return text;
}

/// Parses the output of `printManifest`. The error has no path.
static Expected<CheckpointManifest> parseManifest(StringRef text) {
  Expected<json::Value> value = parseStrictJson(text, /*maximumDepth=*/4);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("format") != "mf checkpoint")
    return memberError("format", "\"mf checkpoint\"");
  if (object->getInteger("version") != formatVersion)
    return memberError("version", "1 (was it written by a newer release?)");

  CheckpointManifest manifest;
  const std::pair<const char *, int64_t *> counts[] = {
      {"sequence", &manifest.sequence},
      {"step", &manifest.state.step},
      {"updates", &manifest.state.updates},
      {"data_position", &manifest.state.dataPosition},
      {"clean_steps", &manifest.state.cleanSteps}};
  for (auto [name, count] : counts)
    if (Error error = readCount(*object, name, *count))
      return error;
  const json::Value *seed = object->get("seed");
  const std::optional<uint64_t> seedNumber =
      seed ? seed->getAsUINT64() : std::nullopt;
  if (!seedNumber)
    return memberError("seed", "an integer from 0 to 2^64 - 1");
  manifest.state.seed = *seedNumber;
  const std::optional<double> lossScale = object->getNumber("loss_scale");
  if (!lossScale || !std::isfinite(static_cast<float>(*lossScale)))
    return memberError("loss_scale", "a number");
  manifest.state.lossScale = static_cast<float>(*lossScale);
  if (Error error = readFiles(*object, manifest.files))
    return error;
  return manifest;
}

namespace {

constexpr StringLiteral stepPrefix = "step_";
constexpr StringLiteral hiddenPrefix = ".checkpoint-";

std::string getStepName(int64_t step) {
  std::string name;
  raw_string_ostream(name) << stepPrefix
                           << format("%06lld", static_cast<long long>(step));
  return name;
}

std::string getRankName(int64_t rank) {
  return "rank_" + std::to_string(rank) + ".safetensors";
}

bool isStepName(StringRef name) {
  return name.consume_front(stepPrefix) && !name.empty() &&
         llvm::all_of(name, isDigit);
}

std::string join(StringRef directory, StringRef name) {
  SmallString<128> path(directory);
  sys::path::append(path, name);
  return std::string(path);
}

/// Returns an unused name in `directory`: `.checkpoint-PID-COUNT`.
std::string makeHiddenPath(StringRef directory) {
  static std::atomic<unsigned> counter = 0;
  for (;;) {
    std::string path =
        join(directory, (hiddenPrefix + Twine(sys::Process::getProcessId()) +
                         "-" + Twine(counter++))
                            .str());
    if (!sys::fs::exists(path))
      return path;
  }
}

/// Locks a folder for the lifetime of the object. The lock is released when the
/// process ends in any way. (Process ids would not work: in a container the
/// next run may have the same one.)
class FolderLock {
public:
  explicit FolderLock(const std::string &path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    held = descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  }
  ~FolderLock() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

  bool isHeld() const { return held; }

private:
  int descriptor;
  bool held;
};

/// Returns the names in `directory`, sorted.
Expected<std::vector<std::string>> listDirectory(StringRef directory) {
  std::vector<std::string> names;
  std::error_code code;
  for (sys::fs::directory_iterator entry(directory, code), end;
       entry != end && !code; entry.increment(code))
    names.push_back(sys::path::filename(entry->path()).str());
  if (code)
    return fileError(directory, "list", code);
  llvm::sort(names);
  return names;
}

/// Removes a hidden folder. If that fails now, the next run tries again.
void removeLeftover(StringRef path) {
  if (!mayCleanUpFiles())
    return;
  const std::error_code ignored = sys::fs::remove_directories(path);
  (void)ignored;
}

/// Makes a checkpoint vanish atomically, and its files after that.
Error removeCheckpoint(StringRef path) {
  const std::string hidden = makeHiddenPath(sys::path::parent_path(path));
  if (!mayUseFile())
    return errnoError(path, "remove");
  if (std::error_code code = sys::fs::rename(path, hidden))
    return fileError(path, "remove", code);
  if (std::error_code code = sys::fs::remove_directories(hidden, false))
    return fileError(hidden, "remove", code);
  return Error::success();
}

/// Gives the folder `from` the name `to`. A folder that has the name already
/// trades places with it, and is then removed; where the file system cannot
/// trade, it is moved aside first.
Error replaceDirectory(StringRef from, StringRef to) {
  const std::string source = from.str();
  const std::string target = to.str();
  if (!mayUseFile())
    return errnoError(to, "rename the finished checkpoint");
  if (!sys::fs::exists(to)) {
    if (::rename(source.c_str(), target.c_str()) != 0)
      return errnoError(to, "rename the finished checkpoint");
    return Error::success();
  }
  if (::renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(),
                  RENAME_EXCHANGE) == 0) {
    removeLeftover(from);
    return Error::success();
  }
  if (Error error = removeCheckpoint(to))
    return error;
  return replaceDirectory(from, to);
}

} // namespace

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// The hidden folder of a checkpoint that is being written.
struct CheckpointWriter::Folder {
  Folder(StringRef directory, const std::string &path)
      : directory(directory.str()), path(path), lock(path) {}
  ~Folder() {
    if (!finished)
      removeLeftover(path);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  Error writeState() const;

  std::string directory;
  std::string path;
  FolderLock lock;
  CheckpointState state;
  int64_t numRanks = 0;
  int64_t sequence = 0;
  bool finished = false;
};

CheckpointWriter::CheckpointWriter(std::unique_ptr<Folder> folder)
    : folder(std::move(folder)) {}
CheckpointWriter::CheckpointWriter(CheckpointWriter &&) noexcept = default;
CheckpointWriter &
CheckpointWriter::operator=(CheckpointWriter &&) noexcept = default;
CheckpointWriter::~CheckpointWriter() = default;

Expected<CheckpointWriter>
CheckpointWriter::create(StringRef directory, const CheckpointState &state,
                         int64_t numRanks) {
  if (Error error = checkState(state))
    return error;
  if (numRanks < 1)
    return createStringError(inconvertibleErrorCode(),
                             "cannot save a checkpoint of %lld ranks",
                             static_cast<long long>(numRanks));
  if (std::error_code code = sys::fs::create_directories(directory))
    return fileError(directory, "create", code);
  Expected<std::vector<std::string>> names = listDirectory(directory);
  if (!names)
    return names.takeError();
  for (StringRef name : *names) {
    if (!name.starts_with(hiddenPrefix))
      continue;
    const std::string hidden = join(directory, name);
    if (FolderLock(hidden).isHeld())
      removeLeftover(hidden);
  }
  Expected<CheckpointSearch> existing = findCheckpoints(directory);
  if (!existing)
    return existing.takeError();

  const std::string hidden = makeHiddenPath(directory);
  if (!mayUseFile())
    return errnoError(hidden, "create");
  if (std::error_code code =
          sys::fs::create_directory(hidden, /*IgnoreExisting=*/false))
    return fileError(hidden, "create", code);
  auto folder = std::make_unique<Folder>(directory, hidden);
  folder->state = state;
  folder->numRanks = numRanks;
  const Checkpoint *latest = existing->getLatest();
  folder->sequence = latest ? latest->sequence + 1 : 1;
  return CheckpointWriter(std::move(folder));
}

std::string CheckpointWriter::getRankPath(int64_t rank) const {
  return join(folder->path, getRankName(rank));
}

Error CheckpointWriter::Folder::writeState() const {
  CheckpointManifest manifest;
  manifest.state = state;
  manifest.sequence = sequence;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    const std::string rankPath = join(path, getRankName(rank));
    Expected<SafetensorsFile> file = SafetensorsFile::open(rankPath);
    if (!file)
      return file.takeError();
    uint64_t bytes = 0;
    if (std::error_code code = sys::fs::file_size(rankPath, bytes))
      return fileError(rankPath, "open", code);
    manifest.files.push_back({getRankName(rank), static_cast<int64_t>(bytes)});
  }
  return writeFileAtomically(join(path, "state.json"), printManifest(manifest));
}

Expected<std::string>
CheckpointWriter::commit(int64_t keepMaximum, std::vector<std::string> &notes) {
  if (folder->finished)
    return createStringError(inconvertibleErrorCode(),
                             "the checkpoint is already written");
  if (Error error = folder->writeState())
    return error;
  const std::string name = getStepName(folder->state.step);
  const std::string &directory = folder->directory;
  const std::string path = join(directory, name);
  // The mark travels in the folder, so that no kill leaves it half-written. Its
  // writing also flushes the entries of the ranks' files and of state.json.
  if (Error error =
          writeFileAtomically(join(folder->path, "latest"), name + "\n"))
    return error;
  if (Error error = replaceDirectory(folder->path, path))
    return error;
  folder->finished = true;
  if (!mayUseFile())
    return errnoError(path, "mark as the latest");
  if (std::error_code code =
          sys::fs::rename(join(path, "latest"), join(directory, "latest")))
    return fileError(path, "mark as the latest", code);
  if (Error error = syncDirectory(directory))
    return error;

  Expected<CheckpointSearch> all = findCheckpoints(directory);
  if (!all) {
    notes.push_back(toString(all.takeError()));
    return path;
  }
  notes.insert(notes.end(), all->notes.begin(), all->notes.end());
  const size_t kept = keepMaximum > 0 ? static_cast<size_t>(keepMaximum)
                                      : all->checkpoints.size();
  for (size_t i = 0; i + kept < all->checkpoints.size(); ++i)
    if (Error error = removeCheckpoint(all->checkpoints[i].path))
      notes.push_back(toString(std::move(error)));
  return path;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<Checkpoint> openCheckpoint(StringRef path) {
  const std::string statePath = join(path, "state.json");
  Expected<std::unique_ptr<MemoryBuffer>> text = mapFile(statePath);
  if (!text)
    return text.takeError();
  Expected<CheckpointManifest> manifest = parseManifest((*text)->getBuffer());
  if (!manifest)
    return fileError(statePath, toString(manifest.takeError()));

  Checkpoint checkpoint;
  checkpoint.path = path.str();
  checkpoint.state = manifest->state;
  checkpoint.sequence = manifest->sequence;
  for (const CheckpointManifest::File &expected : manifest->files) {
    const std::string filePath = join(path, expected.name);
    uint64_t bytes = 0;
    if (std::error_code code = sys::fs::file_size(filePath, bytes))
      return fileError(filePath, "open", code);
    if (bytes != static_cast<uint64_t>(expected.bytes))
      return fileError(filePath, "has " + Twine(bytes) + " bytes, expected " +
                                     Twine(expected.bytes) +
                                     " as state.json says");
    Expected<SafetensorsFile> file = SafetensorsFile::open(filePath);
    if (!file)
      return file.takeError();
    checkpoint.rankPaths.push_back(filePath);
  }
  return checkpoint;
}

Expected<CheckpointSearch> findCheckpoints(StringRef directory) {
  CheckpointSearch search;
  if (!sys::fs::exists(directory))
    return search;
  Expected<std::vector<std::string>> names = listDirectory(directory);
  if (!names)
    return names.takeError();
  for (StringRef name : *names) {
    if (!isStepName(name))
      continue;
    Expected<Checkpoint> checkpoint = openCheckpoint(join(directory, name));
    if (checkpoint)
      search.checkpoints.push_back(std::move(*checkpoint));
    else
      search.notes.push_back("ignoring incomplete checkpoint: " +
                             toString(checkpoint.takeError()));
  }
  llvm::sort(search.checkpoints, [](const Checkpoint &a, const Checkpoint &b) {
    return std::make_pair(a.sequence, StringRef(a.path)) <
           std::make_pair(b.sequence, StringRef(b.path));
  });
  return search;
}

} // namespace mf
