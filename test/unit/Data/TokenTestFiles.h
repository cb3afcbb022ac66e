//===- TokenTestFiles.h - Token files made by the tests -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_DATA_TOKENTESTFILES_H
#define MF_TEST_UNIT_DATA_TOKENTESTFILES_H

#include "TestFiles.h"
#include <string>
#include <vector>

namespace mf {

/// An .npy file with this header text.
inline std::string makeNpyWithHeader(std::string header,
                                     const std::string &data,
                                     unsigned version = 1) {
  const unsigned lengthBytes = version == 1 ? 2 : 4;
  while ((8 + lengthBytes + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  return "\x93NUMPY" + littleEndian(version, 1) + littleEndian(0, 1) +
         littleEndian(header.size(), lengthBytes) + header + data;
}

/// An .npy file as numpy.save writes it.
inline std::string makeNpy(const std::string &descr, const std::string &shape,
                           unsigned bytes, const std::vector<uint64_t> &values,
                           unsigned version = 1) {
  std::string data;
  for (uint64_t value : values)
    data += littleEndian(value, bytes);
  return makeNpyWithHeader("{'descr': '" + descr +
                               "', 'fortran_order': False, 'shape': " + shape +
                               ", }",
                           data, version);
}

/// The contents of NAME.idx and NAME.bin.
struct MegatronPair {
  std::string index;
  std::string data;
  size_t numSequences = 0;

  void setCount(uint64_t count) {
    index.replace(18, 8, littleEndian(count, 8));
  }
  void setOffset(size_t sequence, uint64_t offset) {
    index.replace(34 + numSequences * 4 + sequence * 8, 8,
                  littleEndian(offset, 8));
  }
  void setBound(size_t bound, uint64_t sequence) {
    index.replace(34 + numSequences * 12 + bound * 8, 8,
                  littleEndian(sequence, 8));
  }
};

/// A dataset as Megatron's IndexedDatasetBuilder writes it, every sequence a
/// document.
inline MegatronPair
makeMegatron(unsigned code, unsigned bytes,
             const std::vector<std::vector<uint64_t>> &sequences) {
  MegatronPair pair;
  pair.numSequences = sequences.size();
  std::string lengths;
  std::string offsets;
  std::string bounds = littleEndian(0, 8);
  for (size_t i = 0; i < sequences.size(); ++i) {
    lengths += littleEndian(sequences[i].size(), 4);
    offsets += littleEndian(pair.data.size(), 8);
    bounds += littleEndian(i + 1, 8);
    for (uint64_t token : sequences[i])
      pair.data += littleEndian(token, bytes);
  }
  pair.index = std::string("MMIDIDX\0\0", 9) + littleEndian(1, 8) +
               littleEndian(code, 1) + littleEndian(sequences.size(), 8) +
               littleEndian(sequences.size() + 1, 8) + lengths + offsets +
               bounds;
  return pair;
}

} // namespace mf

#endif // MF_TEST_UNIT_DATA_TOKENTESTFILES_H
