//===- AclnnBase.td - Classes of aclnn's operators ---------*- tablegen -*-===//
//
// From the records of operators mf-tblgen makes the headers of the folder aclnnop
// that programs include, and both phases of each operator.
//
//===----------------------------------------------------------------------===//

#ifndef ACLNN_BASE_TD
#define ACLNN_BASE_TD

def ins;

class Parameter<string type> {
  string cType = type;
}
def Tensor : Parameter<"const aclTensor *">;
def Out : Parameter<"aclTensor *">;
def Tensors : Parameter<"const aclTensorList *">;
def OutTensors : Parameter<"aclTensorList *">;
def Scalar : Parameter<"const aclScalar *">;
def Ints : Parameter<"const aclIntArray *">;
def Bools : Parameter<"const aclBoolArray *">;
def Bool : Parameter<"bool ">;
def Byte : Parameter<"int8_t ">;
def Int : Parameter<"int64_t ">;
def Count : Parameter<"uint64_t ">;
def Float : Parameter<"float ">;
def Double : Parameter<"double ">;
def Text : Parameter<"char *">;
def Type : Parameter<"aclDataType ">;

/// The first phase of `operatorName` takes `arguments`, and calls `function` with
/// them, or makeAdd for aclnnAdd.
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
