//===- AscendKernelBase.td - How kernels are described ---------*- tablegen -*-===//
//
// mf-tblgen reads records of the class Kernel. It has no part of MLIR's ODS.
//
//===----------------------------------------------------------------------===//

#ifndef ASCEND_KERNEL_BASE_TD
#define ASCEND_KERNEL_BASE_TD

// Operators of the lists of a kernel.
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
  list<string> sharedInputs = shares;
}

// Inputs are read only. Operands that may be left out, or stand for several,
// are last.
def In : Operand<"In">;
def OptionalIn : Operand<"In", true>;
def VariadicIn : Operand<"In", false, true>;
// None, or several.
def OptionalVariadicIn : Operand<"In", true, true>;

// Overwritten whole, whatever it held; it shares no memory with an input...
def Out : Operand<"Out">;
// ...or may be the very memory of one of these inputs, where the bytes are as
// many: the kernel reads an element before it writes it.
class OutOrSameAs<list<string> inputs> : Operand<"Out", false, false, inputs>;
// Read and overwritten.
def Updated : Operand<"Updated">;
// Added to.
def Accumulated : Operand<"Accumulated">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// `attributeKind` is an enumerator of mf::AttributeKind.
class KernelAttribute<string attributeKind, bit optional = false> {
  string kind = attributeKind;
  bit isOptional = optional;
}

def Bool : KernelAttribute<"Bool">;
def Int : KernelAttribute<"Int">;
def Double : KernelAttribute<"Double">;
def Ints : KernelAttribute<"Ints">;
def Steps : KernelAttribute<"Steps">;
def OptionalBool : KernelAttribute<"Bool", true>;
def OptionalInt : KernelAttribute<"Int", true>;
def OptionalDouble : KernelAttribute<"Double", true>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// `engineName` is an enumerator of mf::Engine.
class KernelEngine<string engineName> {
  string name = engineName;
}

def Cube : KernelEngine<"Cube">;
def Vector : KernelEngine<"Vector">;

// The kinds by which a target gives rates (mf::target::KernelRate): kernels of
// one kind run alike. A record of another kind is an error of mf-tblgen.
def KernelKinds {
  list<string> names = [
    "matmul", "grouped_matmul", "attention", "attention_grad", "norm",
    "norm_grad", "rotary", "activation", "activation_grad", "elementwise",
    "cast", "copy", "transpose", "embedding", "softmax", "loss", "loss_grad",
    "reduction", "optimizer", "router", "permutation"
  ];
}

// A number that the rate of a kernel may depend on, by name: a C++ expression
// over `const KernelSpec &spec` that may call lib/Program/Signatures/KernelFormulas.h,
// an integer that is above 0 unless an operand is empty. All kernels have
// `flops`, `model_flops`, `bytes`, `largest_operand_bytes` and `element_bytes`.
class Measure<string measureName, string measureFormula> {
  string name = measureName;
  string formula = measureFormula;
}

// `kernelFactory` is the function that makes the host kernel from a KernelSpec.
class Kernel<string kernelName, string kernelFactory> {
  string name = kernelName;
  string factory = kernelFactory;
  // The computation in a line, and how it differs from the operator of CANN of
  // that name.
  string summary = ?;
  string description = "";

  dag inputs = (ins);
  dag outputs = (outs);
  dag attributes = (attrs);

  KernelEngine engine = Vector;
  // The kind, one of KernelKinds.
  string kind = ?;

  // How ranks may share out dimensions of its operands: inputs, `->` and
  // outputs, each with a letter for each dimension, as in einsum. Dimensions of
  // one letter are cut alike. A small letter may be cut; an output that lacks it
  // is a sum over it, so a part of it makes a partial sum. `*` stands for all
  // leading dimensions, which may be cut; `.` has no dimension; `(hg)` is a
  // dimension that is h and, inside of it, g, where h stands alone elsewhere.
  // Before an operand stand
  //   +  linear in all such operands at once: they may be partial sums together,
  //      and an output that it is added to, with what is made of parts;
  //   ^  linear in each such operand alone;
  //   >  the output has the largest of a dimension that it lacks, not the sum;
  //   ~  it has the Euclidean norm;
  //   %  the output has the elements of the only input, its dimensions in
  //      another order.
  // `@v` says where a rank's part of v begins. `&b` says which part a rank takes
  // of what it has whole; the outputs are then cut above b.
  // Or a C++ expression over `const KernelSpec &spec` that makes such a line and
  // may call lib/Program/Signatures/PartFormulas.h.
  string parts = ?;

  // C++ expressions over `const KernelSpec &spec` that may call
  // lib/Program/Signatures/KernelFormulas.h. `flops` are those that the device does:
  // causal attention counts the keys that are seen. `fullFlops` count attention
  // as published utilisations do, each query with all keys; without it they are
  // the same. Without `bytes` each operand is moved once, twice if it is read and
  // written; without `workspace` there is none.
  string flops = "getLargestOutput(spec)";
  string fullFlops = "";
  string bytes = "";
  string workspace = "";
  // Besides those that all kernels have.
  list<Measure> measures = [];

  // How it may be a step of a chain of kernels that runs as one: a C++
  // expression over `const KernelSpec &spec` of type mf::StepKind, which may
  // call lib/Program/Signatures/StepFormulas.h; never without one. `stepFactory` is then
  // the function that makes a StepFunction (lib/Exec/Kernels/ChainSteps.h) from a
  // KernelSpec that `factory` accepts.
  string step = "";
  string stepFactory = "";

  // The kernel's names in the column Type of profilers of devices: no two
  // kernels share one.
  list<string> profiled = [];
  // A C++ expression over `KernelSpec &spec`, which has the operands that a
  // profiler shows and no attributes, that makes the record's of them and may
  // call lib/Program/Signatures/ProfiledOperands.h; false if they do not say what was
  // launched. Without it the device's operands begin with the record's.
  string fromProfile = "";

  // How a program that is written against CANN runs it: the arguments of the
  // aclnn function of the kernel's name, or statements that call several, over
  // the operands and attributes by their names, and what
  // lib/Cann/support/mf_cann.h has. A kernel without either has no counterpart.
  // `cannHeaders` are what it includes beside aclnnop/aclnn_<name>.h, or in its
  // stead where the name is none of a function.
  string cann = "";
  string cannBody = "";
  list<string> cannHeaders = [];
}

#endif // ASCEND_KERNEL_BASE_TD
