//===- TestFiles.h - Files made and broken by the tests -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_DATA_TESTFILES_H
#define MF_TEST_UNIT_DATA_TESTFILES_H

#include "mf/Exec/Data/SafetensorsWriter.h"
#include "test/unit/TemporaryDirectory.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include <random>
#include <string>

namespace mf {

/// The message of an error, or "" of success.
inline std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : std::string();
}
template <typename T> std::string message(llvm::Expected<T> &&value) {
  return value ? std::string() : llvm::toString(value.takeError());
}

/// `integer` as `bytes` little-endian bytes.
inline std::string littleEndian(uint64_t integer, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i)
    text += static_cast<char>(integer >> (8 * i));
  return text;
}

/// Numbers that are the same in every run.
inline std::mt19937 makeRandom(unsigned seed) { return std::mt19937(seed); }

/// Calls `check` with every proper prefix of `whole`.
template <typename Check>
void forEachTruncation(llvm::StringRef whole, Check check) {
  for (size_t length = 0; length < whole.size(); ++length)
    check(whole.take_front(length));
}

/// Calls `check` with `count` variants of `whole`: bytes replaced, removed,
/// repeated or swapped at places drawn from a fixed seed.
template <typename Check>
void forEachMutation(llvm::StringRef whole, unsigned count, Check check) {
  std::mt19937 random = makeRandom(20240607);
  auto draw = [&](size_t bound) {
    return random() % std::max<size_t>(bound, 1);
  };
  for (unsigned i = 0; i < count; ++i) {
    std::string mutated = whole.str();
    for (size_t change = 0; change < 1 + i % 3 && !mutated.empty(); ++change) {
      const size_t at = draw(mutated.size());
      switch (draw(5)) {
      case 0:
        mutated[at] = static_cast<char>(draw(256));
        break;
      case 1:
        mutated[at] = static_cast<char>(mutated[at] ^ (1 << draw(8)));
        break;
      case 2:
        mutated.erase(at, 1 + draw(9));
        break;
      case 3:
        mutated.insert(at, mutated.substr(draw(mutated.size()), 1 + draw(30)));
        break;
      case 4: // a digit or bracket, which headers are made of
        mutated[at] = "0123456789{}[]\",:-"[draw(18)];
        break;
      }
    }
    check(llvm::StringRef(mutated));
  }
}

/// A tensor to write: name, shape, bytes.
struct NamedTensor {
  std::string name;
  TensorShape shape;
  llvm::ArrayRef<uint8_t> bytes;
};

/// Writes all of `tensors` to `path` in one step.
inline llvm::Error
writeSafetensors(llvm::StringRef path, llvm::ArrayRef<NamedTensor> tensors,
                 const std::map<std::string, std::string> &metadata = {}) {
  SafetensorsWriter writer;
  for (const auto &[key, value] : metadata)
    writer.setMetadata(key, value);
  for (const NamedTensor &tensor : tensors)
    if (llvm::Error error = writer.declare(tensor.name, tensor.shape))
      return error;
  if (llvm::Error error = writer.open(path))
    return error;
  for (const NamedTensor &tensor : tensors)
    if (llvm::Error error = writer.write(tensor.name, tensor.bytes))
      return error;
  return writer.commit();
}

} // namespace mf

#endif // MF_TEST_UNIT_DATA_TESTFILES_H
