//===- Verifier.h - Proofs about a program before it runs -----*- C++ -*-===//
//
// A lowered and planned step is race-free by proof, not by luck: on the step
// with all calls expanded, vector clocks over streams, records and waits give
// the order of instructions, and a map of memory gives the owner of each byte.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_VERIFIER_H
#define MF_PROGRAM_VERIFIER_H

#include "mf/Program/LocatedError.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// How the calls of a step are proven. The instructions of a routine do the
/// same to each other in all its calls, so a summary of them is made once;
/// whatever a proof by summaries refuses is walked to find the first
/// error. Both say the same of every program.
enum class CallProof : uint8_t { Summarized, Walked };

/// Proves for the ranks of one stage, or fails with a LocatedError that names
/// the buffer, both operators and what is missing:
///
/// - every read finds bytes that were written last as the same buffer: no other
///   buffer that the plan put there, and nothing uninitialised, came between;
/// - of two accesses to the same bytes of which one is a write, one happens
///   before the other by stream order and events (a send or receive counts as
///   work of its stream; what a peer does orders nothing);
/// - nothing that an instruction writes overlaps what else it uses, unless its
///   signature lets the two be the very same memory;
/// - nothing lies outside of the arena or host memory;
/// - statics keep their values to the end of the step, for the next one, and
///   every report is written.
///
/// Statics have values before the step, but for reports, gradients and
/// parameters that ranks share out and gather, which each step makes anew. The
/// host waits for all streams at the end of a step. Time is at most O(n log m)
/// for n operands of the expanded step and m pieces of memory in use; of calls
/// that are summarized those count that they share with the step.
llvm::Error verifyMemory(const Program &program, const StageProgram &stage,
                         CallProof calls = CallProof::Summarized);

/// Proves that the ranks' sends, receives and collectives all come to their end
/// if each is a rendezvous: no cycle of streams and ranks that wait for each
/// other. Ranks of one stage do the same at the same time, so one stands for
/// all. `ends`, if given, has the number of instructions of the step that the
/// ranks of each stage issue; what follows is left out.
llvm::Error verifyProgress(const Program &program,
                           llvm::ArrayRef<uint32_t> ends = {},
                           CallProof calls = CallProof::Summarized);

/// Proves for all ranks that together they compute what one would: that what is
/// the same on ranks, a part or a summand is used as that. Each static says
/// over which axes it is cut, each kernel what it makes of parts
/// (KernelParts.h), and each collective over which axes it is, so that follows,
/// for every buffer:
///
/// - nothing that is a summand goes into what is not linear in it;
/// - operands are cut alike, and what must be whole is not cut;
/// - an operand that is summed up over ranks is a summand on each; one that is
///   gathered or sliced is a part or the whole;
/// - every static is as it is declared at the end of the step: a parameter that
///   ranks have in common stays the same on all of them. Each rank may have a
///   part of a report, because the host reads reports from all ranks.
///
/// The ranks of a stage are run at once, whatever their number. For programs of
/// which verifyMemory and verifyProgress hold.
llvm::Error verifyDistribution(const Program &program);

/// Proves for the chunks of all stages that have a certificate
/// (FrameLayout::computes) that their routines compute what it says: that each
/// result is made by the kernels of the model's operators, with their
/// attributes, from the results of those that it says, down to parameters and
/// to what the chunk gets. Routines are run once on terms instead of numbers
/// for all frames that are used alike, so time is linear in the instructions of
/// routines and the calls of the step. For programs of which verifyMemory
/// holds: then the order in which instructions are issued gives what is read.
///
/// Then proves that calls pass the right messages to each other: a forward
/// takes loads and outputs, a backward gradients, of its own micro-batch, and
/// all micro-batches take the same of the same chunks. The kernels are trusted.
/// Routines that update parameters have no certificate.
llvm::Error verifyComputation(const Program &program);

/// The first two, for all stages; the first failure.
llvm::Error verifyProgram(const Program &program);

/// Instructions of a stage's step with its calls expanded.
uint64_t countInstructions(const StageProgram &stage);

} // namespace mf::program

#endif // MF_PROGRAM_VERIFIER_H
