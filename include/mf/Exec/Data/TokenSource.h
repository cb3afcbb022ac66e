//===- TokenSource.h - Streams of token ids from files --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Training data as one long addressable sequence of token ids. It is read from
//
// - any file: its bytes are the tokens (0 to 255);
// - NumPy .npy (versions 1 to 3): one- or two-dimensional array of integers,
//   little endian, C order (numpy.lib.format documents the format);
// - Megatron's indexed dataset, a pair NAME.bin and NAME.idx ("MMIDIDX",
//   Megatron-LM megatron/core/datasets/indexed_dataset.py), its sequences in
//   the order of the index.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_TOKENSOURCE_H
#define MF_EXEC_DATA_TOKENSOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>

namespace mf {

/// Token ids by position. Files are mapped, so that only pages that are read
/// use memory. Reading is thread-safe.
class TokenSource {
public:
  virtual ~TokenSource();

  /// Opens `path` with the format that its first bytes (.npy, .idx) or, failing
  /// that, its extension (.npy, .bin, .idx) indicate. Other files are read as
  /// bytes. A Megatron pair may be named with either extension or with none.
  /// The structure of the whole file is checked.
  static llvm::Expected<std::unique_ptr<TokenSource>>
  open(llvm::StringRef path);

  /// Returns the file and its format for messages, for example "corpus.npy (2-D
  /// array of int32)".
  llvm::StringRef getDescription() const { return description; }

  /// Returns the number of tokens.
  int64_t getNumTokens() const { return numTokens; }

  /// Returns the tokens per row if the data consists of rows of equal length (a
  /// 2-D array), otherwise 0. Training sequences do not cross the end of a row.
  int64_t getRowLength() const { return rowLength; }

  /// Reads tokens [first, first + tokens.size()), which must be inside of the
  /// source. The values of the file are widened and not checked against a
  /// vocabulary. 64-bit unsigned ids over 2^63 - 1 are read as 2^63 - 1.
  virtual void read(int64_t first,
                    llvm::MutableArrayRef<int64_t> tokens) const = 0;

protected:
  std::string description;
  int64_t numTokens = 0;
  int64_t rowLength = 0;
};

} // namespace mf

#endif // MF_EXEC_DATA_TOKENSOURCE_H
