//===- Parts.h - What ranks have of whole tensors --------------*- C++ -*-===//

#ifndef MF_LIB_INTERPRETER_PARTS_H
#define MF_LIB_INTERPRETER_PARTS_H

#include "dialects/mf/MfOps.h"
#include "mf/Interpreter/Tensor.h"
#include "mf/Program/Mesh.h"
#include <map>
#include <set>

namespace mf::interpreter {

/// The part of a tensor that a rank has: along each dimension that at its
/// coordinates on some axes, or all of it.
class Part {
public:
  /// `axes` has a list for each dimension, or none at all.
  Part(const program::Mesh &mesh, int64_t rank, const TensorShape &whole,
       llvm::ArrayRef<std::vector<std::string>> axes);
  /// As the layout says, if there is one.
  Part(const program::Mesh &mesh, int64_t rank, ir::LayoutAttr layout,
       const TensorShape &whole);

  bool isWhole() const { return shape == whole; }
  const TensorShape &getShape() const { return shape; }
  const TensorShape &getWholeShape() const { return whole; }
  /// Different for different parts.
  int64_t getFirstElement() const { return getWholeElement(0); }
  /// Which summand of the part's gradient the rank has: its coordinates on the
  /// axes over which the layout is reduced.
  int64_t getSummand() const { return summand; }

  /// Copies the part out of the whole tensor, or into it.
  void take(llvm::ArrayRef<uint8_t> from,
            llvm::MutableArrayRef<uint8_t> to) const;
  void put(llvm::ArrayRef<uint8_t> from,
           llvm::MutableArrayRef<uint8_t> to) const;
  /// Adds the part, of floats, to its place in the whole tensor.
  void addTo(llvm::ArrayRef<uint8_t> from,
             llvm::MutableArrayRef<uint8_t> to) const;

private:
  void place(const program::Mesh &mesh, int64_t rank,
             llvm::ArrayRef<std::vector<std::string>> axes);
  int64_t getWholeElement(int64_t element) const;

  TensorShape whole, shape;
  /// Where the part begins along each dimension.
  llvm::SmallVector<int64_t, 4> first;
  int64_t summand = 0;
};

/// Tensors by name, put together from the parts of ranks. What was added first
/// of each part counts, or of each of its summands.
class WholeTensors {
public:
  void add(const std::string &name, const Part &part,
           llvm::ArrayRef<uint8_t> bytes);
  /// Adds the part's summand to those that others have of it.
  void addSummand(const std::string &name, const Part &part,
                  llvm::ArrayRef<uint8_t> bytes);
  const std::map<std::string, Tensor> &get() const { return tensors; }

private:
  std::map<std::string, Tensor> tensors;
  /// The summands that are known of each part.
  std::map<std::pair<std::string, int64_t>, std::set<int64_t>> seen;
};

} // namespace mf::interpreter

#endif // MF_LIB_INTERPRETER_PARTS_H
