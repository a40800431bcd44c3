/* SPDX-License-Identifier: Apache-2.0 */
/* The old name of relayout/xla/pjrt.h; it goes with the next release. */
#include "relayout/xla/pjrt.h"
