//===- SafetensorsWriter.h - Writing safetensors files --------*- C++ -*-===//
//
// Writes a safetensors file (see Safetensors.h) piece by piece: every tensor is
// declared first, which fixes the header, and its bytes are then written from
// wherever they live, in any order and from any thread. No second copy of the
// parameters exists at any time. The file appears under its name whole or not
// at all (AtomicFile.h).
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_SAFETENSORSWRITER_H
#define MF_DATA_SAFETENSORSWRITER_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Support/AtomicFile.h"
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// declare... -> open -> write... -> commit. The bytes of the file depend only
/// on the tensors and the metadata, not on the order of declaration: tensors
/// are laid out by element size (large first, so that each is aligned) and
/// name, and metadata is sorted by key.
class SafetensorsWriter {
public:
  SafetensorsWriter() = default;
  SafetensorsWriter(SafetensorsWriter &&) = default;
  SafetensorsWriter &operator=(SafetensorsWriter &&) = default;

  /// Announces a tensor. Fails on a name that is taken, empty or reserved, on
  /// negative dimensions and on sizes over 2^63 bytes.
  llvm::Error declare(llvm::StringRef name, const TensorShape &shape);

  /// Sets one entry of "__metadata__"; a key set again is replaced. Both must
  /// be UTF-8.
  void setMetadata(llvm::StringRef key, llvm::StringRef value);

  /// Creates the file beside `path` and writes the header. Declaring is over.
  llvm::Error open(llvm::StringRef path);

  /// Writes part of a tensor, `offset` bytes into it. Disjoint parts may be
  /// written by several threads at once. Fails on parts outside of the tensor.
  llvm::Error write(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes,
                    uint64_t offset = 0);

  /// Finishes the file. Fails, and leaves the old file at the path, if not
  /// exactly as many bytes were written as each tensor has.
  llvm::Error commit();

private:
  struct Declaration {
    TensorShape shape;
    uint64_t begin = 0;
    uint64_t size = 0;
    std::unique_ptr<std::atomic<uint64_t>> written;
  };

  std::string makeHeader();

  std::map<std::string, Declaration> tensors;
  std::map<std::string, std::string> metadata;
  std::string path;
  std::optional<AtomicFile> file;
  uint64_t dataBegin = 0;
};

} // namespace mf

#endif // MF_DATA_SAFETENSORSWRITER_H
