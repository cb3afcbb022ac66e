//===- mf_dims.h - The sizes of tensors -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_SUPPORT_MF_DIMS_H
#define MF_LIB_CANN_SUPPORT_MF_DIMS_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>

namespace mf_cann {

/// The sizes of a tensor, or other numbers by dimension. The numbers are stored
/// in the object: a launch makes several of these, and compilers take many
/// times as long for objects that own memory.
class Dims {
public:
  /// The most dimensions of a tensor on CANN.
  static constexpr size_t capacity = 8;

  Dims() = default;
  Dims(std::initializer_list<int64_t> given)
      : Dims(given.begin(), given.end()) {}
  Dims(const int64_t *first, const int64_t *last) {
    for (; first != last; ++first)
      append(*first);
  }
  Dims(size_t number, int64_t value) {
    while (number-- > 0)
      append(value);
  }

  bool empty() const { return number == 0; }
  size_t size() const { return number; }
  const int64_t *data() const { return sizes.data(); }
  const int64_t *begin() const { return sizes.data(); }
  const int64_t *end() const { return sizes.data() + number; }
  int64_t &operator[](size_t i) { return sizes[i]; }
  int64_t operator[](size_t i) const { return sizes[i]; }
  int64_t &back() { return sizes[number - 1]; }
  int64_t back() const { return sizes[number - 1]; }
  void append(int64_t size) {
    if (number == capacity)
      throw std::length_error("a tensor has more than 8 dimensions");
    sizes[number++] = size;
  }
  void removeLast() { --number; }
  /// Inserts a number before the one at `position`.
  void insert(size_t position, int64_t size) {
    append(size);
    std::rotate(sizes.data() + position, sizes.data() + number - 1,
                sizes.data() + number);
  }

private:
  std::array<int64_t, capacity> sizes = {};
  size_t number = 0;
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_DIMS_H
