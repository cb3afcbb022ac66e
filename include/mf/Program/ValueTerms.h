//===- ValueTerms.h - Terms of values in buffers ---------------*- C++ -*-===//
//
// Runs kernels and collectives on terms (Certificate.h) instead of numbers.
// A term does not have in it what a rewrite may change: where a value lies,
// copies of it, whether kernels run as a chain, and the shape of operands where
// a kernel works on elements.
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

/// A hash that is the same on all machines.
class TermHash {
public:
  explicit TermHash(llvm::StringRef kind) { add(kind); }
  TermHash &add(uint64_t value);
  TermHash &add(llvm::StringRef text);
  Term get() const { return state; }

private:
  Term state = 0x9e3779b97f4a7c15ULL;
};

/// The term of a value that is there before anything runs: "argument" 2,
/// "parameter" w.
Term getInputTerm(llvm::StringRef kind, uint64_t number);
Term getInputTerm(llvm::StringRef kind, llvm::StringRef name);

/// The terms that stand for the same value.
using EqualTerms = std::unordered_map<Term, Term>;

/// The terms of the bytes of one buffer.
class BufferTerms {
public:
  BufferTerms() = default;
  /// A buffer that holds one value.
  BufferTerms(int64_t bytes, Term term) { write(0, bytes, term); }

  /// The term of some bytes: that of the value that was written there, or one
  /// of its parts.
  Term read(int64_t begin, int64_t bytes) const;
  void write(int64_t begin, int64_t bytes, Term term);
  /// Takes over what `bytes` bytes of a buffer are; it may be this one.
  void copy(const BufferTerms &from, int64_t fromBegin, int64_t begin,
            int64_t bytes);

private:
  /// `bytes` bytes from byte `skip` on of a value of `whole` bytes.
  struct Piece {
    int64_t bytes = 0, skip = 0, whole = 0;
    Term term = 0;
  };
  using Pieces = std::map<int64_t, Piece>;

  void put(int64_t begin, const Piece &piece);
  /// The pieces of a range, with what nobody wrote between them.
  std::vector<Piece> take(int64_t begin, int64_t bytes) const;

  Pieces pieces;
};

/// Bytes of a buffer.
struct TermRange {
  BufferTerms *buffer = nullptr;
  int64_t begin = 0;
  int64_t bytes = 0;

  Term read() const { return buffer->read(begin, bytes); }
};

/// The term of a value of term `before` to which one of `addend` is added by
/// a kernel that takes addends of type `from` and adds in type `to`.
Term getSum(Term before, Term addend, const TensorShape &from,
            const TensorShape &to);

/// The term of a tensor of zeros.
Term getZeroTerm(const TensorShape &shape);

/// Runs a kernel. Outputs get new terms, or those of `equal` for them.
void runKernel(const KernelSpec &spec, const KernelSignature &signature,
               llvm::ArrayRef<TermRange> inputs,
               llvm::ArrayRef<TermRange> outputs, const EqualTerms &equal);

/// A collective of the ranks of a group.
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

/// Text for errors.
std::string describeTerm(Term term);

} // namespace mf::program

#endif // MF_PROGRAM_VALUETERMS_H
