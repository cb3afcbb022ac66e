//===- AscendKernelBase.td - Classes of kernel records -----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// mf-tblgen reads records of the class Kernel. It does not use MLIR's ODS.
//
//===----------------------------------------------------------------------===//

#ifndef ASCEND_KERNEL_BASE_TD
#define ASCEND_KERNEL_BASE_TD

// The operators of the DAGs that list a kernel's operands.
def ins;
def outs;
def attrs;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

// `kernelAccess` is an enumerator of mf::Access.
class Operand<string kernelAccess, bit optional = false, bit variadic = false,
              list<string> shares = []> {
  string access = kernelAccess;
  bit isOptional = optional;
  bit isVariadic = variadic;
  bit isFactors = false;
  list<string> sharedInputs = shares;
}

// Inputs are only read. Optional and variadic operands come last.
def In : Operand<"In">;
def OptionalIn : Operand<"In", true>;
def VariadicIn : Operand<"In", false, true>;
// Any number of inputs, including none.
def OptionalVariadicIn : Operand<"In", true, true>;
// Numbers by which the first input is multiplied before it is read, by one after
// the other, each product rounded to its type.
def FactorsIn : Operand<"In", true, true> {
  let isFactors = true;
}

// The kernel overwrites all of the operand, whatever it held. It shares no
// memory with an input.
def Out : Operand<"Out">;
def OptionalVariadicOut : Operand<"Out", true, true>;
// The same, but the operand may use exactly the memory of one of these inputs
// if their sizes are equal: the kernel reads each element before it writes it.
class OutOrSameAs<list<string> inputs> : Operand<"Out", false, false, inputs>;
// The operand is read and overwritten.
def Updated : Operand<"Updated">;
// The kernel adds to the operand.
def Accumulated : Operand<"Accumulated">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// `attributeKind` is an enumerator of mf::AttributeKind. `absentValue` is the
// value of an attribute that a launch leaves out, if it is neither false nor 0.
class KernelAttribute<string attributeKind, bit optional = false,
                      string absentValue = ""> {
  string kind = attributeKind;
  bit isOptional = optional;
  string whenAbsent = absentValue;
}

def Bool : KernelAttribute<"Bool">;
def Int : KernelAttribute<"Int">;
def Double : KernelAttribute<"Double">;
def Ints : KernelAttribute<"Ints">;
def Kernels : KernelAttribute<"Kernels">;
def Doubles : KernelAttribute<"Doubles">;
def OptionalBool : KernelAttribute<"Bool", true>;
def OptionalInt : KernelAttribute<"Int", true>;
def OptionalDouble : KernelAttribute<"Double", true>;
class IntOr<int absentValue>
    : KernelAttribute<"Int", true, !cast<string>(absentValue)>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// `engineName` is an enumerator of mf::Engine.
class KernelEngine<string engineName> {
  string name = engineName;
}

def Cube : KernelEngine<"Cube">;
def Vector : KernelEngine<"Vector">;

// The kinds for which a target defines rates (mf::target::KernelRate). Kernels
// of one kind have similar performance. A record with another kind is an error
// of mf-tblgen.
def KernelKinds {
  list<string> names = [
    "matmul", "grouped_matmul", "attention", "attention_grad", "norm",
    "norm_grad", "rotary", "activation", "activation_grad", "elementwise",
    "cast", "copy", "transpose", "embedding", "softmax", "loss", "loss_grad",
    "reduction", "optimizer", "router", "permutation"
  ];
}

// A named number on which the rate of a kernel may depend. It is a C++
// expression over `const KernelSpec &spec` that may call
// lib/Program/Signatures/KernelFormulas.h. Its value is an integer above 0
// unless an operand is empty. All kernels have `flops`, `full_flops`, `bytes`,
// `largest_operand_bytes` and `element_bytes`.
class Measure<string measureName, string measureFormula> {
  string name = measureName;
  string formula = measureFormula;
}

