/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_STORAGE_FILE_H
#define RLO_SERVICE_STORAGE_FILE_H

#include "relayout/storage.h"
#include "service/storage_calls.h"

/** For tests: replaces the system calls of a storage of a file. The table is
 *  borrowed while the storage lives. Before the first use of the storage. */
void rlo__storage_set_calls(rlo_storage *storage,
                            const rlo__storage_calls *calls);

#endif
