//===- Safetensors.h - Reading safetensors files --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
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

#ifndef MF_EXEC_DATA_SAFETENSORS_H
#define MF_EXEC_DATA_SAFETENSORS_H

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

/// The element types of safetensors files. There are more than a program
/// computes with (DType): a file that has, for example, a BOOL mask can still
/// be opened.
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

/// Returns the format's spelling, for example "BF16".
llvm::StringRef getName(SafetensorsType type);
int64_t getBytes(SafetensorsType type);
std::optional<SafetensorsType> parseSafetensorsType(llvm::StringRef name);

/// Returns the program's type for it, or none.
std::optional<DType> toDType(SafetensorsType type);
SafetensorsType toSafetensorsType(DType type);

/// A tensor in a file.
struct SafetensorsEntry {
  std::string name;
  SafetensorsType type = SafetensorsType::F32;
  llvm::SmallVector<int64_t, 4> dims;
  /// The tensor's bytes in the mapped file. They may be unaligned.
  llvm::ArrayRef<uint8_t> bytes;
};

/// The shape, type and bytes of a tensor whose type a program supports. The
/// file owns the bytes, which may be unaligned.
struct TensorView {
  TensorShape shape;
  llvm::ArrayRef<uint8_t> bytes;
};

/// Copies `view` to `to`, which holds a tensor of `shape`. Floating-point types
/// are converted. Fails if the dimensions differ. `name` is used in the error.
llvm::Error readTensor(llvm::StringRef name, const TensorView &view,
                       const TensorShape &shape,
                       llvm::MutableArrayRef<uint8_t> to);

/// An open safetensors file that is mapped into memory. Pages are read when
/// they are accessed.
class SafetensorsFile {
public:
  /// Maps and checks the file. The error names the file, the tensor and the
  /// rule that is violated.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  /// Checks a file that is in memory already. Errors use the buffer's
  /// identifier as its name.
  static llvm::Expected<SafetensorsFile>
  parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// Returns all tensors in the order of their bytes.
  llvm::ArrayRef<SafetensorsEntry> getTensors() const { return tensors; }

  /// Returns the tensor `name` of any type, or null.
  const SafetensorsEntry *lookup(llvm::StringRef name) const;

  /// Returns the tensor `name`. Fails if there is none (and suggests the most
  /// similar name) or if a program does not support its type.
  llvm::Expected<TensorView> find(llvm::StringRef name) const;

  /// Returns the "__metadata__" of the file, which may be empty.
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
  /// Opens all `paths` as one checkpoint. If several have a tensor of the same
  /// name, that of the last path is used.
  static llvm::Expected<SafetensorsCheckpoint>
  openAll(llvm::ArrayRef<std::string> paths);

  /// Returns all names, sorted.
  llvm::ArrayRef<std::string> getNames() const { return names; }

  /// Returns the entry "format" of the metadata of all files: `mf` for files
  /// that mf has written, `pt` for Hugging Face's. Empty if the files have none
  /// or differ.
  llvm::StringRef getFormat() const;

  /// Look up a tensor as SafetensorsFile does.
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

#endif // MF_EXEC_DATA_SAFETENSORS_H
