//===- NpyTokens.cpp - Token ids in NumPy's array format ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Format: numpy.lib.format. "\x93NUMPY", major and minor version, the header's
// length (two bytes in version 1, four in 2 and 3), the header: a Python dict
// literal {'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }, padded
// with blanks and a line end, then the array.
//
//===----------------------------------------------------------------------===//

#include "TokenFormats.h"
#include "mf/Support/FileError.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mf {

namespace {

struct NpyHeader {
  std::optional<StringRef> descr;
  std::optional<bool> fortranOrder;
  std::optional<SmallVector<int64_t, 2>> shape;
};

/// Parses the single dict literal of a header. Each function returns false if
/// the text does not have its form.
class NpyHeaderParser {
public:
  explicit NpyHeaderParser(StringRef text) : rest(text) {}

  bool parse(NpyHeader &header) {
    if (!consume("{"))
      return false;
    while (!consume("}")) {
      StringRef key;
      if (!parseString(key) || !consume(":") || !parseValue(key, header))
        return false;
      if (!consume(",")) {
        if (!consume("}"))
          return false;
        break;
      }
    }
    rest = rest.ltrim();
    return rest.empty();
  }

private:
  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  bool parseString(StringRef &text) {
    rest = rest.ltrim();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return false;
    const size_t end = rest.find(rest[0], 1);
    if (end == StringRef::npos)
      return false;
    text = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return !text.contains('\\');
  }

  bool parseValue(StringRef key, NpyHeader &header) {
    if (key == "descr" && !header.descr) {
      header.descr.emplace();
      return parseString(*header.descr);
    }
    if (key == "fortran_order" && !header.fortranOrder) {
      header.fortranOrder = consume("True");
      return *header.fortranOrder || consume("False");
    }
    if (key == "shape" && !header.shape) {
      header.shape.emplace();
      return parseTuple(*header.shape);
    }
    return false;
  }

  bool parseTuple(SmallVectorImpl<int64_t> &integers) {
    if (!consume("("))
      return false;
    while (!consume(")")) {
      int64_t integer;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, integer) || integer < 0)
        return false;
      rest.consume_front("L"); // as written by Python 2
      integers.push_back(integer);
      if (!consume(","))
        return consume(")");
    }
    return true;
  }

  StringRef rest;
};

std::optional<TokenType> parseDescr(StringRef descr) {
  if (descr.size() != 3 || !StringRef("<|").contains(descr[0]) ||
      !StringRef("iu").contains(descr[1]) ||
      !StringRef("1248").contains(descr[2]) ||
      (descr[0] == '|' && descr[2] != '1'))
    return std::nullopt;
  return TokenType{static_cast<unsigned>(descr[2] - '0'), descr[1] == 'i'};
}

class NpyTokens final : public TokenSource {
public:
  NpyTokens(std::unique_ptr<MemoryBuffer> buffer, TokenType type,
            const char *data, ArrayRef<int64_t> shape, int64_t count)
      : file(std::move(buffer)), type(type), data(data) {
    description = (file->getBufferIdentifier() + " (" + Twine(shape.size()) +
                   "-D array of " + type.getName() + ")")
                      .str();
    numTokens = count;
    rowLength = shape.size() == 2 ? shape[1] : 0;
  }

  void read(int64_t first, MutableArrayRef<int64_t> tokens) const override {
    decodeTokens(type, data + first * type.bytes, tokens);
  }

private:
  std::unique_ptr<MemoryBuffer> file;
  TokenType type;
  const char *data;
};

/// Returns the text of the header and the bytes after it.
Expected<std::pair<StringRef, StringRef>> splitNpy(StringRef path,
                                                   StringRef file) {
  if (!file.consume_front(npyMagic) || file.size() < 2)
    return fileError(path, "not an .npy file");
  const unsigned major = static_cast<uint8_t>(file[0]);
  if (major < 1 || major > 3)
    return fileError(path, "unknown .npy version " + Twine(major) +
                               ", expected 1, 2 or 3");
  file = file.drop_front(2);
  const size_t lengthBytes = major == 1 ? 2 : 4;
  if (file.size() < lengthBytes)
    return fileError(path, "cut short in the .npy header");
  const size_t length = major == 1 ? support::endian::read16le(file.data())
                                   : support::endian::read32le(file.data());
  file = file.drop_front(lengthBytes);
  if (file.size() < length)
    return fileError(path, "cut short in the .npy header: it has " +
                               Twine(length) + " bytes, but only " +
                               Twine(file.size()) + " are there");
  return std::make_pair(file.take_front(length), file.drop_front(length));
}

} // namespace

Expected<std::unique_ptr<TokenSource>>
openNpyTokens(std::unique_ptr<MemoryBuffer> file) {
  const std::string path = file->getBufferIdentifier().str();
  auto parts = splitNpy(path, file->getBuffer());
  if (!parts)
    return parts.takeError();
  NpyHeader header;
  if (!NpyHeaderParser(parts->first).parse(header) || !header.descr ||
      !header.fortranOrder || !header.shape)
    return fileError(path, "malformed .npy header: expected a dict with a "
                           "string 'descr', a bool 'fortran_order' and a tuple "
                           "'shape'");
  const std::optional<TokenType> type = parseDescr(*header.descr);
  if (!type)
    return fileError(path, "array of type '" + *header.descr +
                               "', expected little-endian integers ('|u1', "
                               "'<u2', '<i4', '<i8', ...)");
  const ArrayRef<int64_t> shape = *header.shape;
  if (shape.empty() || shape.size() > 2)
    return fileError(path, "array with " + Twine(shape.size()) +
                               " dimensions, expected 1 or 2");
  if (*header.fortranOrder && shape.size() == 2)
    return fileError(path, "array in Fortran order, expected C order (save "
                           "numpy.ascontiguousarray of it)");
  int64_t count = 1;
  int64_t bytes = type->bytes;
  for (int64_t dim : shape)
    if (MulOverflow(bytes, dim, bytes) || MulOverflow(count, dim, count))
      return fileError(path, "the array's shape has more than 2^63 bytes");
  if (static_cast<uint64_t>(bytes) != parts->second.size())
    return fileError(path, "the array's shape takes " + Twine(bytes) +
                               " bytes, but " + Twine(parts->second.size()) +
                               " follow the header");
  return std::make_unique<NpyTokens>(std::move(file), *type,
                                     parts->second.data(), shape, count);
}

} // namespace mf