// `kernelFactory` is the function that makes the host kernel from a KernelSpec.
class Kernel<string kernelName, string kernelFactory> {
  string name = kernelName;
  string factory = kernelFactory;
  // The computation in one line, and the differences from CANN's operator of
  // the same name.
  string summary = ?;
  string description = "";

  dag inputs = (ins);
  dag outputs = (outs);
  dag attributes = (attrs);

  KernelEngine engine = Vector;
  // The kind, one of KernelKinds.
  string kind = ?;

  // The rule for sharded operands: inputs, `->` and outputs, with a letter for
  // each dimension, as in einsum. Dimensions with the same letter must be cut
  // alike. A small letter may be cut. An output that lacks the letter is a sum
  // over the dimension, so that a part of it makes a partial sum. `*` stands
  // for all leading dimensions, which may be cut; `.` is an operand without
  // dimensions; `(hg)` is a dimension in which g is nested inside of h, where h
  // is also a dimension of its own elsewhere. These prefixes of an operand are
  // possible:
  //   +  Linear in all such operands together: they may be summands at the same
  //      time. An output with it accumulates: it may hold a summand to which
  //      the result of sharded inputs is added.
  //   ^  Linear in each such operand separately.
  //   >  The output has the maximum over a dimension that it lacks, not the
  //      sum.
  //   ~  The output has the Euclidean norm over it.
  //   %  The output has the elements of the only input with permuted
  //      dimensions.
  // `@v` is an operand with the index at which a rank's part of v begins, and
  // `@(hg)` that of a dimension in which g is nested inside of h. With `@vK` the
  // parts of all ranks together are as long as K. `&b` is an operand that tells
  // which part of a whole each rank takes; the outputs are then cut just outside
  // of b.
  // Alternatively a C++ expression over `const KernelSpec &spec` that returns
  // such a line and may call lib/Program/Signatures/KernelFormulas.h.
  string parts = ?;

  // C++ expressions over `const KernelSpec &spec` that may call
  // lib/Program/Signatures/KernelFormulas.h. `flops` are those that the device
  // executes: causal attention counts the keys that are seen. `fullFlops` count
  // attention as published utilisations do, each query with all keys; by
  // default they equal `flops`. By default `bytes` counts each operand once,
  // and twice if it is read and written. By default there is no `workspace`.
  string flops = "getLargestOutput(spec)";
  string fullFlops = "";
  string bytes = "";
  string workspace = "";
  // Measures in addition to those that all kernels have.
  list<Measure> measures = [];

  // A C++ expression over `const KernelSpec &spec` that returns the kernels that
  // a launch runs one after another, in a list of KernelSpec. The time on a
  // target is the sum of theirs. Empty for a single kernel.
  string members = "";

  // How the kernel may be fused with others (mfChain): a C++ expression over
  // `const KernelSpec &spec` of type mf::FusionKind, which may call functions
  // of lib/Program/Signatures/KernelFormulas.h. If it is empty, the kernel is
  // never fused. `fusedFactory` is the function that makes a FusedFunction
  // (lib/Exec/Kernels/FusedKernels.h) from a KernelSpec that `factory` accepts.
  string fusion = "";
  string fusedFactory = "";

  // The names of the kernel in the column Type of device profiles. No two
  // kernels share one.
  list<string> profiled = [];
  // A C++ expression over `KernelSpec &spec` that converts the operands that a
  // profiler lists, which come without attributes, to those of the record. It
  // may call lib/Program/Signatures/KernelFormulas.h, and is false if the
  // operands do not identify the launch. By default the device's operands begin
  // with those of the record.
  string fromProfile = "";

  // How a program that is written against CANN runs the kernel. `cann` has the
  // arguments of the aclnn function with the kernel's name. `cannBody` has
  // statements that call several functions. Both may use the operands and
  // attributes by their names, and lib/Cann/support/mf_cann.h. A kernel without
  // either has no counterpart. `cannHeaders` are the headers in aclnnop of the
  // functions that are called; by default the one with the kernel's name, if
  // that function is called.
  string cann = "";
  string cannBody = "";
  list<string> cannHeaders = [];
}

#endif // ASCEND_KERNEL_BASE_TD
