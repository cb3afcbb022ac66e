//===- AscendDevice.td - Description of a device -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The device description as typed attributes that implement MLIR's
// TargetDeviceSpecInterface: engines, memory, kernels and links. The names and
// ranges of the numbers are those of mf/Perf/Target/TargetFields.h.
//
//===----------------------------------------------------------------------===//

#ifndef ASCEND_DEVICE_TD
#define ASCEND_DEVICE_TD

include "dialects/ascend/AscendDialect.td"
include "mlir/Interfaces/DataLayoutInterfaces.td"

def Ascend_Wiring : Ascend_Enum<"Wiring", "how the members of a network are joined", [
  I32EnumAttrCase<"Mesh", 0, "mesh">,
  I32EnumAttrCase<"Switch", 1, "switch">
]>;

// A list of names with attributes, in order.
class Ascend_Entries<string what>
    : ArrayRefParameter<"::mlir::NamedAttribute", what> {}

// All numbers of a part by name, including those that a file leaves out. They
// are f64 and i64 attributes in units of seconds, bytes and floating-point
// operations. The fields of mf/Perf/Target/TargetFields.h define which numbers
// a part has, so that a new number need not be listed here.
def Ascend_Numbers : Ascend_Entries<"its numbers, in the order of its fields">;

// A part of #ascend.device, written `#ascend.NAME<key = value, ...>`. Inside of
// a device only `<...>` is written. DLTI queries find its values by their keys.
class Ascend_DeviceAttrBase<string className, string attrMnemonic,
                            list<Trait> traits>
    : AttrDef<Ascend_Dialect, className, traits> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
class Ascend_DevicePart<string className, string attrMnemonic>
    : Ascend_DeviceAttrBase<className, attrMnemonic, [DLTIQueryInterface]> {
  let extraClassDeclaration = [{
    /// Returns the value of a key, which is a number or a word.
    ::mlir::FailureOr<::mlir::Attribute> query(::mlir::DataLayoutEntryKey key);
  }];
}

def Ascend_EngineAttr : Ascend_DevicePart<"Engine", "engine"> {
  let summary = "how fast an engine computes, by element type";
  let description = [{
    `#ascend.engine<bf16 = 2.949e+14, f32 = 7.5e+13>`: floating-point operations
    per second, a multiply-add counted as two. Types are `bf16`, `f16` and
    `f32`; one that is not there runs at the rate of `f32`.
  }];
  let parameters = (ins
    Ascend_Entries<"by element type, FLOPs per second">:$peaks);
}

def Ascend_MemoryAttr : Ascend_DevicePart<"Memory", "memory"> {
  let summary = "device memory";
  let description = [{
    `#ascend.memory<bytes = 65464696832, bytes_per_second = 1.1e+12, cache_gain = 0.8, cache_bytes = 67108864>`:
    a kernel whose largest operand has A bytes streams at `bytes_per_second *
    (1 + cache_gain / (1 + (A / cache_bytes)^2))`.
  }];
  let parameters = (ins Ascend_Numbers:$numbers);
}

def Ascend_HostLinkAttr : Ascend_DevicePart<"HostLink", "host_link"> {
  let summary = "the link between a device and its host";
  let description = [{
    `#ascend.host_link<to_host_bytes_per_second = 2.5e+10, to_device_bytes_per_second = 2.5e+10, latency = 1.0e-05>`.
    Both directions work at once.
  }];
  let parameters = (ins Ascend_Numbers:$numbers);
}

def Ascend_SaturationAttr : Ascend_DevicePart<"Saturation", "saturation"> {
  let summary = "how efficiency grows with a measure of the launch";
  let description = [{
    `#ascend.saturation<half = 500>`: `m / (m + half)` for a measure m, which is
    1/2 where m is 500. `#ascend.saturation<full = 128, power = 0.7>`:
    `min(1, m / full)^power`, which is 1 from 128 on. With both, the efficiency is
    their product.
  }];
  let parameters = (ins Ascend_Numbers:$numbers);
}

def Ascend_KernelRateAttr : Ascend_DevicePart<"KernelRate", "kernel_rate"> {
  let summary = "how fast kernels of one kind run";
  let description = [{
    `#ascend.kernel_rate<peak_share = 0.41, latency = 4.0e-06, keys = <half = 500>, head_size = <full = 128, power = 0.7>>`:
    a launch takes `latency` and then the longer of its operations at
    `peak_share` of its engine's peak, times all saturations, and of its bytes,
    moved `passes` times, at the rate of memory. A saturation has the name of a
    measure of the kernel, as docs/generated/kernels.md lists them. Operations
    take no time without `peak_share`.
  }];
  let parameters = (ins Ascend_Numbers:$numbers,
    Ascend_Entries<"#ascend.saturation by measure">:$saturations);
}

