// SPDX-License-Identifier: Apache-2.0

include "dialects/ascend/AscendKernelBase.td"

class Broken<string kernelName> : Kernel<kernelName, "makeBroken"> {
  let parts = "* -> *";
  let summary = "what is wrong with it";
  let outputs = (outs Out:$out);
  let kind = "copy";
}

// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: output 'out' shares the memory of 'other', which is no input
def Sharing : Broken<"sharing"> {
  let inputs = (ins In:$self);
  let outputs = (outs OutOrSameAs<["self", "other"]>:$out);
}

// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: variadic 'tensors' must be the last of 'inputs'
def VariadicFirst : Broken<"variadic_first"> {
  let inputs = (ins VariadicIn:$tensors, In:$self);
}

// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: optional 'slopes' must stand behind 'value', which is always there
def OptionalFirst : Broken<"optional_first"> {
  let inputs = (ins OptionalIn:$slopes, In:$value);
}

// CHECK: broken-kernels.td:[[#@LINE+2]]:5: error: two elements of 'inputs' are named 'self'
// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: two elements of 'attributes' are named 'axis'
def Twice : Broken<"twice"> {
  let inputs = (ins In:$self, In:$self);
  let attributes = (attrs Int:$axis, Double:$axis);
}

// CHECK: broken-kernels.td:[[#@LINE+2]]:5: error: an element of 'inputs' has no name
// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: expected elements of class Operand in 'inputs', but got Double
def Unnamed : Broken<"unnamed"> {
  let inputs = (ins In, Double:$value);
}

// CHECK: broken-kernels.td:[[#@LINE+2]]:5: error: input 'weight' is written: what a kernel writes is an output alone
// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: output 'out' is not written
def Reversed : Broken<"reversed"> {
  let inputs = (ins Updated:$weight);
  let outputs = (outs In:$out);
}

// CHECK: broken-kernels.td:[[#@LINE+4]]:5: error: expected a text as 'factory'
// CHECK: broken-kernels.td:[[#@LINE+3]]:5: error: expected a text as 'summary'
// CHECK: broken-kernels.td:[[#@LINE+2]]:5: error: expected a text as 'kind'
// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: expected a text as 'parts'
def Silent : Kernel<"silent", ""> {
  let outputs = (outs Out:$out);
}

// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: expected an output: a kernel that writes nothing does nothing
def Idle : Broken<"idle"> {
  let outputs = (outs);
}

// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: expected (attrs ...) as 'attributes'
def Operators : Broken<"operators"> {
  let attributes = (ins Int:$axis);
}

// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: there is no kind 'matmull'; known are matmul, grouped_matmul,
def Kind : Broken<"kind"> {
  let kind = "matmull";
}

// CHECK: broken-kernels.td:[[#@LINE+2]]:5: error: two measures are named 'bytes'
// CHECK: broken-kernels.td:[[#@LINE+1]]:5: error: measure 'rows' has no formula
def Measures : Broken<"measures"> {
  let measures = [Measure<"bytes", "1">, Measure<"rows", " ">];
}

def First : Broken<"same">;
// CHECK: broken-kernels.td:[[#@LINE+2]]:5: error: there is a kernel 'same' already
// CHECK: broken-kernels.td:[[#@LINE-2]]:5: note: it is here
def Second : Broken<"same">;

def Seen : Broken<"seen"> {
  let profiled = ["MatMulV2"];
}
// CHECK: broken-kernels.td:[[#@LINE+2]]:5: error: there is a kernel profiled as 'MatMulV2' already
// CHECK: broken-kernels.td:[[#@LINE-4]]:5: note: it is here
def SeenTwice : Broken<"seen_twice"> {
  let profiled = ["MatMulV3", "MatMulV2"];
}

// CHECK: error: nothing is generated from inconsistent records
