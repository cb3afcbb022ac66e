//===- TokenSource.cpp - Streams of token ids from files ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/TokenSource.h"
#include "mf/Support/FileError.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
#include <vector>

using namespace llvm;

namespace mf {

TokenSource::~TokenSource() = default;

namespace {

/// The format of a token id, which is always little endian.
struct TokenType {
  unsigned bytes = 1;
  bool isSigned = false;

  /// Returns, for example, "int32" or "uint16".
  std::string getName() const {
    return (Twine(isSigned ? "int" : "uint") + Twine(bytes * 8)).str();
  }
};

template <typename Stored>
void decodeAll(const char *data, bool isSigned,
               MutableArrayRef<int64_t> tokens) {
  for (int64_t &token : tokens) {
    const uint64_t bits =
        support::endian::read<Stored, endianness::little>(data);
    data += sizeof(Stored);
    token = isSigned ? SignExtend64<8 * sizeof(Stored)>(bits)
                     : static_cast<int64_t>(std::min<uint64_t>(
                           bits, std::numeric_limits<int64_t>::max()));
  }
}

/// Widens `tokens.size()` consecutive ids at `data`.
void decodeTokens(TokenType type, const char *data,
                  MutableArrayRef<int64_t> tokens) {
  switch (type.bytes) {
  case 1:
    return decodeAll<uint8_t>(data, type.isSigned, tokens);
  case 2:
    return decodeAll<uint16_t>(data, type.isSigned, tokens);
  case 4:
    return decodeAll<uint32_t>(data, type.isSigned, tokens);
  case 8:
    return decodeAll<uint64_t>(data, type.isSigned, tokens);
  default:
    llvm_unreachable("token size that no format has");
  }
}

constexpr StringLiteral npyMagic("\x93NUMPY");
/// The nine bytes with which an index begins: seven letters and two zeros.
constexpr StringLiteral megatronMagic =
    StringLiteral::withInnerNUL("MMIDIDX\0\0");

class ByteTokens final : public TokenSource {
public:
  explicit ByteTokens(std::unique_ptr<MemoryBuffer> buffer)
      : file(std::move(buffer)) {
    description = (file->getBufferIdentifier() + " (bytes)").str();
    numTokens = static_cast<int64_t>(file->getBufferSize());
  }

  void read(int64_t first, MutableArrayRef<int64_t> tokens) const override {
    decodeTokens(TokenType{1, false}, file->getBufferStart() + first, tokens);
  }

private:
  std::unique_ptr<MemoryBuffer> file;
};

//===----------------------------------------------------------------------===//
// NumPy's array format
//
// Format: numpy.lib.format. "\x93NUMPY", major and minor version, the header's
// length (two bytes in version 1, four in 2 and 3), the header: a Python dict
// literal {'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }, padded
// with blanks and a line end, then the array.
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Megatron's indexed dataset
//
// NAME.idx: "MMIDIDX\0\0"; version (u64, 1); code of the element type (u8);
// number of sequences S (u64); number of document bounds D (u64); lengths
// (i32[S]); byte offsets into NAME.bin (i64[S]); document bounds (i64[D],
// sequence numbers from 0 to S); for multimodal data one i8 per sequence.
// NAME.bin: the elements.
//===----------------------------------------------------------------------===//

/// Returns the integer type of a code. The codes 6 and 7 are float64 and
/// float32.
std::optional<TokenType> parseTypeCode(uint8_t code) {
  switch (code) {
  case 1:
    return TokenType{1, false};
  case 2:
    return TokenType{1, true};
  case 3:
    return TokenType{2, true};
  case 4:
    return TokenType{4, true};
  case 5:
    return TokenType{8, true};
  case 8:
    return TokenType{2, false};
  default:
    return std::nullopt;
  }
}

/// The arrays of an index, still in the file's bytes.
struct MegatronIndex {
  TokenType type;
  uint64_t numSequences = 0;
  uint64_t numBounds = 0;
  const char *lengths = nullptr;
  const char *offsets = nullptr;
  const char *bounds = nullptr;

