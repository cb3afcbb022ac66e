//===- MfOpBase.td - Base classes of operators -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_OP_BASE_TD
#define MF_OP_BASE_TD

include "dialects/mf/MfAttributes.td"
include "dialects/mf/MfInterfaces.td"
include "dialects/mf/MfTypes.td"
include "mlir/Interfaces/CastInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Mf_Op<string mnemonic, list<Trait> traits = []>
    : Op<Mf_Dialect, mnemonic, traits>;

// An operator on tensors. It is pure and has a cell in the Cell tree. Its
// kernel is one of AscendKernels.td, whose inputs and outputs are the operands
// and results in their order. `kernel` is empty for a view and for an operator
// that emits no launch. `overridden` lists the interface methods with a default
// that the operator implements itself.
class Mf_ComputeOp<string mnemonic, string kernel, dag operands, dag attributes,
                   dag outputs, list<Trait> traits = [],
                   list<string> overridden = []>
    : Mf_Op<mnemonic, !listconcat([
        Pure, DeclareOpInterfaceMethods<Mf_ComputeOpInterface, overridden>],
      traits)> {
  let arguments = !con(operands, attributes,
                       (ins OptionalAttr<StrAttr>:$name,
                            OptionalAttr<Mf_RecomputeAttr>:$recompute,
                            OptionalAttr<Mf_SwapAttr>:$swap));
  let results = outputs;
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  // What the trainer of a YAML keeps of the operator and what it makes for it:
  // statements on `tape`, an mf::ir::Tape (Tape.h). By default each result has a
  // block of its own, and nothing is kept for backward.
  code trainer = "";
  code trainerDecl = !if(!empty(trainer), "", [{
    void recordOnTape(::mf::ir::Tape &tape) {}] # trainer # [{}
  }]);
  let extraClassDeclaration = trainerDecl;
  code computeDefs = [{
    ::llvm::StringRef $cppClass::getKernelName() { return "}] # kernel # [{"; }
  }];
  let extraClassDefinition = computeDefs;
}

class Mf_DifferentiableWith<list<string> overridden>
    : DeclareOpInterfaceMethods<Mf_DifferentiableOpInterface, overridden>;
def Mf_Differentiable : Mf_DifferentiableWith<[]>;

// An operator that is adapted to the shards of its operands that ranks hold.
// The record of its kernel defines the sharding rule.
class Mf_ShardableWith<list<string> overridden>
    : DeclareOpInterfaceMethods<Mf_ShardingRuleOpInterface, overridden>;
// An operator with its own sharding rule.
class Mf_OwnShardingRuleWith<list<string> overridden>
    : Mf_ShardableWith<!listconcat(["getShardingRule"], overridden)>;
def Mf_OwnShardingRule : Mf_OwnShardingRuleWith<[]>;

// An operator whose result is its operand in another layout, in the passes in
// which values have layouts.
def Mf_ChangesLayout : NativeOpTrait<"ChangesLayout"> {
  let cppNamespace = "::mf::ir";
}

// A piecewise constant operator, such as a comparison. No gradient flows
// through it.
def Mf_PiecewiseConstant : NativeOpTrait<"PiecewiseConstant"> {
  let cppNamespace = "::mf::ir";
}

// A collective that sums the partial results of the preceding operator. It is
// treated as a part of that operator, whereas other collectives bring a value
// to its readers.
def Mf_SumsParts : NativeOpTrait<"SumsParts"> {
  let cppNamespace = "::mf::ir";
}

#endif // MF_OP_BASE_TD
