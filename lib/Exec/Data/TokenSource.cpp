//===- TokenSource.cpp - Streams of token ids from files ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/TokenSource.h"
#include "TokenFormats.h"
#include "mf/Support/FileError.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace llvm;

namespace mf {

TokenSource::~TokenSource() = default;

std::string TokenType::getName() const {
  return (Twine(isSigned ? "int" : "uint") + Twine(bytes * 8)).str();
}

namespace {

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
