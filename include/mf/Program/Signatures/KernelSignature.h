//===- KernelSignature.h - Signatures and costs of kernels ------*- C++ -*-===//
//
// The tables that dialects/ascend/AscendKernels.td generates: for each kernel
// its operands and its use of their memory, its attributes, its engine and its
// cost. Nothing else in mf knows this of a kernel by its name.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_KERNELSIGNATURE_H
#define MF_SIGNATURES_KERNELSIGNATURE_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>

namespace mf {

/// How a kernel accesses the memory of an operand.
enum class Access : uint8_t {
  /// Reads it.
  In,
  /// Overwrites every byte, whatever it held.
  Out,
  /// Reads it and overwrites it with what becomes of it.
  Updated,
  /// Adds to it.
  Accumulated
};

/// True for In, Updated and Accumulated.
bool readsMemory(Access access);
/// True for all but In.
bool writesMemory(Access access);

/// The part of a device that a kernel keeps busy.
enum class Engine : uint8_t { Cube, Vector, Copy, Communication };

/// As AscendKernels.td and the documentation write them: "in", "cube".
llvm::StringRef getName(Access access);
llvm::StringRef getName(Engine engine);

/// The alternatives of AttributeValue, in their order.
enum class AttributeKind : uint8_t { Bool, Int, Double, Ints, Steps };

AttributeKind getKind(const AttributeValue &value);
/// "a bool", "an integer", "a floating-point number", "a list of integers",
/// "a list of steps".
llvm::StringRef getDescription(AttributeKind kind);

/// How a kernel may be a step of a chain (KernelChain.h).
enum class StepKind : uint8_t {
  /// It may not be a step.
  None,
  /// Each element of its output is made of the same element of its operands,
  /// which are repeated over dimensions that they lack or have one of.
  Elements,
  /// Each row of its output, which is its last dimension, is made of the same
  /// row of its operands, which may be longer or shorter.
  Rows
};

/// One input or output. Inputs are all `In`, outputs never: a tensor on which a
/// kernel works in place is an output alone.
struct OperandSignature {
  llvm::StringRef name;
  Access access;
  /// Only the last operands can be left out.
  bool isOptional;
  /// Stands for any number of operands, from 1 on unless it is optional too;
  /// only the last one.
  bool isVariadic;
  /// For an output: bit i is set if it may be the very memory of input i, the
  /// same bytes from the first to the last. All other memory is disjoint. The
  /// operands of a variadic input all have its number.
  uint32_t sharedInputs;
};

struct AttributeSignature {
  llvm::StringRef name;
  AttributeKind kind;
  bool isOptional;
};

/// A number that the rate of a kernel may depend on: "keys", "rows".
struct MeasureSignature {
  llvm::StringRef name;
  /// Above 0 unless an operand is empty.
  int64_t (*get)(const KernelSpec &);
};

/// One kernel. The functions take specifications that `checkAgainstSignature`
/// accepts, with shapes whose bytes can be counted; they answer also for shapes
/// that the kernel refuses.
struct KernelSignature {
  llvm::StringRef name;
  llvm::ArrayRef<OperandSignature> inputs, outputs;
  llvm::ArrayRef<AttributeSignature> attributes;
  Engine engine;
  /// The kind by which a target gives rates: one of getKernelKinds().
  llvm::StringRef kind;
  /// Floating-point operations that the device does, a multiply-add counted as
  /// two: causal attention counts the keys that are seen. The measure
  /// "full_flops" counts attention as published utilisations do: each query
  /// with all keys, seen or not. For other kernels it is the same.
  int64_t (*getFlops)(const KernelSpec &);
  /// Bytes read and written in device memory, each operand once.
  int64_t (*getBytes)(const KernelSpec &);
  /// Device memory that the kernel needs while it runs; 0 if none. Follows from
  /// the specification alone.
  int64_t (*getWorkspaceBytes)(const KernelSpec &);
  /// The step that it may be in a chain; null if it never is one.
  StepKind (*getStepKind)(const KernelSpec &);
  /// The line that gives the kernel's rule for parts (KernelParts.h).
  std::string (*getParts)(const KernelSpec &);
  /// "flops", "full_flops", "bytes", "largest_operand_bytes", and the kernel's
  /// own.
  llvm::ArrayRef<MeasureSignature> measures;

  /// The names that profilers of devices give it (ProfiledKernels.h).
  llvm::ArrayRef<llvm::StringRef> profiled;
  /// Turns the operands that a profiler showed into the kernel's; false if they
  /// do not tell what was launched. Null if they are the kernel's in its order.
  bool (*takeProfiled)(KernelSpec &);

  /// None if the kernel has no measure of that name.
  std::optional<int64_t> getMeasure(const KernelSpec &spec,
                                    llvm::StringRef measure) const;

  /// The operand that stands at a position, variadic ones expanded. The
  /// position must be one that `checkAgainstSignature` accepts.
  const OperandSignature &getInput(size_t position) const;
  const OperandSignature &getOutput(size_t position) const;

  /// Whether some specification needs a workspace: where not, there is no need
  /// to ask `getWorkspaceBytes`.
  bool mayNeedWorkspace() const;

  /// Whether the output at position `output` may be the very memory of the
  /// input at position `input`.
  bool mayShareMemory(size_t output, size_t input) const;
};

/// The kernel's signature, or null if there is none of that name.
const KernelSignature *findKernelSignature(llvm::StringRef name);

/// All kernels, sorted by name.
llvm::ArrayRef<KernelSignature> getKernelSignatures();

/// The kinds of kernels, such as "matmul", "norm", "optimizer", in the order of
/// AscendKernelBase.td.
llvm::ArrayRef<llvm::StringRef> getKernelKinds();

/// Returns "; did you mean 'KERNEL'?" for a kernel that does not exist, or
/// nothing if no name is near.
std::string suggestKernelName(llvm::StringRef name);

/// An attribute that is given, and its type.
using GivenAttribute = std::pair<llvm::StringRef, AttributeKind>;

/// Checks the number of inputs and outputs and the attributes (missing,
/// unknown, of another type). The message does not name the kernel.
llvm::Error checkAgainstSignature(const KernelSignature &signature,
                                  size_t numInputs, size_t numOutputs,
                                  llvm::ArrayRef<GivenAttribute> attributes);

/// The same for a specification, whose name may be unknown, too; the message
/// begins with the kernel's name. Shapes and element types are for the kernel
/// to check.
llvm::Error checkAgainstSignature(const KernelSpec &spec);

} // namespace mf

#endif // MF_SIGNATURES_KERNELSIGNATURE_H
