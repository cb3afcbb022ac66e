//===- MfDialect.td - The mf dialect ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECT_TD
#define MF_DIALECT_TD

include "mlir/IR/OpBase.td"

def Mf_Dialect : Dialect {
  let name = "mf";
  let cppNamespace = "::mf::ir";
  let summary = "Transformer training steps: operators, and the values that forward keeps";
  let description = [{
    The dialect shows one training step at two levels.

    *Model*: `mf.model` holds parameters (`mf.param`) and layers (`mf.layer`).
    A layer is one region of tensor operations without side effects. The `name`
    of an operation is its dotted path in MindSpore Transformers' Cell tree,
    which users' patterns match.

    *Training step*: the layers of one stage and chunk become one joint graph
    (`mf.chunk`), its forward half ended by `mf.cut` and its backward half
    behind it. Splitting the chunk at the cut gives `mf.forward` and
    `mf.backward` functions whose residuals are explicit, and `mf.schedule`
    orders what a stage runs in one step.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = [];
  // The module's `mf.mesh` is verified. All attributes of operators are
  // inherent.
  let hasOperationAttrVerify = 1;
}

#endif // MF_DIALECT_TD
