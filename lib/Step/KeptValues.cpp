//===- KeptValues.cpp - What operators make, between ranks ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KeptValues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DataExtractor.h"
#include "llvm/Support/EndianStream.h"

namespace mf::step {

namespace {

/// Numbers are little endian; texts and lists have their length before them.
class KeptWriter {
public:
  explicit KeptWriter(llvm::raw_ostream &os)
      : numbers(os, llvm::endianness::little), os(os) {}

  void writeNumber(int64_t value) { numbers.write(value); }
  void writeText(llvm::StringRef text) {
    writeNumber(static_cast<int64_t>(text.size()));
    os << text;
  }

private:
  llvm::support::endian::Writer numbers;
  llvm::raw_ostream &os;
};

class KeptReader {
public:
  explicit KeptReader(llvm::StringRef bytes)
      : data(bytes, /*IsLittleEndian=*/true, /*AddressSize=*/8), cursor(0) {}
  ~KeptReader() { llvm::consumeError(cursor.takeError()); }

  bool isAtEnd() const { return cursor.tell() == data.size(); }
  int64_t readNumber() { return static_cast<int64_t>(data.getU64(cursor)); }
  llvm::StringRef readText() {
    const int64_t size = readNumber();
    return data.getBytes(cursor, static_cast<uint64_t>(size));
  }
  bool hasFailed() { return !cursor; }
  llvm::Error takeError() { return cursor.takeError(); }

private:
  llvm::DataExtractor data;
  llvm::DataExtractor::Cursor cursor;
};

void writeTensor(KeptWriter &writer, const KeptTensor &tensor) {
  writer.writeText(tensor.name);
  writer.writeText(tensor.type);
  writer.writeNumber(static_cast<int64_t>(tensor.dims.size()));
  for (const int64_t size : tensor.dims)
    writer.writeNumber(size);
  writer.writeText({reinterpret_cast<const char *>(tensor.bytes.data()),
                    tensor.bytes.size()});
}

llvm::Expected<ranks::MadeTensor> readTensor(KeptReader &reader) {
  ranks::MadeTensor made;
  made.name = reader.readText();
  const llvm::StringRef name = reader.readText();
  const std::optional<DType> type = parseDType(name);
  // The reader's own error comes first.
  if (!type && !reader.hasFailed())
    return llvm::createStringError("unknown element type '" + name + "'");
  made.shape.type = type.value_or(DType::F32);
  const int64_t numDims = reader.readNumber();
  for (int64_t i = 0; i < numDims && !reader.hasFailed(); ++i)
    made.shape.dims.push_back(reader.readNumber());
  const llvm::StringRef bytes = reader.readText();
  made.bytes = {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
  return made;
}

/// Returns what a rank has kept, as bytes that another rank can read.
std::string printKept(const std::vector<KeptOperator> &kept) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  KeptWriter writer(os);
  for (const KeptOperator &run : kept) {
    writer.writeNumber(run.microBatch);
    writer.writeNumber(run.isForward ? 1 : 0);
    writer.writeText(run.cell);
    writer.writeNumber(static_cast<int64_t>(run.made.size()));
    for (const KeptTensor &tensor : run.made)
      writeTensor(writer, tensor);
  }
  return bytes;
}

/// Adds what rank `rank` has kept. Fails if the bytes are not those of
/// printKept.
llvm::Error addKept(llvm::StringRef bytes, int64_t rank,
                    ranks::TensorDump &dump) {
  KeptReader reader(bytes);
  while (!reader.hasFailed() && !reader.isAtEnd()) {
    ranks::OperatorRun run;
    run.rank = rank;
    run.microBatch = reader.readNumber();
    run.isForward = reader.readNumber() != 0;
    run.cell = reader.readText();
    const int64_t numTensors = reader.readNumber();
    std::vector<ranks::MadeTensor> made;
    for (int64_t i = 0; i < numTensors && !reader.hasFailed(); ++i) {
      llvm::Expected<ranks::MadeTensor> tensor = readTensor(reader);
      if (!tensor)
        return llvm::createStringError(
            "'" + run.cell + "': " + llvm::toString(tensor.takeError()));
      made.push_back(std::move(*tensor));
    }
    if (!reader.hasFailed())
      dump.add(run, made);
  }
  return reader.takeError();
}

} // namespace

llvm::Error shareKept(const StepRanks &group,
                      const std::vector<KeptOperator> &kept,
                      ranks::TensorDump &dump) {
  const std::string own = printKept(kept);
  for (int64_t rank = 0; rank < group.getNumRanks(); ++rank) {
    auto shared = group.shareText(rank, own);
    if (!shared)
      return shared.takeError();
    if (group.isFirst())
      if (llvm::Error error = addKept(*shared, rank, dump))
        return error;
  }
  return llvm::Error::success();
}

} // namespace mf::step
