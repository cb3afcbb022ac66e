//===- KernelSignature.h - Signatures and costs of kernels ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The tables that are generated from dialects/ascend/AscendKernels.td. For each
// kernel they hold its operands and how it uses their memory, its attributes,
// its engine and its cost. No other code depends on the names of kernels for
// these.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_KERNELSIGNATURE_H
#define MF_PROGRAM_SIGNATURES_KERNELSIGNATURE_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>

namespace mf {

/// How a kernel accesses the memory of an operand.
enum class Access : uint8_t {
  /// The kernel reads the operand.
  In,
  /// The kernel overwrites every byte, whatever it held.
  Out,
  /// The kernel reads the operand and overwrites it with its new value.
  Updated,
  /// The kernel adds to the operand.
  Accumulated
};

/// Returns true for In, Updated and Accumulated.
bool readsMemory(Access access);
/// Returns true for all except In.
bool writesMemory(Access access);

/// The part of a device that a kernel keeps busy.
enum class Engine : uint8_t { Cube, Vector, Copy, Communication };

/// Returns the spelling in AscendKernels.td and the documentation, for example
/// "in" or "cube".
llvm::StringRef getName(Access access);
llvm::StringRef getName(Engine engine);

/// The alternatives of AttributeValue, in their order.
enum class AttributeKind : uint8_t {
  Bool,
  Int,
  Double,
  Ints,
  Kernels,
  Doubles
};

AttributeKind getKind(const AttributeValue &value);
/// Returns "a bool", "an integer", "a floating-point number", "a list of
/// integers", "a list of fused kernels" or "a list of floating-point numbers".
llvm::StringRef getDescription(AttributeKind kind);

/// How a kernel may be fused with others (KernelChain.h).
enum class FusionKind : uint8_t {
  /// The kernel may not be fused.
  None,
  /// Each element of the output depends on the same element of the operands,
  /// which are broadcast over dimensions that they lack or that have size one.
  Elements,
  /// Each row (last dimension) of the output depends on the same row of the
  /// operands, which may be longer or shorter.
  Rows
};

/// One input or output. All inputs are `In` and no output is: a tensor that a
/// kernel updates in place is listed as an output only.
struct OperandSignature {
  llvm::StringRef name;
  Access access;
  /// Only the last operands can be left out.
  bool isOptional;
  /// The operand stands for any number of operands, at least one unless it is
  /// optional too. Only the last operand can be variadic.
  bool isVariadic;
  /// The first input is multiplied by these before it is read.
  bool isFactors;
  /// For an output: bit i is set if the output may use exactly the memory of
  /// input i, from the first byte to the last. All other memory must be
  /// disjoint. All operands of a variadic input share its bit.
  uint32_t sharedInputs;
};

/// One attribute of a kernel.
struct AttributeSignature {
  llvm::StringRef name;
  AttributeKind kind;
  bool isOptional;
  /// The value of an attribute that is not given, as text. It is empty if that
  /// is false or 0.
  llvm::StringRef whenAbsent;
};

/// A quantity that the rate of a kernel may depend on, for example "keys" or
/// "rows".
struct MeasureSignature {
  llvm::StringRef name;
  /// Computes the quantity. Above 0 unless an operand is empty.
  int64_t (*get)(const KernelSpec &);
};

/// One kernel. The functions require specifications that
/// `checkAgainstSignature` accepts and shapes whose bytes can be counted. They
/// also work for shapes that the kernel rejects.
struct KernelSignature {
  llvm::StringRef name;
  llvm::ArrayRef<OperandSignature> inputs, outputs;
  llvm::ArrayRef<AttributeSignature> attributes;
  Engine engine;
  /// The kind for which a target defines rates: one of getKernelKinds().
  llvm::StringRef kind;
  /// The floating-point operations that the device executes, where a
  /// multiply-add counts as two. Causal attention counts only the keys that are
  /// seen. The measure "full_flops" counts attention as published utilisations
  /// do, each query with all keys, seen or not. For other kernels it is the
  /// same.
  int64_t (*getFlops)(const KernelSpec &);
  /// The bytes read and written in device memory, where each operand counts
  /// once.
  int64_t (*getBytes)(const KernelSpec &);
  /// The bytes of device memory that the kernel needs while it runs, or 0. They
  /// depend on the specification alone.
  int64_t (*getWorkspaceBytes)(const KernelSpec &);
  /// How the kernel may be fused with others. Null if it never may.
  FusionKind (*getFusionKind)(const KernelSpec &);
  /// Returns the line that defines the kernel's rule for sharded operands
  /// (KernelParts.h).
  std::string (*getParts)(const KernelSpec &);
  /// The measures "flops", "full_flops", "bytes" and "largest_operand_bytes",
  /// followed by the kernel's own.
  llvm::ArrayRef<MeasureSignature> measures;