  int64_t getLength(uint64_t sequence) const {
    return static_cast<int32_t>(
        support::endian::read32le(lengths + sequence * 4));
  }
  int64_t getOffset(uint64_t sequence) const {
    return static_cast<int64_t>(
        support::endian::read64le(offsets + sequence * 8));
  }
  int64_t getBound(uint64_t document) const {
    return static_cast<int64_t>(
        support::endian::read64le(bounds + document * 8));
  }
};

class MegatronTokens final : public TokenSource {
public:
  MegatronTokens(std::unique_ptr<MemoryBuffer> indexFile,
                 std::unique_ptr<MemoryBuffer> dataFile, MegatronIndex index,
                 std::vector<int64_t> starts, int64_t count)
      : indexFile(std::move(indexFile)), dataFile(std::move(dataFile)),
        index(index), starts(std::move(starts)) {
    description = (this->dataFile->getBufferIdentifier() + " (" +
                   Twine(index.numSequences) + " Megatron sequences of " +
                   index.type.getName() + ")")
                      .str();
    numTokens = count;
  }

  void read(int64_t first, MutableArrayRef<int64_t> tokens) const override {
    if (tokens.empty())
      return;
    const char *data = dataFile->getBufferStart();
    if (starts.empty()) { // the sequences are stored one after another
      decodeTokens(index.type, data + first * index.type.bytes, tokens);
      return;
    }
    size_t sequence = llvm::upper_bound(starts, first) - starts.begin() - 1;
    while (!tokens.empty()) {
      const int64_t skipped = first - starts[sequence];
      const int64_t count =
          std::min<int64_t>(index.getLength(sequence) - skipped,
                            static_cast<int64_t>(tokens.size()));
      decodeTokens(index.type,
                   data + index.getOffset(sequence) +
                       skipped * index.type.bytes,
                   tokens.take_front(count));
      tokens = tokens.drop_front(count);
      first += count;
      ++sequence;
    }
  }

private:
  std::unique_ptr<MemoryBuffer> indexFile;
  std::unique_ptr<MemoryBuffer> dataFile;
  MegatronIndex index;
  /// The first token of each sequence. Empty if NAME.bin holds the sequences in
  /// order.
  std::vector<int64_t> starts;
};

Expected<MegatronIndex> readIndex(const MemoryBuffer &file) {
  const StringRef path = file.getBufferIdentifier();
  StringRef rest = file.getBuffer();
  if (!rest.consume_front(megatronMagic))
    return fileError(path, "not the index of a Megatron dataset: it does not "
                           "start with MMIDIDX");
  constexpr size_t fixedBytes = 8 + 1 + 8 + 8;
  if (rest.size() < fixedBytes)
    return fileError(path, "cut short in the header of the index");
  const uint64_t version = support::endian::read64le(rest.data());
  if (version != 1)
    return fileError(path, "unknown version " + Twine(version) +
                               " of the index, expected 1");
  const auto code = static_cast<uint8_t>(rest[8]);
  const std::optional<TokenType> type = parseTypeCode(code);
  if (!type)
    return fileError(path, "element type code " +
                               Twine(static_cast<unsigned>(code)) +
                               ", expected integers (1, 2, 3, 4, 5 or 8)");
  MegatronIndex index;
  index.type = *type;
  index.numSequences = support::endian::read64le(rest.data() + 9);
  index.numBounds = support::endian::read64le(rest.data() + 17);
  rest = rest.drop_front(fixedBytes);

  // Each count is checked against the available bytes before it is multiplied.
  const uint64_t available = rest.size();
  if (index.numSequences > available / 12 || index.numBounds > available / 8 ||
      index.numSequences * 12 + index.numBounds * 8 > available)
    return fileError(path, "cut short: an index of " +
                               Twine(index.numSequences) + " sequences and " +
                               Twine(index.numBounds) +
                               " document bounds does not fit in it");
  const uint64_t left =
      available - index.numSequences * 12 - index.numBounds * 8;
  if (left != 0 && left != index.numSequences)
    return fileError(path, Twine(left) + " bytes follow the end of the index");
  index.lengths = rest.data();
  index.offsets = index.lengths + index.numSequences * 4;
  index.bounds = index.offsets + index.numSequences * 8;
  return index;
}

Error checkBounds(StringRef path, const MegatronIndex &index) {
  for (uint64_t i = 0; i < index.numBounds; ++i) {
    const int64_t bound = index.getBound(i);
    const int64_t least = i == 0 ? 0 : index.getBound(i - 1);
    if (bound < least || static_cast<uint64_t>(bound) > index.numSequences)
      return fileError(path, "document bound " + Twine(i) + " is " +
                                 Twine(bound) + ", expected " + Twine(least) +
                                 " to " + Twine(index.numSequences));
  }
  return Error::success();
}

Expected<std::unique_ptr<TokenSource>>
openMegatronTokens(std::unique_ptr<MemoryBuffer> indexFile,
                   std::unique_ptr<MemoryBuffer> dataFile) {
  const StringRef path = indexFile->getBufferIdentifier();
  Expected<MegatronIndex> index = readIndex(*indexFile);
  if (!index)
    return index.takeError();
  if (Error error = checkBounds(path, *index))
    return error;

  const uint64_t dataBytes = dataFile->getBufferSize();
  const int64_t elementBytes = index->type.bytes;
  bool inOrder = true;
  int64_t count = 0;
  for (uint64_t i = 0; i < index->numSequences; ++i) {
    const int64_t length = index->getLength(i);
    const int64_t offset = index->getOffset(i);
    if (length < 0 || offset < 0 || offset % elementBytes != 0 ||
        static_cast<uint64_t>(offset) > dataBytes ||
        static_cast<uint64_t>(length) >
            (dataBytes - offset) / static_cast<uint64_t>(elementBytes))
      return fileError(path, "sequence " + Twine(i) + " (" + Twine(length) +
                                 " tokens at byte " + Twine(offset) +
                                 ") is not inside " +
                                 dataFile->getBufferIdentifier() + " (" +
                                 Twine(dataBytes) + " bytes)");
    inOrder &= offset == count * elementBytes;
    if (AddOverflow(count, length, count) ||
        count > std::numeric_limits<int64_t>::max() / 8)
      return fileError(path, "the sequences have more than 2^60 tokens");
  }
  std::vector<int64_t> starts;
  if (!inOrder) {
    starts.reserve(index->numSequences);
    int64_t start = 0;
    for (uint64_t i = 0; i < index->numSequences; ++i) {
      starts.push_back(start);
      start += index->getLength(i);
    }
  }
  return std::make_unique<MegatronTokens>(std::move(indexFile),
                                          std::move(dataFile), *index,
                                          std::move(starts), count);
}

Expected<std::unique_ptr<TokenSource>> openMegatronPair(StringRef stem) {
  Expected<std::unique_ptr<MemoryBuffer>> index =
      mapFile((stem + ".idx").str());
  if (!index)
    return index.takeError();
  Expected<std::unique_ptr<MemoryBuffer>> data = mapFile((stem + ".bin").str());
  if (!data)
    return data.takeError();
  return openMegatronTokens(std::move(*index), std::move(*data));
}

} // namespace

Expected<std::unique_ptr<TokenSource>> TokenSource::open(StringRef path) {
  if (!sys::fs::exists(path) && sys::fs::exists(path + ".idx"))
    return openMegatronPair(path);
  if (path.ends_with(".bin"))
    return openMegatronPair(path.drop_back(4));

  Expected<std::unique_ptr<MemoryBuffer>> file = mapFile(path);
  if (!file)
    return file.takeError();
  const StringRef contents = (*file)->getBuffer();
  if (contents.starts_with(npyMagic) || path.ends_with(".npy"))
    return openNpyTokens(std::move(*file));
  if (path.ends_with(".idx"))
    return openMegatronPair(path.drop_back(4));
  if (contents.starts_with(megatronMagic))
    return fileError(path, "the index of a Megatron dataset is expected to be "
                           "called NAME.idx, beside NAME.bin");
  return std::make_unique<ByteTokens>(std::move(*file));
}

} // namespace mf
