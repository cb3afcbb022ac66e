//===- TokenSource.h - Streams of token ids from files --------*- C++ -*-===//
//
// Training data as one long addressable sequence of token ids, read from
//
// - any file: its bytes are the tokens (0 to 255);
// - NumPy .npy (versions 1 to 3): one- or two-dimensional array of integers,
//   little endian, C order (numpy.lib.format documents the format);
// - Megatron's indexed dataset, a pair NAME.bin and NAME.idx ("MMIDIDX",
//   Megatron-LM megatron/core/datasets/indexed_dataset.py), its sequences in
//   the order of the index.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_TOKENSOURCE_H
#define MF_DATA_TOKENSOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>

namespace mf {

/// Token ids by position. Files are mapped, so a source costs memory only for
/// the pages that are read. Reading is thread safe.
class TokenSource {
public:
  virtual ~TokenSource();

  /// Opens `path` as the kind of file it is: by its first bytes (.npy, .idx),
  /// else by its extension (.npy, .bin, .idx), else as bytes. A Megatron pair
  /// may be named with either extension or with none. The whole structure of
  /// the file is checked here.
  static llvm::Expected<std::unique_ptr<TokenSource>>
  open(llvm::StringRef path);

  /// The file and its format, for messages: "corpus.npy (2-D array of int32)".
  llvm::StringRef getDescription() const { return description; }

  /// Number of tokens.
  int64_t getNumTokens() const { return numTokens; }

  /// Tokens per row if the data consists of rows of equal length (a 2-D array),
  /// otherwise 0. A training sequence does not run over the end of a row.
  int64_t getRowLength() const { return rowLength; }

  /// Reads tokens [first, first + tokens.size()), which must be inside the
  /// source. Values are as in the file, widened; nothing is checked against a
  /// vocabulary here. 64-bit unsigned ids over 2^63 - 1 read as 2^63 - 1.
  virtual void read(int64_t first,
                    llvm::MutableArrayRef<int64_t> tokens) const = 0;

protected:
  std::string description;
  int64_t numTokens = 0;
  int64_t rowLength = 0;
};

} // namespace mf

#endif // MF_DATA_TOKENSOURCE_H