def Ascend_NetworkAttr : Ascend_DevicePart<"Network", "network"> {
  let summary = "devices, or groups of them, joined by links";
  let description = [{
    `#ascend.network<of = npu, wiring = mesh, size = 8, bytes_per_second = 2.8e+10, collective_share = 0.48>`:
    groups of 8 NPUs, in the order of ranks, in which each pair has a link of
    its own. `wiring = switch` gives each member one port, through which it
    reaches all others. `of = NAME` joins groups of another network. Without
    `size`, which only the outermost can leave out, there are any number of
    members.
  }];
  let parameters = (ins 
    AttrParameter<"::mlir::StringAttr", "`npu` or another network">:$of,
    AttrParameter<"::mf::ascend::Wiring", "`mesh` or `switch`">:$wiring,
    Ascend_Numbers:$numbers);
}

def Ascend_DeviceAttr
    : Ascend_DeviceAttrBase<"Device", "device", [TargetDeviceSpecInterface]> {
  let summary = "a device and the networks that join devices, as numbers";
  let description = [{
    `mf-run --simulate --target=FILE` computes times from this description.
    docs/targets.md explains each key. It is an attribute of a module:

    ```mlir
    module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"small",
      engines = {
        cube = <bf16 = 2.949e+14, f32 = 7.5e+13>,
        vector = <bf16 = 1.6e+13, f32 = 8.0e+12>
      },
      memory = <bytes = 65464696832, bytes_per_second = 1.1e+12>,
      host = <to_host_bytes_per_second = 2.5e+10, to_device_bytes_per_second = 2.5e+10>,
      kernels = {
        matmul = <peak_share = 0.85, latency = 4.0e-06>,
        attention = <peak_share = 0.41, latency = 4.0e-06, keys = <half = 500>>
      },
      networks = {
        hccs = <of = npu, wiring = mesh, size = 8, bytes_per_second = 2.8e+10>,
        roce = <of = hccs, wiring = switch, bytes_per_second = 2.5e+10>
      },
      step_latency = 0.018>>} {
    ```

    Numbers may be written as integers, as floats or as `15e-6`. Keys may be in any
    order, and a list may end with a comma. MLIR's DLTI queries find the value of
    every key, for example `"NPU", "memory", "bytes_per_second"`. Lists are
    `#dlti.map`, and `device_type` is the name.
  }];
  let parameters = (ins
    AttrParameter<"::mlir::StringAttr", "of the target">:$name,
    Ascend_Entries<"#ascend.engine of `cube` and of `vector`">:$engines,
    AttrParameter<"::mf::ascend::MemoryAttr", "its memory">:$memory,
    AttrParameter<"::mf::ascend::HostLinkAttr", "the link to its host">:$host,
    Ascend_Entries<"#ascend.kernel_rate by kind">:$kernels,
    Ascend_Entries<"#ascend.network by name, the innermost first">:$networks,
    Ascend_Numbers:$numbers,
    ArrayRefParameter<"::mlir::DataLayoutEntryInterface",
                      "all of these, as DLTI has them">:$entries);
  let skipDefaultBuilders = 1;
  let builders = [
    AttrBuilderWithInferredContext<(ins
        "::mlir::StringAttr":$name,
        "::llvm::ArrayRef<::mlir::NamedAttribute>":$engines,
        "::mf::ascend::MemoryAttr":$memory,
        "::mf::ascend::HostLinkAttr":$host,
        "::llvm::ArrayRef<::mlir::NamedAttribute>":$kernels,
        "::llvm::ArrayRef<::mlir::NamedAttribute>":$networks,
        "::llvm::ArrayRef<::mlir::NamedAttribute>":$numbers), [{
      return $_get(name.getContext(), name, engines, memory, host, kernels,
                   networks, numbers,
                   makeEntries(name, engines, memory, host, kernels, networks,
                               numbers));
    }]>
  ];
  let extraClassDeclaration = [{
    /// Returns the value of a key. Lists are returned as #dlti.map.
    ::mlir::FailureOr<::mlir::Attribute>
    query(::mlir::DataLayoutEntryKey key) const {
      return ::llvm::cast<::mlir::TargetDeviceSpecInterface>(*this).queryHelper(
          key);
    }

    /// Returns the value of `entries` that corresponds to the other parameters.
    static ::llvm::SmallVector<::mlir::DataLayoutEntryInterface> makeEntries(
        ::mlir::StringAttr name,
        ::llvm::ArrayRef<::mlir::NamedAttribute> engines, MemoryAttr memory,
        HostLinkAttr host, ::llvm::ArrayRef<::mlir::NamedAttribute> kernels,
        ::llvm::ArrayRef<::mlir::NamedAttribute> networks,
        ::llvm::ArrayRef<::mlir::NamedAttribute> numbers);
  }];
}

#endif // ASCEND_DEVICE_TD
