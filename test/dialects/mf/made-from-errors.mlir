// RUN: mf-opt %s --split-input-file --verify-diagnostics

// The keys that a model was made from are text, on the module.
// expected-error @below {{expected a dictionary of strings as mf.made_from, but got {num_layers = 4 : i64}}}
module attributes {mf.made_from = {num_layers = 4 : i64}} {
}

// -----

// expected-error @below {{expected a dictionary of strings as mf.made_from, but got "num_layers"}}
module attributes {mf.made_from = "num_layers"} {
}
