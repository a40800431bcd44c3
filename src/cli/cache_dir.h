/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_CACHE_DIR_H
#define RLO_CLI_CACHE_DIR_H

/** The folder for compiled programs that the user wants: $RELAYOUT_CACHE_DIR,
 *  which is empty for none; NULL if it is not set, for the library's own. */
const char *rlo__cache_dir(void);

#endif
