//===- MegatronTokens.cpp - Token ids in Megatron's indexed dataset -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// NAME.idx: "MMIDIDX\0\0"; version (u64, 1); code of the element type (u8);
// number of sequences S (u64); number of document bounds D (u64); lengths
// (i32[S]); byte offsets into NAME.bin (i64[S]); document bounds (i64[D],
// sequence numbers from 0 to S); for multimodal data one i8 per sequence.
// NAME.bin: the elements.
//
//===----------------------------------------------------------------------===//

#include "TokenFormats.h"
#include "mf/Support/FileError.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <vector>

using namespace llvm;

namespace mf {

namespace {

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

} // namespace

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

} // namespace mf
