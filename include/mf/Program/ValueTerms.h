//===- ValueTerms.h - Terms of values in buffers ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels and collectives on terms (Certificate.h) instead of numbers. A
// term does not depend on what a rewrite may change: where a value is stored,
// copies of it, whether kernels run as a chain, and the shape of operands where
// a kernel works on single elements.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_VALUETERMS_H
#define MF_PROGRAM_VALUETERMS_H

#include "mf/Program/Certificate.h"
#include "mf/Program/Mesh.h"
#include "mf/Program/Signatures/Collective.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <unordered_map>

namespace mf::program {

/// A hash that is the same on all platforms.
class TermHash {
public:
  explicit TermHash(llvm::StringRef kind) { add(kind); }
  TermHash &add(uint64_t value);
  TermHash &add(llvm::StringRef text);
  Term get() const { return state; }

private:
  Term state = 0x9e3779b97f4a7c15ULL;
};

/// Returns the term of a value that exists before anything runs, for example
/// "argument" 2 or "parameter" w.
Term getInputTerm(llvm::StringRef kind, uint64_t number);
Term getInputTerm(llvm::StringRef kind, llvm::StringRef name);

/// Returns the term of a tensor whose elements are all `value` from the first
/// step on.
Term getConstantTerm(double value);

/// Maps terms to the terms of the values that they are equal to.
using EqualTerms = std::unordered_map<Term, Term>;

/// The terms of the bytes of one buffer.
class BufferTerms {
public:
  BufferTerms() = default;
  /// Makes a buffer that holds one value.
  BufferTerms(int64_t bytes, Term term) { write(0, bytes, term); }

  /// Returns the term of a range of bytes: that of the value that was written
  /// there, or that of a part of it.
  Term read(int64_t begin, int64_t bytes) const;
  void write(int64_t begin, int64_t bytes, Term term);
  /// Copies the terms of `bytes` bytes from a buffer, which may be this one.
  void copy(const BufferTerms &from, int64_t fromBegin, int64_t begin,
            int64_t bytes);

private:
  /// A range of `bytes` bytes that holds the bytes from `skip` on of a value of
  /// `whole` bytes.
  struct Piece {
    int64_t bytes = 0, skip = 0, whole = 0;
    Term term = 0;
  };
  using Pieces = std::map<int64_t, Piece>;

  void put(int64_t begin, const Piece &piece);
  /// Returns the pieces of a range, including those that were never written.
  std::vector<Piece> take(int64_t begin, int64_t bytes) const;

  Pieces pieces;
};

/// A range of bytes of a buffer.
struct TermRange {
  BufferTerms *buffer = nullptr;
  int64_t begin = 0;
  int64_t bytes = 0;

  Term read() const { return buffer->read(begin, bytes); }
};

/// Returns the term of the sum of a value `before` and a value `addend`, as
/// computed by a kernel that reads addends of type `from` and adds in type
/// `to`.
Term getSum(Term before, Term addend, const TensorShape &from,
            const TensorShape &to);

/// Returns the term of the elementwise maximum of values of terms `before` and
/// `value`.
Term getLarger(Term before, Term value, const TensorShape &shape);

/// Returns the term of a tensor of zeros.
Term getZeroTerm(const TensorShape &shape);

/// Runs a kernel. Its outputs get new terms, replaced by those that `equal`
/// maps them to. A kernel that reads a gradient and factors gets the same terms
/// as one that reads the product.
void runKernel(const KernelSpec &spec, const KernelSignature &signature,
               llvm::ArrayRef<TermRange> inputs,
               llvm::ArrayRef<TermRange> outputs, const EqualTerms &equal);

/// A collective over the ranks of a group.
struct TermCollective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  DType type = DType::F32;
  double fill = 0;
  Group group;
};

void runCollective(const TermCollective &collective,
                   llvm::ArrayRef<TermRange> inputs, const TermRange &output,
                   const EqualTerms &equal);

/// Formats a term for messages.
std::string describeTerm(Term term);

} // namespace mf::program

#endif // MF_PROGRAM_VALUETERMS_H
