// RUN: mf-opt --verify-diagnostics --split-input-file %s

// expected-error @+1 {{expected a string such as "0.1" as mf.format, but got 1 : i64}}
module attributes {mf.format = 1} {}

// -----

// expected-error @+1 {{has a format; expected it on the module}}
%0 = builtin.unrealized_conversion_cast to i32 {mf.format = "0.1"}

// -----

// The format of a module that is not the first of a text is read with the module.
// expected-error @+1 {{is in the format of mf 0.2, but this mf reads the format of mf 0.1}}
module attributes {mf.format = "0.2"} {}
