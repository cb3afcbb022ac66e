//===- AclnnBase.td - Classes of aclnn's operators ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From the records of operators mf-tblgen makes the headers of the folder aclnnop
// that programs include, and both phases of each operator.
//
//===----------------------------------------------------------------------===//

#ifndef ACLNN_BASE_TD
#define ACLNN_BASE_TD

def ins;

/// `bind` are the statements with which the first phase takes {0}. Operands are
/// in the order of their parameters, those that are read before those that are
/// only written.
class Parameter<string type, string bind = ""> {
  string cType = type;
  string binding = bind;
}
class Required<string type>
    : Parameter<type, "call.requireThere({0}, \"{0}\");">;

def In : Parameter<"const aclTensor *", "call.read({0}, \"{0}\");">;
/// A matrix may be transposed by its strides.
def Matrix : Parameter<"const aclTensor *",
    "call.read({0}, \"{0}\", OperatorCall::Layout::DenseOrTransposed);">;
def Result : Parameter<"aclTensor *", "call.write({0}, \"{0}\");">;
def Ref : Parameter<"aclTensor *", "call.update({0}, \"{0}\");">;

/// Tensors that the maker takes, or that may be null.
def Tensor : Parameter<"const aclTensor *">;
def Out : Parameter<"aclTensor *">;

def Tensors : Required<"const aclTensorList *">;
def OutTensors : Required<"aclTensorList *">;
def Scalar : Required<"const aclScalar *">;
def Ints : Required<"const aclIntArray *">;
def Bools : Required<"const aclBoolArray *">;
def Text : Required<"char *">;
def ConstantText : Required<"const char *">;
def OptionalTensors : Parameter<"const aclTensorList *">;
def OptionalOutTensors : Parameter<"aclTensorList *">;
def OptionalScalar : Parameter<"const aclScalar *">;
def OptionalInts : Parameter<"const aclIntArray *">;

def Bool : Parameter<"bool ">;
def Byte : Parameter<"int8_t ">;
def Int : Parameter<"int64_t ">;
def Count : Parameter<"uint64_t ">;
def Float : Parameter<"float ">;
def Double : Parameter<"double ">;
def Type : Parameter<"aclDataType ">;

/// The first phase of `operatorName` binds `arguments` and, unless it refuses
/// one, calls `function` with them, or makeAdd for aclnnAdd.
class Operator<string operatorName, dag arguments, string function = ""> {
  string name = operatorName;
  dag parameters = arguments;
  string maker = function;
}

/// The header of one file in the folder aclnnop, and the operators that it declares.
class Header<string name, list<Operator> declared> {
  string suffix = "_" # name # ".h";
  list<Operator> operators = declared;
}

#endif // ACLNN_BASE_TD
