//===- TokenFormats.h - The kinds of token files --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DATA_TOKENFORMATS_H
#define MF_LIB_EXEC_DATA_TOKENFORMATS_H

#include "mf/Exec/Data/TokenSource.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace mf {

/// The format of a token id, which is always little endian.
struct TokenType {
  unsigned bytes = 1;
  bool isSigned = false;

  /// Returns, for example, "int32" or "uint16".
  std::string getName() const;
};

/// Widens `tokens.size()` consecutive ids at `data`.
void decodeTokens(TokenType type, const char *data,
                  llvm::MutableArrayRef<int64_t> tokens);

constexpr llvm::StringLiteral npyMagic("\x93NUMPY");
/// The nine bytes with which an index begins: seven letters and two zeros.
constexpr llvm::StringLiteral megatronMagic =
    llvm::StringLiteral::withInnerNUL("MMIDIDX\0\0");

/// Reads an .npy file.
llvm::Expected<std::unique_ptr<TokenSource>>
openNpyTokens(std::unique_ptr<llvm::MemoryBuffer> file);

/// Opens a Megatron pair, given both files.
llvm::Expected<std::unique_ptr<TokenSource>>
openMegatronTokens(std::unique_ptr<llvm::MemoryBuffer> index,
                   std::unique_ptr<llvm::MemoryBuffer> data);

} // namespace mf

#endif // MF_LIB_EXEC_DATA_TOKENFORMATS_H
