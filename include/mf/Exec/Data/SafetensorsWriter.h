//===- SafetensorsWriter.h - Writing safetensors files --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes a safetensors file (see Safetensors.h) in pieces. All tensors are
// declared first, which fixes the header. Their bytes are then written in any
// order and from any thread, without a second copy of the parameters. The file
// appears under its name completely or not at all (AtomicFile.h).
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_SAFETENSORSWRITER_H
#define MF_EXEC_DATA_SAFETENSORSWRITER_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Support/AtomicFile.h"
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The order of calls is declare, open, write, commit. The bytes of the file
/// depend only on the tensors and the metadata, not on the order of
/// declaration. Tensors are ordered by element size (large first, so that each
/// is aligned) and name, metadata by key.
class SafetensorsWriter {
public:
  SafetensorsWriter() = default;
  SafetensorsWriter(SafetensorsWriter &&) = default;
  SafetensorsWriter &operator=(SafetensorsWriter &&) = default;

  /// Declares a tensor. Fails on a name that is taken, empty or reserved, on
  /// negative dimensions and on sizes over 2^63 bytes.
  llvm::Error declare(llvm::StringRef name, const TensorShape &shape);

  /// Sets one entry of "__metadata__", replacing an earlier one. Key and value
  /// must be UTF-8.
  void setMetadata(llvm::StringRef key, llvm::StringRef value);

  /// Creates the temporary file next to `path` and writes the header. No tensor
  /// may be declared afterwards.
  llvm::Error open(llvm::StringRef path);

  /// Writes a part of a tensor, starting at its byte `offset`. Several threads
  /// may write disjoint parts. Fails on ranges outside of the tensor.
  llvm::Error write(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes,
                    uint64_t offset = 0);

  /// Finishes the file. Fails, and preserves an existing file at the path,
  /// unless exactly the bytes of each tensor were written.
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

#endif // MF_EXEC_DATA_SAFETENSORSWRITER_H
