// What is wrong with a part of a device description.
// RUN: %variants %s | mf-opt -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error @below {{bytes_per_second: expected a number above 0, but got -1}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = -1.0>

// expected-error @below {{bytes_per_second: expected a number above 0, but got 0}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 0>

// expected-error @below {{bytes_per_second: expected a number above 0, but got inf}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 0x7FF0000000000000 : f64>

// expected-error @below {{bytes_per_second: expected a number above 0, but got nan}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 0x7FF8000000000000 : f64>

// expected-error @below {{bytes_per_second: expected a number above 0, but got inf}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 1.0e999>

// expected-error @below {{bytes_per_second: expected a number above 0, but got inf}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 1e999>

// expected-error @below {{integer constant out of range for attribute}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 99999999999999999999>

// expected-error @below {{bytes_per_second: expected a number}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = fast>

// expected-error @below {{bytes_per_second: expected a number}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = "1.0">

// expected-error @below {{bytes_per_second: expected a number}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = true>

// expected-error @below {{bytes_per_second: expected a number}}
#a = #ascend.memory<bytes = 1024, bytes_per_second =>

// expected-error @below {{expected ',' behind a number, which is in bytes, seconds and operations without a unit}}
#a = #ascend.memory<bytes = 64 GB, bytes_per_second = 1>

// expected-error @below {{bytes: expected an integer of at most 2^53, but got 1.5}}
#a = #ascend.memory<bytes = 1.5, bytes_per_second = 1>

// expected-error @below {{bytes: expected an integer of at most 2^53, but got 1.0e+16}}
#a = #ascend.memory<bytes = 1e16, bytes_per_second = 1>

// expected-error @below {{expected bytes_per_second, as a number above 0}}
#a = #ascend.memory<bytes = 1024>

// expected-error @below {{unknown key 'cash_gain'; did you mean 'cache_gain'?}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 1, cash_gain = 1>

// expected-error @below {{bytes: is there twice}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 1, bytes = 1>

// expected-error @below {{cache_gain: a gain of data in the cache needs the cache's size, cache_bytes}}
#a = #ascend.memory<bytes = 1024, bytes_per_second = 1, cache_gain = 1>

// expected-error @below {{expected ',' behind a number}}
#a = #ascend.memory<bytes = 1024 bytes_per_second = 1>

// expected-error @below {{expected ',' or '>' behind bytes}}
#a = #ascend.memory<bytes = 1024.0 bytes_per_second = 1>

// expected-error @below {{expected a key and '=' or '>'}}
#a = #ascend.memory<1024>

// expected-error @below {{expected '='}}
#a = #ascend.memory<bytes 1024>

// expected-error @below {{expected to_device_bytes_per_second, as a number above 0}}
#a = #ascend.host_link<to_host_bytes_per_second = 1>

// expected-error @below {{expected its FLOPs per second for at least one element type, as in f32 = 7.5e13}}
#a = #ascend.engine<>

// expected-error @below {{unknown key 'f64'; known are f32, bf16, f16}}
#a = #ascend.engine<f64 = 1.0>

// expected-error @below {{i32: expected an element type of f32, bf16 and f16}}
#a = #ascend.engine<i32 = 1.0>

// expected-error @below {{f32: expected a number above 0, but got -1}}
#a = #ascend.engine<f32 = -1.0>

// expected-error @below {{half: expected a number of at least 0, but got -5}}
#a = #ascend.saturation<half = -5>

// expected-error @below {{peak_share: expected a share from 0 to 1, but got 85}}
#a = #ascend.kernel_rate<peak_share = 85>

// expected-error @below {{unknown key 'peak_shore'; did you mean 'peak_share'?}}
#a = #ascend.kernel_rate<peak_shore = 0.85>

// expected-error @below {{passes: expected a number above 0, but got 0}}
#a = #ascend.kernel_rate<passes = 0>

// expected-error @below {{expected '<' behind 'keys ='}}
#a = #ascend.kernel_rate<keys = 500>

// expected-error @below {{keys: expected #ascend.saturation, but got #ascend.engine<f32 = 1>}}
#a = #ascend.kernel_rate<keys = #ascend.engine<f32 = 1>>

// expected-error @below {{keys: is there twice}}
#a = #ascend.kernel_rate<keys = <half = 1>, keys = <half = 2>>

// expected-error @below {{expected what it joins, of = npu or of = another network}}
#a = #ascend.network<wiring = mesh, bytes_per_second = 1>

// expected-error @below {{expected wiring, mesh or switch}}
#a = #ascend.network<of = npu, bytes_per_second = 1>

// expected-error @below {{wiring: expected mesh or switch}}
#a = #ascend.network<of = npu, wiring = ring, bytes_per_second = 1>

// expected-error @below {{of: expected npu or a network}}
#a = #ascend.network<of = 8, wiring = mesh, bytes_per_second = 1>

// expected-error @below {{size: expected at least 1; any number of members have no size}}
#a = #ascend.network<of = npu, wiring = mesh, bytes_per_second = 1, size = 0>

// expected-error @below {{size: expected a number of at least 0, but got -8}}
#a = #ascend.network<of = npu, wiring = mesh, bytes_per_second = 1, size = -8>

// expected-error @below {{collective_share: expected a share above 0, up to 1, but got 0}}
#a = #ascend.network<of = npu, wiring = mesh, bytes_per_second = 1, collective_share = 0>

// expected-error @below {{hidden: expected a share from 0 to 1, but got 1.5}}
#a = #ascend.network<of = npu, wiring = mesh, bytes_per_second = 1, hidden = 1.5>
