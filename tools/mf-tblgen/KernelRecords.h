//===- KernelRecords.h - The records of class Kernel ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TBLGEN_KERNELRECORDS_H
#define MF_TOOLS_MF_TBLGEN_KERNELRECORDS_H

#include "llvm/TableGen/Record.h"
#include <vector>

namespace mf {

/// An operand, read from its element of the list.
struct OperandRecord {
  llvm::StringRef name;
  /// An enumerator of Access.
  llvm::StringRef access;
  bool isOptional = false;
  bool isVariadic = false;
  bool isFactors = false;
  /// The indices of the inputs with which the operand may share memory.
  std::vector<unsigned> sharedInputs;
};

struct AttributeRecord {
  llvm::StringRef name;
  /// An enumerator of AttributeKind.
  llvm::StringRef kind;
  bool isOptional = false;
  /// The value that an attribute has if it is not given. Empty for false or 0.
  llvm::StringRef whenAbsent;
};

struct MeasureRecord {
  llvm::StringRef name, formula;
};

/// A kernel whose parts are consistent.
struct KernelRecord {
  const llvm::Record *record = nullptr;
  llvm::StringRef name, factory, summary, description;
  std::vector<OperandRecord> inputs, outputs;
  std::vector<AttributeRecord> attributes;
  /// An enumerator of Engine.
  llvm::StringRef engine;
  /// The kind, one of readKinds().
  llvm::StringRef kind;
  llvm::StringRef flops, fullFlops, bytes, workspace, parts;
  /// The kernels that a launch runs one after another. Empty for a single one.
  llvm::StringRef members;
  /// How the kernel may be fused with others, and the function that makes its
  /// loop in a chain. Both are empty or neither is.
  llvm::StringRef fusion, fusedFactory;
  std::vector<MeasureRecord> measures;
  /// The kernel's names in profiles.
  std::vector<llvm::StringRef> profiled;
  llvm::StringRef fromProfile;
  /// The arguments of the call of CANN's function, or statements that replace
  /// the call, and the headers of the functions that are called.
  llvm::StringRef cann, cannBody;
  std::vector<llvm::StringRef> cannHeaders;
};

/// Returns the kinds that kernels can have, in the order of their record.
std::vector<llvm::StringRef> readKinds(const llvm::RecordKeeper &records);

/// Returns all kernels, sorted by name. Reports each inconsistent record at its
/// location, and then ends the program.
std::vector<KernelRecord> readKernels(const llvm::RecordKeeper &records);

} // namespace mf

#endif // MF_TOOLS_MF_TBLGEN_KERNELRECORDS_H