  /// The names of the kernel in profiles of devices (ProfiledKernels.h).
  llvm::ArrayRef<llvm::StringRef> profiled;
  /// Converts the operands that a profiler lists to the kernel's operands.
  /// Returns false if they do not identify the launch. Null if both lists are
  /// the same.
  bool (*takeProfiled)(KernelSpec &);
  /// Returns the kernels that a launch runs one after another, whose times add
  /// up (KernelChain.h, KernelSequence.h). Null if the kernel is a single one.
  std::vector<KernelSpec> (*getMembers)(const KernelSpec &);

  /// Returns the value of a measure, or none if the kernel has no measure of
  /// that name.
  std::optional<int64_t> getMeasure(const KernelSpec &spec,
                                    llvm::StringRef measure) const;

  /// Returns the signature of the operand at a position, with variadic operands
  /// expanded. `checkAgainstSignature` must accept the position.
  const OperandSignature &getInput(size_t position) const;
  const OperandSignature &getOutput(size_t position) const;

  /// Returns false if no specification needs a workspace. Callers then need not
  /// call `getWorkspaceBytes`.
  bool mayNeedWorkspace() const;

  /// Returns whether the output at position `output` may use exactly the memory
  /// of the input at position `input`.
  bool mayShareMemory(size_t output, size_t input) const;
};

/// Returns the signature of the kernel, or null if there is no kernel of that
/// name.
const KernelSignature *findKernelSignature(llvm::StringRef name);

/// Returns the signatures of all kernels, sorted by name.
llvm::ArrayRef<KernelSignature> getKernelSignatures();

/// Returns the kinds of kernels, for example "matmul", "norm" and "optimizer",
/// in the order of AscendKernelBase.td.
llvm::ArrayRef<llvm::StringRef> getKernelKinds();

/// Returns "; did you mean 'KERNEL'?" for the name of an unknown kernel, or an
/// empty string if no known name is similar.
std::string suggestKernelName(llvm::StringRef name);

/// The name and the type of an attribute that a launch has.
using GivenAttribute = std::pair<llvm::StringRef, AttributeKind>;

/// Checks the number of inputs and outputs, and that no attribute is missing,
/// unknown or of the wrong type. The message does not name the kernel.
llvm::Error checkAgainstSignature(const KernelSignature &signature,
                                  size_t numInputs, size_t numOutputs,
                                  llvm::ArrayRef<GivenAttribute> attributes);

/// Checks the same for a specification, and that the kernel exists. The message
/// begins with the kernel's name. Shapes and element types are left to the
/// kernel.
llvm::Error checkAgainstSignature(const KernelSpec &spec);

/// Returns the launches that devices need where this kernel multiplies a
/// gradient by its `factors` operands, which no operator of CANN does: one
/// product in place for each factor. Only an update has such launches. A norm
/// reads the products that the update's launches have stored. Empty for kernels
/// without factors.
std::vector<KernelSpec> getProductsOfFactors(const KernelSignature &signature,
                                             const KernelSpec &spec);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELSIGNATURE_H
