//===- Verifier.h - Proofs about a program before it runs -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The proofs about a lowered and planned step. On the step with all calls
// expanded, vector clocks over streams, records and waits give the order of
// instructions, and a map of memory gives the owner of each byte.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_VERIFIER_H
#define MF_PROGRAM_VERIFIER_H

#include "mf/Program/LocatedError.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// How the calls of a step are proven. The instructions of a routine affect
/// each other in the same way in all its calls, so they are summarized once. If
/// the proof by summaries fails, the calls are walked to find the first error.
/// Both methods accept the same programs.
enum class CallProof : uint8_t { Summarized, Walked };

/// Proves the following properties for the ranks of one stage, or fails with a
/// LocatedError that names the buffer, both operators and what is missing:
///
/// - Every read finds bytes that were last written through the same buffer.
///   They are initialised, and no other buffer that overlaps was written in
///   between.
/// - If two accesses use the same bytes and one is a write, one of them happens
///   before the other by stream order and events. A send or receive counts as
///   work of its stream; the actions of the peer order nothing.
/// - Memory that an instruction writes does not overlap other memory that it
///   uses, unless the kernel's signature allows both to be the same memory.
/// - All memory is inside of the arena or host memory.
/// - Statics keep their values to the end of the step, for the next step, and
///   every report is written.
///
/// Statics have values before the step, except for reports, gradients and
/// gathered parameters, which each step computes anew. The host waits for all
/// streams at the end of a step. The proof takes at most O(n log m) for n
/// operands of the expanded step and m pieces of memory in use. For calls that
/// are summarized, only the operands that they share with the step count.
llvm::Error verifyMemory(const Program &program, const StageProgram &stage,
                         CallProof calls = CallProof::Summarized);

/// Proves that all sends, receives and collectives of the ranks complete even
/// if each is a rendezvous: no streams and ranks wait for each other in a
/// cycle. All ranks of a stage do the same at the same time, so one represents
/// them all. If `ends` is given, the ranks of each stage issue only that many
/// instructions of the step.
llvm::Error verifyProgress(const Program &program,
                           llvm::ArrayRef<uint32_t> ends = {},
                           CallProof calls = CallProof::Summarized);

/// Proves for all ranks that they compute together what one rank would compute:
/// that each value that is replicated, a shard or a summand is used as such.
/// Each static declares the axes over which it is cut, each kernel how its
/// outputs depend on cut inputs (KernelParts.h), and each collective the axes
/// that it runs over. From these follows, for every buffer:
///
/// - A summand is used only by kernels that are linear in it.
/// - Operands are cut alike, and an operand that must be whole is not cut.
/// - An operand that is summed over ranks is a summand on each of them. An
///   operand that is gathered or sliced is a shard or the whole.
/// - At the end of the step every static is distributed as declared: a
///   parameter that ranks share stays the same on all of them. Each rank may
///   have a part of a report, because the host reads reports from all ranks.
///
/// All ranks of a stage are analysed at once, whatever their number. The
/// program must satisfy verifyMemory and verifyProgress.
llvm::Error verifyDistribution(const Program &program);

/// Proves for the chunks of all stages that have a certificate
/// (FrameLayout::computes; `prove` names those that have none) that their
/// routines compute what it states: each result is computed by the kernels of
/// the model's operators with their attributes, from the results that the
/// certificate lists, down to parameters and to the inputs of the chunk.
/// Routines are run once on terms instead of numbers for all frames that are
/// used in the same way, so the proof takes linear time in the instructions of
/// routines and the calls of the step. The program must satisfy verifyMemory,
/// so that reads see the last value in the order in which instructions are
/// issued.
///
/// Then proves that calls pass the right messages to each other: a forward
/// receives loads and outputs, and a backward gradients, of its own
/// micro-batch, and all micro-batches receive them from the same chunks. The
/// kernels themselves are trusted.
///
/// If a step has a certificate (StageProgram::computes), proves that the step
/// leaves the stated values in parameters, state and reports, leaves all other
/// values that outlive it unchanged, and passes the gradient of losses to
/// calls.
llvm::Error verifyComputation(const Program &program);

/// Which proofs `prove` runs, and how.
struct ProofOptions {
  /// Also proves that ranks compute together what one rank would.
  bool ranks = true;
  /// Calls a function for each of `count` stages. The calls may run at the same
  /// time. Null calls it in the order of stages.
  llvm::function_ref<void(size_t count, llvm::function_ref<void(size_t)>)>
      forEachStage = nullptr;
};

/// What the proofs show of a program that they accept.
struct ProgramProof {
  /// False if nothing was proven about the ranks together.
  bool ranks = true;
  /// The chunks and steps without a certificate, such as "'chunk0.residuals' of
  /// stage 0". The proofs do not compare them with the model.
  std::vector<std::string> uncertified;

  /// Returns "proven", or "proven but for what the model says" if a certificate
  /// is missing: the word of all reports.
  std::string describe() const;
  /// Returns `describe()`, followed by what was proven or lacks a certificate.
  std::string explain() const;
};

/// Runs all proofs, in the order of the declarations above. Fails with the
/// first failure of each stage's memory and of the progress; without such
/// failures, with the first one of the ranks or of the computation.
llvm::Expected<ProgramProof> prove(const Program &program,
                                   const ProofOptions &options = {});

/// Returns the number of instructions in a stage's step with its calls
/// expanded.
uint64_t countInstructions(const StageProgram &stage);

} // namespace mf::program

#endif // MF_PROGRAM_VERIFIER_H
