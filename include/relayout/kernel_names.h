/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_KERNEL_NAMES_H
#define RELAYOUT_KERNEL_NAMES_H

/*
 * The names of what is built in, so that a misspelt one does not compile. A
 * kernel's name and a backend's are strings: these and any other can be
 * registered. docs/engine.md tells what each kernel does.
 */

/** The backends: in the host's memory, and over an rlo_context. */
#define RLO_BACKEND_NAME_HOST   "host"
#define RLO_BACKEND_NAME_OPENCL "opencl"

/** The kernels, the same on both. */
#define RLO_KERNEL_NAME_IDENTITY             "Identity"
#define RLO_KERNEL_NAME_RELAYOUT             "Relayout"
#define RLO_KERNEL_NAME_TRANSPOSE            "Transpose"
#define RLO_KERNEL_NAME_RESHAPE              "Reshape"
#define RLO_KERNEL_NAME_EXPAND_DIMS          "ExpandDims"
#define RLO_KERNEL_NAME_SLICE                "Slice"
#define RLO_KERNEL_NAME_STRIDED_SLICE        "StridedSlice"
#define RLO_KERNEL_NAME_PAD_V2               "PadV2"
#define RLO_KERNEL_NAME_MIRROR_PAD           "MirrorPad"
#define RLO_KERNEL_NAME_REVERSE              "Reverse"
#define RLO_KERNEL_NAME_ROLL                 "Roll"
#define RLO_KERNEL_NAME_BROADCAST_TO         "BroadcastTo"
#define RLO_KERNEL_NAME_TILE                 "Tile"
#define RLO_KERNEL_NAME_REPEAT               "Repeat"
#define RLO_KERNEL_NAME_CONCAT               "Concat"
#define RLO_KERNEL_NAME_CONCAT_V2            "ConcatV2"
#define RLO_KERNEL_NAME_PACK                 "Pack"
#define RLO_KERNEL_NAME_SPLIT_V              "SplitV"
#define RLO_KERNEL_NAME_UNPACK               "Unpack"
#define RLO_KERNEL_NAME_SPACE_TO_BATCH_ND    "SpaceToBatchND"
#define RLO_KERNEL_NAME_BATCH_TO_SPACE_ND    "BatchToSpaceND"
#define RLO_KERNEL_NAME_SPACE_TO_DEPTH       "SpaceToDepth"
#define RLO_KERNEL_NAME_DEPTH_TO_SPACE       "DepthToSpace"
#define RLO_KERNEL_NAME_CAST                 "Cast"
#define RLO_KERNEL_NAME_SUM                  "Sum"
#define RLO_KERNEL_NAME_ADD_N                "AddN"
#define RLO_KERNEL_NAME_RESCALE              "Rescale"
#define RLO_KERNEL_NAME_GATHER_V2            "GatherV2"
#define RLO_KERNEL_NAME_UNSORTED_SEGMENT_SUM "UnsortedSegmentSum"
#define RLO_KERNEL_NAME_MULTIPLY             "Multiply"
#define RLO_KERNEL_NAME_LESS                 "Less"
#define RLO_KERNEL_NAME_LESS_EQUAL           "LessEqual"
#define RLO_KERNEL_NAME_GREATER              "Greater"
#define RLO_KERNEL_NAME_GREATER_EQUAL        "GreaterEqual"
#define RLO_KERNEL_NAME_EQUAL                "Equal"
#define RLO_KERNEL_NAME_ABS                  "Abs"
#define RLO_KERNEL_NAME_STEP                 "Step"
#define RLO_KERNEL_NAME_EXP                  "Exp"
#define RLO_KERNEL_NAME_TANH                 "Tanh"
#define RLO_KERNEL_NAME_SELECT               "Select"
#define RLO_KERNEL_NAME_QUANTIZE             "Quantize"
#define RLO_KERNEL_NAME_DEQUANTIZE           "Dequantize"
#define RLO_KERNEL_NAME_MOVE_ADJOINT         "MoveAdjoint"

#endif
