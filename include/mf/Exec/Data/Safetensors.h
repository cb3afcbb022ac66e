//===- Safetensors.h - Reading safetensors files --------------*- C++ -*-===//
//
// The safetensors format (huggingface/safetensors, format description in its
// README): eight bytes of little-endian header length N, N bytes of JSON
// {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...,
// "__metadata__": {string: string}}, then the tensors' bytes, little endian,
// row-major. The tensors must cover the bytes after the header exactly: no
// overlap, no hole, nothing behind the last one. Every rule is checked when
// the file is opened, before any tensor can be read.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_SAFETENSORS_H
#define MF_DATA_SAFETENSORS_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The element types a safetensors file may hold. More than a program computes
/// with (DType): a file with, say, a BOOL mask in it still opens.
enum class SafetensorsType : uint8_t {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  I64,
  U64,
  F64,
  C64
};

/// The format's spelling: "BF16".
llvm::StringRef getName(SafetensorsType type);
int64_t getBytes(SafetensorsType type);
std::optional<SafetensorsType> parseSafetensorsType(llvm::StringRef name);

/// The program's type for it, if there is one.
std::optional<DType> toDType(SafetensorsType type);
SafetensorsType toSafetensorsType(DType type);

/// A tensor as it lies in a file.
struct SafetensorsEntry {
  std::string name;
  SafetensorsType type = SafetensorsType::F32;
  llvm::SmallVector<int64_t, 4> dims;
  /// Its bytes inside the mapped file. Not necessarily aligned to the element.
  llvm::ArrayRef<uint8_t> bytes;
};

/// Shape, type and bytes of a tensor whose type a program can hold. The bytes
/// belong to the file they were found in and are not necessarily aligned.
struct TensorView {
  TensorShape shape;
  llvm::ArrayRef<uint8_t> bytes;
};

/// Copies `view` to `to`, which holds a tensor of `shape`; floating point types
/// convert. Fails if the dimensions differ. `name` is for the error.
llvm::Error readTensor(llvm::StringRef name, const TensorView &view,
                       const TensorShape &shape,
                       llvm::MutableArrayRef<uint8_t> to);

/// An open safetensors file, mapped into memory: pages are read when touched.
class SafetensorsFile {
public:
  /// Maps and checks the file. An error names the file, the tensor and the
  /// rule that is broken.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  /// Checks a file that is in memory already; errors name it by the buffer's
  /// identifier.
  static llvm::Expected<SafetensorsFile>
  parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// All tensors, in the order of their bytes.
  llvm::ArrayRef<SafetensorsEntry> getTensors() const { return tensors; }

  /// The tensor called `name`, of any type, or null.
  const SafetensorsEntry *lookup(llvm::StringRef name) const;

  /// The tensor called `name`. Fails if there is none (and suggests the name
  /// nearest to it) or if its type is none of DType.
  llvm::Expected<TensorView> find(llvm::StringRef name) const;

  /// The "__metadata__" of the file; empty if there is none.
  const std::map<std::string, std::string> &getMetadata() const {
    return metadata;
  }

  llvm::StringRef getPath() const { return buffer->getBufferIdentifier(); }

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::vector<SafetensorsEntry> tensors;
  llvm::StringMap<size_t> indices;
  std::map<std::string, std::string> metadata;
};

/// A checkpoint in one or several safetensors files.
class SafetensorsCheckpoint {
public:
  /// `path` is one of
  /// - a safetensors file;
  /// - an index (`*.index.json` as Hugging Face writes it: {"weight_map":
  /// {name:
  ///   file, ...}}) whose files lie beside it;
  /// - a directory with `model.safetensors.index.json`, else with
  ///   `*.safetensors` files, which together hold every tensor once.
  /// Fails if a file is missing or malformed, if a file lacks a tensor that the
  /// index puts there, or if two files of a directory hold the same name.
  static llvm::Expected<SafetensorsCheckpoint> open(llvm::StringRef path);
  /// All of `paths` as one: of a name that several have the last one's tensor.
  static llvm::Expected<SafetensorsCheckpoint>
  openAll(llvm::ArrayRef<std::string> paths);

  /// All names, sorted.
  llvm::ArrayRef<std::string> getNames() const { return names; }

  /// The entry "format" of the metadata of all files: `mf` for those that are
  /// written here, `pt` for Hugging Face's. Empty if they have none, or
  /// several.
  llvm::StringRef getFormat() const;

  /// Looks a tensor up as SafetensorsFile does.
  const SafetensorsEntry *lookup(llvm::StringRef name) const;
  llvm::Expected<TensorView> find(llvm::StringRef name) const;

private:
  llvm::Error openIndex(llvm::StringRef path);
  llvm::Error openDirectory(llvm::StringRef path);
  llvm::Error addFile(llvm::StringRef path);

  std::string path;
  std::vector<SafetensorsFile> files;
  llvm::StringMap<size_t> fileOfName;
  std::vector<std::string> names;
};

} // namespace mf

#endif // MF_DATA_SAFETENSORS_H
