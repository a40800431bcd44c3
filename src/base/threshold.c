/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threshold.h"

#define THRESHOLD_VALUE(name, value, low) value,

rlo__threshold_values rlo__thresholds = {RLO__THRESHOLDS(THRESHOLD_VALUE)};
