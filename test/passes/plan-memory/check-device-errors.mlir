// RUN: env HCCL_BUFFSIZE=200MB %roundtrip --ascend-check-device='hbm=20GB' -verify-diagnostics %s

// expected-error @below {{expected a whole number of MB from 1 to 1048576 for HCCL_BUFFSIZE in the environment, but got '200MB'}}
module {
}
