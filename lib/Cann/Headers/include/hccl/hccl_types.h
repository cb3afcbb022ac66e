//===----------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Types of HCCL, the library of collectives.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_HEADERS_INCLUDE_HCCL_HCCL_TYPES_H
#define MF_LIB_CANN_HEADERS_INCLUDE_HCCL_HCCL_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  HCCL_SUCCESS = 0,
  HCCL_E_PARA = 1,
  HCCL_E_PTR = 2,
  HCCL_E_MEMORY = 3,
  HCCL_E_INTERNAL = 4,
  HCCL_E_NOT_SUPPORT = 5,
  HCCL_E_TIMEOUT = 9,
  HCCL_E_AGAIN = 20,
  HCCL_E_REMOTE = 21
} HcclResult;

typedef enum {
  HCCL_DATA_TYPE_INT8 = 0,
  HCCL_DATA_TYPE_INT16 = 1,
  HCCL_DATA_TYPE_INT32 = 2,
  HCCL_DATA_TYPE_FP16 = 3,
  HCCL_DATA_TYPE_FP32 = 4,
  HCCL_DATA_TYPE_INT64 = 5,
  HCCL_DATA_TYPE_UINT64 = 6,
  HCCL_DATA_TYPE_UINT8 = 7,
  HCCL_DATA_TYPE_UINT16 = 8,
  HCCL_DATA_TYPE_UINT32 = 9,
  HCCL_DATA_TYPE_FP64 = 10,
  HCCL_DATA_TYPE_BFP16 = 11
} HcclDataType;

typedef enum {
  HCCL_REDUCE_SUM = 0,
  HCCL_REDUCE_PROD = 1,
  HCCL_REDUCE_MAX = 2,
  HCCL_REDUCE_MIN = 3
} HcclReduceOp;

typedef void *HcclComm;

#define HCCL_ROOT_INFO_BYTES 4108

typedef struct HcclRootInfoDef {
  char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

typedef enum { HCCL_SEND = 0, HCCL_RECV = 1 } HcclSendRecvType;

typedef struct HcclSendRecvItemDef {
  HcclSendRecvType sendRecvType;
  void *buf;
  uint64_t count;
  HcclDataType dataType;
  uint32_t remoteRank;
} HcclSendRecvItem;

/// Must be initialized by HcclCommConfigInit. The layout is that of this host
/// library, and not of CANN, because programs are compiled against the headers
/// of the library that they link.
typedef struct HcclCommConfigDef {
  uint32_t initialized;
  /// The size of each of the two buffers of a communicator, in MB.
  uint32_t hcclBufferSize;
  uint32_t hcclDeterministic;
  char hcclCommName[128];
} HcclCommConfig;

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_CANN_HEADERS_INCLUDE_HCCL_HCCL_TYPES_H
