/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_TEMP_FILE_H
#define RLO_TESTS_SUPPORT_TEMP_FILE_H

/** Opens a new, empty file without a name: it goes with its descriptors. Fails
 *  the test if it cannot. */
int temp_file_open(void);

/** Opens the file of a descriptor once more, with flags of open(). */
int temp_file_reopen(int fd, int flags);

#endif
