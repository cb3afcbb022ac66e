//===- FrameVerifier.h - Do a frame's routines compute it? ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_FRAMEVERIFIER_H
#define MF_LIB_PROGRAM_FRAMEVERIFIER_H

#include "ChunkRun.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/StringMap.h"

namespace mf::program {

/// One use of a frame in the step: a call, or a copy of a slot to a buffer of
/// the step.
struct FrameEvent {
  /// Empty for a copy.
  std::optional<uint32_t> routine;
  /// The slot that is copied.
  uint32_t slot = 0;
  /// The buffers that it passes or writes, numbered in the order of the frame's
  /// events.
  std::vector<uint32_t> arguments;
  uint32_t location = 0;

  /// Returns whether both do the same, possibly at different positions.
  bool operator==(const FrameEvent &other) const {
    return routine == other.routine && slot == other.slot &&
           arguments == other.arguments;
  }
};

/// Returns the uses of each frame of a stage, in order.
std::vector<std::vector<FrameEvent>> findFrameEvents(const StageProgram &stage);

/// Returns the bytes of a routine's argument; 0 if the routine does not use it.
int64_t getArgumentBytes(const Routine &routine, uint32_t argument);

/// The number of times that a step adds to the gradient of each parameter.
using GradientCounts = llvm::StringMap<int64_t>;

/// Runs the routines of one frame on terms, and compares what they make with
/// the certificate of their chunk.
class FrameVerifier {
public:
  FrameVerifier(const Program &program, const StageProgram &stage,
                const StaticTerms &statics, const GradientCounts &counts,
                const FrameLayout &layout, llvm::ArrayRef<FrameEvent> events)
      : stage(stage), statics(statics), counts(counts), layout(layout),
        certificate(*layout.computes), events(events),
        equal(certificate.equal.begin(), certificate.equal.end()),
        chunk(program, statics, equal) {
    addResults(certificate.gradients, Kept::Sum);
    addResults(certificate.records, Kept::Last);
    addResults(certificate.largest, Kept::Largest);
  }

  llvm::Error verify();
  /// Lets errors name the launch that makes a wrong term.
  void noteMakers() { chunk.noteMakers(); }

private:
  /// An event that begins a task, and those that continue it.
  using Parts = llvm::ArrayRef<FrameEvent>;
  llvm::Error runForward(Parts parts);
  llvm::Error runBehind(Parts parts, bool isBackward);
  llvm::Error runParts(Parts parts, llvm::ArrayRef<TermRange> arguments);
  size_t countParts(Parts from) const;
  llvm::Error bind(const FrameEvent &event, const CertifiedArguments &taken,
                   size_t number, TermRange &argument);
  llvm::Error compare(const FrameEvent &event, size_t number,
                      const CertifiedResult &expected, llvm::StringRef what);
  llvm::Error checkStatic(uint32_t number, const BufferTerms &held);
  /// The rule by which the values of all micro-batches become one: their sum,
  /// the last one, or the largest.
  enum class Kept { Sum, Last, Largest };
  /// The terms of a parameter's gradient, record or largest values.
  struct Results {
    Kept kept;
    llvm::SmallVector<Term, 1> terms;
  };
  void addResults(llvm::ArrayRef<CertifiedResult> list, Kept kept);
  llvm::Error checkGradient(const Static &buffer, Term before, Term after,
                            const Results &expected);
  llvm::Error checkGiven();
  TermRange getWhole(const FrameEvent &event, size_t number);
  llvm::Error makeError(uint32_t location, const llvm::Twine &message) const {
    return llvm::make_error<LocatedError>(location, message);
  }
  std::string describe(Term found) const;

  const StageProgram &stage;
  const StaticTerms &statics;
  const GradientCounts &counts;
  const FrameLayout &layout;
  const Certificate &certificate;
  llvm::ArrayRef<FrameEvent> events;
  EqualTerms equal;
  ChunkRun chunk;
  /// The terms of the step's buffers for this frame, by number.
  std::map<uint32_t, BufferTerms> messages;
  /// The buffers of forward's arguments and of gradients, once they are known.
  std::vector<uint32_t> forwardArguments;
  std::map<int64_t, uint32_t> gradients;
  /// Arguments that stand for values of the certificate.
  std::map<int64_t, BufferTerms> values;
  /// The results of the certificate, by parameter.
  llvm::StringMap<Results> results;
  /// Gradients that were found, by parameter. The losses have an empty name.
  llvm::StringMap<bool> given;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_FRAMEVERIFIER_H
